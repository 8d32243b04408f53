#include "language/xml/text.hpp"

#include <cmath>
#include <numeric>

namespace penstock::language {
namespace {

bool continues_name(char c) noexcept { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; }

/// Insertions, deletions, replacements and exchanges of neighbours that make `a` of `b`.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        before = std::exchange(last, now);
    }
    return last[b.size()];
}

}  // namespace

std::string in_quotes(std::string_view text) {
    constexpr std::size_t most = 80;  // what is wrong may be long
    if (text.size() <= most) return "'" + std::string(text) + "'";
    auto end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return "'" + std::string(text.substr(0, end)) + "...'";
}

bool is_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= 255 && is_letter(text.front()) &&
           std::all_of(text.begin(), text.end(), continues_name);
}

bool is_class_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= 255 && is_letter(text.front()) &&
           std::all_of(text.begin(), text.end(), [](char c) { return continues_name(c) || c == ':'; });
}

bool is_path(std::string_view text) noexcept {
    while (true) {
        const auto slash = text.find('/');
        const auto part = text.substr(0, slash);
        // Slices are numbered.
        if (!is_name(part) && !(slash != text.npos && !part.empty() && part.size() < 10 &&
                                std::all_of(part.begin(), part.end(), is_digit)))
            return false;
        if (slash == text.npos) return true;
        text.remove_prefix(slash + 1);
    }
}

std::string part_of(std::string_view endpoint) { return std::string(endpoint.substr(0, endpoint.rfind('.'))); }
std::string port_of(std::string_view endpoint) { return std::string(endpoint.substr(endpoint.rfind('.') + 1)); }

bool stands_in_list(std::string_view words, std::string_view word) noexcept {
    for (auto at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
        const auto end = at + word.size();
        if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return !word.empty();
    }
    return false;
}

std::string hint(std::string_view wrong, const std::vector<std::string>& names) {
    if (names.empty()) return "";
    constexpr std::size_t longest = 100, most_compared = 2000, most_listed = 12;
    if (wrong.size() <= longest) {
        const std::string* nearest = nullptr;
        std::size_t least = std::max<std::size_t>(1, wrong.size() / 3) + 1;
        for (std::size_t i = 0; i < std::min(names.size(), most_compared); ++i) {
            const auto& name = names[i];
            if (name.size() > wrong.size() + least || wrong.size() > name.size() + least) continue;
            if (const auto far = distance(wrong, name); far < least) least = far, nearest = &name;
        }
        if (nearest != nullptr) return "; did you mean " + in_quotes(*nearest) + "?";
    }
    if (names.size() > most_listed) return "";
    return (names.size() == 1 ? "; there is " : "; there are ") + list_of(names, ", ", in_quotes);
}

std::optional<std::int64_t> integer_of(std::string_view text) noexcept { return trace::number_of<std::int64_t>(text); }

std::optional<double> number_of(std::string_view text) noexcept {
    const auto value = trace::number_of<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string text_of(const SettingValue& value) {
    if (const auto* const truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
    if (const auto* const words = std::get_if<std::string>(&value)) return *words;
    char text[40];
    return std::string(text, std::to_chars(text, text + sizeof text, std::get<double>(value)).ptr);
}

const char* kind_of(const SettingValue& value) noexcept {
    constexpr const char* names[] = {"true or false", "an integer", "a number", "a text"};
    return names[value.index()];
}

std::optional<double> size_of(const SettingValue& value) noexcept {
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    const auto* const number = std::get_if<double>(&value);
    return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<SettingValue> value_like(const SettingValue& like, std::string_view text) {
    const auto wrap = [](const auto& value) { return value ? std::optional<SettingValue>(*value) : std::nullopt; };
    if (like.index() == 1) return wrap(integer_of(text));
    if (like.index() == 2) return wrap(number_of(text));
    if (like.index() == 3) return SettingValue(std::string(text));
    return text == "true" || text == "false" ? std::optional<SettingValue>(text == "true") : std::nullopt;
}

template <class Number>
Number number_within(std::string_view what, std::string_view text, Number least, Number most) {
    const auto value = value_like(least, text);
    if (value && std::get<Number>(*value) >= least && std::get<Number>(*value) <= most) return std::get<Number>(*value);
    throw UsageError(in_quotes(what) + " is " + in_quotes(text) + ", and should be " + kind_of(least) + " from " +
                     text_of(least) + " to " + text_of(most));
}
template std::int64_t number_within(std::string_view, std::string_view, std::int64_t, std::int64_t);
template double number_within(std::string_view, std::string_view, double, double);

const SettingDescription& setting_of(const ComponentClass& of, std::string_view name) {
    if (const auto* const found = named(of.filter.settings, name)) return *found;
    throw UsageError("class " + in_quotes(of.name) + " has no setting " + in_quotes(name) +
                     hint(name, names_of(of.filter.settings)));
}

SettingValue value_of_setting(const SettingDescription& setting, const std::string& text) {
    auto value = value_like(setting.value, text);
    if (!value)
        throw UsageError("setting " + in_quotes(setting.name) + " is given " + in_quotes(text) + ", and should be " +
                         kind_of(setting.value));
    const auto& limits = setting.limits;
    if (!limits.choices.empty() && !is_within(*value, limits))
        throw UsageError("setting " + in_quotes(setting.name) + " is given " + in_quotes(text) +
                         ", and should be one of " + list_of(limits.choices, ", ", in_quotes) +
                         hint(text, limits.choices));
    if (!is_within(*value, limits))
        throw UsageError("setting " + in_quotes(setting.name) + " is given " + text + ", and should be from " +
                         text_of(limits.least) + " to " + text_of(limits.most) +
                         (limits.unit.empty() ? "" : " " + limits.unit));
    return std::move(*value);
}

bool is_within(const SettingValue& value, const SettingLimits& limits) noexcept {
    const auto size = size_of(value);
    const auto* const text = std::get_if<std::string>(&value);
    if (text != nullptr && !limits.choices.empty())
        return std::ranges::find(limits.choices, *text) != limits.choices.end();
    return !size || (*size >= limits.least && *size <= limits.most);
}

std::vector<std::string> words_of(std::string_view text) {
    constexpr std::string_view white = " \t\r\n";
    std::vector<std::string> all;
    for (auto begin = text.find_first_not_of(white); begin != text.npos; begin = text.find_first_not_of(white, begin)) {
        const auto end = std::min(text.find_first_of(white, begin), text.size());
        all.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    return all;
}

}  // namespace penstock::language
