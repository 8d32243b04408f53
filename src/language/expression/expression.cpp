#include "language/expression/expression.hpp"

#include <cmath>

#include "language/xml/text.hpp"
#include "penstock/parameter_value.hpp"

namespace penstock {
namespace language {
namespace {

constexpr int deepest = 50;

constexpr bool begins_number(char c) noexcept { return is_digit(c) || c == '.'; }
constexpr bool begins_name(char c) noexcept { return is_letter(c) || c == '_'; }

std::int64_t whole(char sign, std::int64_t a, std::int64_t b) {
    if ((sign == '/' || sign == '%') && b == 0) throw ExpressionError("divides by 0");
    std::int64_t result = 0;
    const bool over = sign == '+'   ? __builtin_add_overflow(a, b, &result)
                      : sign == '-' ? __builtin_sub_overflow(a, b, &result)
                      : sign == '*' ? __builtin_mul_overflow(a, b, &result)
                                    : a == std::numeric_limits<std::int64_t>::min() && b == -1;
    if (over) throw ExpressionError("has a value that does not fit 64 bits");
    return sign == '/' ? a / b : sign == '%' ? a % b : result;
}

class Evaluation {
  public:
    Evaluation(std::string_view text, const Variables& variables, std::set<std::string, std::less<>>* used)
        : text_(text), variables_(variables), used_(used) {}

