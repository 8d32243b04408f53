// Frames between two endpoints: each once and in order, over every kind of connection, also when it breaks.
#include <algorithm>
#include <random>
#include <set>

#include "penstock/error.hpp"
#include "wire/pair.hpp"

namespace penstock::wire {
namespace {

class Wires : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, Wires,
                         testing::Values(Way{"unix", "unix:test", false}, Way{"tcp", "tcp:127.0.0.1:0", false},
                                         Way{"tls", "tcp:127.0.0.1:0", true}),
                         [](const auto& each) { return std::string(each.param.name); });

void expect_all_in_order(Collected& at, std::uint64_t count) {
    ASSERT_TRUE(comes_true([&] { return at.count() >= count; }, 30s)) << at.count();
    const std::lock_guard guard(at.lock);
    ASSERT_EQ(at.frames.size(), count);
    for (std::uint64_t n = 0; n < count; ++n) {
        ASSERT_EQ(at.frames[n].head.as<Payload>().number, n);
        ASSERT_EQ(at.frames[n].payload, bytes_for(n)) << n;
    }
}

TEST_P(Wires, frames_arrive_in_order_in_both_directions) {
    Pair pair(GetParam());
    for (std::uint64_t n = 0; n < 500; ++n) {
        pair.from_one->put(numbered(n), bytes_for(n));
        pair.from_other->put(numbered(n), bytes_for(n));
        if (n % 3 == 0) pair.from_one->flush();
    }
    pair.from_one->flush();
    pair.from_other->flush();
    expect_all_in_order(pair.at_one, 500);
    expect_all_in_order(pair.at_other, 500);
    EXPECT_TRUE(comes_true([&] { return pair.from_one->under_way() == 0 && pair.from_other->under_way() == 0; }));
}

TEST_P(Wires, who_looks_takes_in_quick_frames_and_the_endpoints_thread_the_others) {
    Pair pair(GetParam());
    std::set<std::thread::id> lookers, of_quick, of_others;  // the first is complete before the first frame
    const auto is_quick = [](const FrameHead& head) { return head.as<Payload>().number % 50 != 0; };
    std::atomic<bool> over{false};
    std::vector<std::thread> looking;
    for (int i = 0; i < 2; ++i)
        looking.emplace_back([&, i] {
            while (!over) {
                if (i == 0 && !pair.other.look()) std::this_thread::yield();
                if (i == 1 && pair.other.look()) pair.other.look_away();
            }
        });
    for (const auto& each : looking) lookers.insert(each.get_id());
    pair.other.call([&] {
        pair.at_other.is_quick = is_quick;
        pair.at_other.take = [&](Wire&, const FrameHead& head) {
            (is_quick(head) ? of_quick : of_others).insert(std::this_thread::get_id());
        };
    });
    const auto looks = [&](std::thread::id id) { return lookers.contains(id); };
    const auto one_looked = [&] {
        bool looked = false;
        pair.other.call([&] { looked = std::ranges::any_of(of_quick, looks); });
        return looked;
    };
    // Nothing says how soon a thread that looks comes before the endpoint's.
    const auto until = std::chrono::steady_clock::now() + 60s;
    std::uint64_t count = 0;
    while (count < 2'000 || (!one_looked() && std::chrono::steady_clock::now() < until)) {
        pair.from_one->put(numbered(count), bytes_for(count));
        pair.from_one->flush();
        if (count % 500 == 250) pair.one.cut(1);
        if (count % 100 == 0) std::this_thread::sleep_for(1ms);
        ++count;
    }
    expect_all_in_order(pair.at_other, count);
    over = true;
    for (auto& each : looking) each.join();
    EXPECT_TRUE(one_looked());
    pair.other.call([&] { EXPECT_TRUE(std::ranges::none_of(of_others, looks)); });
}

TEST_P(Wires, a_long_frame_that_is_not_quick_is_ended_by_the_endpoints_thread_though_others_look) {
    Pair pair(GetParam());
    std::set<std::thread::id> by;
    pair.other.call([&] {
        pair.at_other.is_quick = [](const FrameHead&) { return false; };
        pair.at_other.take = [&](Wire&, const FrameHead&) { by.insert(std::this_thread::get_id()); };
    });
    std::atomic<bool> over{false};
    std::thread looks([&] {
        while (!over) pair.other.look();
    });
    const std::vector<std::byte> longer_than_one_look(3 << 20);
    for (std::uint64_t n = 0; n < 20; ++n) pair.from_one->put(numbered(n), longer_than_one_look);
    pair.from_one->flush();
    EXPECT_TRUE(comes_true([&] { return pair.at_other.count() == 20; }, 60s));
    over = true;
    const auto looker = looks.get_id();
    looks.join();
    pair.other.call([&] {
        EXPECT_EQ(by.size(), 1u);
        EXPECT_FALSE(by.contains(looker));
    });
}

TEST_P(Wires, nothing_is_lost_or_repeated_when_connections_break) {
    Pair pair(GetParam());
    std::atomic<bool> over{false};
    std::thread breaker([&] {
        std::mt19937 random(5);
        while (!over) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
            (random() % 2 == 0 ? pair.one : pair.other).cut(random() % 2);
        }
    });
    constexpr std::uint64_t count = 2'000;
    for (std::uint64_t n = 0; n < count; ++n) {
        pair.from_one->put(numbered(n), bytes_for(n));
        pair.from_one->flush();
        pair.from_other->put(numbered(n), bytes_for(n));
        pair.from_other->flush();
        if (n % 100 == 0) std::this_thread::sleep_for(2ms);
    }
    over = true;
    breaker.join();
    expect_all_in_order(pair.at_one, count);
    expect_all_in_order(pair.at_other, count);
    EXPECT_GT(pair.from_one->joined_times(), 1u);
}

