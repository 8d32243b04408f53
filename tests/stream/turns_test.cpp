// Whose turn it is where one thread runs filters that have no place.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

using namespace penstock;

namespace {

constexpr std::size_t count = 500;

/// Longer than the firings of which several make a turn.
void take_long() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
    while (std::chrono::steady_clock::now() < end) {
    }
}

struct Ahead {
    std::size_t now = 0, most = 0;
};

struct Source {
    Output<int> out{"out"};
    Ahead* ahead;
    std::size_t left = count;
    explicit Source(Ahead* of) : ahead(of) {}
    bool operator()() {
        take_long();
        ahead->most = std::max(ahead->most, ++ahead->now);
        out.write(out.make(1));
        return --left != 0;
    }
};

struct Join {
    Input<int> a{"a"}, b{"b"};
    Output<int> out{"out"};
    Ahead *of_a, *of_b;
    Join(Ahead* first, Ahead* second) : of_a(first), of_b(second) {}
    void operator()() {
        take_long();
        out.write(a.read());
        (void)b.read();
        --of_a->now, --of_b->now;
    }
};

struct Sink {
    Input<int> in{"in"};
    std::size_t got = 0;
    void operator()() {
        take_long();
        (void)in.read();
        ++got;
    }
};

/// Gives work in its first firing, and is not done with its second one before that has been taken up.
struct Starter {
    Output<int> out{"out"};
    const std::atomic<bool>* taken_up;
    bool first = true;
    bool was_taken_up = false;
    explicit Starter(const std::atomic<bool>* other) : taken_up(other) {}
    bool operator()() {
        if (std::exchange(first, false)) {
            take_long();
            out.write(out.make(1));
            return true;
        }
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!taken_up->load() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        was_taken_up = taken_up->load();
        return false;
    }
};

struct TakeUp {
    Input<int> in{"in"};
    std::atomic<bool>* taken_up;
    explicit TakeUp(std::atomic<bool>* mine) : taken_up(mine) {}
    void operator()() {
        (void)in.read();
        taken_up->store(true);
    }
};

/// Reads, and is not done before its source has gone on with the room that this made, which the other reader sees.
struct RoomMaker {
    Input<int> in{"in"};
    const std::atomic<std::size_t>* seen_by_other;
    std::size_t firing = 0, waited_in_vain = 0;
    explicit RoomMaker(const std::atomic<std::size_t>* others) : seen_by_other(others) {}
    void operator()() {
        (void)in.read();
        // The source may have one more buffer in its hand, for which there was no room before.
        const auto wanted = std::min(count_of_rooms, ++firing + 2);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (*seen_by_other < wanted && waited_in_vain == 0) {
            if (std::chrono::steady_clock::now() > end) ++waited_in_vain;
            std::this_thread::yield();
        }
    }
    static constexpr std::size_t count_of_rooms = 40;
};

struct Fork {
    Output<int> one{"one"}, other{"other"};
    std::size_t left = RoomMaker::count_of_rooms;
    bool operator()() {
        one.write(one.make(1));
        other.write(other.make(1));
        return --left != 0;
    }
};

struct Witness {
    Input<int> in{"in"};
    std::atomic<std::size_t>* seen;
    explicit Witness(std::atomic<std::size_t>* mine) : seen(mine) {}
    void operator()() {
        (void)in.read();
        ++*seen;
    }
};

/// Its firing makes others ready, and then runs whatever task there is while it waits for its own.
struct Helper {
    Output<int> one{"one"}, other{"other"};
    Machine* machine;
    explicit Helper(Machine* of) : machine(of) {}
    bool operator()() {
        one.write(one.make(1));
        other.write(other.make(1));
        machine->call([] {});
        machine->barrier();
        return false;
    }
};

/// Short, and looks how far it is ahead of the other.
struct Racer {
    Output<int> out{"out"};
    std::atomic<std::size_t>*mine, *other;
    std::size_t most_ahead = 0;
    Racer(std::atomic<std::size_t>* own, std::atomic<std::size_t>* others) : mine(own), other(others) {}
    bool operator()() {
        const auto now = ++*mine;
        if (*other < count) most_ahead = std::max(most_ahead, now - std::min(now, other->load()));
        out.write(out.make(1));
        return now < count;
    }
};

