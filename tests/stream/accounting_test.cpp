// Each buffer that a source has written comes out once, or is counted as dropped: whatever edits, whenever they come,
// and however the run ends.
//
// A run is a number: the same seed and number make the same graph and the same edits (PENSTOCK_SEED and PENSTOCK_RUN
// repeat one, a few hundred times, for moments that only chance brings about). The seed is the clock's unless it is
// given.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_error.hpp"
#include "tests/stream/processes_support.hpp"

namespace accounting {

using namespace penstock;
using Value = std::uint64_t;

void spin(Value turns) {
    for (volatile Value left = turns; left != 0;) left = left - 1;
}

/// 0, 1, 2... below `count`; or, with `enough`, at least so many, until that is said.
struct Source {
    Output<Value> out{"out"};
    Value count, pace, next = 0;
    std::atomic<bool>* enough;
    std::atomic<bool>* ended;
    Source(Value n, Value turns, std::atomic<bool>* end, std::atomic<bool>* has_ended)
        : count(n), pace(turns), enough(end), ended(has_ended) {}
    bool operator()() {
        if (next >= count && (enough == nullptr || enough->load(std::memory_order_relaxed) || next >= 100'000)) {
            ended->store(true);
            return false;
        }
        spin(pace);
        auto buffer = out.make(1);
        buffer.edit()[0] = next;
        buffer.edit_tags().user[0] = next++;
        out.write(std::move(buffer));
        return true;
    }
};

struct Middle {
    static constexpr bool may_be_copied = true;
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value pace;
    explicit Middle(Value turns) : pace(turns) {}
    void operator()() {
        auto buffer = in.read();
        spin(pace);
        out.write(std::move(buffer));
    }
};

/// How often each number came.
struct Seen {
    std::vector<unsigned char> times;
    Value count = 0;
    void add(Value number) {
        if (number >= times.size()) times.resize(2 * number + 16);
        ++times[number];
        ++count;
    }
};

struct Sink {
    Input<Value> in{"in"};
    Seen seen;
    void operator()() { seen.add(in.read()[0]); }
};

enum class Change : int { fewer, more, replace, replace_fewer, anew, remove, insert, move, policy, settings, kinds };

struct Step {
    Change change;
    Removal removal;
    int copies;
    int target;
    Policy policy;
    std::size_t capacity;
    Value delay;  ///< before it
};

/// All that chance decides about a run.
struct Plan {
    enum class Begin { source, endless_source, writer } begin;
    bool reader, ended_first, stop, automatic;
    Value count, source_pace, middle_pace, stop_delay;
    int copies;
    std::size_t capacity;
    std::vector<Step> steps;
};

template <class Number>
Number pick(std::mt19937_64& random, std::initializer_list<Number> from) {
    return from.begin()[random() % from.size()];
}

Plan plan_of(Value seed, Value run, int targets, bool processes) {
    std::mt19937_64 random(seed * 0x9E3779B97F4A7C15u + run);  // the driving thread's alone
    Plan plan{};
    plan.begin =
        pick(random, {Plan::Begin::source, Plan::Begin::source, Plan::Begin::endless_source, Plan::Begin::writer});
    plan.reader = random() % 4 == 0;
    plan.ended_first = random() % 3 != 0;
    plan.stop = random() % 6 == 0;
    plan.automatic = random() % 8 == 0;
    plan.count = 1 + random() % 40;
    plan.source_pace = pick<Value>(random, {0, 0, 300, 3'000});
    plan.middle_pace =
        processes ? pick<Value>(random, {0, 20'000, 100'000}) : pick<Value>(random, {0, 300, 3'000, 30'000});
    plan.stop_delay = random() % 30'000;
    plan.copies = 1 + static_cast<int>(random() % 4);
    plan.capacity = pick<std::size_t>(random, {0, 1, 4, 4, 16, 64});
    for (auto steps = 1 + random() % 3; steps != 0; --steps)
        plan.steps.push_back(
            {.change = static_cast<Change>(random() % static_cast<unsigned>(Change::kinds)),
             .removal = pick(random, {Removal::hand_over, Removal::hand_over, Removal::hand_over, Removal::finish,
                                      Removal::discard}),
             .copies = 1 + static_cast<int>(random() % 4),
             .target = static_cast<int>(random() % static_cast<unsigned>(targets + 1)) - 1,
             .policy = pick(random, {Policy::demand_driven, Policy::round_robin, Policy::random, Policy::by_key}),
             .capacity = pick<std::size_t>(random, {0, 1, 4, 64}),
             .delay = random() % (processes ? 300'000 : 30'000)});
    return plan;
}

/// Where the graph stands, as its edits left it.
struct Shape {
    std::string begin, end;
    Middle* middle;
    bool there = true, extra = false;
    bool discarded = false;
    StreamOptions stream{};
};

void describe(Edit& edit, const Step& step, Shape& shape, Value pace) {
    const std::string first = shape.extra ? "extra.out" : shape.begin;
    if (!shape.there) {
        edit.disconnect(first, shape.end);
        shape.middle = &edit.add<Middle>("middle", {.copies = step.copies}, pace);
        edit.connect(first, "middle.in", shape.stream);
        edit.connect("middle.out", shape.end);
        shape.there = true;
        return;
    }
    const auto replace = [&] { shape.middle = &edit.replace<Middle>(*shape.middle, step.removal, pace); };
    const auto change = [&] { edit.change(first, "middle.in", shape.stream); };
    const bool discards = step.removal == Removal::discard;
    switch (step.change) {
        case Change::fewer:
            edit.copies("middle", 1 + step.copies % 2);
            break;
        case Change::more:
            edit.copies("middle", 2 + step.copies);
            break;
        case Change::replace:
            replace();
            shape.discarded = shape.discarded || discards;
            break;
        case Change::replace_fewer:
            replace();
            edit.copies("middle", 1);
            shape.discarded = shape.discarded || discards;
            break;
        case Change::anew:  // another filter between the same ends, which is nobody's successor
            edit.remove("middle", step.removal);
            shape.middle = &edit.add<Middle>("middle", {.copies = step.copies}, pace);
            edit.connect(first, "middle.in", shape.stream);
            edit.connect("middle.out", shape.end);
            shape.discarded = shape.discarded || discards;
            break;
        case Change::remove:
            edit.remove("middle", step.removal);
            edit.connect(first, shape.end);
            shape.there = false;
            shape.discarded = shape.discarded || discards;
            break;
        case Change::insert:
            if (shape.extra) {
                edit.remove("extra", step.removal);
                edit.connect(shape.begin, "middle.in", shape.stream);
                shape.discarded = shape.discarded || discards;
            } else {
                edit.disconnect(shape.begin, "middle.in");
                edit.add<Middle>("extra", {.copies = step.copies}, pace);
                edit.connect(shape.begin, "extra.in", shape.stream);
                edit.connect("extra.out", "middle.in", shape.stream);
            }
            shape.extra = !shape.extra;
            break;
        case Change::move:
            edit.place("middle", step.target < 0 ? std::vector<int>{} : std::vector<int>{step.target});
            break;
        case Change::policy:
            shape.stream.policy = step.policy;
            change();
            break;
        case Change::settings:
            shape.stream.capacity = step.capacity;
            change();
            break;
        case Change::kinds:
            break;
    }
}

/// What is wrong with a run of this plan; empty when nothing is.
std::string trouble_with(const Plan& plan, Machine& machine) {
    std::atomic<bool> enough{false}, ended{false};
    const FilterOptions here = machine.options().isolation == Isolation::process
                                   ? FilterOptions{.isolation = Isolation::none}
                                   : FilterOptions{};
    Graph graph;
    Shape shape;
    shape.stream.capacity = plan.capacity;
    const bool endless = plan.begin == Plan::Begin::endless_source;
    StreamWriter<Value>* writer = nullptr;
    Source* source = nullptr;
    if (plan.begin == Plan::Begin::writer) writer = &graph.add_writer<Value>("begin");
    else source = &graph.add<Source>("begin", here, plan.count, plan.source_pace, endless ? &enough : nullptr, &ended);
    shape.begin = writer != nullptr ? "begin.output" : "begin.out";
    shape.middle = &graph.add<Middle>("middle", {.copies = plan.automatic ? FilterOptions::automatic : plan.copies},
                                      plan.middle_pace);
    StreamReader<Value>* reader = nullptr;
    Sink* sink = nullptr;
    if (plan.reader) reader = &graph.add_reader<Value>("end");
    else sink = &graph.add<Sink>("end", here);
    shape.end = reader != nullptr ? "end.input" : "end.in";
    graph.connect(shape.begin, "middle.in", shape.stream);
    graph.connect("middle.out", shape.end);
    auto run = graph.start(machine);

    Value written = 0;
    std::thread writing;
    if (writer != nullptr)
        writing = std::thread([&] {
            try {
                for (; written < plan.count; ++written) {
                    spin(plan.source_pace);
                    writer->write(std::vector<Value>{written});
                }
                if (!plan.ended_first)
                    while (!enough) std::this_thread::yield();
                writer->close();
            } catch (const RunEnded&) {  // stopped
            }
            ended = true;
        });
    std::string text;
    std::thread editing([&] {
        try {
            for (const Step& step : plan.steps) {
                if (plan.ended_first && !endless)
                    while (!ended) std::this_thread::yield();
                spin(step.delay);
                auto next = shape;
                try {
                    run.edit([&](Edit& edit) { describe(edit, step, next, plan.middle_pace); });
                    shape = next;
                } catch (const GraphError&) {  // what it connects has ended: nothing has changed
                }
            }
        } catch (const RunEnded&) {
        } catch (const std::exception& error) {
            text += std::string("edit: ") + error.what() + "\n";
        }
        enough = true;
        if (!plan.stop) return;
        spin(plan.stop_delay);
        run.stop();
    });
    Seen read;
    try {
        if (reader != nullptr)
            while (const auto buffer = reader->read()) read.add((*buffer)[0]);
        if (writing.joinable()) writing.join();
        editing.join();
        run.finish();
    } catch (const std::exception& error) {
        text += std::string("finish: ") + error.what() + "\n" + run.report();
        enough = true;
        if (writing.joinable()) writing.join();
        if (editing.joinable()) editing.join();
    }
    if (source != nullptr) written = source->next;
    const Seen& seen = sink != nullptr ? sink->seen : read;
    const auto figures = run.statistics();
    Value dropped = figures.lost;
    for (const auto& filter : figures.filters) dropped += filter.dropped;
    const Value named = run.lost().size();
    for (Value number = 0; number < seen.times.size(); ++number) {
        if (seen.times[number] > 1)
            text += "buffer " + std::to_string(number) + " came " + std::to_string(seen.times[number]) + " times\n";
        if (seen.times[number] != 0 && number >= written)
            text += "buffer " + std::to_string(number) + " was never written\n";
    }
    if (seen.count + dropped + named != written || (dropped != 0 && !plan.stop && !shape.discarded) || named != 0)
        text += std::to_string(written) + " written, " + std::to_string(seen.count) + " seen, " +
                std::to_string(dropped) + " dropped, " + std::to_string(named) + " lost with workers\n" +
                figures.text() + run.report();
    return text;
}

std::string text_of(const Plan& plan) {
    std::string text = "begin " + std::to_string(static_cast<int>(plan.begin)) + ", " + std::to_string(plan.count) +
                       " buffers, " + (plan.automatic ? "automatic" : std::to_string(plan.copies)) +
                       " copies, capacity " + std::to_string(plan.capacity) + (plan.reader ? ", reader" : "") +
                       (plan.ended_first ? ", edits when the source has ended" : "") + (plan.stop ? ", stop" : "") +
                       "; edits";
    for (const Step& step : plan.steps)
        text += " " + std::to_string(static_cast<int>(step.change)) + " (removal " +
                std::to_string(static_cast<int>(step.removal)) + ", copies " + std::to_string(step.copies) +
                ", target " + std::to_string(step.target) + ")";
    return text;
}

std::optional<Value> number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? std::nullopt : std::optional<Value>(std::strtoull(text, nullptr, 10));
}

char under_way[200];  ///< what the watchdog says

void count_buffers(int runs, int targets, bool processes) {
    const auto seed =
        number_in("PENSTOCK_SEED")
            .value_or(static_cast<Value>(std::chrono::steady_clock::now().time_since_epoch().count() % 1'000'000'000));
    const auto only = number_in("PENSTOCK_RUN");
    std::signal(SIGALRM, [](int) {
        static_cast<void>(!write(2, under_way, std::strlen(under_way)));
        std::abort();
    });
    const int runs_a_machine = 50;
    std::optional<Machine> machine;
    for (int i = 0; i < runs; ++i) {
        const auto run = only.value_or(static_cast<Value>(i));
        std::snprintf(under_way, sizeof under_way, "\nhangs; again by PENSTOCK_SEED=%llu PENSTOCK_RUN=%llu\n",
                      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(run));
        if (i % runs_a_machine == 0) {
            machine.reset();
            machine.emplace(processes ? processes::workers(targets) : MachineOptions{.targets = targets});
        }
        const auto plan = plan_of(seed, run, targets, processes);
        const auto trouble = trouble_with(plan, *machine);
        ASSERT_EQ(trouble, "") << "again by PENSTOCK_SEED=" << seed << " PENSTOCK_RUN=" << run << ": " << text_of(plan);
    }
}

/// Each buffer goes round as often as its number says, less than ten times.
struct Rounds {
    Input<Value> fresh{"fresh", {.required = false}}, back{"back", {.required = false}};
    Output<Value> again{"again"}, out{"out"};
    void operator()() {
        for (auto* const in : {&back, &fresh})
            if (auto buffer = in->read_if_any()) {
                auto& left = buffer->edit_tags().user[1];
                if (in == &fresh) left = (*buffer)[0] % 10;
                if (left == 0) out.write(std::move(*buffer));
                else --left, again.write(std::move(*buffer));
            }
    }
};

/// The filters of a circle on any targets, and how the run ends: by itself, or stopped.
void count_buffers_of_circles(int runs) {
    const auto seed =
        number_in("PENSTOCK_SEED")
            .value_or(static_cast<Value>(std::chrono::steady_clock::now().time_since_epoch().count() % 1'000'000'000));
    std::optional<Machine> machine;
    for (int i = 0; i < runs; ++i) {
        const auto number = number_in("PENSTOCK_RUN").value_or(static_cast<Value>(i));
        std::mt19937_64 random(seed * 0x9E3779B97F4A7C15u + number);
        constexpr int targets = 3;
        if (i % 50 == 0) {
            machine.reset();
            machine.emplace(MachineOptions{.targets = targets});
        }
        const auto somewhere = [&] {
            const auto target = static_cast<int>(random() % (targets + 1)) - 1;
            return FilterOptions{.targets = target < 0 ? std::vector<int>{} : std::vector<int>{target}};
        };
        const bool stop = random() % 4 == 0;
        const Value delay = random() % 100'000;
        std::atomic<bool> ended{false};
        Graph graph;
        auto& source = graph.add<Source>("source", somewhere(), random() % 100, 0, nullptr, &ended);
        auto& rounds = graph.add<Rounds>("rounds", somewhere());
        graph.add<Middle>("middle", somewhere(), random() % 1'000);
        auto& sink = graph.add<Sink>("sink", somewhere());
        graph.connect("source.out", "rounds.fresh", {.capacity = 1 + random() % 4});
        graph.connect("rounds.again", "middle.in", {.capacity = 200});
        graph.connect("middle.out", "rounds.back", {.capacity = 200, .feedback = true});
        graph.connect(rounds.out, sink.in, {.capacity = 1 + random() % 4});
        auto run = graph.start(*machine);
        if (stop) {
            spin(delay);
            run.stop();
        }
        run.finish();
        Value dropped = 0;
        for (const auto& filter : run.statistics().filters) dropped += filter.dropped;
        ASSERT_EQ(sink.seen.count + dropped, source.next)
            << "again by PENSTOCK_SEED=" << seed << " PENSTOCK_RUN=" << number;
        if (!stop) {
            ASSERT_EQ(dropped, 0u) << "again by PENSTOCK_SEED=" << seed << " PENSTOCK_RUN=" << number;
        }
    }
}

/// Both buffers have the same number.
struct Join {
    static constexpr bool may_be_copied = true;
    Input<Value> a{"a"}, b{"b"};
    std::atomic<Value>* pairs;
    std::atomic<Value>* torn;
    Value pace;
    Join(std::atomic<Value>* all, std::atomic<Value>* wrong, Value turns) : pairs(all), torn(wrong), pace(turns) {}
    void operator()() {
        spin(pace);
        const auto x = a.read(), y = b.read();
        if (x[0] != y[0]) torn->fetch_add(1);
        pairs->fetch_add(1);
    }
};

/// Copies of a filter with two inputs go, behind the end of both sources: what belongs together goes to the same copy.
void count_pairs(int runs) {
    const auto seed =
        number_in("PENSTOCK_SEED")
            .value_or(static_cast<Value>(std::chrono::steady_clock::now().time_since_epoch().count() % 1'000'000'000));
    constexpr int targets = 3;
    Machine machine({.targets = targets});
    for (int i = 0; i < runs; ++i) {
        const auto number = number_in("PENSTOCK_RUN").value_or(static_cast<Value>(i));
        std::mt19937_64 random(seed * 0x9E3779B97F4A7C15u + number);
        const Value count = 1 + random() % 60;
        std::atomic<bool> first_ended{false}, second_ended{false};
        std::atomic<Value> pairs{0}, torn{0};
        const auto pace = pick<Value>(random, {0, 3'000, 100'000, 100'000});
        const auto placed = random() % 3 == 0 ? std::vector<int>{0, 1, 2} : std::vector<int>{};
        Graph graph;
        auto& first = graph.add<Source>("first", {}, count, pick<Value>(random, {0, 300}), nullptr, &first_ended);
        auto& second = graph.add<Source>("second", {}, count, pick<Value>(random, {0, 300}), nullptr, &second_ended);
        auto* join = &graph.add<Join>("join", {.copies = 2 + static_cast<int>(random() % 4), .targets = placed}, &pairs,
                                      &torn, pace);
        const StreamOptions stream{.policy = Policy::round_robin, .capacity = 400};
        graph.connect(first.out, join->a, stream);
        graph.connect(second.out, join->b, stream);
        auto run = graph.start(machine);
        while (!first_ended || !second_ended) std::this_thread::yield();
        try {
            for (auto steps = 1 + random() % 2; steps != 0; --steps) {
                spin(random() % 300'000);  // the sources' ends get about
                const auto copies = 1 + static_cast<int>(random() % 4);
                run.edit([&](Edit& edit) {
                    if (random() % 3 == 0) join = &edit.replace<Join>(*join, Removal::hand_over, &pairs, &torn, pace);
                    edit.copies("join", copies);
                });
            }
        } catch (const RunEnded&) {
        } catch (const GraphError&) {  // one of its copies has ended
        }
        run.finish();
        const auto again = "again by PENSTOCK_SEED=" + std::to_string(seed) + " PENSTOCK_RUN=" + std::to_string(number);
        ASSERT_EQ(pairs, count) << again << "\n" << run.statistics().text();
        ASSERT_EQ(torn, 0u) << again;
    }
}

int scaled_runs(int brief, int sanitized, int more) {
    return task_tests::long_run() ? more : number_in("PENSTOCK_RUN") ? 300 : task_tests::scaled(brief, sanitized);
}

TEST(Accounting, no_buffer_is_lost_or_repeated_on_one_target) { count_buffers(scaled_runs(200, 60, 50'000), 1, false); }
TEST(Accounting, no_buffer_is_lost_or_repeated_on_three_targets) {
    count_buffers(scaled_runs(200, 60, 50'000), 3, false);
}
TEST(Accounting, no_buffer_is_lost_or_repeated_on_worker_processes) {
    SKIP_WITHOUT_PROCESSES();
    count_buffers(scaled_runs(40, 15, 10'000), 2, true);
}
TEST(Accounting, no_buffer_is_lost_in_a_circle) { count_buffers_of_circles(scaled_runs(150, 40, 20'000)); }
TEST(Accounting, no_pair_is_torn_when_copies_of_a_filter_with_two_inputs_go) {
    count_pairs(scaled_runs(150, 40, 20'000));
}

}  // namespace accounting
