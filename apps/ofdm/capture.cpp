#include "apps/ofdm/capture.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "penstock/error.hpp"

namespace penstock::apps::ofdm {
namespace {

constexpr std::uint32_t radiotap = 127;  // the kind of link
/// Of the radiotap header: which fields there are (time, flags, rate, signal, noise), and the flags.
constexpr std::uint32_t fields = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5 | 1u << 6;
constexpr std::uint8_t has_check = 0x10, check_is_wrong = 0x40;

/// Numbers behind one another, lowest byte first.
template <std::size_t size>
struct Bytes {
    template <class T>
    void put(T value) {
        for (std::size_t i = 0; i < sizeof(T); ++i)
            bytes[used++] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    std::array<std::uint8_t, size> bytes{};
    std::size_t used = 0;
};

}  // namespace

Capture::Capture(const std::string& path, double samples_a_second)
    : path_{path}, samples_a_second_{samples_a_second}, file_{std::fopen(path.c_str(), "wbe"), std::fclose} {
    if (!file_) throw SystemError("cannot write the file '" + path + "'", errno);
    Bytes<24> head;
    head.put(std::uint32_t{0xa1b2c3d4});
    head.put(std::uint16_t{2});
    head.put(std::uint16_t{4});
    head.put(std::uint64_t{0});
    head.put(std::uint32_t{65535});
    head.put(radiotap);
    write(head.bytes.data(), head.used);
}

void Capture::add(const Frame& frame) {
    const auto microseconds =
        static_cast<std::uint64_t>(static_cast<double>(frame.head.position) / samples_a_second_ * 1e6);
    const double snr = frame.head.snr > 0 ? 10 * std::log10(frame.head.snr) : 0;
    constexpr std::uint16_t header = 8 + 8 + 1 + 1 + 1 + 1;
    Bytes<16 + header> bytes;
    bytes.put(static_cast<std::uint32_t>(microseconds / 1'000'000));
    bytes.put(static_cast<std::uint32_t>(microseconds % 1'000'000));
    for (int length = 0; length < 2; ++length) bytes.put(std::uint32_t{header} + frame.head.octets);
    bytes.put(std::uint16_t{0});
    bytes.put(header);
    bytes.put(fields);
    bytes.put(microseconds);
    bytes.put(static_cast<std::uint8_t>(frame.whole ? has_check : has_check | check_is_wrong));
    bytes.put(static_cast<std::uint8_t>(2 * rates[frame.head.rate].megabits));
    // Nobody knows what a sample of 1 is in dBm: the noise is called -100, and the signal is as far above it as it was.
    bytes.put(static_cast<std::int8_t>(-100 + std::clamp(std::lrint(snr), 0L, 100L)));
    bytes.put(std::int8_t{-100});
    write(bytes.bytes.data(), bytes.used);
    write(frame.octets.data(), frame.head.octets);
}

void Capture::flush() {
    if (std::fflush(file_.get()) != 0) throw SystemError("cannot write the file '" + path_ + "'", errno);
}

void Capture::write(const void* bytes, std::size_t count) {
    if (std::fwrite(bytes, 1, count, file_.get()) != count)
        throw SystemError("cannot write the file '" + path_ + "'", errno != 0 ? errno : EIO);
}

}  // namespace penstock::apps::ofdm
