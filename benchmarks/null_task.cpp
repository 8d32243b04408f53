// What a task costs that does nothing: there and back over the number of arguments and the ways of initiation and
// completion, in its stages, and to a target that sleeps, and many at once over the number of targets and the depth of
// the lanes. Beside F1 and the bare ring.
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <thread>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "null_task/stages.hpp"
#include "peers/ours.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/trace.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::Completion;
using penstock::Initiation;
using Span = std::span<const float>;

template <class... Spans>
void null_task_of(Spans...) {
    bench::null_task();
}

template <std::size_t>
using Argument = Span;

template <std::size_t... i>
void round_trip(penstock::Machine& machine, const std::array<std::array<float, 16>, 8>& blocks,
                std::index_sequence<i...>) {
    machine.call<null_task_of<Argument<i>...>>(penstock::in(blocks[i])...).wait();
}

template <std::size_t arguments>
Contestant lone(std::string name, penstock::Machine& machine) {
    static const std::array<std::array<float, 16>, 8> blocks{};
    bench::Peer peer = bench::penstock_peer(machine);
    peer.name = std::move(name);
    peer.round_trip = [&machine] { round_trip(machine, blocks, std::make_index_sequence<arguments>{}); };
    return bench::round_trip_of(peer, 2000);
}

struct Mechanism {
    const char* name;
    Initiation initiation;
    Completion completion;
};

constexpr Mechanism mechanisms[] = {{"push, slot", Initiation::push, Completion::slot},
                                    {"push, line", Initiation::push, Completion::line},
                                    {"pull, slot", Initiation::pull, Completion::slot},
                                    {"pull, line", Initiation::pull, Completion::line}};

void round_trips(bench::Report& report, const bench::Options& options, penstock::Machine& machine) {
    std::vector<Contestant> contestants{bench::nearest_floors().one_line()};
    [&]<std::size_t... n>(std::index_sequence<n...>) {
        (contestants.push_back(lone<n>(std::to_string(n) + " arguments", machine)), ...);
    }(std::make_index_sequence<9>{});
    const auto result = bench::measure(contestants, options.plan);
    report.rows("round trip: ", result);
    report.goal("null-task/round-trip-0", result.ratio("0 arguments", "F1"), Direction::at_most, 1.4,
                bench::Judged::by_interval);
    report.goal("null-task/round-trip-4", result.ratio("4 arguments", "F1"), Direction::at_most, 1.6,
                bench::Judged::by_interval);
}

/// Mean time of call(), each time after so long a pause that whoever answers sleeps.
Contestant after_a_pause(std::string name, std::function<void()> call) {
    return {std::move(name), [call = std::move(call)] {
                constexpr int calls = 20;
                double sum = 0;
                for (int i = 0; i < calls; ++i) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    const auto start = bench::Clock::now();
                    call();
                    sum += bench::nanoseconds_since(start);
                }
                return sum / calls;
            }};
}

/// A thread on a processor of its own that sleeps until it is asked and answers at once: what the kernel alone takes to
/// wake somebody.
class Sleeper {
  public:
    explicit Sleeper(int processor)
        : thread_{[this, processor](const std::stop_token& stop) {
              bench::pin_this_thread(processor);
              for (;;) {
                  asked_.wait(false);
                  if (stop.stop_requested()) return;
                  asked_.store(false);
                  answered_.store(true, std::memory_order_release);
              }
          }} {}
    ~Sleeper() {
        thread_.request_stop();
        wake();
    }
    void ask() {
        answered_.store(false, std::memory_order_relaxed);
        wake();
        while (!answered_.load(std::memory_order_acquire)) penstock::relax();
    }

  private:
    void wake() {
        asked_.store(true);
        asked_.notify_one();
    }
    std::atomic<bool> asked_{false}, answered_{false};
    std::jthread thread_;
};

void wake_ups(bench::Report& report, const bench::Options& options, penstock::Machine& machine) {
    if (bench::allowed_processors().size() < 2)
        return report.note("with one processor nobody answers while we wait: no rows 'asleep'");
    const bench::Pinned here{bench::allowed_processors().front()};
    const auto sleeper = std::make_shared<Sleeper>(bench::allowed_processors().back());
    report.rows("asleep: ",
                bench::measure({after_a_pause("a thread", [sleeper] { sleeper->ask(); }),
                                after_a_pause("a target", [&machine] { machine.call<bench::null_task>().wait(); })},
                               options.plan));
}

