// How sink policies share the buffers of a stream among sinks of unequal speed, of which each takes twice as long as
// the one before.
//
// The sinks sleep for their service, so that the figures do not depend on the number of processors. The floor is the
// ideal made by hand: as many threads that take the next number from a counter when they have slept.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/report.hpp"
#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace {

using bench::Direction;
using namespace penstock;

constexpr std::size_t sinks = 3;
constexpr int buffers = 280;
constexpr auto fastest = std::chrono::microseconds(200);  // the others take 2, 4... times as long

void serve(std::size_t sink) { std::this_thread::sleep_for(fastest * (1 << sink)); }

/// What a policy did, over all batches.
struct Outcome {
    std::array<std::uint64_t, sinks> got{};
    double waited_ns = 0;  ///< from write to read, of all buffers together
    std::uint64_t all() const { return got[0] + got[1] + got[2]; }
};

struct Source {
    Output<std::int64_t> out{"out"};
    int left = buffers;
    bool operator()() {
        if (left == 0) return false;
        --left;
        auto buffer = out.make(1);
        buffer.edit()[0] = bench::Clock::now().time_since_epoch().count();
        buffer.edit_tags().user[0] = static_cast<std::uint64_t>(left);
        out.write(std::move(buffer));
        return true;
    }
};

struct Sink {
    Input<std::int64_t> in{"in"};
    std::size_t number;
    double waited_ns = 0;
    std::uint64_t got = 0;
    explicit Sink(std::size_t which) : number(which) {}
    void operator()() {
        const bench::Clock::time_point written{bench::Clock::duration{in.read()[0]}};
        waited_ns += bench::nanoseconds_since(written);
        ++got;
        serve(number);
    }
};

/// Nanoseconds a buffer.
double streamed(Machine& machine, const StreamOptions& asked, Outcome& outcome) {
    Graph graph;
    auto options = asked;
    options.name = "fan";
    options.capacity = 4;
    auto& source = graph.add<Source>("source", {.targets = {static_cast<int>(sinks)}});
    std::vector<Sink*> all;
    for (std::size_t i = 0; i < sinks; ++i) {
        all.push_back(&graph.add<Sink>("sink " + std::to_string(i), {.targets = {static_cast<int>(i)}}, i));
        graph.connect(source.out, all.back()->in, options);
    }
    const auto start = bench::Clock::now();
    auto run = graph.start(machine);
    run.finish();
    const double time = bench::nanoseconds_since(start);
    for (const auto* sink : all) {
        outcome.got[sink->number] += sink->got;
        outcome.waited_ns += sink->waited_ns;
    }
    return time / buffers;
}

double by_hand(Outcome& outcome) {
    std::atomic<int> next{0};
    const auto start = bench::Clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < sinks; ++i)
            threads.emplace_back([&next, &outcome, i] {
                for (; next.fetch_add(1) < buffers; ++outcome.got[i]) serve(i);
            });
    }
    return bench::nanoseconds_since(start) / buffers;
}

/// Every thread serves everything.
double all_by_hand() {
    const auto start = bench::Clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < sinks; ++i)
            threads.emplace_back([i] {
                for (int n = 0; n < buffers / 4; ++n) serve(i);
            });
    }
    return bench::nanoseconds_since(start) / (buffers / 4);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "policies",
        "how sink policies share buffers among sinks of speeds 1 : 1/2 : 1/4, against the ideal made by hand",
        {"policies/demand-driven", "policies/chosen"}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 5 : 15;
    bench::Report report{about, options};
    Machine machine{{.targets = static_cast<int>(sinks) + 1, .pin = false}};

    struct Case {
        std::string name;
        StreamOptions options;
        Outcome outcome{};
    };
    const auto by_weight = [](const Tags& tags, std::span<const std::byte>) {  // 4 : 2 : 1
        constexpr std::array<std::uint64_t, 7> turns{0, 1, 0, 2, 0, 1, 0};
        return turns[tags.user[0] % turns.size()];
    };
    std::vector<std::unique_ptr<Case>> cases;
    const auto add = [&](std::string name, StreamOptions stream) {
        cases.push_back(std::make_unique<Case>(std::move(name), std::move(stream)));
    };
    add("demand-driven", {.policy = Policy::demand_driven});
    add("chosen, 4 : 2 : 1", {.policy = Policy::chosen, .key = by_weight});
    add("round robin", {.policy = Policy::round_robin});
    add("random", {.policy = Policy::random});
    add("by key", {.policy = Policy::by_key});
    add("broadcast", {.policy = Policy::broadcast});

    Outcome ideal;
    std::vector<bench::Contestant> contestants{{"by hand", [&ideal] { return by_hand(ideal); }},
                                               {"all by hand", [] { return all_by_hand(); }}};
    for (auto& each : cases)
        contestants.push_back(
            {each->name, [&machine, &each] { return streamed(machine, each->options, each->outcome); }});
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    const auto shares = [&](const Outcome& outcome) {
        const auto share = [&](std::size_t sink) {
            return static_cast<double>(outcome.got[sink]) / static_cast<double>(outcome.all());
        };
        return bench::Report::Figures{{"share_fast", share(0)}, {"share_half", share(1)}, {"share_quarter", share(2)}};
    };
    const auto row = [&](const std::string& name, const Outcome& outcome, const bench::Interval& over) {
        auto figures = shares(outcome);
        figures.insert(figures.end(), {{"us_a_buffer", result.median(name) / 1000},
                                       {"over_ideal", over.value},
                                       {"low", over.low},
                                       {"high", over.high},
                                       {"waits_us", outcome.waited_ns / static_cast<double>(outcome.all()) / 1000}});
        report.row(name, figures);
    };
    row("by hand", ideal, result.noise());
    for (const auto& each : cases) {
        const bool broadcast = each->options.policy == Policy::broadcast;
        row(each->name, each->outcome, result.ratio(each->name, broadcast ? "all by hand" : "by hand").usual);
    }
    report.goal("policies/demand-driven", result.ratio("demand-driven", "by hand"), Direction::at_most, 1.1,
                bench::Judged::by_interval);
    report.goal("policies/chosen", result.ratio("chosen, 4 : 2 : 1", "by hand"), Direction::at_most, 1.1,
                bench::Judged::by_interval);
    report.note(
        "by hand: each thread takes the next when it has served one: the ideal, and its shares, which would be 4/7, "
        "2/7 and 1/7 if sleeping took no "
        "longer than asked; broadcast is compared with three threads that each serve everything; four buffers may wait "
        "at each sink; waits: "
        "from write to read; starting and ending the graph, and the threads, is in the times");
    return report.finish();
}
