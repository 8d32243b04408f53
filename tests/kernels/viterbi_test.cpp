#include "kernels/viterbi.hpp"

#include <algorithm>
#include <bit>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/images.hpp"
#if defined(PENSTOCK_TEST_LIBFEC)
extern "C" {
#include <fec.h>
}
#endif

namespace {

namespace viterbi = penstock::kernels::viterbi;
using Bits = std::vector<int>;

/// The code by its definition: taps of 1 + D^2 + D^3 + D^5 + D^6 and of 1 + D + D^2 + D^3 + D^6.
Bits encoded(const Bits& bits) {
    Bits coded;
    for (std::size_t n = 0; n < bits.size(); ++n) {
        const auto at = [&](std::size_t back) { return back > n ? 0 : bits[n - back]; };
        coded.push_back(at(0) ^ at(2) ^ at(3) ^ at(5) ^ at(6));
        coded.push_back(at(0) ^ at(1) ^ at(2) ^ at(3) ^ at(6));
    }
    return coded;
}

Bits random_bits(std::mt19937& random, std::size_t count, std::size_t tail = 6) {
    Bits bits(count + tail);
    for (std::size_t i = 0; i < count; ++i) bits[i] = static_cast<int>(random() & 1);
    return bits;
}

/// Odd values, so that a library whose symbols are bytes around 127.5 has the same ones.
std::vector<std::int8_t> received(const Bits& coded, double deviation, std::mt19937& random) {
    std::normal_distribution<double> noise{0, deviation};
    std::vector<std::int8_t> soft;
    for (const int bit : coded) {
        const double value = std::clamp((bit != 0 ? 24.0 : -24.0) + noise(random), -63.0, 63.0);
        soft.push_back(static_cast<std::int8_t>(2 * static_cast<int>(std::floor(value)) + 1));
    }
    return soft;
}

Bits unpacked(const std::vector<std::uint64_t>& words, std::size_t count) {
    Bits bits;
    for (std::size_t i = 0; i < count; ++i) bits.push_back(static_cast<int>(words[i / 64] >> (i % 64) & 1));
    return bits;
}

Bits decoded(const std::vector<std::int8_t>& soft) {
    std::vector<std::uint64_t> decisions(soft.size() / 2), words(decisions.size() / 64 + 1);
    auto metrics = viterbi::Metrics::beginning();
    viterbi::forward(metrics, soft, decisions);
    viterbi::trace(decisions, decisions.size(), 0, 0, words);
    return unpacked(words, decisions.size());
}

int likelihood(const Bits& bits, const std::vector<std::int8_t>& soft) {
    const Bits coded = encoded(bits);
    int sum = 0;
    for (std::size_t i = 0; i < soft.size(); ++i) sum += coded[i] != 0 ? soft[i] : -soft[i];
    return sum;
}

TEST(Viterbi, gives_back_what_was_sent_without_noise) {
    std::mt19937 random{1};
    for (const std::size_t count : {0u, 1u, 5u, 57u, 58u, 59u, 1000u}) {
        const Bits bits = random_bits(random, count);
        images::with_each_instruction_set([&] { EXPECT_EQ(decoded(received(encoded(bits), 0, random)), bits); });
    }
}

TEST(Viterbi, finds_the_most_likely_of_all_short_messages) {
    std::mt19937 random{2};
    for (int round = 0; round < 60; ++round) {
        const std::size_t count = 1 + random() % 9;
        std::vector<std::int8_t> soft;
        for (std::size_t i = 0; i < 2 * (count + 6); ++i)
            soft.push_back(static_cast<std::int8_t>(random() % 255 - 127));
        int best = std::numeric_limits<int>::min();
        for (unsigned message = 0; message < 1u << count; ++message) {
            Bits bits(count + 6);
            for (std::size_t i = 0; i < count; ++i) bits[i] = static_cast<int>(message >> i & 1);
            best = std::max(best, likelihood(bits, soft));
        }
        const Bits found = decoded(soft);
        EXPECT_TRUE(std::all_of(found.end() - 6, found.end(), [](int bit) { return bit == 0; }));
        EXPECT_EQ(likelihood(found, soft), best);
    }
}

TEST(Viterbi, extreme_soft_bits_for_long_do_not_overflow) {
    std::mt19937 random{3};
    const Bits bits = random_bits(random, 30000);
    std::vector<std::int8_t> soft;
    for (const int bit : encoded(bits)) soft.push_back(bit != 0 ? 127 : -127);
    for (std::size_t i = 0; i < soft.size(); i += 11) soft[i] = static_cast<std::int8_t>(-soft[i]);
    images::with_each_instruction_set([&] { EXPECT_EQ(decoded(soft), bits); });
}

TEST(Viterbi, every_instruction_set_makes_the_same_decisions) {
    std::mt19937 random{4};
    const auto soft = received(encoded(random_bits(random, 777)), 40, random);
    std::vector<std::vector<std::uint64_t>> all;
    images::with_each_instruction_set([&] {
        auto& decisions = all.emplace_back(soft.size() / 2);
        auto metrics = viterbi::Metrics::beginning();
        viterbi::forward(metrics, soft, decisions);
        decisions.insert(decisions.end(), std::begin(metrics.of), std::end(metrics.of));
    });
    for (const auto& each : all) EXPECT_EQ(each, all.front());
}

TEST(Viterbi, pieces_with_a_guess_after_each_give_what_the_whole_gives) {
    std::mt19937 random{5};
    for (int round = 0; round < 200; ++round) {
        const auto soft = received(encoded(random_bits(random, 1 + random() % 700)), 45, random);
        const std::size_t steps = soft.size() / 2;
        std::vector<std::uint64_t> decisions(steps), words(steps / 64 + 1, random());
        auto metrics = viterbi::Metrics::beginning();
        for (std::size_t done = 0; done < steps;) {
            const std::size_t here = std::min<std::size_t>(steps - done, 1 + random() % 150), known = done;
            viterbi::forward(metrics, std::span(soft).subspan(2 * done, 2 * here),
                             std::span(decisions).subspan(done, here));
            done += here;
            viterbi::trace(decisions, done, done == steps ? 0 : static_cast<unsigned>(random() % 64), known, words);
        }
        ASSERT_EQ(unpacked(words, steps), decoded(soft)) << round;
    }
}

TEST(Viterbi, refuses_what_does_not_fit) {
    auto metrics = viterbi::Metrics::beginning();
    std::vector<std::int8_t> soft(7);
    std::vector<std::uint64_t> decisions(4), words(1);
    EXPECT_THROW(viterbi::forward(metrics, soft, decisions), std::invalid_argument);
    EXPECT_THROW(viterbi::trace(decisions, 5, 0, 0, words), std::invalid_argument);
    EXPECT_THROW(viterbi::trace(decisions, 4, 64, 0, words), std::invalid_argument);
    EXPECT_THROW(viterbi::trace(decisions, 4, 0, 5, words), std::invalid_argument);
    EXPECT_THROW(viterbi::trace(decisions, 4, 0, 0, {}), std::invalid_argument);
}

#if defined(PENSTOCK_TEST_LIBFEC)
TEST(Viterbi, decodes_as_libfec_does) {
    std::mt19937 random{6};
    int polynomials[2] = {V27POLYA, V27POLYB};
    set_viterbi27_polynomial(polynomials);
    int errors = 0;
    for (int round = 0; round < 100; ++round) {
        const std::size_t count = 1 + random() % 1500;
        const Bits bits = random_bits(random, count);
        const auto soft = received(encoded(bits), 20 + static_cast<double>(random() % 20), random);
        // It only prefers to begin in state 0: a run of certain zeroes makes that sure.
        constexpr std::size_t before = 24;
        std::vector<unsigned char> symbols(2 * before, 0), octets((before + count) / 8 + 2);
        for (const int value : soft) symbols.push_back(static_cast<unsigned char>((value + 255) / 2));
        void* const other = create_viterbi27(static_cast<int>(before + count) + 6);
        init_viterbi27(other, 0);
        update_viterbi27_blk(other, symbols.data(), static_cast<int>(before + count) + 6);
        chainback_viterbi27(other, octets.data(), static_cast<unsigned>(before + count), 0);
        delete_viterbi27(other);
        Bits theirs;
        for (std::size_t i = before; i < before + count; ++i) theirs.push_back(octets[i / 8] >> (7 - i % 8) & 1);
        theirs.resize(count + 6);
        const Bits ours = decoded(soft);
        // Of equally likely messages each may take another one.
        EXPECT_EQ(likelihood(ours, soft), likelihood(theirs, soft)) << round;
        errors += ours != bits;
    }
    EXPECT_GT(errors, 10);  // it was hard enough
}
#endif

}  // namespace