void compare_mechanisms(bench::Report& report, const bench::Options& options) {
    std::vector<std::unique_ptr<penstock::Machine>> machines;
    std::vector<Contestant> contestants{bench::nearest_floors().one_line()};
    for (const auto& mechanism : mechanisms) {
        machines.push_back(bench::make_machine(
            {.targets = 1, .initiation = mechanism.initiation, .completion = mechanism.completion}));
        contestants.push_back(lone<0>(std::string(mechanism.name) + ", 0 arguments", *machines.back()));
        contestants.push_back(lone<4>(std::string(mechanism.name) + ", 4 arguments", *machines.back()));
    }
    report.rows("round trip: ", bench::measure(contestants, options.plan));
}

Contestant stream(std::string name, penstock::Machine& machine) {
    bench::Peer peer = bench::penstock_peer(machine);
    peer.name = std::move(name);
    return bench::throughput_of(peer, 5000);
}

void default_throughput(bench::Report& report, const bench::Options& options, penstock::Machine& one_target) {
    const auto result =
        bench::measure({bench::nearest_floors().ring(), stream("1 target, balanced", one_target)}, options.plan);
    report.rows("throughput: ", result);
    report.goal("null-task/throughput-1", result.ratio("1 target, balanced", "ring"), Direction::at_most, 2,
                bench::Judged::by_interval);
}

void throughput_through_lanes(bench::Report& report, const bench::Options& options) {
    const int most = std::max(1, static_cast<int>(bench::allowed_processors().size()) - 1);
    for (int targets = 1; targets <= most; targets *= 2) {
        std::vector<std::unique_ptr<penstock::Machine>> machines;
        std::vector<Contestant> contestants{bench::nearest_floors().ring()};
        for (const std::uint32_t depth : {1u, 4u, 16u, 64u}) {
            machines.push_back(bench::make_machine({.targets = targets,
                                                    .depth = depth,
                                                    .distribution = penstock::Distribution::round_robin,
                                                    .when_full = penstock::WhenFull::wait}));
            contestants.push_back(
                stream(std::to_string(targets) + " targets, lanes of " + std::to_string(depth), *machines.back()));
        }
        report.rows("throughput: ", bench::measure(contestants, options.plan));
    }
}

// All that the default settings count and sample for one task, on both sides, one after the other. In a real task they
// run at the same time as each other and as the transfer of lines, so this is more than they add.
void trace_cost(bench::Report& report, const bench::Options& options, penstock::Machine& one_target) {
    struct Counters {
        penstock::trace::InitiatorCounters initiator;
        penstock::trace::TargetCounters target;
    };
    auto counters = std::make_shared<Counters>();
    const Contestant counting{"counters and samples", [counters] {
                                  constexpr int tasks = 100000;
                                  constexpr int tasks_a_claim = 8;  // in a stream; a target counts once a claim
                                  auto& [initiator, target] = *counters;
                                  const auto start = bench::Clock::now();
                                  for (int i = 0; i < tasks; ++i) {
                                      initiator.calls.add();
                                      if (i % tasks_a_claim == 0) {
                                          target.tasks.add(tasks_a_claim);
                                          target.pulled.add(tasks_a_claim);
                                      }
                                      if (i % penstock::trace::tasks_a_sample != 0) continue;
                                      const auto begin = penstock::Clock::ticks();
                                      initiator.sampled_calls.add();
                                      initiator.sampled_call_ticks.add(penstock::Clock::ticks() - begin);
                                      const auto body = penstock::Clock::ticks();
                                      target.sampled_tasks.add();
                                      target.sampled_compute_ticks.add(penstock::Clock::ticks() - body);
                                  }
                                  return bench::nanoseconds_since(start) / tasks;
                              }};
    const auto result = bench::measure({stream("null task", one_target), counting}, options.plan);
    report.rows("trace: ", result);
    report.goal("trace/cost", result.ratio("counters and samples", "null task"), Direction::at_most, 0.15);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "null-task",
        "a null task there and back for 0 to 8 arguments and each mechanism, and many over targets and depths",
        {"null-task/round-trip-0", "null-task/round-trip-4", "null-task/throughput-1", "trace/cost"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const auto one_target = bench::make_machine({.targets = 1});
    round_trips(report, options, *one_target);
    bench::measure_stages(report, options, *one_target);
    wake_ups(report, options, *one_target);
    compare_mechanisms(report, options);
    default_throughput(report, options, *one_target);
    throughput_through_lanes(report, options);
    trace_cost(report, options, *one_target);
    report.note("arguments are spans; the task does nothing with them");
    return report.finish();
}
