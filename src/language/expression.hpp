// `${...}` in attributes: numbers, parameters and indices with + - * / % and parentheses.
#pragma once

#include <map>
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

/// The text with each `${...}` replaced by its value; `$$` is one `$`. `used`: the names that it refers to are added. Throws ExpressionError.
std::string substituted(std::string_view text, const Variables& variables, std::map<std::string, bool, std::less<>>* used = nullptr);

/// The unit of a text that is nothing but `${name}`; empty otherwise.
std::string unit_of(std::string_view text, const Variables& variables);

}  // namespace penstock::language
