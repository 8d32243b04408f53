#include "apps/ofdm/receiver.hpp"

#include <limits>

#include "apps/ofdm/scrambler.hpp"
#include "frames.hpp"
#include "kernels/instruction_set.hpp"
#include "penstock/error.hpp"

namespace {

using namespace ofdm_tests;

class OfdmReceiver : public testing::TestWithParam<std::size_t> {
  protected:
    const Format& format_ = Format::of(GetParam());
    std::mt19937 random_{7};
    double noise_of(double decibels) const { return ofdm::noise_for(format_, decibels); }
};

TEST_P(OfdmReceiver, makes_no_error_without_noise_at_any_rate_and_length) {
    std::vector<std::size_t> lengths{1, 2, 5, 14, 100, 1000, 1500};
    for (std::size_t octets = 20; octets < 60; ++octets) lengths.push_back(octets);
    for (const Rate& rate : ofdm::rates) {
        Air air{format_};
        for (const std::size_t octets : lengths) air.add(rate, random_octets(random_, octets), 1 + random_() % 127);
        const Found found = receive(format_, air.samples);
        EXPECT_EQ(found.octets(), air.sent) << rate.megabits;
        for (const auto& frame : found.frames) EXPECT_EQ(frame.whole, frame.head.octets > 4);
        EXPECT_EQ(found.counts.refused, 0u);
    }
}

TEST_P(OfdmReceiver, the_longest_frame_at_the_slowest_and_the_quickest_rate) {
    Air air{format_};
    for (const int megabits : {6, 54}) air.add(ofdm::rate_of(megabits), random_octets(random_, ofdm::longest_frame));
    EXPECT_EQ(receive(format_, air.samples).octets(true), air.sent);
}

TEST_P(OfdmReceiver, gives_the_same_however_the_samples_are_cut) {
    Air air{format_};
    for (const Rate& rate : ofdm::rates)
        air.add(rate, random_octets(random_, 50 + random_() % 300), 5, random_() % 700);
    const auto samples = air.through({.gain = 0.01, .offset = -0.0007, .echoes = 3, .noise = noise_of(24) * 1e-4});
    const Found whole = receive(format_, samples);
    ASSERT_EQ(whole.frames.size(), ofdm::rates.size());
    for (const std::size_t portion : {1u, 7u, 80u, 1000u, 4096u}) {
        const Found cut = receive(format_, samples, portion);
        EXPECT_EQ(cut.octets(), whole.octets()) << portion;
        for (std::size_t i = 0; i < cut.frames.size(); ++i) {
            EXPECT_EQ(cut.frames[i].head.position, whole.frames[i].head.position);
            EXPECT_EQ(cut.frames[i].head.offset, whole.frames[i].head.offset);
            EXPECT_EQ(cut.frames[i].head.snr, whole.frames[i].head.snr);
        }
    }
}

TEST_P(OfdmReceiver, every_instruction_set_gives_the_same) {
    Air air{format_};
    for (const Rate& rate : ofdm::rates) air.add(rate, random_octets(random_, 200));
    const auto samples = air.through({.offset = 0.001, .noise = noise_of(12)});
    using penstock::kernels::InstructionSet;
    const Found best = receive(format_, samples);
    for (const auto set : {InstructionSet::plain, InstructionSet::vectors16}) {
        penstock::kernels::limit_instruction_set(set);
        const Found found = receive(format_, samples);
        penstock::kernels::limit_instruction_set(InstructionSet::vectors32);
        EXPECT_EQ(found.octets(), best.octets());
        for (std::size_t i = 0; i < best.frames.size(); ++i)
            EXPECT_EQ(found.frames[i].head.snr, best.frames[i].head.snr);
    }
}

TEST_P(OfdmReceiver, finds_the_offset_of_the_frequency_and_takes_it_out) {
    const double most =
        0.4 / static_cast<double>(format_.size / 4) / 1.0;  // of a cycle in a period of the short training
    for (const double part : {-1.0, -0.6, -0.1, 0.02, 0.3, 1.0}) {
        const double offset = part * most;
        Air air{format_};
        for (const int megabits : {6, 24, 54}) air.add(ofdm::rate_of(megabits), random_octets(random_, 400));
        const Found found = receive(format_, air.through({.offset = offset, .noise = noise_of(32)}));
        EXPECT_EQ(found.octets(true), air.sent) << offset;
        for (const auto& frame : found.frames)
            EXPECT_NEAR(frame.head.offset, offset, 6e-5 * 64 / static_cast<double>(format_.size));
    }
}

TEST_P(OfdmReceiver, equalises_echoes_within_the_prefix) {
    int whole = 0, all = 0;
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        Air air{format_};
        for (const int megabits : {6, 12, 24}) air.add(ofdm::rate_of(megabits), random_octets(random_, 300));
        const Found found =
            receive(format_, air.through({.offset = 0.0005, .echoes = 4, .noise = noise_of(28), .seed = seed}));
        whole += static_cast<int>(found.octets(true).size());
        all += static_cast<int>(air.sent.size());
    }
    EXPECT_GE(whole, all * 95 / 100);  // some channels are nearly silent at many carriers
}

