#include "apps/ofdm/transmit.hpp"

#include <algorithm>

#include "apps/ofdm/scrambler.hpp"
#include "kernels/fourier.hpp"
#include "penstock/error.hpp"

namespace penstock::apps::ofdm {
namespace {

/// Puts symbols behind one another, each with so many samples of its own end before it.
class Joined {
  public:
    void add(std::span<const Sample> symbol, std::size_t before, std::size_t times = 1) {
        const std::size_t n = symbol.size();
        std::vector<Sample> whole;
        for (std::size_t i = 0; i < before; ++i) whole.push_back(symbol[(n - before % n + i) % n]);
        for (std::size_t t = 0; t < times; ++t) whole.insert(whole.end(), symbol.begin(), symbol.end());
        whole.front() = (whole.front() + beyond_) * 0.5f;
        beyond_ = symbol.front();
        samples_.insert(samples_.end(), whole.begin(), whole.end());
    }
    std::vector<Sample> end() {
        samples_.push_back(beyond_ * 0.5f);
        return std::move(samples_);
    }

  private:
    std::vector<Sample> samples_;
    Sample beyond_{};  ///< what the last symbol would go on with
};

void add_symbols(Joined& joined, const Format& format, const Rate& rate, std::span<const std::uint8_t> bits,
                 std::size_t first_symbol) {
    const auto interleaved = interleave(puncture(convolve(bits), rate), format.data.size(), rate);
    auto carriers = carriers_of(format, rate, interleaved, first_symbol);
    std::vector<Sample> scratch(format.size);
    for (std::size_t at = 0; at < carriers.size(); at += format.size) {
        const auto symbol = std::span(carriers).subspan(at, format.size);
        // The inverse transform is the forward one between two conjugations.
        for (Sample& value : symbol) value = std::conj(value);
        kernels::fourier<float>(symbol, format.roots, scratch);
        for (Sample& value : symbol) value = std::conj(value) / static_cast<float>(format.size);
        joined.add(symbol, format.prefix);
    }
}

}  // namespace

Bits signal_field(const Rate& rate, std::size_t octets) {
    Bits bits;
    for (int i = 0; i < 4; ++i) bits.push_back(rate.code >> i & 1);
    bits.push_back(0);
    for (int i = 0; i < 12; ++i) bits.push_back(static_cast<std::uint8_t>(octets >> i & 1));
    bits.push_back(static_cast<std::uint8_t>(std::ranges::count(bits, 1) % 2));
    bits.resize(24);
    return bits;
}

Bits data_field(const Format& format, const Rate& rate, std::span<const std::uint8_t> octets, unsigned scrambler) {
    const std::size_t used = service_bits + 8 * octets.size();
    Bits bits(format.symbols(rate, octets.size()) * format.data_bits(rate));
    for (std::size_t i = 0; i < 8 * octets.size(); ++i) bits[service_bits + i] = octets[i / 8] >> (i % 8) & 1;
    Scrambler sequence{scrambler};
    for (auto& bit : bits) bit ^= static_cast<std::uint8_t>(sequence.next());
    std::fill_n(bits.begin() + static_cast<std::ptrdiff_t>(used), tail_bits, std::uint8_t{0});
    return bits;
}

std::vector<Sample> carriers_of(const Format& format, const Rate& rate, std::span<const std::uint8_t> interleaved,
                                std::size_t first_symbol) {
    const std::size_t symbols = interleaved.size() / format.coded_bits(rate);
    std::vector<Sample> carriers(symbols * format.size);
    std::size_t bit = 0;
    for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
        Sample* const to = &carriers[symbol * format.size];
        for (const int carrier : format.data) {
            unsigned bits = 0;
            for (std::size_t i = 0; i < rate.bits; ++i) bits |= static_cast<unsigned>(interleaved[bit++]) << i;
            to[format.row(carrier)] = constellation_point(rate, bits);
        }
        for (std::size_t i = 0; i < format.pilots.size(); ++i)
            to[format.row(format.pilots[i])] = format.pilot_signs[i] * pilot_polarity(first_symbol + symbol);
    }
    return carriers;
}

std::vector<Sample> transmit(const Format& format, const Rate& rate, std::span<const std::uint8_t> octets,
                             unsigned scrambler) {
    if (octets.empty() || octets.size() > longest_frame)
        throw UsageError("ofdm: a frame has 1 to " + std::to_string(longest_frame) + " octets, not " +
                         std::to_string(octets.size()));
    if (scrambler == 0 || scrambler > 127) throw UsageError("ofdm: the scrambler begins with 1 to 127");
    Joined joined;
    joined.add(format.short_symbol, 0, 10);
    joined.add(format.long_symbol, format.size / 2, 2);
    Bits signal = signal_field(rate, octets.size());
    signal.resize(format.data_bits(rates[0]));
    add_symbols(joined, format, rates[0], signal, 0);
    add_symbols(joined, format, rate, data_field(format, rate, octets, scrambler), 1);
    return joined.end();
}

std::vector<std::uint8_t> with_check(std::vector<std::uint8_t> octets) {
    const std::uint32_t check = check_sequence(octets);
    for (int i = 0; i < 4; ++i) octets.push_back(static_cast<std::uint8_t>(check >> (8 * i)));
    return octets;
}

}  // namespace penstock::apps::ofdm
