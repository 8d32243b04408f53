#include "language/xml/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

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

template <class T>
std::optional<T> read(std::string_view text) noexcept {
    T value{};
    const char* const end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, value);
    return got.ec == std::errc{} && got.ptr == end && !text.empty() ? std::optional<T>(value) : std::nullopt;
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
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
    return (names.size() == 1 ? "; there is " : "; there are ") + text;
}

std::optional<std::int64_t> integer_of(std::string_view text) noexcept { return read<std::int64_t>(text); }

std::optional<double> number_of(std::string_view text) noexcept {
    const auto value = read<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<bool> boolean_of(std::string_view text) noexcept {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
}

std::string text_of(const SettingValue& value) {
    struct Writer {
        std::string operator()(bool given) const { return given ? "true" : "false"; }
        std::string operator()(std::int64_t given) const { return std::to_string(given); }
        std::string operator()(double given) const {
            char text[40];
            return std::string(text, std::to_chars(text, text + sizeof text, given).ptr);
        }
        std::string operator()(const std::string& given) const { return given; }
    };
    return std::visit(Writer{}, value);
}

const char* kind_of(const SettingValue& value) noexcept {
    constexpr const char* names[] = {"true or false", "an integer", "a number", "a text"};
    return names[value.index()];
}

std::optional<SettingValue> value_like(const SettingValue& like, std::string_view text) {
    const auto wrap = [](const auto& value) { return value ? std::optional<SettingValue>(*value) : std::nullopt; };
    switch (like.index()) {
        case 0:
            return wrap(boolean_of(text));
        case 1:
            return wrap(integer_of(text));
        case 2:
            return wrap(number_of(text));
        default:
            return SettingValue(std::string(text));
    }
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
