#include "trace/text.hpp"

#include <array>

namespace penstock::trace {

namespace {

/// A character and the bytes that say it.
struct Letter {
    char32_t code;
    std::string_view bytes;
};
constexpr Letter replacement{0xFFFD, "\xEF\xBF\xBD"};

/// U+FFFD for a byte that is not UTF-8.
Letter take(std::string_view& rest) noexcept {
    const auto before = rest;
    const auto code = take_character(rest);
    return code ? Letter{*code, before.substr(0, before.size() - rest.size())} : replacement;
}

bool control(char32_t code) noexcept { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

}  // namespace

std::optional<char32_t> take_character(std::string_view& rest) noexcept {
    const auto byte = [&rest](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80         ? 1
                               : lead >> 5 == 0x6  ? 2
                               : lead >> 4 == 0xE  ? 3
                               : lead >> 3 == 0x1E ? 4
                                                   : 0;
    static constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
    char32_t code = length <= 1 ? lead : lead & (0x7Fu >> length);
    bool valid = length != 0 && length <= rest.size();
    for (std::size_t i = 1; valid && i < length; ++i) {
        valid = byte(i) >> 6 == 0x2;
        code = code << 6 | (byte(i) & 0x3Fu);
    }
    valid = valid && code >= smallest[length] && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
    rest.remove_prefix(valid ? length : 1);
    return valid ? std::optional(code) : std::nullopt;
}

std::string json_text(std::string_view text) {
    constexpr std::string_view escaped = "\"\\\n\r\t", names = "\"\\nrt", digits = "0123456789abcdef";
    std::string out = "\"";
    while (!text.empty()) {
        const Letter letter = take(text);
        if (const auto at = escaped.find(letter.bytes); at != escaped.npos) {
            out += '\\';
            out += names[at];
        } else if (control(letter.code)) {
            out += "\\u00";
            out += digits[letter.code >> 4];
            out += digits[letter.code & 0xF];
        } else {
            out += letter.bytes;
        }
    }
    return out += '"';
}

std::string dot_text(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') out += '\\';
        if (letter == '\n') out += "\\n";
        else out += letter;
    }
    return out + '"';
}

std::string xml_text(std::string_view text) {
    constexpr std::string_view escaped = "&<>\"'";
    constexpr std::array<std::string_view, 5> names{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    std::string out;
    while (!text.empty()) {
        const auto [code, bytes] = take(text);
        const auto at = escaped.find(bytes);
        const bool legal = !control(code) && code != 0xFFFE && code != 0xFFFF;
        out += at != escaped.npos ? names[at] : legal ? bytes : replacement.bytes;
    }
    return out;
}

std::string plain_text(std::string_view text, std::size_t columns) {
    std::string out;
    for (std::size_t used = 1; !text.empty(); ++used) {
        const auto [code, bytes] = take(text);
        if (used == columns && !text.empty()) return out += "\xE2\x80\xA6";  // three dots
        out += control(code) ? replacement.bytes : bytes;
    }
    return out;
}

std::size_t columns_of(std::string_view text) noexcept {
    std::size_t columns = 0;
    for (const char c : text) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return columns;
}

std::string fixed(double value, int decimals) {
    std::array<char, 400> buffer;  // 309 digits, a sign, a point and the decimals
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
    return {buffer.data(), end.ptr};
}

std::string exact(double value) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), end.ptr};
}

std::string duration(double seconds) {
    struct Unit {
        double size;
        const char* name;
    };
    static constexpr std::array<Unit, 4> units{{{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}, {1e-9, " ns"}}};
    for (const Unit& unit : units) {
        const double value = seconds / unit.size;
        // 0.9995 would be printed as 1.00: so the units change where the rounding does.
        if (value >= 0.9995) return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + unit.name;
    }
    return seconds > 0 ? fixed(seconds * 1e9, 2) + " ns" : "0 s";
}

}  // namespace penstock::trace
