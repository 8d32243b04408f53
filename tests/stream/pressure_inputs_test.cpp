// Automatic numbers of copies of filters that read several streams.
#include "stream/pressure_parts.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using parts::Collect;
using pressure::come_and_go;
using pressure::Faucet;
using pressure::of;

namespace {

/// Takes its time without a processor, as all here do.
struct Rest {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        std::this_thread::sleep_for(200us);
        out.write(std::move(buffer));
    }
};

struct Either {
    static constexpr bool may_be_copied = true, on_any_input = true;
    Input<int> a{"a"}, b{"b"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = a.read_if_any();
        if (!buffer) buffer = b.read_if_any();
        std::this_thread::sleep_for(200us);
        out.write(std::move(*buffer));
    }
};

struct Both {
    static constexpr bool may_be_copied = true;
    Input<int> a{"a"}, b{"b"};
    Output<int> of_a{"of a"}, of_b{"of b"};
    void operator()() {
        auto one = a.read(), other = b.read();
        std::this_thread::sleep_for(200us);
        of_a.write(std::move(one));
        of_b.write(std::move(other));
    }
};

struct Pairs {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in", {.at_least = 2}};
    Output<int> first{"first"}, second{"second"};
    void operator()() {
        auto one = in.read();
        std::this_thread::sleep_for(200us);
        first.write(std::move(one));
        if (auto other = in.read_if_any()) second.write(std::move(*other));
    }
};

std::vector<int> sorted(std::vector<int> all) {
    std::ranges::sort(all);
    return all;
}

std::vector<int> of_both(const Faucet& one, const Faucet& other) {
    auto all = parts::numbers(one.given);
    for (const int each : parts::numbers(other.given)) all.push_back(each);
    return sorted(all);
}

constexpr FilterOptions automatic{.copies = FilterOptions::automatic};

}  // namespace

TEST(PressureOfSeveralStreams, copies_come_and_go_where_several_streams_lead_to_one_input) {
    Machine machine{{.targets = 3}};
    Graph graph;
    auto& one = graph.add<Faucet>("one");
    auto& other = graph.add<Faucet>("other");
    auto& rest = graph.add<Rest>("rest", automatic);
    auto& collect = graph.add<Collect>("collect");
    graph.connect(one.out, rest.in);
    graph.connect(other.out, rest.in, {.policy = Policy::random});
    graph.connect(rest.out, collect.in);
    auto run = graph.start(machine);
    come_and_go(run, "rest", {&one.slow, &other.slow}, 3);
    one.ends = true;
    come_and_go(run, "rest", {&other.slow}, 3);
    other.ends = true;
    run.finish();
    EXPECT_EQ(sorted(collect.got), of_both(one, other));
}

TEST(PressureOfSeveralStreams, copies_come_and_go_where_a_buffer_at_any_input_is_enough) {
    for (const bool shared : {false, true}) {
        Machine machine{{.targets = 3}};
        Graph graph;
        auto& one = graph.add<Faucet>("one");
        auto& other = graph.add<Faucet>("other");
        auto& either = graph.add<Either>("either", automatic);
        auto& collect = graph.add<Collect>("collect");
        auto& beside = graph.add<Collect>("beside");
        graph.connect(one.out, either.a);
        graph.connect(other.out, either.b);
        graph.connect(either.out, collect.in);
        graph.connect(shared ? one.out : other.out, beside.in);
        auto run = graph.start(machine);
        come_and_go(run, "either", {&one.slow, &other.slow}, 3);
        one.ends = other.ends = true;
        run.finish();
        EXPECT_EQ(sorted(collect.got), of_both(one, other));
        EXPECT_EQ(beside.got, parts::numbers(shared ? one.given : other.given));
    }
}