TEST_P(OfdmReceiver, follows_a_clock_that_is_40_millionths_slower) {
    Air air{format_};
    air.add(ofdm::rate_of(6), random_octets(random_, 1500));
    air.add(ofdm::rate_of(54), random_octets(random_, 4000));
    // Sampled again, by the sinc of 64 neighbours.
    std::vector<Sample> drifted;
    for (double t = 0; t < static_cast<double>(air.samples.size()); t += 1 - 40e-6) {
        const auto near = static_cast<std::ptrdiff_t>(t);
        std::complex<double> sum;
        for (std::ptrdiff_t i = near - 31; i <= near + 32; ++i) {
            if (i < 0 || i >= static_cast<std::ptrdiff_t>(air.samples.size())) continue;
            const double apart = M_PI * (t - static_cast<double>(i));
            const double window = 0.5 + 0.5 * std::cos(apart / 33);
            sum += std::complex<double>{air.samples[static_cast<std::size_t>(i)]} *
                   (apart == 0 ? 1 : std::sin(apart) / apart) * window;
        }
        drifted.emplace_back(sum);
    }
    EXPECT_EQ(receive(format_, drifted).octets(true), air.sent);
}

TEST_P(OfdmReceiver, finds_nothing_in_noise_in_a_tone_and_in_silence) {
    std::vector<Sample> samples(400'000);
    ofdm::Channel{{.noise = 1}}.pass(samples, samples);
    const Found noise = receive(format_, samples);
    EXPECT_EQ(noise.counts.frames, 0u);
    EXPECT_LE(noise.counts.trainings, 2u);
    for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] = std::polar(1.0f, 0.1f * static_cast<float>(i % 10000));
    EXPECT_EQ(receive(format_, samples).counts.frames, 0u);
    std::ranges::fill(samples, Sample{1, 1});
    EXPECT_EQ(receive(format_, samples).counts.frames, 0u);
    std::ranges::fill(samples, Sample{});
    EXPECT_EQ(receive(format_, samples).counts.trainings, 0u);
}

TEST_P(OfdmReceiver, a_damaged_frame_is_not_taken_for_whole_and_the_next_one_is_found) {
    Air air{format_};
    const Rate& rate = ofdm::rate_of(12);
    for (int i = 0; i < 3; ++i) air.add(rate, random_octets(random_, 500), 5, 100);
    const std::size_t frame = format_.samples(rate, 500) + 1 + 100;
    for (std::size_t i = 0; i < 6 * format_.symbol; ++i) air.samples[237 + frame + frame / 2 + i] = {};
    const Found found = receive(format_, air.samples);
    ASSERT_EQ(found.frames.size(), 3u);
    EXPECT_TRUE(found.frames[0].whole);
    EXPECT_FALSE(found.frames[1].whole);
    EXPECT_TRUE(found.frames[2].whole);
    // Without a SIGNAL that can be there is no frame at all.
    for (std::size_t i = 0; i < format_.symbol; ++i) air.samples[237 + frame + format_.preamble() + i] = {0.1f, 0.1f};
    const Found without = receive(format_, air.samples);
    EXPECT_EQ(without.octets(true).size(), 2u);
}

TEST_P(OfdmReceiver, a_frame_in_which_the_samples_end_is_counted_as_cut) {
    Air air{format_};
    const Rate& rate = ofdm::rate_of(12);
    air.add(rate, random_octets(random_, 500), 5, 0);
    const std::size_t begin = 237 + format_.preamble() + format_.symbol;
    for (const std::size_t left : {begin + 100, air.samples.size() - 2 * format_.size}) {
        const Found found = receive(format_, std::span(air.samples).first(left));
        EXPECT_TRUE(found.frames.empty());
        EXPECT_EQ(found.counts.cut, 1u);
    }
    EXPECT_EQ(receive(format_, std::span(air.samples).first(200)).counts.cut, 0u);
}

