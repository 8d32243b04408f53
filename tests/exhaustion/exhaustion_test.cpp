// Whatever the system refuses (memory, mappings, threads, descriptors, space in shared memory, processes), once or from
// some moment on: each thing that a program does with Penstock ends, in a typed error or well. Each attempt is a
// process of its own with a deadline. The short form refuses at moments that are spread over all; the long one
// (PENSTOCK_LONG=1) at each. EXHAUSTION_KIND (memory, mapping ...) and EXHAUSTION_PLACE (a number) choose.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/penstock.hpp"
#include "tests/bounded_child.hpp"
#include "tests/exhaustion/refusals.hpp"

namespace {

using namespace penstock;
using exhaustion::Kind;

constexpr int wrong_result = 77;
constexpr int untyped_error = 78;
constexpr int typed_error = 1;

// ---- what programs do ----

void add_one(std::span<const int> from, std::span<int> to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] + 1;
}

MachineOptions targets(int count) {
    MachineOptions options;
    options.targets = count;
    return options;
}

/// A task waits for one that comes after others: those that it looks at and does not run must not be lost.
void wait_inside_a_task(Machine& machine, std::atomic<bool>& issued, Handle& awaited) {
    const struct Opens {
        std::atomic<bool>& gate;
        ~Opens() { gate.store(true); }
    } opens{issued};
    machine.call(boxed([&] {
        while (!issued.load()) std::this_thread::yield();
        if (awaited != Handle{}) awaited.wait();
    }));
    machine.after(Handle{}).call([] {});
    const auto before = machine.after(Handle{}).call([] {});
    awaited = machine.after(before).call([] {});
}

bool task() {
    std::atomic<bool> issued{false};
    Handle awaited;
    Machine machine(targets(2));
    std::vector<int> a(100), b(100), c(100);
    for (int i = 0; i < 50; ++i) machine.call<add_one>(in(a), out(b)).wait();
    Dependences order(machine);
    order.call<add_one>(in(a), out(b));
    order.call<add_one>(in(b), out(c));
    order.wait();
    const auto first = machine.call<add_one>(in(a), out(b));
    machine.after(first).call<add_one>(in(b), out(c));
    machine.barrier();
    int told = 0;
    machine.with({.priority = Priority::high, .then = [&told](Handle) { ++told; }}).call<add_one>(in(a), out(b));
    machine.barrier();
    wait_inside_a_task(machine, issued, awaited);
    machine.barrier();
    machine.call(boxed([held = std::vector<int>(100)] { (void)held; }));
    machine.for_each(1000, [&](std::size_t i) { a[i % 100] = 1; });
    machine.finish();
    return c[0] == 2 && told == 1;
}

struct Source {
    Output<int> out{"out"};
    int n = 0;
    bool operator()() {
        auto buffer = out.make(static_cast<std::size_t>(1000 + n));
        buffer.edit()[0] = n;
        out.write(std::move(buffer));
        return ++n < 50 || !edited.load();
    }
    static inline std::atomic<bool> edited{false};
};
struct Pass {
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() { out.write(in.read()); }
};
struct Sink {
    Input<int> in{"in"};
    int count = 0;
    void operator()() {
        in.read();
        ++count;
    }
};

bool stream() {
    Machine machine(targets(2));
    Graph graph;
    auto& source = graph.add<Source>("source");
    auto& pass = graph.add<Pass>("pass");
    auto& sink = graph.add<Sink>("sink");
    graph.connect(source.out, pass.in);
    graph.connect(pass.out, sink.in, {.capacity = 4});
    auto run = graph.start(machine);
    run.edit([&](Edit& edit) {
        auto& fresh = edit.add<Pass>("fresh");
        edit.disconnect(source.out, pass.in);
        edit.connect(source.out, fresh.in);
        edit.connect(fresh.out, pass.in);
    });
    Source::edited.store(true);
    run.finish();
    return !run.statistics().text().empty() && sink.count == source.n;
}

