#include "trace/text.hpp"

#include <array>
#include <charconv>

namespace penstock::trace {

namespace {

constexpr char32_t replacement = 0xFFFD;

/// Takes the next character off the front of `rest`; U+FFFD, and one byte taken, where the bytes are not UTF-8.
char32_t take(std::string_view& rest) noexcept {
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
    return valid ? code : replacement;
}

void put(std::string& out, char32_t code) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0 | code >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

bool control(char32_t code) noexcept { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

}  // namespace

std::string json_text(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const char32_t code = take(text);
        switch (code) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (control(code)) {
                    static constexpr char digits[] = "0123456789abcdef";
                    out += "\\u00";
                    out += digits[code >> 4];
                    out += digits[code & 0xF];
                } else {
                    put(out, code);
                }
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
    std::string out;
    while (!text.empty()) {
        const char32_t code = take(text);
        switch (code) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                put(out, control(code) || code == 0xFFFE || code == 0xFFFF ? replacement : code);
        }
    }
    return out;
}

std::string plain_text(std::string_view text, std::size_t columns) {
    std::string out;
    std::size_t used = 0;
    while (!text.empty()) {
        const char32_t code = take(text);
        if (++used == columns && !text.empty()) {
            put(out, 0x2026);
            break;
        }
        put(out, control(code) ? replacement : code);
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
