// The example of a frame in the annex of IEEE 802.11a: 100 octets at 36 Mbit/s, with what the standard says of each
// step.
#include <cmath>
#include <string>

#include "apps/ofdm/scrambler.hpp"
#include "frames.hpp"

namespace {

using namespace ofdm_tests;
using ofdm::Bits;

/// The first bit of each octet highest, as the annex lists bits.
std::string hex(std::span<const std::uint8_t> bits) {
    std::string text;
    for (std::size_t i = 0; i + 4 <= bits.size(); i += 4)
        text += "0123456789abcdef"[bits[i] << 3 | bits[i + 1] << 2 | bits[i + 2] << 1 | bits[i + 3]];
    return text;
}

/// The check sequence is that of the first edition, which is not the one of these octets; later ones have 67 33 21 b6.
Octets example(bool corrected = false) {
    Octets octets{0x04, 0x02, 0x00, 0x2e, 0x00, 0x60, 0x08, 0xcd, 0x37, 0xa6, 0x00, 0x20,
                  0xd6, 0x01, 0x3c, 0xf1, 0x00, 0x60, 0x08, 0xad, 0x3b, 0xaf, 0x00, 0x00};
    const std::string text = "Joy, bright spark of divinity,\nDaughter of Elysium,\nFire-insired we trea";
    octets.insert(octets.end(), text.begin(), text.end());
    const Octets check = corrected ? Octets{0x67, 0x33, 0x21, 0xb6} : Octets{0xda, 0x57, 0x99, 0xed};
    octets.insert(octets.end(), check.begin(), check.end());
    return octets;
}

const Format& format = Format::of(64);
const Rate& rate = ofdm::rate_of(36);
constexpr unsigned scrambler = 0b1011101;

TEST(OfdmAnnex, the_bits_of_signal_and_their_code) {
    const Bits signal = ofdm::signal_field(rate, 100), coded = ofdm::convolve(signal);
    EXPECT_EQ(hex(signal), "b13000");
    EXPECT_EQ(hex(coded), "d1a1023e7000");
    EXPECT_EQ(hex(ofdm::interleave(coded, 48, ofdm::rates[0])), "94d014832494");
}

TEST(OfdmAnnex, the_bits_of_data_scrambled) {
    const Bits data = ofdm::data_field(format, rate, example(), scrambler);
    ASSERT_EQ(data.size(), 864u);
    EXPECT_EQ(hex(std::span(data).first(144)), "6c19898f6821f4a5614fd7ae240cf33ae4bc");
    EXPECT_EQ(hex(std::span(data).last(144)), "7d8a27173915a0ec28308cca00dc7f0ef2c9");
}

TEST(OfdmAnnex, the_first_symbol_of_data_coded_and_interleaved) {
    const Bits sent = ofdm::puncture(ofdm::convolve(ofdm::data_field(format, rate, example(), scrambler)), rate);
    ASSERT_EQ(sent.size(), 6u * 192);
    EXPECT_EQ(hex(std::span(sent).first(192)), "2b08a1f09db59a1d4afbe8c28fc0c873c043e019e0d3ebb2");
    const Bits interleaved = ofdm::interleave(sent, 48, rate);
    EXPECT_EQ(hex(std::span(interleaved).first(192)), "77f0efc47300bf11109a1d126e38f5691b6b9843000db36d");
}

TEST(OfdmAnnex, carriers_of_the_first_symbol) {
    const Bits sent = ofdm::puncture(ofdm::convolve(ofdm::data_field(format, rate, example(), scrambler)), rate);
    const auto carriers = ofdm::carriers_of(format, rate, ofdm::interleave(sent, 48, rate), 1);
    const struct {
        int carrier;
        Sample value;
    } wanted[] = {{-26, {-0.316f, 0.316f}},
                  {-25, {-0.316f, 0.316f}},
                  {-24, {0.316f, 0.316f}},
                  {-23, {-0.949f, -0.949f}},
                  {-22, {0.316f, 0.949f}},
                  {-21, {1, 0}},
                  {-7, {1, 0}},
                  {-1, {-0.949f, 0.949f}},
                  {0, {0, 0}},
                  {1, {-0.316f, 0.949f}},
                  {2, {0.316f, 0.949f}},
                  {4, {0.949f, -0.949f}},
                  {7, {1, 0}},
                  {20, {-0.949f, -0.949f}},
                  {21, {-1, 0}},
                  {26, {0.316f, -0.316f}},
                  {27, {0, 0}},
                  {-27, {0, 0}}};
    for (const auto& [carrier, value] : wanted) {
        const Sample found = carriers[format.row(carrier)];
        EXPECT_NEAR(found.real(), value.real(), 6e-4) << carrier;
        EXPECT_NEAR(found.imag(), value.imag(), 6e-4) << carrier;
    }
}

TEST(OfdmAnnex, samples_of_the_frame) {
    const auto samples = ofdm::transmit(format, rate, example(), scrambler);
    ASSERT_EQ(samples.size(), 881u);
    const struct {
        std::size_t at;
        std::vector<Sample> values;
    } wanted[] = {
        {0,
         {{0.023f, 0.023f}, {-0.132f, 0.002f}, {-0.013f, -0.079f}, {0.143f, -0.013f}, {0.092f, 0}, {0.143f, -0.013f}}},
        {160, {{-0.055f, 0.023f}, {0.012f, -0.098f}, {0.092f, -0.106f}, {-0.092f, -0.115f}, {-0.003f, -0.054f}}},
        {192, {{0.156f, 0}, {-0.005f, -0.120f}, {0.040f, -0.111f}, {0.097f, 0.083f}, {0.021f, 0.028f}}},
        {320, {{0.109f, 0}, {0.033f, -0.044f}, {-0.002f, -0.038f}, {-0.081f, 0.084f}, {0.007f, -0.100f}}},
        {400, {{-0.139f, 0.050f}, {0.004f, 0.014f}, {0.011f, -0.100f}, {-0.097f, -0.020f}, {0.062f, 0.081f}}},
        {872,
         {{0.193f, 0.018f},
          {-0.053f, -0.073f},
          {-0.118f, -0.149f},
          {0.019f, -0.019f},
          {-0.042f, 0.026f},
          {0.041f, 0.009f},
          {0.028f, -0.076f},
          {-0.038f, -0.068f},
          {-0.006f, 0.005f}}}};
    for (const auto& [at, values] : wanted) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            EXPECT_NEAR(samples[at + i].real(), values[i].real(), 6e-4) << at + i;
            EXPECT_NEAR(samples[at + i].imag(), values[i].imag(), 6e-4) << at + i;
        }
    }
}

TEST(OfdmAnnex, the_frame_is_received) {
    for (const bool corrected : {false, true}) {
        Air air{format};
        air.add(rate, example(corrected), scrambler);
        const Found found = receive(format, air.samples);
        ASSERT_EQ(found.frames.size(), 1u);
        EXPECT_EQ(found.octets(), air.sent);
        EXPECT_EQ(found.frames[0].whole, corrected);
        EXPECT_EQ(found.frames[0].head.position, 237u + 192);
        EXPECT_EQ(ofdm::rates[found.frames[0].head.rate].megabits, 36);
    }
}

TEST(OfdmAnnex, the_sequence_of_the_scrambler) {
    ofdm::Scrambler all_ones{127};
    std::string bits;
    for (int i = 0; i < 127; ++i) bits += all_ones.next() ? '1' : '0';
    EXPECT_EQ(bits.substr(0, 32), "00001110111100101100100100000010");
    EXPECT_EQ(std::ranges::count(bits, '1'), 64);
}

}  // namespace
