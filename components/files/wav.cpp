#include "components/files/wav.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "penstock/error.hpp"

namespace penstock::components {
namespace {

constexpr std::size_t whole_numbers = 1, floating = 3, extensible = 0xfffe;

std::size_t number(std::string_view bytes, std::size_t at, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

template <class T>
T as(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

float sample(const char* at, const WavFormat& format) {
    if (format.floats) return format.bytes == 4 ? as<float>(at) : static_cast<float>(as<double>(at));
    switch (format.bytes) {
        case 1:
            return (static_cast<float>(static_cast<unsigned char>(*at)) - 128) / 128;
        case 2:
            return static_cast<float>(as<std::int16_t>(at)) / 32768;
        case 3: {
            const auto value = static_cast<std::int32_t>(number({at, 3}, 0, 3) << 8) >> 8;
            return static_cast<float>(value) / 8388608;
        }
        default:
            return static_cast<float>(static_cast<double>(as<std::int32_t>(at)) / 2147483648.0);
    }
}

}  // namespace

Wav parsed_wav(std::string_view file, const std::string& path) {
    const auto refuse = [&](const std::string& why) { throw UsageError("the file '" + path + "' " + why); };
    if (file.size() < 12 || !file.starts_with("RIFF") || file.substr(8, 4) != "WAVE")
        refuse("is no sound here: give a RIFF WAVE file (.wav)");
    Wav found;
    bool described = false;
    for (std::size_t at = 12; at + 8 <= file.size();) {
        const auto name = file.substr(at, 4);
        const auto length = number(file, at + 4, 4);
        const auto body = file.substr(at + 8, length);  // as far as the file goes
        if (name == "fmt ") {
            if (body.size() < 16) refuse("ends within its description");
            auto kind = number(body, 0, 2);
            if (kind == extensible && body.size() >= 26) kind = number(body, 24, 2);
            found.format = {number(body, 2, 2), number(body, 4, 4), number(body, 14, 2) / 8, kind == floating};
            const auto bytes = found.format.bytes;
            const bool known =
                kind == floating ? bytes == 4 || bytes == 8 : kind == whole_numbers && bytes >= 1 && bytes <= 4;
            if (!known || number(body, 14, 2) % 8 != 0)
                refuse("holds samples of kind " + std::to_string(kind) + " and " + std::to_string(number(body, 14, 2)) +
                       " bits: 8, 16, 24 or 32 whole, or 32 or 64 floating, are read");
            if (found.format.channels == 0 || found.format.channels > 256 || found.format.rate == 0)
                refuse("has no channels, more than 256, or no rate");
            described = true;
        } else if (name == "data") {
            if (!described) refuse("has its samples before their description");
            // A recorder that was cut off leaves 0 or too much here: what is there is read.
            const auto rest = file.substr(at + 8);
            const auto there = length == 0 || length > rest.size() ? rest : body;
            found.samples = there.substr(0, there.size() / found.format.frame() * found.format.frame());
            return found;
        }
        at += 8 + length + length % 2;
    }
    refuse("has no samples");
    return found;
}

void samples_of(std::string_view from, const WavFormat& format, std::span<float> to) {
    const auto* at = from.data();
    for (float& each : to) {
        each = sample(at, format);
        at += format.bytes;
    }
}

std::vector<std::byte> bytes_of(std::span<const float> samples, const WavFormat& format) {
    std::vector<std::byte> made(samples.size() * format.bytes);
    auto* to = made.data();
    const double most = std::ldexp(1.0, static_cast<int>(8 * format.bytes - 1));
    for (const float each : samples) {
        if (format.floats) {
            std::memcpy(to, &each, sizeof each);
        } else {
            const double scaled = std::isnan(each) ? 0 : std::nearbyint(static_cast<double>(each) * most);
            const auto value = static_cast<std::int64_t>(std::clamp(scaled, -most, most - 1));
            std::memcpy(to, &value, format.bytes);
        }
        to += format.bytes;
    }
    return made;
}

std::string wav_head(const WavFormat& format, std::size_t bytes) {
    std::string head = "RIFF";
    const auto put = [&](std::size_t value, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) head += static_cast<char>(value >> 8 * i & 0xff);
    };
    put(std::min<std::size_t>(36 + bytes, 0xffffffff), 4);
    head += "WAVEfmt ";
    put(16, 4);
    put(format.floats ? floating : whole_numbers, 2);
    put(format.channels, 2);
    put(format.rate, 4);
    put(format.rate * format.frame(), 4);
    put(format.frame(), 2);
    put(8 * format.bytes, 2);
    head += "data";
    put(std::min<std::size_t>(bytes, 0xffffffff - 36), 4);
    return head;
}

}  // namespace penstock::components
