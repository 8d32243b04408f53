// What the length of the queue and the size of the argument make of a task's latency and throughput, over 1..N targets.
//
// A task reads all of its argument and does nothing else. Latency: the initiator has just written into each line of the
// argument, so that the target fetches it from the initiator's cache. Throughput: many tasks at once through lanes of 1
// to 64 slots (TPC's queues, whose length was fixed), round robin, on arguments that nobody writes meanwhile.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"

namespace {

using bench::Contestant;
using Word = std::uint64_t;
using Argument = std::span<const Word>;

constexpr std::size_t words_a_line = 64 / sizeof(Word);
constexpr std::size_t arguments = 128;  // that tasks read in turn

void read_all(Argument argument) {
    Word sums[4] = {};
    for (std::size_t i = 0; i + 4 <= argument.size(); i += 4)
        for (std::size_t k = 0; k < 4; ++k) sums[k] += argument[i + k];
    Word sum = sums[0] + sums[1] + sums[2] + sums[3];
    asm volatile("" : "+r"(sum));
}

std::string words(std::size_t bytes) {
    return bytes < 1024 ? std::to_string(bytes) + " B" : std::to_string(bytes >> 10) + " KiB";
}

std::vector<std::size_t> sizes(bool quick) {
    if (quick) return {0, 64, 1024, 16384, 65536};
    return {0, 64, 256, 1024, 4096, 16384, 65536};
}

/// Memory for so many arguments, aligned to lines.
class Memory {
  public:
    explicit Memory(std::size_t bytes)
        : words_(bytes / sizeof(Word)), storage_(arguments * words_ + words_a_line, Word{1}) {
        const auto past = reinterpret_cast<std::uintptr_t>(storage_.data()) % 64;
        first_ = storage_.data() + (past == 0 ? 0 : (64 - past) / sizeof(Word));
    }
    std::span<Word> operator[](std::size_t i) { return {first_ + i % arguments * words_, words_}; }

  private:
    std::size_t words_;
    std::vector<Word> storage_;
    Word* first_;
};

/// One call on this argument; nothing is passed where it is empty.
void call(penstock::Machine& machine, Argument argument) {
    if (argument.empty()) machine.call<bench::null_task>();
    else machine.call<read_all>(penstock::in(argument));
}

void latency(bench::Report& report, const bench::Options& options) {
    const auto machine = bench::make_machine({.targets = 1});
    std::vector<Contestant> contestants{bench::nearest_floors().one_line()};
    for (const std::size_t bytes : sizes(options.quick)) {
        bench::Peer peer = bench::penstock_peer(*machine);
        peer.name = words(bytes);
        peer.round_trip = [&machine = *machine, memory = std::make_shared<Memory>(bytes)] {
            const auto argument = (*memory)[0];
            for (std::size_t i = 0; i < argument.size(); i += words_a_line) argument[i] += 1;
            if (argument.empty()) machine.call<bench::null_task>().wait();
            else machine.call<read_all>(penstock::in(argument)).wait();
        };
        contestants.push_back(bench::round_trip_of(peer, bytes > 4096 ? 200 : 1000));
    }
    report.rows("latency, ", bench::measure(contestants, options.plan));
}

/// A null task there and back to each target in turn.
void latency_over_targets(bench::Report& report, const bench::Options& options, int most) {
    std::vector<std::unique_ptr<penstock::Machine>> machines;
    std::vector<Contestant> contestants{bench::nearest_floors().one_line()};
    for (int targets = 1; targets <= most; targets *= 2) {
        machines.push_back(bench::make_machine({.targets = targets}));
        bench::Peer peer = bench::penstock_peer(*machines.back());
        peer.name = std::to_string(targets) + " targets in turn";
        peer.round_trip = [&machine = *machines.back(), next = 0]() mutable {
            machine.on(next).call<bench::null_task>().wait();
            if (++next == machine.targets()) next = 0;
        };
        contestants.push_back(bench::round_trip_of(peer, 1000));
    }
    report.rows("latency, ", bench::measure(contestants, options.plan));
}

void throughput(bench::Report& report, const bench::Options& options, int targets) {
    constexpr std::size_t bytes_a_batch = std::size_t{16} << 20;
    const auto depths =
        options.quick ? std::vector<std::uint32_t>{1, 4, 16, 64} : std::vector<std::uint32_t>{1, 2, 4, 8, 16, 32, 64};
    std::vector<std::unique_ptr<penstock::Machine>> machines;
    for (const auto depth : depths)
        machines.push_back(bench::make_machine({.targets = targets,
                                                .depth = depth,
                                                .distribution = penstock::Distribution::round_robin,
                                                .when_full = penstock::WhenFull::wait}));
    for (const std::size_t bytes : sizes(options.quick)) {
        Memory memory(bytes);
        std::vector<Contestant> contestants{bench::nearest_floors().ring()};
        for (std::size_t d = 0; d < depths.size(); ++d) {
            bench::Peer peer = bench::penstock_peer(*machines[d]);
            peer.name = std::to_string(depths[d]);
            peer.many = [&machine = *machines[d], &memory](int tasks) {
                for (int i = 0; i < tasks; ++i) call(machine, memory[static_cast<std::size_t>(i)]);
                machine.barrier();
            };
            contestants.push_back(bench::throughput_of(
                peer, bytes == 0 ? 5000 : static_cast<int>(std::clamp<std::size_t>(bytes_a_batch / bytes, 256, 5000))));
        }
        const auto result = bench::measure(contestants, options.plan);
        report.conditions(result);
        for (const auto& name : result.names()) {
            if (name == "ring") continue;
            const auto over = result.ratio(name, "ring").usual;
            report.row(std::to_string(targets) + " targets, " + words(bytes) + ", lanes of " + name,
                       {{"ns_a_task", result.median(name)},
                        {"GB_a_second", static_cast<double>(bytes) / result.median(name)},
                        {"over_ring", over.value},
                        {"low", over.low},
                        {"high", over.high}});
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "queue", "latency and throughput over the size of the argument, the slots of a lane and the targets", {}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 31;
    bench::Report report{about, options};
    const int most = std::max(1, static_cast<int>(bench::allowed_processors().size()) - 1);
    latency(report, options);
    latency_over_targets(report, options, most);
    for (int targets = 1; targets <= most; targets *= 2) throughput(report, options, targets);
    report.note(
        "latency: the initiator writes a word into each line of the argument before each call, which is part of the "
        "time; the target reads all of it");
    report.note(
        "throughput: 128 arguments in turn, which nobody writes meanwhile; a call waits while the lane is full");
    return report.finish();
}
