// What it costs to run tasks in worker processes: a null task and a task on 64 KiB there and back against thread
// targets, against a fork for each task and against a worker at the other end of two pipes; and what crashes cost the
// tasks that do not crash.
#include "penstock/isolation.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <span>
#include <vector>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/spmd.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::Isolation;
using penstock::Machine;

constexpr std::size_t block_bytes = 64 * 1024;
constexpr std::size_t block_floats = block_bytes / sizeof(float);

void null_task() { bench::null_task(); }

void brighten(std::span<const float> from, std::span<float> to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * 1.5f + 1.0f;
}

/// A process that does one thing again and again: reads a request from a pipe, works, writes the answer into another.
class PipeWorker {
  public:
    PipeWorker(std::size_t bytes, void (*work)(std::vector<char>&)) : buffer_(bytes) {
        if (pipe(to_) != 0 || pipe(from_) != 0 || (pid_ = fork()) < 0) std::abort();
        if (pid_ != 0) {
            close(to_[0]);
            close(from_[1]);
            return;
        }
        close(to_[1]);
        close(from_[0]);
        while (transfer(read, to_[0])) {
            work(buffer_);
            if (!transfer(write, from_[1])) break;
        }
        _exit(0);
    }
    ~PipeWorker() {
        close(to_[1]);
        close(from_[0]);
        waitpid(pid_, nullptr, 0);
    }
    PipeWorker(const PipeWorker&) = delete;
    PipeWorker& operator=(const PipeWorker&) = delete;

    void round_trip() {
        if (!transfer(write, to_[1]) || !transfer(read, from_[0])) std::abort();
    }

  private:
    template <class Call>
    bool transfer(Call call, int end) {
        for (std::size_t at = 0; at < buffer_.size();) {
            const auto n = call(end, buffer_.data() + at, buffer_.size() - at);
            if (n <= 0) return false;
            at += static_cast<std::size_t>(n);
        }
        return true;
    }

    std::vector<char> buffer_;
    int to_[2]{};
    int from_[2]{};
    pid_t pid_ = -1;
};

void work_on_nothing(std::vector<char>&) { bench::null_task(); }
void work_on_block(std::vector<char>& buffer) {
    auto* const floats = reinterpret_cast<float*>(buffer.data());
    brighten({floats, block_floats}, {floats, block_floats});
}

void fork_for_one_task() {
    const pid_t pid = fork();
    if (pid == 0) {
        bench::null_task();
        _exit(0);
    }
    waitpid(pid, nullptr, 0);
}

void null_tasks(bench::Report& report, const bench::Options& options, Machine& threads, Machine& processes,
                PipeWorker& pipes) {
    const auto lone = [](Machine& machine) { return [&machine] { machine.call<null_task>().wait(); }; };
    const auto result = bench::measure(
        {bench::nearest_floors().one_line(), bench::repeated("null task, thread target", 2000, lone(threads)),
         bench::repeated("null task, process target", 2000, lone(processes)),
         bench::repeated("null task, pipe-fed process", 100, [&] { pipes.round_trip(); }),
         bench::repeated("null task, fork a task", 3, fork_for_one_task)},
        options.plan);
    report.rows("round trip: ", result);
    report.goal("isolation/null-task", result.ratio("null task, process target", "null task, thread target"),
                Direction::at_most, 1.3);
}

void blocks(bench::Report& report, const bench::Options& options, Machine& threads, Machine& processes,
            PipeWorker& pipes) {
    auto shared_from = processes.array<float>(block_floats);
    auto shared_to = processes.array<float>(block_floats);
    std::vector<float> from(block_floats, 1.0f);
    std::vector<float> to(block_floats);
    const auto call = [](Machine& machine, auto& source, auto& sink) {
        return [&] { machine.call<brighten>(penstock::in(source), penstock::out(sink)).wait(); };
    };
    const auto result = bench::measure(
        {bench::repeated("64 KiB, thread target", 200, call(threads, from, to)),
         bench::repeated("64 KiB in the shared heap, process target", 200, call(processes, shared_from, shared_to)),
         bench::repeated("64 KiB copied in and out, process target", 200, call(processes, from, to)),
         bench::repeated("64 KiB through pipes", 30, [&] { pipes.round_trip(); })},
        options.plan);
    report.rows("round trip: ", result);
}

void busy_for_100_us(int crash) {
    if (crash != 0) raise(SIGSEGV);
    const auto begin = penstock::Clock::ticks();
    const auto ticks = static_cast<std::uint64_t>(100'000 / penstock::Clock::nanoseconds_per_tick());
    while (penstock::Clock::ticks() - begin < ticks) {
    }
}

/// Nanoseconds of one of 1,000 tasks of 100 us, of which `crashes` crash; counts those that did not complete.
double thousand(Machine& machine, int crashes, int& failures) {
    constexpr int tasks = 1000;
    const auto start = bench::Clock::now();
    for (int i = 0; i < tasks; ++i) machine.call<busy_for_100_us>(i == tasks / 2 ? crashes : 0);
    for (;;) try {
            machine.barrier();
            break;
        } catch (const penstock::TaskFailed& failed) {
            failures += 1 + static_cast<int>(failed.others());
        }
    return bench::nanoseconds_since(start) / tasks;
}

void crashes(bench::Report& report, const bench::Options& options, Machine& processes) {
    auto plan = options.plan;
    plan.rounds = options.quick ? 5 : 21;
    int undisturbed = 0;
    int disturbed = 0;
    int thousands = 0;
    const auto result = bench::measure(
        {{"tasks of 100 us, none crashes", [&] { return thousand(processes, 0, undisturbed); }},
         {"tasks of 100 us, one in 1,000 crashes", [&] { return ++thousands, thousand(processes, 1, disturbed); }}},
        plan);
    report.rows("throughput: ", result);
    report.note(std::to_string(disturbed) + " tasks failed in " + std::to_string(thousands) +
                " thousands with one crash each, " + std::to_string(undisturbed) +
                " in those without; all others completed");
    if (disturbed != thousands || undisturbed != 0)
        report.missing("isolation/crash-throughput", Direction::at_least, 0.8,
                       "other tasks than those that crash failed");
    else
        report.goal("isolation/crash-throughput",
                    result.ratio("tasks of 100 us, none crashes", "tasks of 100 us, one in 1,000 crashes"),
                    Direction::at_least, 0.8);
}

}  // namespace

int main(int argc, char** argv) {
    penstock::launch();
    PipeWorker null_pipes(1, work_on_nothing);
    PipeWorker block_pipes(block_bytes, work_on_block);
    const bench::About about{
        "isolation",
        "tasks in worker processes against thread targets, a fork a task and pipes; throughput with crashes",
        {"isolation/null-task", "isolation/crash-throughput"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const auto threads = bench::make_machine({.targets = 1});
    const auto processes = bench::make_machine({.targets = 1, .isolation = Isolation::process});
    null_tasks(report, options, *threads, *processes, null_pipes);
    blocks(report, options, *threads, *processes, block_pipes);
    crashes(report, options, *processes);
    return report.finish();
}
