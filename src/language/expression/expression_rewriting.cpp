// Expressions with other names, or values, in the place of names.
#include <cstdint>
#include <functional>
#include <limits>

#include "language/expression/expression.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

/// Calls `name` for each name of an expression and `other` for what is between them.
void walk(std::string_view expression, const std::function<void(std::string_view)>& name,
          const std::function<void(std::string_view)>& other) {
    for (std::size_t at = 0; at < expression.size();) {
        const auto begin = at;
        if (is_of_number(expression[at])) {  // 1e5 has no name in it
            while (at < expression.size() && is_of_number(expression[at])) ++at;
            if (at < expression.size() && (expression[at] == 'e' || expression[at] == 'E')) ++at;
            other(expression.substr(begin, at - begin));
        } else if (begins_word(expression[at])) {
            while (at < expression.size() && (begins_word(expression[at]) || is_digit(expression[at]))) ++at;
            name(expression.substr(begin, at - begin));
        } else {
            ++at;
            other(expression.substr(begin, 1));
        }
    }
}

/// Calls `plain` for what is outside of expressions, `$$` included, and `expression` for what is in `${...}`.
void parts(std::string_view text, const std::function<void(std::string_view)>& plain,
           const std::function<void(std::string_view)>& expression) {
    for (std::size_t at = 0; at < text.size();) {
        const auto dollar = text.find('$', at);
        if (dollar == text.npos) return plain(text.substr(at));
        plain(text.substr(at, dollar - at));
        const auto end = text.substr(dollar).starts_with("${") ? text.find('}', dollar) : text.npos;
        if (end == text.npos) {
            plain(text.substr(dollar, 2));
            at = dollar + 2;
        } else {
            expression(text.substr(dollar + 2, end - dollar - 2));
            at = end + 1;
        }
    }
}

/// A value as an expression that has it, and its type.
std::string as_expression(const SettingValue& value) {
    auto text = text_of(value);
    if (value.index() == 2 && text.find_first_of(".e") == text.npos) text += ".0";
    if (value == SettingValue(std::numeric_limits<std::int64_t>::min())) text = "-9223372036854775807 - 1";
    return text.starts_with('-') ? "(" + text + ")" : text;
}

}  // namespace

std::string literal(std::string_view text) {
    std::string doubled;
    for (const char c : text) doubled += c == '$' ? "$$" : std::string(1, c);
    return doubled;
}

std::set<std::string> names_in(std::string_view text) {
    std::set<std::string> names;
    parts(
        text, [](std::string_view) {},
        [&](std::string_view expression) {
            walk(expression, [&](std::string_view name) { names.emplace(name); }, [](std::string_view) {});
        });
    return names;
}

std::string replaced(std::string_view text, const Replacements& replacements) {
    std::string result;
    parts(
        text, [&](std::string_view plain) { result += plain; },
        [&](std::string_view expression) {
            std::string rewritten;
            Variables values;
            bool known = true;
            walk(
                expression,
                [&](std::string_view name) {
                    const auto found = replacements.find(name);
                    if (found == replacements.end() || !found->second.name.empty()) {
                        known = false;
                        rewritten += found == replacements.end() ? std::string(name) : found->second.name;
                    } else {
                        rewritten += as_expression(found->second.value);
                        values[std::string(name)] = {found->second.value, ""};
                    }
                },
                [&](std::string_view other) { rewritten += other; });
            result += known && !values.empty() ? literal(substituted("${" + std::string(expression) + "}", values))
                                               : "${" + rewritten + "}";
        });
    return result;
}

}  // namespace penstock::language
