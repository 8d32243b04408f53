// Words of the language: names, the nearest of several, values as text and back.
#pragma once

#include "penstock/components.hpp"
#include "trace/text.hpp"

namespace penstock::language {

using trace::list_of;

// Letters and digits are those of ASCII.
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string in_quotes(std::string_view text);
/// A letter, then letters, digits, '-' and '_'.
bool is_name(std::string_view text) noexcept;
/// The same with ':' behind the first letter.
bool is_class_name(std::string_view text) noexcept;
/// Names with '/' between them.
bool is_path(std::string_view text) noexcept;
/// "left/scale" and "out" of "left/scale.out".
std::string part_of(std::string_view endpoint);
std::string port_of(std::string_view endpoint);

/// By what it is called: a member `name`, or the first of a pair.
constexpr const auto& name_of(const auto& each) {
    if constexpr (requires { each.name; }) return each.name;
    else return each.first;
}
/// The first of this name; null when there is none.
template <class All>
auto* named(All& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, [](const auto& each) -> const auto& { return name_of(each); });
    return found == std::ranges::end(all) ? nullptr : &*found;
}
std::vector<std::string> names_of(const auto& all) {
    std::vector<std::string> names;
    for (const auto& each : all) names.push_back(name_of(each));
    return names;
}
inline std::string number_text(int number) { return std::to_string(number); }
/// Is the word one of these, which have a space between them?
bool stands_in_list(std::string_view words, std::string_view word) noexcept;

/// `; did you mean 'x'?` for the nearest of `names`, and when none is near, `; there are 'a', 'b'`, or nothing when
/// there are none.
std::string hint(std::string_view wrong, const std::vector<std::string>& names);

std::optional<std::int64_t> integer_of(std::string_view text) noexcept;
/// Finite ones only.
std::optional<double> number_of(std::string_view text) noexcept;
/// The shortest text that gives the same value again.
std::string text_of(const SettingValue& value);
/// "an integer", "a number", "true or false", "a text".
const char* kind_of(const SettingValue& value) noexcept;
/// An integer or a number; nothing for other values.
std::optional<double> size_of(const SettingValue& value) noexcept;
/// The text as a value of the same type as `like`; nothing when it is none.
std::optional<SettingValue> value_like(const SettingValue& like, std::string_view text);
/// The text as a number between these, an integer or not; `what` names it in messages. Throws UsageError.
template <class Number>
Number number_within(std::string_view what, std::string_view text, Number least, Number most);

/// The one of this name. Throws UsageError when the class has none.
const SettingDescription& setting_of(const ComponentClass& of, std::string_view name);
/// The text as the value of a setting. Throws UsageError.
SettingValue value_of_setting(const SettingDescription& setting, const std::string& text);
bool is_within(const SettingValue& value, const SettingLimits& limits) noexcept;

/// Pieces between white space.
std::vector<std::string> words_of(std::string_view text);

}  // namespace penstock::language
