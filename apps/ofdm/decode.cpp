#include "apps/ofdm/decode.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "apps/ofdm/coding.hpp"
#include "apps/ofdm/scrambler.hpp"

namespace penstock::apps::ofdm {

namespace viterbi = kernels::viterbi;

Decoder::Decoder(const Format& format) : format_{format}, decisions_(service_bits + 8 * longest_frame + tail_bits) {}

bool Decoder::run(const SoftPiece& from, Frame& to) {
    const std::size_t each = format_.data_bits(rates[from.head.frame.rate]);
    // What follows the tail is of no use.
    const std::size_t all = service_bits + 8 * from.head.frame.octets + tail_bits;
    if (from.head.first == 0 || from.head.frame.number != frame_.number) {
        frame_ = from.head.frame;
        metrics_ = viterbi::Metrics::beginning();
        steps_ = std::min(from.head.first * each, all);
    }
    const std::size_t here = std::min(from.head.count * each, all - steps_);
    viterbi::forward(metrics_, {from.soft.data(), 2 * here}, std::span(decisions_).subspan(steps_, here));
    const std::size_t known = steps_;
    steps_ += here;
    // Before the end any state will do for a guess: the survivors of all have the same past, some dozens of steps ago.
    viterbi::trace(decisions_, steps_, 0, known, bits_);
    if (!from.head.last()) return false;
    check(frame_, bits_, to);
    return true;
}

bool read_signal(std::span<const std::int8_t> soft, FrameHead& head) {
    std::array<std::uint64_t, 96> decisions{};
    std::array<std::uint64_t, 2> bits{};
    const std::size_t steps = soft.size() / 2;
    auto metrics = viterbi::Metrics::beginning();
    viterbi::forward(metrics, soft, std::span(decisions).first(steps));
    viterbi::trace(decisions, steps, 0, 0, bits);
    const auto signal = static_cast<std::uint32_t>(bits[0] & 0xff'ffff);
    const auto code = signal & 15, octets = signal >> 5 & 0xfff;
    const auto rate = std::ranges::find(rates, code, &Rate::code);
    if (std::popcount(signal & 0x3ffff) % 2 != 0 || (signal >> 4 & 1) != 0 || signal >> 18 != 0 ||
        rate == rates.end() || octets == 0)
        return false;
    head.rate = static_cast<std::uint32_t>(rate - rates.begin());
    head.octets = octets;
    return true;
}

void check(const FrameHead& head, FrameBits& bits, Frame& to) {
    to.head = head;
    const std::size_t octets = head.octets, words = (service_bits + 8 * octets + 63) / 64;
    descramble(std::span(bits).first(words));
    constexpr std::size_t before = service_bits / 8;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(to.octets.data(), reinterpret_cast<const std::uint8_t*>(bits.data()) + before, octets);
    } else {
        for (std::size_t i = 0; i < octets; ++i)
            to.octets[i] = static_cast<std::uint8_t>(bits[(i + before) / 8] >> ((i + before) % 8 * 8));
    }
    constexpr std::size_t sequence = 4;
    to.whole = octets > sequence;
    if (!to.whole) return;
    const std::uint32_t wanted = check_sequence({to.octets.data(), octets - sequence});
    for (std::size_t i = 0; i < sequence; ++i)
        to.whole = to.whole && to.octets[octets - sequence + i] == static_cast<std::uint8_t>(wanted >> (8 * i));
}

}  // namespace penstock::apps::ofdm