    SettingValue run() {
        const auto value = sum(0);
        skip();
        if (at_ != text_.size()) fail("does not end where it could: " + in_quotes(text_.substr(at_)) + " is left over");
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        throw ExpressionError("the expression " + in_quotes(text_) + " " + why);
    }
    void skip() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }
    char peek() {
        skip();
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    SettingValue sum(int depth) {
        return joined("+-", [&] { return joined("*/%", [&] { return factor(depth); }); });
    }
    /// What `part` reads, as often as one of these signs follows.
    SettingValue joined(std::string_view signs, const auto& part) {
        auto left = part();
        for (char sign = peek(); sign != '\0' && signs.find(sign) != signs.npos; sign = peek()) {
            ++at_;
            left = apply(sign, left, part());
        }
        return left;
    }
    SettingValue factor(int depth) {
        if (depth == deepest) fail("is nested too deep");
        if (peek() == '\0') fail("ends where a number or a name should stand");
        // A '-' is a sign here, so names with one cannot stand in an expression.
        const auto [kind, word] = first_of_expression(text_.substr(at_));
        at_ += word.size();
        if (kind == Piece::Kind::name) return value_of(word);
        if (kind == Piece::Kind::number) {
            if (const auto integer = integer_of(word)) return *integer;
            if (const auto number = number_of(word)) return *number;
            fail("has " + in_quotes(word) + ", which is no number");
        }
        if (word == "-") return apply('-', std::int64_t{0}, factor(depth + 1));
        if (word != "(") fail("has " + in_quotes(word) + " where a number or a name should stand");
        auto value = sum(depth + 1);
        if (peek() != ')') fail("lacks a ')'");
        ++at_;
        return value;
    }
    SettingValue value_of(std::string_view name) const {
        const auto found = variables_.find(name);
        if (found == variables_.end())
            fail("refers to " + in_quotes(name) + ", which is no parameter or index here" +
                 hint(name, names_of(variables_)));
        if (used_ != nullptr) used_->emplace(name);
        return found->second.value;
    }

    SettingValue apply(char sign, const SettingValue& left, const SettingValue& right) const {
        try {
            return calculated(sign, left, right);
        } catch (const ExpressionError& wrong) {
            fail(wrong.what());
        }
    }

    std::string_view text_;
    const Variables& variables_;
    std::set<std::string, std::less<>>* used_;
    std::size_t at_ = 0;
};

/// A value as an expression that has it, and its type.
std::string as_expression(const SettingValue& value) {
    auto text = text_of(value);
    if (value.index() == 2 && text.find_first_of(".e") == text.npos) text += ".0";
    if (value == SettingValue(std::numeric_limits<std::int64_t>::min())) text = "-9223372036854775807 - 1";
    return text.starts_with('-') ? "(" + text + ")" : text;
}

/// `${...}` with these names replaced.
std::string rewritten(const Piece& expression, const Replacements& replacements) {
    std::string text;
    Variables values;
    bool known = true;
    for_each_piece(expression.inside(), first_of_expression, [&](const Piece& piece) {
        const bool is_name = piece.kind == Piece::Kind::name;
        const auto found = is_name ? replacements.find(piece.text) : replacements.end();
        if (found == replacements.end() || !found->second.name.empty()) {
            known = known && !is_name;
            text += found == replacements.end() ? piece.text : found->second.name;
        } else {
            text += as_expression(found->second.value);
            values[found->first] = {found->second.value, ""};
        }
    });
    return known && !values.empty() ? literal(substituted(expression.text, values)) : "${" + text + "}";
}

}  // namespace

SettingValue calculated(char sign, const SettingValue& left, const SettingValue& right) {
    const auto x = size_of(left), y = size_of(right);
    for (const auto* side : {&left, &right})
        if (!size_of(*side))
            throw ExpressionError("calculates with " + in_quotes(text_of(*side)) + ", which is " + kind_of(*side) +
                                  " and no number");
    if (left.index() == 1 && right.index() == 1)
        return whole(sign, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
    if ((sign == '/' || sign == '%') && *y == 0) throw ExpressionError("divides by 0");
    const double result = sign == '+'   ? *x + *y
                          : sign == '-' ? *x - *y
                          : sign == '*' ? *x * *y
                          : sign == '/' ? *x / *y
                                        : std::fmod(*x, *y);
    if (!std::isfinite(result)) throw ExpressionError("has a value that is too large");
    return result;
}

Piece first_of_text(std::string_view text) noexcept {
    if (!text.starts_with('$')) return {Piece::Kind::plain, text.substr(0, text.find('$'))};
    const auto end = text.starts_with("${") ? text.find('}') : text.npos;
    return end == text.npos ? Piece{Piece::Kind::dollar, text.substr(0, 2)}
                            : Piece{Piece::Kind::expression, text.substr(0, end + 1)};
}

Piece first_of_expression(std::string_view expression) noexcept {
    std::size_t end = 0;
    const auto next_is = [&](const auto& wanted) { return end < expression.size() && wanted(expression[end]); };
    if (next_is(begins_name)) {
        while (next_is(begins_name) || next_is(is_digit)) ++end;
        return {Piece::Kind::name, expression.substr(0, end)};
    }
    if (!next_is(begins_number)) return {Piece::Kind::other, expression.substr(0, 1)};
    while (next_is(begins_number)) ++end;
    if (next_is([](char c) { return c == 'e' || c == 'E'; })) {
        ++end;
        if (next_is([](char c) { return c == '+' || c == '-'; })) ++end;
        while (next_is(is_digit)) ++end;
    }
    return {Piece::Kind::number, expression.substr(0, end)};
}

std::string substituted(std::string_view text, const Variables& variables, std::set<std::string, std::less<>>* used) {
    std::string result;
    for_each_piece(text, first_of_text, [&](const Piece& piece) {
        if (piece.kind == Piece::Kind::expression) result += text_of(Evaluation(piece.inside(), variables, used).run());
        else if (piece.kind == Piece::Kind::plain) result += piece.text;
        else if (piece.text == "$$") result += '$';
        else if (piece.text == "${") throw ExpressionError("'${' is not closed by a '}'");
        else throw ExpressionError("a '$' begins an expression, ${...}; write $$ for the sign itself");
    });
    return result;
}

std::string literal(std::string_view text) {
    std::string doubled;
    for (const char c : text) doubled += c == '$' ? "$$" : std::string(1, c);
    return doubled;
}

std::set<std::string> names_in(std::string_view text) {
    std::set<std::string> names;
    for_each_piece(text, first_of_text, [&](const Piece& piece) {
        if (piece.kind != Piece::Kind::expression) return;
        for_each_piece(piece.inside(), first_of_expression, [&](const Piece& word) {
            if (word.kind == Piece::Kind::name) names.emplace(word.text);
        });
    });
    return names;
}

std::string replaced(std::string_view text, const Replacements& replacements) {
    std::string result;
    for_each_piece(text, first_of_text, [&](const Piece& piece) {
        result += piece.kind == Piece::Kind::expression ? rewritten(piece, replacements) : std::string(piece.text);
    });
    return result;
}

std::string unit_of(std::string_view text, const Variables& variables) {
    if (!text.starts_with("${") || !text.ends_with("}")) return {};
    const auto found = variables.find(text.substr(2, text.size() - 3));
    return found == variables.end() ? std::string() : found->second.unit;
}

}  // namespace language

ParameterValue ParameterValue::calculated(char sign, const ParameterValue& left, const ParameterValue& right) {
    try {
        return ParameterValue(language::calculated(sign, left.value(), right.value()));
    } catch (const language::ExpressionError& wrong) {
        throw UsageError("'" + left.text() + " " + sign + " " + right.text() + "' " + wrong.what());
    }
}

std::string ParameterValue::text() const { return language::text_of(value_); }

std::int64_t ParameterValue::integer(const std::string& what, std::int64_t least, std::int64_t most) const {
    return language::number_within(what, text(), least, most);
}

double ParameterValue::number(const std::string& what, double least, double most) const {
    return language::number_within(what, text(), least, most);
}

}  // namespace penstock