TEST(PressureOfSeveralStreams, copies_come_and_go_where_each_input_needs_a_buffer_and_leave_none_behind) {
    Machine machine{{.targets = 3}};
    Graph graph;
    auto& one = graph.add<Faucet>("one");
    auto& other = graph.add<Faucet>("other");
    auto& both = graph.add<Both>("both", automatic);
    auto& of_one = graph.add<Collect>("of one");
    auto& of_other = graph.add<Collect>("of other");
    graph.connect(one.out, both.a);
    graph.connect(other.out, both.b);
    graph.connect(both.of_a, of_one.in);
    graph.connect(both.of_b, of_other.in);
    auto run = graph.start(machine);
    come_and_go(run, "both", {&one.slow, &other.slow}, 3);
    one.most = other.most = std::max<int>(one.given, other.given) + 10;
    run.finish();
    EXPECT_EQ(sorted(of_one.got), parts::numbers(one.given));
    EXPECT_EQ(sorted(of_other.got), parts::numbers(one.given));
    EXPECT_EQ(of(run, "both").dropped, 0u);
}

TEST(PressureOfSeveralStreams, copies_come_and_go_where_a_firing_needs_several_buffers_of_one_input) {
    Machine machine{{.targets = 3}};
    Graph graph;
    auto& faucet = graph.add<Faucet>("faucet");
    auto& pairs = graph.add<Pairs>("pairs", automatic);
    auto& collect = graph.add<Collect>("collect");
    graph.connect(faucet.out, pairs.in);
    graph.connect(pairs.first, collect.in);
    graph.connect(pairs.second, collect.in);
    auto run = graph.start(machine);
    come_and_go(run, "pairs", {&faucet.slow}, 3);
    faucet.ends = true;
    run.finish();
    EXPECT_EQ(sorted(collect.got), parts::numbers(faucet.given));
}

TEST(PressureOfSeveralStreams, what_one_stream_brings_too_little_of_asks_for_no_copies) {
    Machine machine{{.targets = 3}};
    Graph graph;
    auto& one = graph.add<Faucet>("one");
    auto& other = graph.add<Faucet>("other");
    auto& both = graph.add<Both>("both", automatic);
    graph.connect(one.out, both.a);
    graph.connect(other.out, both.b);
    auto& collect = graph.add<Collect>("collect");
    graph.connect(both.of_a, collect.in);
    other.slow = true;  // what `one` brings waits everywhere
    auto run = graph.start(machine);
    EXPECT_TRUE(pressure::comes([&] { return of(run, "both").copies == 1; })) << run.report();
    one.ends = other.ends = true;
    run.finish();
}

TEST(PressureOfSeveralStreams, the_number_stays_where_a_copy_that_goes_could_leave_a_buffer_behind) {
    enum class Why { order, shared, order_of_pairs, by_key };
    for (const auto why : {Why::order, Why::shared, Why::order_of_pairs, Why::by_key}) {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& one = graph.add<Faucet>("one");
        auto& other = graph.add<Faucet>("other");
        auto& collect = graph.add<Collect>("collect");
        auto& beside = graph.add<Collect>("beside");
        one.slow = other.slow = true;
        if (why == Why::order_of_pairs) {
            auto& pairs = graph.add<Pairs>("filter", automatic);
            graph.connect(one.out, pairs.in);
            graph.connect(other.out, beside.in);
            graph.connect(pairs.first, collect.in, {.ordered = true});
        } else {
            auto& both = graph.add<Both>("filter", automatic);
            graph.connect(one.out, both.a, {.policy = why == Why::by_key ? Policy::by_key : Policy::demand_driven});
            graph.connect(other.out, both.b);
            graph.connect(both.of_a, collect.in, {.ordered = why == Why::order});
            if (why == Why::shared) graph.connect(other.out, beside.in);
            else graph.connect(both.of_b, beside.in);
        }
        auto run = graph.start(machine);
        std::this_thread::sleep_for(150ms);
        EXPECT_EQ(of(run, "filter").copies, 3) << static_cast<int>(why);
        run.stop();
    }
}
