// The format of a frame: that of IEEE 802.11a and g for a transform of 64, and one in its image for 256.
//
//     short training | long training | SIGNAL | data symbols
//
// The short training is ten times the same quarter of a symbol, the long training two known symbols behind a guard of
// half a symbol. SIGNAL, one symbol of BPSK at rate 1/2, says the rate and the length. Every symbol is the inverse
// transform of its carriers, behind its own last quarter (the cyclic prefix).
//
// With 256 there are 192 data carriers and 8 pilots (those of IEEE 802.16), trainings of pseudo-random signs, and four
// times as many bits a symbol; everything else is the same.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock::apps::ofdm {

using Sample = std::complex<float>;

/// How the bits of a frame are sent. The names of rates are those of 20 million samples a second and a transform of 64.
struct Rate {
    int megabits;
    std::uint8_t code;        ///< in SIGNAL, its first bit lowest
    std::size_t bits;         ///< of one carrier: 1 BPSK, 2 QPSK, 4 16-QAM, 6 64-QAM
    std::size_t taken, sent;  ///< the code: so many bits in, so many out
    bool operator==(const Rate& other) const noexcept { return code == other.code; }
};
inline constexpr std::array<Rate, 8> rates{{{6, 0b1011, 1, 1, 2},
                                            {9, 0b1111, 1, 3, 4},
                                            {12, 0b1010, 2, 1, 2},
                                            {18, 0b1110, 2, 3, 4},
                                            {24, 0b1001, 4, 1, 2},
                                            {36, 0b1101, 4, 3, 4},
                                            {48, 0b1000, 6, 2, 3},
                                            {54, 0b1100, 6, 3, 4}}};

/// Throws UsageError that lists the rates.
const Rate& rate_of(int megabits);

/// The octets of a frame that SIGNAL can tell.
inline constexpr std::size_t longest_frame = 4095;

/// What comes before the octets in the data symbols, and behind them.
inline constexpr std::size_t service_bits = 16, tail_bits = 6;

/// A transform's size and all that follows from it. Made once for each; lives as long as the program.
class Format {
  public:
    /// 64 or 256. Throws UsageError.
    static const Format& of(std::size_t size);

    std::size_t size;
    std::size_t prefix;  ///< samples of the cyclic prefix
    std::size_t symbol;  ///< samples of a symbol with its prefix
    std::size_t early;   ///< by so many samples a receiver takes each symbol before its place, inside its prefix
    /// By frequency, from the lowest: numbers of the carriers (negative ones are below the middle), pilots and data
    /// together
    std::vector<int> used;
    std::vector<int> data;
    std::vector<int> pilots;
    std::vector<float> pilot_signs;    ///< of each pilot, before the sequence that goes from symbol to symbol
    std::vector<float> long_carriers;  ///< of each used carrier: +1 or -1
    std::vector<Sample> long_symbol;   ///< in time, without prefix: what a transmitter sends
    std::vector<Sample> short_symbol;  ///< a quarter of a symbol
    std::vector<Sample> roots;         ///< of unity, for the transform

    /// Where a carrier's number lies in the transform.
    std::size_t row(int carrier) const noexcept {
        return static_cast<std::size_t>(carrier < 0 ? carrier + static_cast<int>(size) : carrier);
    }
    std::size_t coded_bits(const Rate& rate) const noexcept { return data.size() * rate.bits; }  ///< of a symbol
    std::size_t data_bits(const Rate& rate) const noexcept { return coded_bits(rate) * rate.taken / rate.sent; }
    /// Data symbols of a frame of so many octets.
    std::size_t symbols(const Rate& rate, std::size_t octets) const noexcept {
        const std::size_t bits = service_bits + 8 * octets + tail_bits;
        return (bits + data_bits(rate) - 1) / data_bits(rate);
    }
    std::size_t short_training() const noexcept { return 10 * size / 4; }
    std::size_t long_training() const noexcept { return size / 2 + 2 * size; }
    /// Samples before SIGNAL.
    std::size_t preamble() const noexcept { return short_training() + long_training(); }
    std::size_t samples(const Rate& rate, std::size_t octets) const noexcept {
        return preamble() + (1 + symbols(rate, octets)) * symbol;
    }

  private:
    explicit Format(std::size_t n);
};

/// +1 or -1 for the pilots of symbol n; SIGNAL is symbol 0.
float pilot_polarity(std::size_t n) noexcept;

/// The position in the constellation of these bits, the first lowest, with a mean power of 1.
Sample constellation_point(const Rate& rate, unsigned bits) noexcept;
/// Half the distance of neighbours there.
float constellation_unit(const Rate& rate) noexcept;

}  // namespace penstock::apps::ofdm
