// Automatic numbers of copies of filters that live in worker processes.
#include "stream/pressure_parts.hpp"
#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using parts::Collect;
using pressure::come_and_go;
using pressure::comes;
using pressure::of;

namespace {

/// Takes its time without a processor. Says in which process, and keeps a state.
struct Rest {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    std::uint64_t firings = 0;
    auto state() { return std::tie(firings); }
    void operator()() {
        auto buffer = in.read();
        std::this_thread::sleep_for(300us);
        ++firings;
        buffer.edit_tags().user[1] = static_cast<std::uint64_t>(getpid());
        out.write(std::move(buffer));
    }
};

/// Each buffer comes out a firing later, in the worker's memory until then; the last with the end.
struct Keep {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    penstock::Buffer<int> kept;
    void operator()() {
        if (kept) out.write(std::move(kept));
        kept = in.read();
        std::this_thread::sleep_for(300us);
    }
    void finish() {
        if (kept) out.write(std::move(kept));
    }
};

/// Some numbers end the process.
struct Fragile {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        std::this_thread::sleep_for(300us);
        if (buffer[0] % 500 == 499) std::_Exit(1);
        out.write(std::move(buffer));
    }
};

struct CollectPlaces {
    Input<int> in{"in"};
    std::vector<int> got;
    std::set<std::uint64_t> processes;
    void operator()() {
        const auto buffer = in.read();
        got.push_back(buffer[0]);
        processes.insert(buffer.tags().user[1]);
    }
};

/// What a Faucet does, by a thread of the program: one that fired in the program would keep the only thread that looks
/// after the workers.
struct Feed {
    StreamWriter<int>& writer;
    std::atomic<bool> slow{true}, ends{false};
    std::atomic<int> given{0};
    std::thread thread{};

    explicit Feed(Graph& graph) : writer(graph.add_writer<int>("feed")) {}
    ~Feed() { end(); }
    void begin() {
        thread = std::thread([this] {
            try {
                while (!ends) {
                    if (slow) std::this_thread::sleep_for(20ms);
                    writer.write(std::vector<int>{given});
                    ++given;
                }
                writer.close();
            } catch (const RunEnded&) {  // it was stopped
            }
        });
    }
    void end() {
        ends = true;
        if (thread.joinable()) thread.join();
    }
};

const FilterOptions here{.isolation = Isolation::none};

}  // namespace

TEST(PressureInProcesses, copies_come_and_go_and_lose_nothing) {
    SKIP_WITHOUT_PROCESSES();
    for (const bool ordered : {true, false})
        for (const bool placed : {false, true}) {
            Machine machine(processes::workers(3));
            FilterOptions options{.copies = FilterOptions::automatic};
            if (placed) options.targets = {2, 0};
            Graph graph;
            Feed feed(graph);
            auto& rest = graph.add<Rest>("rest", options);
            auto& collect = graph.add<CollectPlaces>("collect", here);
            graph.connect(feed.writer.output, rest.in);
            graph.connect(rest.out, collect.in, {.ordered = ordered});
            auto run = graph.start(machine);
            feed.begin();
            EXPECT_EQ(of(run, "rest").copies, placed ? 2 : 3);
            come_and_go(run, "rest", {&feed.slow}, 2);
            feed.end();
            run.finish();
            if (!ordered) std::ranges::sort(collect.got);
            EXPECT_EQ(collect.got, parts::numbers(feed.given));
            EXPECT_EQ(of(run, "rest").firings, collect.got.size());
            EXPECT_EQ(of(run, "rest").lost + of(run, "rest").dropped, 0u);
            EXPECT_TRUE(collect.processes.size() == 2 || (!placed && collect.processes.size() == 3))
                << collect.processes.size() << " processes: a copy that comes again is where it was";
            EXPECT_FALSE(collect.processes.contains(static_cast<std::uint64_t>(getpid())));
        }
}

TEST(PressureInProcesses, what_a_copy_that_goes_has_kept_it_writes_at_its_end) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(processes::workers(2));
    Graph graph;
    Feed feed(graph);
    auto& keep = graph.add<Keep>("keep", {.copies = FilterOptions::automatic});
    auto& collect = graph.add<Collect>("collect", here);
    graph.connect(feed.writer.output, keep.in);
    graph.connect(keep.out, collect.in);
    auto run = graph.start(machine);
    feed.begin();
    come_and_go(run, "keep", {&feed.slow}, 2);
    feed.end();
    run.finish();
    std::ranges::sort(collect.got);
    EXPECT_EQ(collect.got, parts::numbers(feed.given));
}

TEST(PressureInProcesses, a_worker_that_dies_while_copies_come_and_go_takes_only_what_its_copy_had) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(processes::workers(2));
    Graph graph;
    Feed feed(graph);
    auto& fragile = graph.add<Fragile>("fragile", {.copies = FilterOptions::automatic, .on_failure = OnFailure::go_on});
    auto& collect = graph.add<Collect>("collect", here);
    graph.connect(feed.writer.output, fragile.in);
    graph.connect(fragile.out, collect.in);
    auto run = graph.start(machine);
    feed.begin();
    come_and_go(run, "fragile", {&feed.slow}, 2);
    feed.slow = false;
    EXPECT_TRUE(comes([&] { return feed.given > 1'100; }));
    feed.end();
    EXPECT_THROW(run.finish(), FilterFailed);
    std::ranges::sort(collect.got);
    std::vector<int> wanted;
    for (int i = 0; i < feed.given; ++i)
        if (i % 500 != 499) wanted.push_back(i);
    EXPECT_EQ(collect.got, wanted);
    EXPECT_EQ(run.lost().size(), static_cast<std::size_t>(feed.given / 500));
}

TEST(PressureInProcesses, a_run_that_is_stopped_while_copies_come_and_go_ends) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(processes::workers(2));
    for (int round = 0; round < 8; ++round) {
        Graph graph;
        Feed feed(graph);
        auto& rest = graph.add<Rest>("rest", {.copies = FilterOptions::automatic});
        auto& collect = graph.add<Collect>("collect", here);
        graph.connect(feed.writer.output, rest.in);
        graph.connect(rest.out, collect.in, {.ordered = true});
        feed.slow = round % 2 == 0;
        auto run = graph.start(machine);
        feed.begin();
        std::this_thread::sleep_for(std::chrono::milliseconds(25 + 8 * round));
        run.stop();
        feed.end();
        EXPECT_TRUE(run.ended());
        EXPECT_TRUE(std::ranges::is_sorted(collect.got));
    }
}
