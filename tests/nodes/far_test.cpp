// Streams between two nodes behave as streams inside one: policies, order, room, ends, tags, events.
#include <set>

#include "nodes/far_support.hpp"
#include "stream/parts.hpp"

namespace penstock::streaming {
namespace {

using namespace std::chrono_literals;
using parts::Collect;
using parts::Numbers;
using parts::numbers;
using parts::PassOn;

/// Ends after so many.
struct TakesFew {
    Input<int> in{"in"};
    int most, taken = 0;
    explicit TakesFew(int n) : most(n) {}
    bool operator()() { return in.read(), ++taken < most; }
};

/// 0, 1, 2... up to `n`; others may look how far it is.
struct Counted {
    Output<int> out{"out"};
    std::atomic<int> end;
    std::atomic<int> next{0};
    std::atomic<bool> may_begin;
    explicit Counted(int n, bool at_once = true) : end(n), may_begin(at_once) {}
    bool operator()() {
        while (!may_begin) std::this_thread::yield();
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return next < end;
    }
};

struct Slow {
    Input<int> in{"in"};
    std::atomic<int> taken{0};
    std::vector<int> got;
    std::chrono::microseconds pause;
    explicit Slow(std::chrono::microseconds each) : pause(each) {}
    void operator()() {
        got.push_back(in.read()[0]);
        std::this_thread::sleep_for(pause);
        ++taken;
    }
};

void chain(Graph& graph, int count, StreamOptions first = {}, StreamOptions second = {}, int copies = 1) {
    auto& source = graph.add<Numbers>("numbers", {}, count);
    auto& pass = graph.add<PassOn>("pass", {.copies = copies});
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, pass.in, std::move(first));
    graph.connect(pass.out, sink.in, std::move(second));
}

TEST(FarStreams, all_buffers_go_there_and_back_in_their_order) {
    TwoSites sites([](Graph& graph) { chain(graph, 20'000); }, {"pass"});
    sites.begin();
    sites.finish();
    EXPECT_EQ(sites.filter<Collect>(0, "collect").got, numbers(20'000));
}

TEST(FarStreams, order_is_restored_behind_copies_elsewhere) {
    TwoSites sites([](Graph& graph) { chain(graph, 5'000, {}, {.ordered = true}, 4); }, {"pass"}, {.targets = 2});
    sites.begin();
    sites.finish();
    EXPECT_EQ(sites.filter<Collect>(0, "collect").got, numbers(5'000));
}

TEST(FarStreams, a_capacity_of_one_is_enough) {
    TwoSites sites([](Graph& graph) { chain(graph, 500, {.capacity = 1}, {.capacity = 1}); }, {"pass"});
    sites.begin();
    sites.finish();
    EXPECT_EQ(sites.filter<Collect>(0, "collect").got, numbers(500));
}

TEST(FarStreams, a_capacity_in_bytes_is_enough) {
    TwoSites sites([](Graph& graph) { chain(graph, 500, {.capacity_bytes = 5}, {.capacity_bytes = 5}); }, {"pass"});
    sites.begin();
    sites.finish();
    EXPECT_EQ(sites.filter<Collect>(0, "collect").got, numbers(500));
}

TEST(FarStreams, each_policy_serves_copies_elsewhere) {
    for (const auto policy : {Policy::demand_driven, Policy::round_robin, Policy::random, Policy::by_key}) {
        TwoSites sites([&](Graph& graph) { chain(graph, 1'000, {.policy = policy}, {}, 3); }, {"pass"});
        sites.begin();
        sites.finish();
        auto got = sites.filter<Collect>(0, "collect").got;
        std::ranges::sort(got);
        EXPECT_EQ(got, numbers(1'000)) << static_cast<int>(policy);
    }
}

TEST(FarStreams, a_broadcast_reaches_copies_elsewhere) {
    TwoSites sites([&](Graph& graph) { chain(graph, 300, {.policy = Policy::broadcast}, {}, 3); }, {"pass"});
    sites.begin();
    sites.finish();
    auto got = sites.filter<Collect>(0, "collect").got;
    std::vector<int> wanted;
    for (int i = 0; i < 300; ++i) wanted.insert(wanted.end(), 3, i);
    std::ranges::sort(got);
    EXPECT_EQ(got, wanted);
}

TEST(FarStreams, a_slow_reader_elsewhere_holds_its_writer_back) {
    TwoSites sites(
        [](Graph& graph) {
            auto& source = graph.add<Counted>("numbers", {}, 1'000'000);
            auto& slow = graph.add<Slow>("slow", {}, 2'000us);
            graph.connect(source.out, slow.in, {.capacity = 4});
        },
        {"slow"});
    sites.begin();
    auto& numbers_from = sites.filter<Counted>(0, "numbers");
    auto& slow = sites.filter<Slow>(1, "slow");
    // Its capacity, what may be under way beside it, and what is in hand. On a busy machine the reader may run dry and
    // the window grow for a while, but it falls again, so the writer goes on until it has. The writer's count is read
    // first: the reader's only grows, however long this thread may be kept from its processor in between.
    EXPECT_TRUE(wire::comes_true([&] {
        const int written = numbers_from.next;
        EXPECT_LE(written, slow.taken + 4 + 64 + 4) << "at no moment far more";
        return slow.taken >= 20 && written <= slow.taken + 4 + 8 + 4;
    }));
    numbers_from.end = numbers_from.next + 100;
    sites.finish();
    EXPECT_EQ(slow.got, numbers(numbers_from.next));
}

/// What a slow reader elsewhere gets of 0 to 19,999 that come faster.
std::vector<int> got_of_many(WhenStreamFull when_full) {
    TwoSites sites(
        [&](Graph& graph) {
            auto& source = graph.add<Numbers>("numbers", {}, 20'000);
            auto& slow = graph.add<Slow>("slow", {}, 1'000us);
            graph.connect(source.out, slow.in, {.capacity = 4, .when_full = when_full});
        },
        {"slow"});
    sites.begin();
    sites.finish();
    auto got = sites.filter<Slow>(1, "slow").got;
    EXPECT_LT(got.size(), 10'000u);
    EXPECT_TRUE(std::ranges::is_sorted(got));
    return got;
}

TEST(FarStreams, the_oldest_are_dropped_where_the_stream_says_so) {
    EXPECT_EQ(got_of_many(WhenStreamFull::drop_oldest).back(), 19'999);
}

TEST(FarStreams, the_newest_are_dropped_where_the_stream_says_so) {
    EXPECT_EQ(got_of_many(WhenStreamFull::drop_newest).front(), 0);
}

TEST(FarStreams, the_newest_that_wait_for_the_wire_come_before_the_end) {
    TwoSites sites(
        [](Graph& graph) {
            auto& source = graph.add<Counted>("numbers", {}, 100, false);
            auto& sink = graph.add<Collect>("collect");
            graph.connect(source.out, sink.in, {.capacity = 4, .when_full = WhenStreamFull::drop_oldest});
        },
        {"collect"});
    sites.begin();
    auto& link = *sites.state(0).core.links.front();
    sites.call(0, [&] {  // meanwhile it is not heard that anything has arrived
        sites.filter<Counted>(0, "numbers").may_begin = true;
        EXPECT_TRUE(wire::comes_true([&] { return link.accepted == 101; })) << "all of them and the closing";
    });
    sites.finish();
    const auto& got = sites.filter<Collect>(1, "collect").got;
    ASSERT_FALSE(got.empty());
    EXPECT_TRUE(std::ranges::is_sorted(got));
    EXPECT_EQ(got.back(), 99);
    EXPECT_LE(got.size(), 4u + 8u + 4u);
}

TEST(FarStreams, a_reader_elsewhere_that_ends_early_does_not_hold_its_writer_back) {
    TwoSites sites(
        [](Graph& graph) {
            auto& source = graph.add<Numbers>("numbers", {}, 5'000);
            auto& few = graph.add<TakesFew>("few", {}, 10);
            graph.connect(source.out, few.in);
        },
        {"few"});
    sites.begin();
    sites.finish();
    EXPECT_EQ(sites.filter<Numbers>(0, "numbers").next, 5'000);
    EXPECT_EQ(sites.filter<TakesFew>(1, "few").taken, 10);
}

TEST(FarStreams, nothing_is_lost_or_repeated_when_the_connection_breaks) {
    TwoSites sites([](Graph& graph) { chain(graph, 100'000, {}, {.ordered = true}, 2); }, {"pass"});
    sites.begin();
    std::atomic<bool> over{false};
    std::thread breaker([&] {
        while (!over) std::this_thread::sleep_for(5ms), sites.cut();
    });
    sites.finish();
    over = true;
    breaker.join();
    EXPECT_EQ(sites.filter<Collect>(0, "collect").got, numbers(100'000));
}

struct Images {
    Output<float> out{"out"};
    int next = 0;
    bool operator()() {
        auto image = out.make(3, 5);
        for (float& value : image.edit()) value = static_cast<float>(next);
        image.edit_tags() = {.sequence = 7, .time = 8, .user = {9, static_cast<std::uint64_t>(next)}};
        out.write(std::move(image));
        return ++next < 10;
    }
};
struct LooksAtImages {
    Input<float> in{"in"};
    int seen = 0;
    void operator()() {
        const auto image = in.read();
        EXPECT_EQ(image.rank(), 2u);
        EXPECT_EQ(image.extent(0), 3u);
        EXPECT_EQ(image.extent(1), 5u);
        EXPECT_EQ(image.tags(), (Tags{7, 8, {9, static_cast<std::uint64_t>(seen)}}));
        for (const float value : image.span()) EXPECT_EQ(value, static_cast<float>(seen));
        ++seen;
    }
};

TEST(FarStreams, tags_and_dimensions_travel_along) {
    TwoSites sites(
        [](Graph& graph) {
            auto& source = graph.add<Images>("images");
            auto& sink = graph.add<LooksAtImages>("looks");
            graph.connect(source.out, sink.in);
        },
        {"looks"});
    sites.begin();
    sites.finish();
    EXPECT_EQ(sites.filter<LooksAtImages>(1, "looks").seen, 10);
}

struct Told {
    Input<int> in{"in"};
    std::vector<std::string> events;
    std::atomic<int> count{0};
    void operator()() { in.read(); }
    void on_event(const Event& event) {
        events.push_back(event.name + "=" + std::get<std::string>(event.value));
        ++count;
    }
};

TEST(FarStreams, events_reach_filters_elsewhere) {
    StreamWriter<int>* writer = nullptr;
    TwoSites sites(
        [&](Graph& graph) {
            auto& source = graph.add_writer<int>("writer");
            if (writer == nullptr) writer = &source;
            auto& told = graph.add<Told>("told");
            graph.connect(source.output, told.in);
        },
        {"told"});
    sites.begin();
    sites.state(0).send_to_some({"name", std::string("value")}, "told");
    auto& told = sites.filter<Told>(1, "told");
    EXPECT_TRUE(wire::comes_true([&] { return told.count == 1; }));
    writer->close();
    sites.finish();
    EXPECT_EQ(told.events, std::vector<std::string>{"name=value"});
}

TEST(FarStreams, the_programs_own_ends_lead_to_filters_elsewhere) {
    StreamWriter<int>* writer = nullptr;
    StreamReader<int>* reader = nullptr;
    TwoSites sites(
        [&](Graph& graph) {
            auto& source = graph.add_writer<int>("writer");
            auto& pass = graph.add<PassOn>("pass");
            auto& sink = graph.add_reader<int>("reader");
            if (writer == nullptr) writer = &source, reader = &sink;
            graph.connect(source.output, pass.in);
            graph.connect(pass.out, sink.input);
        },
        {"pass"});
    sites.begin();
    for (int i = 0; i < 1'000; ++i) {
        writer->write(std::span<const int>(&i, 1));
        const auto got = reader->read();
        ASSERT_TRUE(got);
        ASSERT_EQ((*got)[0], i);
    }
    writer->close();
    EXPECT_FALSE(reader->read());
    sites.finish();
}

TEST(FarStreams, a_stop_ends_both_nodes) {
    TwoSites sites([](Graph& graph) { chain(graph, 1'000'000'000); }, {"pass"});
    sites.begin();
    ASSERT_TRUE(wire::comes_true([&] { return sites.filter<Collect>(0, "collect").arrived > 100; }));
    sites.state(0).stop();
    sites.finish();
    EXPECT_LT(sites.filter<Numbers>(0, "numbers").next, 1'000'000'000);
}

TEST(FarStreams, placed_filters_read_and_write_over_nodes) {
    TwoSites sites(
        [](Graph& graph) {
            auto& source = graph.add<Numbers>("numbers", {.targets = {0}}, 5'000);
            auto& pass = graph.add<PassOn>("pass", {.targets = {0}});
            auto& sink = graph.add<Collect>("collect", {.targets = {0}});
            graph.connect(source.out, pass.in);
            graph.connect(pass.out, sink.in);
        },
        {"pass"});
    sites.begin();
    sites.finish();
    EXPECT_EQ(sites.filter<Collect>(0, "collect").got, numbers(5'000));
}

TEST(FarStreams, streams_between_nodes_cannot_be_edited_and_are_named) {
    StreamWriter<int>* writer = nullptr;
    TwoSites sites(
        [&](Graph& graph) {
            auto& source = graph.add_writer<int>("writer");
            if (writer == nullptr) writer = &source;
            auto& sink = graph.add<Collect>("collect");
            graph.connect(source.output, sink.in);
        },
        {"collect"});
    sites.begin();
    try {
        sites.state(0).edit([](Edit& edit) { edit.remove("collect"); });
        ADD_FAILURE();
    } catch (const GraphError& error) {
        EXPECT_NE(std::string(error.what()).find("filter 'collect' runs on other nodes"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("from 'writer' to 'collect' joins nodes"), std::string::npos);
    }
    writer->close();
    sites.finish();
}

TEST(FarStreams, what_cannot_be_cut_is_named) {
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 5);
    auto& pass = graph.add<PassOn>("pass", {.on_node_loss = OnNodeLoss::replay});
    auto& sink = graph.add<Collect>("collect", {.on_node_loss = OnNodeLoss::lose});
    graph.connect(source.out, pass.in);
    graph.connect(pass.out, sink.in);
    const auto problems = FarRun::problems(
        graph.model(), {.sites = {{graph.model().named("pass")->id, {1}}, {graph.model().named("collect")->id, {1}}}});
    EXPECT_EQ(
        problems,
        (std::vector<std::string>{
            "filter 'pass' is to outlive the loss of its node, but it has one copy: say copies = 2 or more",
            "filter 'pass' is to outlive the loss of its node, but 'collect' runs on the same nodes",
            "filter 'collect' is to outlive the loss of its node, but it does not say that it may be copied",
            "filter 'collect' is to outlive the loss of its node, but it has one copy: say copies = 2 or more",
            "filter 'collect' is to outlive the loss of its node, but it has 1 streams in and 0 out, and must have "
            "one of each",
            "filter 'collect' is to outlive the loss of its node, but 'pass' runs on the same nodes"}));
}

}  // namespace
}  // namespace penstock::streaming
