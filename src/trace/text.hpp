// Text for files that other programs read: escaped, valid UTF-8, independent of the locale.
#pragma once

#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace penstock::trace {

/// Takes the next character off the front of `text`; nothing, and one byte taken, where the bytes are not UTF-8.
std::optional<char32_t> take_character(std::string_view& text) noexcept;

/// What `text` makes of each, with `between` between them.
template <class All, class Text = std::identity>
std::string list_of(const All& all, std::string_view between, Text text = {}) {
    std::string list;
    for (bool first = true; const auto& each : all) {
        if (!std::exchange(first, false)) list += between;
        list += text(each);
    }
    return list;
}

/// All of the text as a number; nothing where it is none. `base`: of an integer, else ten.
template <class Number>
std::optional<Number> number_of(std::string_view text, auto... base) noexcept {
    Number number{};
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base...);
    return read.ec == std::errc{} && read.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// As a JSON string, with its quotes.
std::string json_text(std::string_view text);

/// As text or an attribute's value in XML. What XML cannot hold comes out as U+FFFD.
std::string xml_text(std::string_view text);

/// As a string of graphviz's language, with its quotes. Where the text has line breaks, the drawing has them.
std::string dot_text(std::string_view text);

/// With every byte that is not UTF-8, and every control character, replaced; at most `columns` characters, the last one
/// an ellipsis when some were cut.
std::string plain_text(std::string_view text, std::size_t columns);

/// Number of code points of valid UTF-8.
std::size_t columns_of(std::string_view text) noexcept;

/// A finite number with so many decimals; with as many as it needs to be read back exactly.
std::string fixed(double value, int decimals);
std::string exact(double value);

/// A duration in the unit that fits it, three digits: "12.3 ms".
std::string duration(double seconds);

}  // namespace penstock::trace
