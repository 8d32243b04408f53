// Words of the language: names, the nearest of several, numbers as text and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/port.hpp"

namespace penstock::language {

// Letters and digits are those of ASCII.
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
/// In an expression: of a number, but for its exponent; the first of a name, behind which digits may follow.
constexpr bool is_of_number(char c) noexcept { return is_digit(c) || c == '.'; }
constexpr bool begins_word(char c) noexcept { return is_letter(c) || c == '_'; }

std::string in_quotes(std::string_view text);
/// A letter, then letters, digits, '-' and '_'.
bool is_name(std::string_view text) noexcept;
/// The same with ':' behind the first letter.
bool is_class_name(std::string_view text) noexcept;
/// Names with '/' between them.
bool is_path(std::string_view text) noexcept;

/// `; did you mean 'x'?` for the nearest of `names`, and when none is near, `; there are 'a', 'b'`, or nothing when
/// there are none.
std::string hint(std::string_view wrong, const std::vector<std::string>& names);

std::optional<std::int64_t> integer_of(std::string_view text) noexcept;
/// Finite ones only.
std::optional<double> number_of(std::string_view text) noexcept;
std::optional<bool> boolean_of(std::string_view text) noexcept;
/// The shortest text that gives the same value again.
std::string text_of(const SettingValue& value);
/// "an integer", "a number", "true or false", "a text".
const char* kind_of(const SettingValue& value) noexcept;
/// The text as a value of the same type as `like`; nothing when it is none.
std::optional<SettingValue> value_like(const SettingValue& like, std::string_view text);

/// Pieces between white space.
std::vector<std::string> words_of(std::string_view text);

}  // namespace penstock::language