/// Every buffer goes to a station of another target, most by a task.
bool placed() {
    constexpr int branches = 12;
    Source::edited.store(true);
    Machine machine(targets(2));
    Graph graph;
    auto& source = graph.add<Source>("source", {.targets = {0}});
    std::vector<Sink*> sinks;
    for (int i = 0; i < branches; ++i) {
        auto& pass = graph.add<Pass>("pass" + std::to_string(i), {.targets = {i % 2}});
        auto& sink = graph.add<Sink>("sink" + std::to_string(i), {.targets = {1 - i % 2}});
        graph.connect(source.out, pass.in, {.policy = Policy::broadcast, .name = "to all"});
        graph.connect(pass.out, sink.in, {.capacity = 4});
        sinks.push_back(&sink);
    }
    graph.start(machine).finish();
    return std::all_of(sinks.begin(), sinks.end(), [&](const Sink* sink) { return sink->count == source.n; });
}

void exchange(Rank me) {
    Messenger post(me);
    std::vector<double> values(10'000, 1.0);
    if (me.index() == 0)
        for (int i = 0; i < 10; ++i) post.send(1, values);
    else
        for (int i = 0; i < 10; ++i) post.recv(0, values);
}
bool message() {
    spmd(2, &exchange);
    spmd(2, &exchange, {.substrate = Substrate::processes});
    return true;
}

void share(Rank me) {
    Region<int> region(me, "r", 10'000);
    region.grant(1 - me.index());
    auto remote = Remote<int>::accept(me, 1 - me.index(), "r");
    Barrier barrier(me, "b");
    remote[3] = me.index();
    barrier.arrive_and_wait();
    Mutex mutex(me, "m");
    const std::lock_guard lock(mutex);
}
bool store() {
    spmd(2, &share);
    spmd(2, &share, {.substrate = Substrate::processes});
    return true;
}

bool isolation() {
    auto options = targets(1);
    options.isolation = Isolation::process;
    Machine machine(options);
    std::vector<int> a(100), b(100);
    for (int i = 0; i < 5; ++i) machine.call<add_one>(in(a), out(b)).wait();
    auto array = machine.array<int>(1000);
    try {
        machine.call([] { std::raise(SIGKILL); }).wait();
    } catch (const TaskFailed&) {
    }
    machine.call<add_one>(in(a), out(b)).wait();
    machine.finish();
    return b[0] == 1;
}

bool language() {
    static constexpr const char* text =
        R"(<application xmlns="urn:penstock:application:1" name="a"><event name="e"/><timer event="e" after="0.001"/>
<component name="numbers" class="numbers"><set name="count" value="${20+30}"/></component><component name="sum" class="sum"/>
<component name="result" class="print"/><repeat index="i" from="0" to="1"><component name="s${i}" class="scale"/></repeat>
<stream from="numbers.out" to="s0.in"/><stream from="s0.out" to="s1.in"/><stream from="s1.out" to="sum.in"/><stream from="sum.out" to="result.in"/>
<manager name="m"><on event="e" component="s1" setting="factor" value="2"/></manager></application>)";
    Machine machine(targets(1));
    auto application = Application::parse(text);
    application.start(machine).finish();
    return !to_xml(application).empty();
}

// ---- one attempt ----

struct Scenario {
    const char* name;
    bool (*run)();
};
constexpr Scenario scenarios[] = {{"task", &task},        {"stream", &stream}, {"placed", &placed},
                                  {"message", &message},  {"store", &store},   {"isolation", &isolation},
                                  {"language", &language}};

/// In a process of its own. `asked`: where it says how often it asked.
penstock_tests::Ending attempt(const Scenario& scenario, Kind kind, long first, long count, long* asked) {
    return penstock_tests::ending_of(
        [&] {
            constexpr rlimit none{0, 0};
            setrlimit(RLIMIT_CORE, &none);
            dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
            if (scenario.run == &isolation) launch();
            int code = 0;
            exhaustion::refuse(kind, first, count);
            try {
                code = scenario.run() ? 0 : wrong_result;
            } catch (const penstock::Error& error) {
                code = typed_error;
                (void)exhaustion::allow();
                std::fprintf(stderr, "%s\n", error.what());
            } catch (const std::bad_alloc&) {
                code = typed_error;
            } catch (const std::exception& error) {
                (void)exhaustion::allow();
                std::fprintf(stderr, "an error without a type of its own: %s\n", error.what());
                code = untyped_error;
            }
            if (code == 0) *asked = exhaustion::allow();
            return code;
        },
        std::chrono::seconds(5));
}

std::string judged(const penstock_tests::Ending& ending) {
    if (ending.good() || (!ending.hung && ending.signal == 0 && ending.code == typed_error)) return {};
    if (ending.code == wrong_result) return "it went on, with a wrong result";
    return ending.text().substr(0, 600);
}

class Exhaustion : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(Exhaustion, ends_in_a_typed_error_or_well) {
    const auto& scenario = scenarios[std::get<0>(GetParam())];
    const long count = std::get<1>(GetParam()) ? exhaustion::never : 1;
    if (std::string(scenario.name) == "isolation" && count == exhaustion::never)
        GTEST_SKIP() << "a supervisor of workers that never again gets memory ends the program (docs/reliability.md: "
                        "not promised)";
    if (std::string(scenario.name) == "placed" && count == exhaustion::never)
        GTEST_SKIP() << "filters with a place wait until there is memory (docs/reliability.md: not promised)";
    const bool longer = std::getenv("PENSTOCK_LONG") != nullptr;
    const char* const one_place = std::getenv("EXHAUSTION_PLACE");
    const char* const only = std::getenv("EXHAUSTION_KIND");
    constexpr long most_places = 14;
    auto* const asked =
        static_cast<long*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    {
        Machine warm(targets(1));  // what the process works out once
    }
    for (int number = 0; number < exhaustion::kinds; ++number) {
        const auto kind = static_cast<Kind>(number);
        if (only != nullptr && std::string(only) != exhaustion::name_of(kind)) continue;
        const auto counted = attempt(scenario, kind, exhaustion::never, 1, asked);
        ASSERT_TRUE(counted.good()) << scenario.name << ": " << counted.text();
        const long places = *asked;
        std::map<std::string, std::vector<long>> wrong;
        // Requests that come late are more alike than the first ones.
        std::set<long> chosen;
        const long sample = longer ? places : std::min(places, most_places);
        for (long i = 0; i < sample; ++i)
            chosen.insert(longer || places <= most_places ? i : places * i * i / (sample * sample));
        if (one_place != nullptr) chosen = {std::atol(one_place)};
        for (const long place : chosen) {
            const auto ending = attempt(scenario, kind, place, count, asked);
            if (auto text = judged(ending); !text.empty()) wrong[text].push_back(place);
        }
        for (const auto& [text, at] : wrong) {
            std::string all;
            for (std::size_t i = 0; i < std::min<std::size_t>(at.size(), 10); ++i) all += " " + std::to_string(at[i]);
            ADD_FAILURE() << scenario.name << ", " << exhaustion::name_of(kind) << " refused "
                          << (count == 1 ? "once at" : "from") << all << " (" << at.size() << " of " << chosen.size()
                          << " tried of " << places << "): " << text;
        }
    }
    munmap(asked, 4096);
}

INSTANTIATE_TEST_SUITE_P(Each, Exhaustion,
                         testing::Combine(testing::Range(0, static_cast<int>(std::size(scenarios))), testing::Bool()),
                         [](const auto& each) {
                             return std::string(scenarios[std::get<0>(each.param)].name) +
                                    (std::get<1>(each.param) ? "_from_then_on" : "_once");
                         });

}  // namespace
