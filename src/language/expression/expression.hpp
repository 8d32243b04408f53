// `${...}` in attributes: numbers, parameters and indices with + - * / % and parentheses.
#pragma once

#include <map>
#include <set>

#include "penstock/port.hpp"

namespace penstock::language {

struct Variable {
    SettingValue value;
    std::string unit{};
};
using Variables = std::map<std::string, Variable, std::less<>>;

/// What is wrong with an expression.
struct ExpressionError : UsageError {
    using UsageError::UsageError;
};

/// Two numbers and one of + - * / %; integers stay integers. Throws ExpressionError, without the expression.
SettingValue calculated(char sign, const SettingValue& left, const SettingValue& right);

/// A piece of a text: `${...}` as a whole; `$$`, or another `$` with what stands behind it; what is between these. And
/// a piece of what stands in `${...}`: a number, a name, or one other character.
struct Piece {
    enum class Kind { expression, dollar, plain, number, name, other } kind;
    std::string_view text;

    std::string_view inside() const noexcept { return text.substr(2, text.size() - 3); }  ///< of `${...}`
};
Piece first_of_text(std::string_view text) noexcept;
Piece first_of_expression(std::string_view expression) noexcept;
/// Calls `visit` for each piece in turn.
void for_each_piece(std::string_view text, Piece (*first)(std::string_view), const auto& visit) {
    for (auto rest = text; !rest.empty();) {
        const auto piece = first(rest);
        rest.remove_prefix(piece.text.size());
        visit(piece);
    }
}

/// The text with each `${...}` replaced by its value; `$$` is one `$`. `used`: the names that it refers to are added.
/// Throws ExpressionError.
std::string substituted(std::string_view text, const Variables& variables,
                        std::set<std::string, std::less<>>* used = nullptr);

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
