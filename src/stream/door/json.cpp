#include "stream/door/json.hpp"

#include <algorithm>

#include "trace/text.hpp"

namespace penstock::streaming {
namespace {

using trace::number_of;

class Reader {
  public:
    explicit Reader(std::string_view text) : all_(text), left_(text) {}

    Json whole() {
        Json made = value(0);
        blank();
        if (!left_.empty()) fail("something stands behind the end");
        return made;
    }

  private:
    static constexpr int deepest = 32;

    [[noreturn]] void fail(const std::string& what) const {
        throw WrongJson("this is no JSON: at byte " + std::to_string(all_.size() - left_.size()) + ", " + what);
    }
    void blank() {
        while (!left_.empty() && std::string_view(" \t\r\n").find(left_.front()) != left_.npos) left_.remove_prefix(1);
    }
    bool take(char letter) {
        blank();
        if (left_.empty() || left_.front() != letter) return false;
        left_.remove_prefix(1);
        return true;
    }
    bool take_word(std::string_view word) {
        if (!left_.starts_with(word)) return false;
        left_.remove_prefix(word.size());
        return true;
    }

    Json value(int depth) {
        if (depth > deepest) fail("it is nested too deep");
        blank();
        if (left_.empty()) fail("it ends too early");
        if (left_.front() == '{') return {object(depth)};
        if (left_.front() == '[') return {list(depth)};
        if (left_.front() == '"') return {text()};
        if (take_word("true")) return {true};
        if (take_word("false")) return {false};
        if (take_word("null")) return {};
        return number();
    }
    Json number() {
        const auto end = std::min(left_.find_first_not_of("+-.0123456789eE"), left_.size());
        const auto digits = left_.substr(0, end);
        Json made;
        if (const auto integer = number_of<std::int64_t>(digits)) made.value = *integer;
        else if (const auto real = number_of<double>(digits)) made.value = *real;
        else fail("a value was expected");
        left_.remove_prefix(end);
        return made;
    }
    Json::List list(int depth) {
        Json::List all;
        take('[');
        if (take(']')) return all;
        do all.push_back(value(depth + 1));
        while (take(','));
        if (!take(']')) fail("a list goes on with ',' or ends with ']'");
        return all;
    }
    Json::Object object(int depth) {
        Json::Object all;
        take('{');
        if (take('}')) return all;
        do {
            blank();
            if (left_.empty() || left_.front() != '"') fail("a name in quotes was expected");
            auto name = text();
            if (std::ranges::any_of(all, [&](const auto& each) { return each.first == name; }))
                fail("'" + name + "' stands twice");
            if (!take(':')) fail("':' was expected");
            all.emplace_back(std::move(name), value(depth + 1));
        } while (take(','));
        if (!take('}')) fail("an object goes on with ',' or ends with '}'");
        return all;
    }

    std::string text() {
        std::string made;
        left_.remove_prefix(1);
        for (;;) {
            if (left_.empty()) fail("a text has no end");
            const char letter = left_.front();
            if (static_cast<unsigned char>(letter) < 0x20) fail("a control character stands in a text");
            if (letter == '\\') {
                left_.remove_prefix(1);
                escape(made);
                continue;
            }
            if (letter == '"') return left_.remove_prefix(1), made;
            auto rest = left_;
            if (!trace::take_character(rest)) fail("these bytes are not UTF-8");
            made.append(left_.substr(0, left_.size() - rest.size()));
            left_ = rest;
        }
    }
    void escape(std::string& made) {
        if (left_.empty()) fail("a text has no end");
        const char which = left_.front();
        left_.remove_prefix(1);
        constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
        if (const auto at = from.find(which); at != from.npos) made += to[at];
        else if (which == 'u') append(made, escaped_character());
        else fail("there is no such escape");
    }
    char32_t unit() {
        const auto code = left_.size() < 4 ? std::nullopt : number_of<std::uint16_t>(left_.substr(0, 4), 16);
        if (!code) fail("four hexadecimal digits were expected");
        left_.remove_prefix(4);
        return *code;
    }
    char32_t escaped_character() {
        const char32_t first = unit();
        if (first < 0xd800 || first > 0xdfff) return first;
        if (first < 0xdc00 && take_word("\\u"))
            if (const char32_t second = unit(); second >= 0xdc00 && second <= 0xdfff)
                return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        fail("half a character was escaped");
    }
    static void append(std::string& made, char32_t code) {
        const auto byte = [&](char32_t bits) { made += static_cast<char>(bits); };
        if (code < 0x80) return byte(code);
        if (code < 0x800) byte(0xc0 | code >> 6);
        else {
            if (code < 0x10000) byte(0xe0 | code >> 12);
            else byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 0x3f));
            byte(0x80 | (code >> 6 & 0x3f));
        }
        byte(0x80 | (code & 0x3f));
    }

    std::string_view all_, left_;
};

[[noreturn]] void wrong(std::string_view name, const std::string& expected) {
    throw WrongJson("'" + std::string(name) + "' is to be " + expected);
}

}  // namespace

Json Json::read(std::string_view text) { return Reader(text).whole(); }

const Json* Json::find(std::string_view name) const {
    const auto* const members = std::get_if<Object>(&value);
    if (members == nullptr) throw WrongJson("an object was expected: {\"...\": ...}");
    const auto found = std::ranges::find_if(*members, [&](const auto& each) { return each.first == name; });
    return found == members->end() ? nullptr : &found->second;
}

const std::string& Json::text(std::string_view name) const {
    const Json* const found = find(name);
    const auto* const text = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
    if (text == nullptr) wrong(name, "a text");
    return *text;
}

std::string Json::text(std::string_view name, const std::string& otherwise) const {
    return find(name) == nullptr ? otherwise : text(name);
}

std::int64_t Json::integer(std::string_view name, std::int64_t least, std::int64_t most) const {
    const Json* const found = find(name);
    const auto* const number = found == nullptr ? nullptr : std::get_if<std::int64_t>(&found->value);
    if (number == nullptr || *number < least || *number > most)
        wrong(name, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return *number;
}

bool Json::flag(std::string_view name, bool otherwise) const {
    const Json* const found = find(name);
    if (found == nullptr) return otherwise;
    const auto* const flag = std::get_if<bool>(&found->value);
    if (flag == nullptr) wrong(name, "true or false");
    return *flag;
}

const Json::List& Json::list(std::string_view name) const {
    const Json* const found = find(name);
    const auto* const list = found == nullptr ? nullptr : std::get_if<List>(&found->value);
    if (list == nullptr) wrong(name, "a list");
    return *list;
}

SettingValue Json::setting(std::string_view name) const {
    const Json* const found = find(name);
    if (found == nullptr) wrong(name, "true, false, a number or a text");
    return found->setting();
}

SettingValue Json::setting() const {
    if (const auto* const flag = std::get_if<bool>(&value)) return *flag;
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) return *integer;
    if (const auto* const number = std::get_if<double>(&value)) return *number;
    if (const auto* const text = std::get_if<std::string>(&value)) return *text;
    throw WrongJson("a value is true, false, a number or a text");
}

void Json::allow(std::initializer_list<std::string_view> names) const {
    const auto* const members = std::get_if<Object>(&value);
    if (members == nullptr) throw WrongJson("an object was expected: {\"...\": ...}");
    for (const auto& [name, ignored] : *members)
        if (std::ranges::find(names, name) == names.end())
            throw WrongJson("nothing here is called '" + name + "': there are " + trace::list_of(names, ", "));
}

}  // namespace penstock::streaming