struct Gone : Keeper {
    std::atomic<int> arrived{0}, not_arrived{0};
    void let_go(void*, bool did) noexcept override { ++(did ? arrived : not_arrived); }
};

TEST_P(Wires, whoever_keeps_a_payload_is_told_when_it_has_arrived) {
    Gone gone;
    const std::vector<std::byte> payload(1000);
    {
        Pair pair(GetParam());
        for (int i = 0; i < 10; ++i) pair.from_one->put(numbered(0), payload, &gone, nullptr);
        pair.from_one->flush();
        EXPECT_TRUE(comes_true([&] { return gone.arrived == 10; }));
        pair.one.fence(1, 1);
        pair.from_one->put(numbered(0), payload, &gone, nullptr);
        EXPECT_EQ(gone.not_arrived, 1);
    }
    EXPECT_EQ(gone.arrived + gone.not_arrived, 11);
}

TEST_P(Wires, a_peer_that_cannot_be_reached_is_lost_after_the_patience) {
    Pair pair(GetParam(), 600ms);
    ASSERT_TRUE(comes_true([&] { return pair.from_one->state() == Wire::State::joined; }));
    pair.other.close();
    EXPECT_TRUE(comes_true([&] { return pair.from_one->state() == Wire::State::broken; }));
    EXPECT_TRUE(comes_true([&] { return pair.from_one->state() == Wire::State::lost; }));
}

TEST_P(Wires, a_wrong_secret_is_refused_and_counted) {
    Pair pair(GetParam());
    Collected at_stranger;
    Endpoint stranger({.secret = Secret::random(), .run = 7, .site = 1, .encrypted = GetParam().encrypted},
                      at_stranger);
    stranger.begin();
    const auto wire = stranger.dial(0, 1, pair.address);
    EXPECT_TRUE(comes_true([&] { return pair.one.refused(Refused::wrong_secret) >= 1; }));
    EXPECT_NE(wire->state(), Wire::State::joined);
    pair.from_one->put(numbered(0), bytes_for(0));
    pair.from_one->flush();
    expect_all_in_order(pair.at_other, 1);
}

TEST_P(Wires, an_old_generation_is_kept_out_and_told_so) {
    Pair pair(GetParam());
    ASSERT_TRUE(comes_true([&] { return pair.from_other->state() == Wire::State::joined; }));
    pair.one.fence(1, 1);
    const auto next = pair.one.expect(1, 2);
    EXPECT_TRUE(comes_true([&] { return pair.from_other->state() == Wire::State::refused; }));
    EXPECT_TRUE(comes_true([&] { return pair.one.refused(Refused::old_generation) >= 1; }));
    Collected at_second;
    Endpoint second({.secret = pair.secret, .run = 7, .site = 1, .generation = 2, .encrypted = GetParam().encrypted},
                    at_second);
    second.begin();
    (void)second.dial(0, 1, pair.address);
    next->put(numbered(0), bytes_for(0));
    next->flush();
    expect_all_in_order(at_second, 1);
}

TEST_P(Wires, the_next_generation_may_dial_before_it_is_expected) {
    Pair pair(GetParam());
    ASSERT_TRUE(comes_true([&] { return pair.from_other->state() == Wire::State::joined; }));
    pair.one.fence(1, 1);
    Collected at_second;
    Endpoint second({.secret = pair.secret, .run = 7, .site = 1, .generation = 2, .encrypted = GetParam().encrypted},
                    at_second);
    second.begin();
    const auto early = second.dial(0, 1, pair.address);
    EXPECT_TRUE(comes_true([&] { return pair.one.refused(Refused::unknown_site) >= 1; }));
    EXPECT_NE(early->state(), Wire::State::refused);
    const auto next = pair.one.expect(1, 2);
    next->put(numbered(0), bytes_for(0));
    next->flush();
    expect_all_in_order(at_second, 1);
}

TEST_P(Wires, a_frame_that_those_above_refuse_loses_the_wire_and_no_other) {
    Pair pair(GetParam());
    pair.at_one.take = [](Wire&, const FrameHead&) { throw Error("nonsense"); };
    pair.from_other->put(numbered(0), bytes_for(1));
    pair.from_other->flush();
    EXPECT_TRUE(comes_true([&] { return pair.from_one->state() == Wire::State::lost; }));
    EXPECT_EQ(pair.one.refused(Refused::garbage), 1u);
}

TEST(Endpoints, do_what_is_asked_while_they_are_closed) {
    for (int turn = 0; turn < 200; ++turn) {
        Collected at;
        Endpoint endpoint({.secret = Secret::random(), .run = 7}, at);
        endpoint.begin();
        int done = 0;
        std::thread asks([&] {
            for (int i = 0; i < 20; ++i) endpoint.call([&] { ++done; });
        });
        endpoint.close();
        asks.join();
        ASSERT_EQ(done, 20);
    }
}

}  // namespace
}  // namespace penstock::wire
