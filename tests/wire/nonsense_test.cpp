// What somebody without the secret, or gone wrong, may do to an endpoint: it is refused and counted, and the wires that
// are there go on.
#include <sys/socket.h>

#include <cstdlib>
#include <random>

#include "wire/pair.hpp"

namespace penstock::wire {
namespace {

OwnedDescriptor connected(const Address& to) {
    auto socket = connect_to(to);
    std::this_thread::sleep_for(1ms);
    return socket;
}

void say(const OwnedDescriptor& socket, const void* what, std::size_t bytes) {
    (void)::send(socket.get(), what, bytes, MSG_NOSIGNAL);
}

bool works(Pair& pair) {
    const auto before = pair.at_other.count();
    pair.from_one->put(numbered(before), bytes_for(before));
    pair.from_one->flush();
    return comes_true([&] { return pair.at_other.count() == before + 1; });
}

TEST(Nonsense, garbage_on_the_port_is_refused_and_counted) {
    Pair pair({"tcp", "tcp:127.0.0.1:0", false});
    const auto socket = connected(pair.address);
    const std::vector<char> garbage(128, 'x');
    say(socket, garbage.data(), garbage.size());
    EXPECT_TRUE(comes_true([&] { return pair.one.refused(Refused::garbage) == 1; }));
    EXPECT_TRUE(works(pair));
}

TEST(Nonsense, a_greeting_that_is_cut_short_is_refused_and_counted) {
    Pair pair({"tcp", "tcp:127.0.0.1:0", false});
    auto socket = connected(pair.address);
    const auto hello = FrameHead::of(number(FrameKind::hello), Hello{.run = 7, .from = 1});
    say(socket, &hello, 60);
    socket.reset();
    EXPECT_TRUE(comes_true([&] { return pair.one.refused(Refused::cut_short) == 1; }));
    EXPECT_TRUE(works(pair));
}

TEST(Nonsense, who_says_nothing_is_let_go_and_disturbs_nobody) {
    Pair pair({"tcp", "tcp:127.0.0.1:0", false});
    std::vector<OwnedDescriptor> silent;
    for (int i = 0; i < 200; ++i) silent.push_back(connect_to(pair.address));
    EXPECT_TRUE(works(pair));
    EXPECT_TRUE(comes_true([&] { return pair.one.refused(Refused::cut_short) >= 100; }));
    EXPECT_TRUE(works(pair));
}

/// What a peer that has the secret sends after a right greeting.
TEST(Nonsense, frames_of_an_authenticated_peer_that_break_a_rule_lose_its_wire_alone) {
    const auto right = numbered(0);
    std::vector<FrameHead> wrong(6, right);
    for (auto& each : wrong) each.sequence = 1;
    wrong[0].magic = 1;
    wrong[1].nothing = 1;
    wrong[2].payload_bytes = FrameHead::most_payload + 1;
    wrong[3].sequence = 2;
    wrong[4].acknowledged = 1;
    wrong[5].kind = number(FrameKind::hello);
    for (const auto& head : wrong) {
        Pair pair({"tcp", "tcp:127.0.0.1:0", false});
        const auto wire = pair.one.expect(2, 1);
        Greeting greeting(std::make_unique<Carrier>(connected(pair.address)), pair.secret, false,
                          Hello{.run = 7, .from = 2, .to = 0, .generation = 1});
        ASSERT_TRUE(comes_true([&] { return greeting.step() == Greeting::State::over; }));
        const auto carrier = greeting.take_carrier();
        const iovec part{const_cast<FrameHead*>(&head), sizeof head};
        ASSERT_EQ(carrier->write({&part, 1}), 128);
        EXPECT_TRUE(comes_true([&] { return wire->state() == Wire::State::lost; }));
        EXPECT_EQ(pair.one.refused(Refused::garbage), 1u);
        EXPECT_TRUE(works(pair));
    }
}

const bool long_form = std::getenv("PENSTOCK_LONG") != nullptr;

std::uint64_t refused_by(const Endpoint& endpoint) {
    std::uint64_t all = 0;
    for (std::size_t why = 1; why < kinds_of_refusal; ++why) all += endpoint.refused(static_cast<Refused>(why));
    return all;
}

/// Greetings that are right up to a field, or up to a turn.
TEST(Nonsense, greetings_that_go_wrong_anywhere_are_refused_each_once) {
    const int greetings = long_form ? 20'000 : 500;
    Pair pair({"tcp", "tcp:127.0.0.1:0", false});
    std::mt19937_64 random(12);
    const auto flipped = [&](FrameHead head) {
        std::array<std::byte, sizeof head> bytes;
        std::memcpy(bytes.data(), &head, sizeof head);
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
        std::memcpy(static_cast<void*>(&head), bytes.data(), sizeof head);
        return head;
    };
    for (int turn = 1; turn <= greetings; ++turn) {
        const auto socket = connect_to(pair.address);
        auto hello = FrameHead::of(number(FrameKind::hello), Hello{.run = 7, .from = 2, .to = 0, .generation = 1});
        auto proof = FrameHead::of(number(FrameKind::proof), Proof{});  // which only who has the secret can make
        if (random() % 2 == 0) hello = flipped(hello);
        if (random() % 2 == 0) proof = flipped(proof);
        if (random() % 8 == 0) hello.payload_bytes = random();
        if (random() % 8 == 0) std::swap(hello, proof);
        say(socket, &hello, random() % 8 == 0 ? random() % sizeof hello : sizeof hello);
        if (random() % 8 != 0) say(socket, &proof, sizeof proof);
        ::shutdown(socket.get(), SHUT_WR);
        ASSERT_TRUE(comes_true([&] { return refused_by(pair.one) == static_cast<std::uint64_t>(turn); })) << turn;
    }
    EXPECT_TRUE(works(pair));
}

/// Right frames, of which each field is changed in turn, and random bytes, before and behind the greeting.
TEST(Nonsense, random_frames_disturb_no_other_wire) {
    const std::uint64_t frames = long_form ? 1'000'000 : 20'000;
    Pair pair({"tcp", "tcp:127.0.0.1:0", false});
    std::mt19937_64 random(11);
    const auto strange = [&]() -> std::uint64_t {
        const std::uint64_t values[] = {0, 1, 0x80, 0xFFFF, 0xFFFF'FFFF, FrameHead::most_payload, ~0ull, random()};
        return values[random() % std::size(values)];
    };
    std::uint32_t generation = 0;
    std::uint64_t said = 0, rounds = 0;
    while (said < frames) {
        ++rounds;
        std::unique_ptr<Carrier> carrier;
        if (rounds % 4 != 0) {
            (void)pair.one.expect(2, ++generation);
            Greeting greeting(std::make_unique<Carrier>(connect_to(pair.address)), pair.secret, false,
                              Hello{.run = 7, .from = 2, .to = 0, .generation = generation});
            while (greeting.step() == Greeting::State::going_on) std::this_thread::yield();
            ASSERT_EQ(greeting.state(), Greeting::State::over);
            carrier = greeting.take_carrier();
        } else {
            carrier = std::make_unique<Carrier>(connect_to(pair.address));
        }
        // Most are right up to one byte or field, so that they come far.
        const std::uint64_t wrong = 1 + random() % 40;  // what comes behind it is hardly read
        for (std::uint64_t n = 1; n <= wrong + 2; ++n, ++said) {
            auto head = numbered(n);
            head.sequence = n;
            head.payload_bytes = random() % 64;
            std::vector<std::byte> bytes(sizeof head + head.payload_bytes);
            switch (n == wrong ? random() % 12 : 12) {
                case 0:
                    head.magic = static_cast<std::uint32_t>(strange());
                    break;
                case 1:
                    head.kind = static_cast<std::uint16_t>(strange());
                    break;
                case 2:
                    head.nothing = static_cast<std::uint16_t>(strange());
                    break;
                case 3:
                    head.payload_bytes = strange();
                    break;
                case 4:
                    head.sequence = strange();
                    break;
                case 5:
                    head.acknowledged = strange();
                    break;
                default:
                    break;
            }
            std::memcpy(bytes.data(), &head, sizeof head);
            if (n == wrong && random() % 2 == 0)
                bytes[random() % sizeof head] ^= static_cast<std::byte>(1u << random() % 8);
            if (n == wrong && random() % 8 == 0) bytes.resize(random() % bytes.size());
            const iovec part{bytes.data(), bytes.size()};
            if (bytes.empty() || carrier->write({&part, 1}) == Carrier::broken) break;
        }
    }
    EXPECT_TRUE(works(pair));
}

}  // namespace
}  // namespace penstock::wire