TEST(TurnsTest, who_gets_room_in_the_middle_of_a_long_firing_goes_on_meanwhile) {
    Machine machine({.targets = 1});  // and this thread
    std::atomic<std::size_t> seen{0};
    Graph graph;
    auto& fork = graph.add<Fork>("fork");
    auto& maker = graph.add<RoomMaker>("room maker", {}, &seen);
    auto& witness = graph.add<Witness>("witness", {}, &seen);
    graph.connect(fork.one, maker.in, {.capacity = 1});
    graph.connect(fork.other, witness.in);
    graph.start(machine).finish();
    EXPECT_EQ(maker.waited_in_vain, 0u);
    EXPECT_EQ(maker.firing, RoomMaker::count_of_rooms);
    EXPECT_EQ(seen.load(), RoomMaker::count_of_rooms);
}

TEST(TurnsTest, what_a_firing_makes_ready_is_run_although_the_firing_helps_while_it_waits) {
    for (int round = 0; round < 50; ++round) {
        Machine machine({.targets = 1});
        std::atomic<std::size_t> seen{0};
        Graph graph;
        auto& helper = graph.add<Helper>("helper", {.targets = {0}}, &machine);
        auto& one = graph.add<Witness>("one", {}, &seen);
        auto& other = graph.add<Witness>("other", {}, &seen);
        graph.connect(helper.one, one.in);
        graph.connect(helper.other, other.in);
        auto run = graph.start(machine);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);  // this thread does not help
        while (seen < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        ASSERT_EQ(seen.load(), 2u);
        run.finish();
    }
}

