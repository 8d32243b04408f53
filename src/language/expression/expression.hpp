// `${...}` in attributes: numbers, parameters and indices with + - * / % and parentheses.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "penstock/port.hpp"

namespace penstock::language {

struct Variable {
    SettingValue value;
    std::string unit{};
};
using Variables = std::map<std::string, Variable, std::less<>>;

/// What is wrong with an expression.
struct ExpressionError {
    std::string message;
};

/// Two numbers and one of + - * / %; integers stay integers. Throws ExpressionError, without the expression.
SettingValue calculated(char sign, const SettingValue& left, const SettingValue& right);

/// The text with each `${...}` replaced by its value; `$$` is one `$`. `used`: the names that it refers to are added.
/// Throws ExpressionError.
std::string substituted(std::string_view text, const Variables& variables,
                        std::map<std::string, bool, std::less<>>* used = nullptr);

/// In place of a name: a value, or, where it is empty, another name.
struct Replacement {
    SettingValue value{};
    std::string name{};
};
using Replacements = std::map<std::string, Replacement, std::less<>>;

/// The text with these names replaced in its expressions; an expression in which no name is left becomes its value.
/// Throws ExpressionError.
std::string replaced(std::string_view text, const Replacements& replacements);
/// The names in the expressions of a text.
std::set<std::string> names_in(std::string_view text);
/// The text as one that means itself: with each `$` doubled.
std::string literal(std::string_view text);

/// The unit of a text that is nothing but `${name}`; empty otherwise.
std::string unit_of(std::string_view text, const Variables& variables);

}  // namespace penstock::language