TEST_P(OfdmReceiver, whatever_the_samples_are_it_goes_on) {
    // Loud, broken, mixed up: the next good frame is still found, and nothing reads beyond what is there.
    for (int round = 0; round < 60; ++round) {
        Air air{format_};
        for (int i = 0; i < 3; ++i)
            air.add(ofdm::rates[random_() % 8], random_octets(random_, 1 + random_() % 200), 9, random_() % 900);
        for (int damage = 0; damage < 6; ++damage) {
            const std::size_t at = random_() % air.samples.size(),
                              count = std::min<std::size_t>(random_() % 400, air.samples.size() - at);
            const auto part = std::span(air.samples).subspan(at, count);
            switch (random_() % 4) {
                case 0:
                    std::ranges::reverse(part);
                    break;
                case 1:
                    std::ranges::fill(part, Sample{1e30f, -1e30f});
                    break;
                case 2:
                    std::ranges::fill(part, Sample{});
                    break;
                default:
                    std::rotate(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count / 2), part.end());
            }
        }
        air.samples.resize(air.samples.size() + 5000 +
                           1400 * format_.symbol);  // the longest frame that SIGNAL may have told
        const Octets last = random_octets(random_, 60);
        air.add(ofdm::rate_of(12), last);
        const auto octets = receive(format_, air.samples, 1 + random_() % 5000).octets(true);
        ASSERT_FALSE(octets.empty()) << round;
        EXPECT_EQ(octets.back(), last);
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, OfdmReceiver, testing::Values(64u, 256u),
                         [](const auto& parameter) { return "of_" + std::to_string(parameter.param); });

TEST(OfdmFormat, refuses_what_there_is_not_by_name) {
    EXPECT_THROW(Format::of(128), penstock::UsageError);
    EXPECT_THROW(ofdm::rate_of(7), penstock::UsageError);
    const Format& format = Format::of(64);
    EXPECT_THROW(ofdm::transmit(format, ofdm::rates[0], {}), penstock::UsageError);
    EXPECT_THROW(ofdm::transmit(format, ofdm::rates[0], Octets(4096)), penstock::UsageError);
    EXPECT_THROW(ofdm::transmit(format, ofdm::rates[0], Octets(5), 0), penstock::UsageError);
    EXPECT_THROW(ofdm::transmit(format, ofdm::rates[0], Octets(5), 128), penstock::UsageError);
}

TEST(OfdmFormat, interleaving_is_undone_at_every_rate) {
    std::mt19937 random{3};
    for (const std::size_t size : {64u, 256u}) {
        for (const Rate& rate : ofdm::rates) {
            const Format& format = Format::of(size);
            ofdm::Bits data(2 * format.data_bits(rate));
            for (auto& bit : data) bit = random() & 1;
            const auto sent = ofdm::interleave(ofdm::puncture(data, rate), format.data.size(), rate);
            ASSERT_EQ(sent.size(), format.coded_bits(rate));
            const auto places = ofdm::deinterleaved(format.data.size(), rate);
            ASSERT_EQ(places.size(), data.size());
            std::size_t left_out = 0;
            for (std::size_t i = 0; i < places.size(); ++i) {
                if (places[i] == ofdm::nowhere) ++left_out;
                else EXPECT_EQ(sent[places[i]], data[i]);
            }
            EXPECT_EQ(left_out, data.size() - sent.size());
        }
    }
}

TEST(OfdmFormat, the_scrambler_is_undone_whatever_it_began_with) {
    for (unsigned state = 1; state < 128; ++state) {
        std::vector<std::uint64_t> words{0x123456789abcd000u << 4, 42, 7}, before = words;
        before[0] &= ~std::uint64_t{127};
        words = before;
        ofdm::scramble(words, state);
        ofdm::descramble(words);
        EXPECT_EQ(words, before) << state;
    }
}

TEST(OfdmFormat, the_check_sequence_is_that_of_everybody) {
    const std::string digits = "123456789";
    EXPECT_EQ(ofdm::check_sequence({reinterpret_cast<const std::uint8_t*>(digits.data()), digits.size()}), 0xCBF43926u);
    EXPECT_EQ(ofdm::check_sequence({}), 0u);
}

}  // namespace
