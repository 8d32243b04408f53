// Error rates against what theory says of them.
#include <bit>
#include <cmath>
#include <map>

#include "frames.hpp"
#include "kernels/ofdm.hpp"
#include "kernels/viterbi.hpp"

namespace {

using namespace ofdm_tests;
namespace kernel = penstock::kernels::ofdm;
namespace viterbi = penstock::kernels::viterbi;

double q(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

/// The rate of wrong bits of a Gray constellation in white noise of variance `variance` in each part: exact, by all
/// points and all intervals between the borders.
double bits_wrong(const Rate& rate, double variance) {
    const std::size_t of_axis = rate.bits == 1 ? 1 : rate.bits / 2, points = std::size_t{1} << of_axis;
    const double unit = ofdm::constellation_unit(rate), deviation = std::sqrt(variance);
    double wrong = 0;
    for (std::size_t sent = 0; sent < points; ++sent) {
        for (std::size_t taken = 0; taken < points; ++taken) {
            const double from = taken == 0 ? -1e9 : (2.0 * static_cast<double>(taken) - static_cast<double>(points));
            const double to =
                taken + 1 == points ? 1e9 : (2.0 * static_cast<double>(taken) + 2 - static_cast<double>(points));
            const double at = 2.0 * static_cast<double>(sent) + 1 - static_cast<double>(points);
            const double probability = q((from - at) * unit / deviation) - q((to - at) * unit / deviation);
            wrong += probability * std::popcount((sent ^ sent >> 1) ^ (taken ^ taken >> 1));
        }
    }
    return wrong / static_cast<double>(points * of_axis);
}

/// Is a count of events of this probability what it should be? Five deviations.
void expect_count(double count, double trials, double probability, const std::string& what) {
    const double mean = trials * probability;
    EXPECT_NEAR(count, mean, 5 * std::sqrt(mean * (1 - probability)) + 1) << what;
}

TEST(OfdmTheory, hard_decisions_are_wrong_as_often_as_theory_says) {
    std::mt19937 random{1};
    std::normal_distribution<float> normal;
    const std::vector<float> unit_of_block(64, 1);
    for (const Rate& rate : ofdm::rates) {
        for (const double decibels : {4.0, 10.0, 16.0}) {
            const double variance = std::pow(10, -decibels / 10) / 2;
            const auto deviation = static_cast<float>(std::sqrt(variance));
            constexpr std::size_t carriers = 64, blocks = 150;
            const std::vector<float> unit(carriers, ofdm::constellation_unit(rate));
            std::vector<float> re(carriers * 8), im(re);
            std::vector<unsigned> sent(carriers * 8);
            std::vector<std::int8_t> soft(carriers * 8 * rate.bits);
            double wrong = 0;
            for (std::size_t block = 0; block < blocks; ++block) {
                for (std::size_t i = 0; i < sent.size(); ++i) {
                    sent[i] = static_cast<unsigned>(random() & ((1u << rate.bits) - 1));
                    const Sample point = ofdm::constellation_point(rate, sent[i]);
                    re[i] = point.real() + deviation * normal(random);
                    im[i] = point.imag() + deviation * normal(random);
                }
                kernel::soft_bits({re.data(), im.data()}, unit, rate.bits, 2000, soft.data());
                for (std::size_t i = 0; i < sent.size(); ++i)
                    for (std::size_t b = 0; b < rate.bits; ++b)
                        wrong += (soft[(i / 8 * rate.bits + b) * 8 + i % 8] > 0) != ((sent[i] >> b & 1) != 0);
            }
            expect_count(wrong, static_cast<double>(blocks * sent.size() * rate.bits), bits_wrong(rate, variance),
                         std::to_string(rate.megabits) + " Mbit/s, " + std::to_string(decibels) + " dB");
        }
    }
}

TEST(OfdmTheory, the_decoder_is_wrong_about_as_often_as_the_union_bound_says) {
    // Bits on paths of each distance of this code (Odenwalder; Proakis has them, too).
    const std::map<int, double> weights{{10, 36},    {12, 211},    {14, 1404},   {16, 11633},
                                        {18, 77433}, {20, 502690}, {22, 3322763}};
    std::mt19937 random{2};
    std::normal_distribution<double> normal;
    for (const double decibels : {3.5, 4.0}) {
        const double energy = std::pow(10, decibels / 10), amplitude = 36,
                     deviation = amplitude / std::sqrt(energy);  // rate 1/2
        double bound = 0;
        for (const auto& [distance, bits] : weights) bound += bits * q(std::sqrt(distance * energy));
        const std::size_t steps = decibels < 3.7 ? 700'000 : 1'400'000;
        ofdm::Bits bits(steps);
        for (std::size_t i = 0; i + 6 < steps; ++i) bits[i] = random() & 1;
        std::vector<std::int8_t> soft;
        for (const int bit : ofdm::convolve(bits))
            soft.push_back(static_cast<std::int8_t>(std::lround(
                std::clamp((bit != 0 ? amplitude : -amplitude) + deviation * normal(random), -127.0, 127.0))));
        std::vector<std::uint64_t> decisions(steps), found(steps / 64 + 1);
        auto metrics = viterbi::Metrics::beginning();
        viterbi::forward(metrics, soft, decisions);
        viterbi::trace(decisions, steps, 0, 0, found);
        double wrong = 0;
        for (std::size_t i = 0; i < steps; ++i) wrong += (found[i / 64] >> (i % 64) & 1) != bits[i];
        // Wrong bits come in bunches of about six, so the count spreads more than that of single ones.
        const double wanted = bound * static_cast<double>(steps), spread = std::sqrt(6 * wanted);
        EXPECT_LT(wrong, wanted + 3 * spread) << decibels << " dB";
        EXPECT_GT(wrong, wanted / 3 - 3 * std::sqrt(2 * wanted)) << decibels << " dB";
        EXPECT_GT(wrong, 10);
    }
}

TEST(OfdmTheory, the_whole_receiver_adds_to_the_noise_what_its_estimates_cost) {
    // The channel is known from two symbols, which adds half the noise again; the phase from four or eight pilots,
    // which adds about an eighth or a sixteenth of one and a half times the noise; and the slope, which adds little.
    for (const std::size_t size : {64u, 256u}) {
        const Format& format = Format::of(size);
        const Rate& rate = ofdm::rate_of(24);
        std::mt19937 random{3};
        const double decibels = 20;
        double error = 0, count = 0;
        for (std::uint32_t seed = 1; seed <= 40; ++seed) {
            Air air{format};
            air.add(rate, random_octets(random, 600));
            const auto samples =
                air.through({.offset = 0.0003, .noise = ofdm::noise_for(format, decibels), .seed = seed});
            const auto bits = ofdm::interleave(
                ofdm::puncture(ofdm::convolve(ofdm::data_field(format, rate, air.sent[0], 0x5d)), rate),
                format.data.size(), rate);
            const auto sent = ofdm::carriers_of(format, rate, bits, 1);
            ofdm::Synchroniser synchroniser{format};
            ofdm::Demodulator demodulator{format};
            const auto from = std::make_unique<ofdm::SamplePiece>();
            std::vector<float> re(demodulator.rows() * 8), im(re);
            synchroniser.push(samples);
            for (auto symbols = synchroniser.next(*from); !symbols.empty(); symbols = synchroniser.next(*from)) {
                if (from->head.first == 0) demodulator.begin(from->head.frame, from->channel.data());
                for (std::size_t s = 0; s < from->head.count; ++s) {
                    demodulator.block(symbols.data() + s * format.symbol, 1, from->head.first + s + 1,
                                      {re.data(), im.data()});
                    for (std::size_t i = 0; i < format.data.size(); ++i) {
                        const Sample found = Sample{re[i * 8], im[i * 8]} / demodulator.power()[i];
                        error += std::norm(found - sent[(from->head.first + s) * size + format.row(format.data[i])]);
                        count += 1;
                    }
                }
            }
        }
        ASSERT_GT(count, 10000);
        const double part =
            static_cast<double>(format.used.size()) / static_cast<double>(size);  // the others have noise, too
        const double noise = part * std::pow(10, -decibels / 10), times = error / count / noise;
        EXPECT_GT(times, 1.5) << size;
        EXPECT_LT(times, size == 64 ? 1.85 : 1.7) << size;
    }
}

}  // namespace