TEST(TurnsTest, what_is_ready_does_not_wait_behind_a_long_firing_of_the_thread_that_made_it_ready) {
    Machine machine({.targets = 2});
    std::atomic<bool> taken_up{false};
    Graph graph;
    auto& starter = graph.add<Starter>("starter", {.targets = {0}}, &taken_up);
    auto& take_up = graph.add<TakeUp>("take up", {}, &taken_up);
    graph.connect(starter.out, take_up.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_TRUE(starter.was_taken_up);
}

TEST(TurnsTest, sources_that_go_on_take_turns) {
    Machine machine({.targets = 0});
    std::atomic<std::size_t> of_a{0}, of_b{0};
    Graph graph;
    auto& a = graph.add<Racer>("a", {}, &of_a, &of_b);
    auto& b = graph.add<Racer>("b", {}, &of_b, &of_a);
    auto& to_a = graph.add<Sink>("to a");
    auto& to_b = graph.add<Sink>("to b");
    graph.connect(a.out, to_a.in);
    graph.connect(b.out, to_b.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(to_a.got + to_b.got, 2 * count);
    EXPECT_LE(std::max(a.most_ahead, b.most_ahead), 2 * 64u);  // a turn is 64 firings at most
}

TEST(TurnsTest, a_source_lets_those_who_have_something_to_do_go_first) {
    Machine machine({.targets = 0});
    Graph graph;
    Ahead of_a, of_b;
    auto& a = graph.add<Source>("a", {}, &of_a);
    auto& b = graph.add<Source>("b", {}, &of_b);
    auto& join = graph.add<Join>("join", {}, &of_a, &of_b);
    auto& sink = graph.add<Sink>("sink");
    graph.connect(a.out, join.a, {.capacity = 64});
    graph.connect(b.out, join.b, {.capacity = 64});
    graph.connect(join.out, sink.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(sink.got, count);
    EXPECT_LE(std::max(of_a.most, of_b.most), 4u);
}

// ---- filters that take long ----

/// Takes longer than a firing behind which a filter lets others go first.
template <class Value>
Value slowly(Value value) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
    while (std::chrono::steady_clock::now() < end) {
    }
    return value;
}

struct Diary {
    std::string text;
};
/// Writes its letter into the diary, and reads slowly.
struct Reader {
    Input<int> in{"in"};
    Output<int> out{"out"};
    Diary* diary;
    char letter;
    Reader(Diary* to, char own) : diary(to), letter(own) {}
    void operator()() {
        diary->text += letter;
        out.write(slowly(in.read()));
    }
};
struct Tickets {
    Output<int> out{"out"};
    int left = 40;
    bool operator()() {
        out.write(out.make(1));
        return --left != 0;
    }
};

/// How many of so many firings came in the order of the readers' streams?
template <class Connect>
double share_in_order(int targets, const FilterOptions& options, Connect connect) {
    Machine machine({.targets = targets});
    Graph graph;
    Diary diary;
    const std::string letters = "hgfedcbazyxw";  // more than ten, and not in the order of their names
    std::vector<Reader*> readers;
    for (const char letter : letters) {
        readers.push_back(&graph.add<Reader>(std::string(1, letter), options, &diary, letter));
        graph.connect(readers.back()->out, graph.add<Sink>(std::string("to ") + letter).in);
    }
    connect(graph, machine, readers);
    EXPECT_EQ(diary.text.size(), 40u * letters.size());
    std::size_t in_order = 0;
    for (std::size_t at = 1; at < diary.text.size(); ++at)
        in_order += letters[(letters.find(diary.text[at - 1]) + 1) % letters.size()] == diary.text[at];
    return static_cast<double>(in_order) / static_cast<double>(diary.text.size());
}

// Not each time: some choices are for what may have been left waiting.
TEST(TurnsTest, the_readers_of_a_buffer_fire_in_the_order_in_which_they_were_connected) {
    const auto from_filter = [](Graph& graph, Machine& machine, const std::vector<Reader*>& readers) {
        auto& tickets = graph.add<Tickets>("tickets");
        for (Reader* const reader : readers) graph.connect(tickets.out, reader->in);
        graph.start(machine).finish();
    };
    EXPECT_GE(share_in_order(0, {}, from_filter), 0.5);
}

TEST(TurnsTest, so_do_those_that_have_a_place) {
    const auto from_filter = [](Graph& graph, Machine& machine, const std::vector<Reader*>& readers) {
        auto& tickets = graph.add<Tickets>("tickets", {.targets = {0}});
        for (Reader* const reader : readers) graph.connect(tickets.out, reader->in, {.capacity = 1});
        graph.start(machine).finish();
    };
    EXPECT_GE(share_in_order(1, {.targets = {0}}, from_filter), 0.5);
}

TEST(TurnsTest, what_is_under_way_goes_to_the_end_before_anything_new_begins) {
    Machine machine({.targets = 0});
    Graph graph;
    Diary diary;
    auto& tickets = graph.add<Tickets>("tickets");
    Output<int>* from = &tickets.out;
    for (const char letter : std::string("abcd")) {
        auto& reader = graph.add<Reader>(std::string(1, letter), {}, &diary, letter);
        graph.connect(*from, reader.in, {.fuse = false});
        from = &reader.out;
    }
    auto& sink = graph.add<Sink>("sink");
    graph.connect(*from, sink.in);
    graph.start(machine).finish();
    ASSERT_EQ(diary.text.size(), 40u * 4u);
    std::size_t whole = 0;
    for (std::size_t at = 0; (at = diary.text.find("abcd", at)) != std::string::npos; ++at) ++whole;
    EXPECT_GE(whole, 28u) << diary.text;
}

/// Of a few microseconds.
struct Middle {
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        take_long();
        out.write(in.read());
    }
};
/// Goes on for ever, until the others have come or it has fired so often.
struct Circle {
    static constexpr std::size_t most = 4'000'000;
    Input<int> in{"in"};
    Output<int> out{"out"};
    std::chrono::microseconds length;
    const std::atomic<bool>* others_came;
    std::size_t fired = 0;
    Circle(std::chrono::microseconds of, const std::atomic<bool>* others) : length(of), others_came(others) {}
    std::size_t limit() const {
        return length.count() == 0 ? most : 200'000 / static_cast<std::size_t>(length.count());
    }
    void operator()() {
        auto buffer = in.read();
        const auto end = std::chrono::steady_clock::now() + length;
        while (std::chrono::steady_clock::now() < end) {
        }
        if (++fired < limit() && !*others_came) out.write(std::move(buffer));
    }
};
/// One buffer.
struct Seed {
    Output<int> out{"out"};
    bool operator()() {
        out.write(out.make(1));
        return false;
    }
};
/// Says when so many have come.
struct TakeAll {
    Input<int> in{"in"};
    std::atomic<bool>* all_came;
    int left;
    TakeAll(std::atomic<bool>* mine, int of) : all_came(mine), left(of) {}
    void operator()() {
        (void)in.read();
        if (--left == 0) all_came->store(true);
    }
};

TEST(TurnsTest, cycles_that_always_go_on_leave_others_their_turns) {
    using std::chrono::microseconds;
    for (const int targets : {0, 1})
        for (const int cycles : {1, 2})
            for (const auto length : {microseconds(0), microseconds(5), microseconds(30)}) {
                Machine machine({.targets = targets});
                std::atomic<bool> came{false};
                Graph graph;
                std::vector<Circle*> all;
                for (int i = 0; i < cycles; ++i) {
                    const auto number = std::to_string(i);
                    auto& seed = graph.add<Seed>("seed " + number);
                    auto& there = graph.add<Circle>("there " + number, {}, length, &came);
                    auto& back = graph.add<Circle>("back " + number, {}, length, &came);
                    graph.connect(seed.out, there.in);
                    graph.connect(there.out, back.in);
                    graph.connect(back.out, there.in, {.feedback = true});
                    all.insert(all.end(), {&there, &back});
                }
                auto& others = graph.add<Tickets>("others");
                auto& take = graph.add<TakeAll>("take", {}, &came, 40);
                graph.connect(others.out, take.in);
                graph.start(machine).finish();
                EXPECT_TRUE(came);
                for (const auto* const each : all)
                    EXPECT_LT(each->fired, each->limit()) << targets << ' ' << cycles << ' ' << length.count();
            }
}

/// Writes until others have come, or so often.
struct Endless {
    static constexpr std::size_t most = 10'000'000;
    Output<int> out{"out"};
    const std::atomic<bool>* others_came;
    std::size_t fired = 0;
    explicit Endless(const std::atomic<bool>* others) : others_came(others) {}
    bool operator()() {
        out.write(out.make(1));
        return ++fired < most && !*others_came;
    }
};
struct Forget {
    Input<int> in{"in"};
    void operator()() { (void)in.read(); }
};

TEST(TurnsTest, filters_without_a_place_have_their_share_of_a_target_that_is_busy_with_its_own) {
    Machine machine({.targets = 1});
    std::atomic<bool> came{false};
    Graph graph;
    auto& endless = graph.add<Endless>("endless", {.targets = {0}}, &came);
    auto& forget = graph.add<Forget>("forget", {.targets = {0}});
    graph.connect(endless.out, forget.in);
    auto& others = graph.add<Tickets>("others");
    others.left = 400;
    auto& middle = graph.add<Middle>("middle");
    auto& take = graph.add<TakeAll>("take", {}, &came, 400);
    graph.connect(others.out, middle.in);
    graph.connect(middle.out, take.in);
    auto run = graph.start(machine);
    while (!came && !run.ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // nobody helps
    run.finish();
    EXPECT_TRUE(came);
    EXPECT_LT(endless.fired, Endless::most);
}

// ---- several threads ----

struct Flying {
    std::atomic<int> now{0}, most{0};
};
struct Numbers {
    Output<int> out{"out"};
    int left = 128;
    bool operator()() {
        out.write(out.make(1));
        return --left != 0;
    }
};
struct First {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    Flying* flying;
    explicit First(Flying* of) : flying(of) {}
    void operator()() {
        auto buffer = in.read();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        const int now = ++flying->now;
        int most = flying->most;
        while (now > most && !flying->most.compare_exchange_weak(most, now)) {
        }
        out.write(std::move(buffer));
    }
};
struct Second {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        out.write(std::move(buffer));
    }
};
struct Last {
    Input<int> left{"left"}, right{"right"};
    Flying* flying;
    explicit Last(Flying* of) : flying(of) {}
    void operator()() {
        (void)left.read();
        (void)right.read();
        --flying->now;
    }
};

TEST(Turns, threads_do_not_stay_with_the_first_of_several_long_filters) {
    constexpr int workers = 4;
    int least = 128;  // of some runs: a thread that the system keeps waiting holds up the order
    for (int i = 0; i < 12 && least >= 32; ++i) {
        Flying flying;
        Machine machine{{.targets = workers - 1, .pin = false}};
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers");
        auto& first = graph.add<First>("first", {.copies = workers}, &flying);
        auto& left = graph.add<Second>("left", {.copies = workers});
        auto& right = graph.add<Second>("right", {.copies = workers});
        auto& last = graph.add<Last>("last", {}, &flying);
        graph.connect(numbers.out, first.in);
        graph.connect(first.out, left.in);
        graph.connect(first.out, right.in);
        graph.connect(left.out, last.left, {.ordered = true});
        graph.connect(right.out, last.right, {.ordered = true});
        graph.start(machine).finish();
        EXPECT_EQ(flying.now, 0);
        least = std::min<int>(least, flying.most);
    }
    EXPECT_LT(least, 32);  // 12 to 18 where 40 to 79 had been
}

}  // namespace
