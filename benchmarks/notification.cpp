// How an initiator learns that jobs have ended (polling, mailbox, interrupt) over 1..N targets, and how many jobs' data
// should be under way to each.
//
// The figures 4 and 5 of Cell-Space's Cell-RTL: 16,384 jobs of 32,400 bytes in and out at 1 and 10 cycles a byte by
// each kind of notification, and jobs of several sizes with the data of 1 to 4 of them in flight. AEET, TET and
// overhead are those of `./bench jobs`.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "jobs/job.hpp"
#include "peers/ours.hpp"

namespace {

using bench::Contestant;
using jobs::job;
using penstock::in;
using penstock::out;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t bytes_of_the_paper = 32'400;
constexpr std::size_t jobs_of_the_paper = 16'384;
constexpr std::size_t most_memory = std::size_t{64} << 20;  // of inputs, and as much of outputs: jobs go round in it

/// Memory for jobs of one size, and what each of them took inside.
struct Data {
    Data(std::size_t bytes_a_job, std::size_t how_many)
        : bytes{bytes_a_job}, words{bytes / 8}, blocks{std::min(how_many, most_memory / bytes)}, x(blocks * words),
          y(x.size()), ticks(how_many) {
        std::uint64_t value = 88172645463325252u;
        for (auto& word : x) word = value = value * 2862933555777941757u + 3037000493u;
    }
    jobs::In input(std::size_t number) const { return jobs::In(x).subspan(number % blocks * words, words); }
    jobs::Out output(std::size_t number) { return jobs::Out(y).subspan(number % blocks * words, words); }

    std::size_t bytes, words, blocks;
    Words x, y, ticks;
};

template <int cycles>
void serially(Data& data) {
    for (std::size_t i = 0; i < data.ticks.size(); ++i) job<cycles>(data.input(i), data.output(i), data.ticks[i]);
}

template <int cycles>
void on(penstock::Machine& machine, Data& data) {
    for (std::size_t i = 0; i < data.ticks.size(); ++i)
        machine.call<job<cycles>>(in(data.input(i)), out(data.output(i)), out(data.ticks[i]));
    machine.barrier();
}

struct Way {
    std::string name;
    penstock::MachineOptions options;
};

std::vector<Way> notifications() {
    using penstock::Notification;
    return {{"polled", {.notification = Notification::polled}},
            {"mailbox", {.notification = Notification::mailbox}},
            {"interrupt", {.notification = Notification::interrupt}}};
}

/// Fetched ahead in any case: the default leaves data in one piece, as here, to the processor's own prefetcher.
std::vector<Way> in_flight() {
    std::vector<Way> all{{"by default", {}}};
    for (const std::uint32_t count : {1u, 2u, 3u, 4u})
        all.push_back(
            {std::to_string(count) + " in flight", {.prefetch = penstock::Prefetch::always, .jobs_in_flight = count}});
    return all;
}

/// All ways beside one thread, on so many targets.
template <int cycles>
void compare(Data& data, const std::vector<Way>& ways, int targets, const bench::Options& options,
             bench::Report& report) {
    std::vector<std::unique_ptr<penstock::Machine>> machines;
    std::map<std::string, std::vector<double>> overheads;
    const auto contestant = [&](std::string name, int workers, std::function<void(Data&)> pass) {
        return Contestant{name, [&data, &overheads, name, workers, pass = std::move(pass)] {
                              const bench::Pinned pinned{bench::allowed_processors().front()};
                              const auto start = bench::Clock::now();
                              pass(data);
                              const double total = bench::nanoseconds_since(start);
                              std::uint64_t ticks = 0;
                              for (const auto each : data.ticks) ticks += each;
                              const double effective =
                                  static_cast<double>(ticks) * penstock::Clock::nanoseconds_per_tick() / workers;
                              overheads[name].push_back(total / effective - 1);
                              return total / static_cast<double>(data.ticks.size());
                          }};
    };
    std::vector<Contestant> contestants{contestant("one thread", 1, serially<cycles>)};
    for (const Way& way : ways) {
        auto with = way.options;
        with.targets = targets;
        machines.push_back(bench::make_machine(with));
        contestants.push_back(contestant(way.name, targets + 1,
                                         [machine = machines.back().get()](Data& all) { on<cycles>(*machine, all); }));
    }
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    for (const auto& name : result.names()) {
        const auto overhead = bench::median_interval(overheads[name]);
        const auto faster = result.ratio("one thread", name).usual;
        report.row(std::to_string(targets) + " targets, " + std::to_string(data.bytes) + " B, " +
                       std::to_string(cycles) + " cycles a byte, " + name,
                   {{"TET_ns_a_job", result.median(name)},
                    {"speed_up", faster.value},
                    {"speed_up_low", faster.low},
                    {"speed_up_high", faster.high},
                    {"overhead", overhead.value},
                    {"low", overhead.low},
                    {"high", overhead.high}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "notification",
        "jobs by each kind of notification over 1..N targets, and 1 to 4 jobs in flight over the size of a job",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 11;
    options.plan.attempts = options.quick ? 1 : 2;
    bench::Report report{about, options};
    const std::size_t count = options.quick ? jobs_of_the_paper / 16 : jobs_of_the_paper;
    const int most = std::max(1, static_cast<int>(bench::allowed_processors().size()) - 1);
    {
        Data data(bytes_of_the_paper, count);
        for (int targets = 1; targets <= most; targets *= 2) {
            compare<1>(data, notifications(), targets, options, report);
            compare<10>(data, notifications(), targets, options, report);
        }
    }
    for (const std::size_t bytes : {std::size_t{2048}, std::size_t{8192}, bytes_of_the_paper, std::size_t{131'072}}) {
        Data data(bytes, count * bytes_of_the_paper / bytes);
        compare<1>(data, in_flight(), most, options, report);
    }
    report.note(
        "in flight: the data of so many jobs are near a target or on the way there, fetched ahead in any case; by "
        "default data in one piece are not");
    report.note("overhead is TET / AEET - 1, the issuing thread counted among the workers: it works while it waits");
    report.note(std::to_string(count) +
                " jobs of 32,400 B a batch, of other sizes as many bytes; all go round in 64 MiB of inputs and as much "
                "of outputs");
    return report.finish();
}
