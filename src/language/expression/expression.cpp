#include "language/expression/expression.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

constexpr int deepest = 50;

std::int64_t whole(char sign, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool over = false;
    switch (sign) {
        case '+':
            over = __builtin_add_overflow(a, b, &result);
            break;
        case '-':
            over = __builtin_sub_overflow(a, b, &result);
            break;
        case '*':
            over = __builtin_mul_overflow(a, b, &result);
            break;
        default:
            if (b == 0) throw ExpressionError{"divides by 0"};
            over = a == std::numeric_limits<std::int64_t>::min() && b == -1;
            if (!over) result = sign == '/' ? a / b : a % b;
    }
    if (over) throw ExpressionError{"has a value that does not fit 64 bits"};
    return result;
}

class Evaluation {
  public:
    Evaluation(std::string_view text, const Variables& variables, std::map<std::string, bool, std::less<>>* used)
        : text_(text), variables_(variables), used_(used) {}

    SettingValue run() {
        const auto value = sum();
        skip();
        if (at_ != text_.size()) fail("does not end where it could: " + in_quotes(text_.substr(at_)) + " is left over");
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        throw ExpressionError{"the expression " + in_quotes(text_) + " " + why};
    }
    void skip() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
            ++at_;
    }
    char peek() {
        skip();
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    SettingValue sum() {
        auto left = product();
        for (char sign = peek(); sign == '+' || sign == '-'; sign = peek()) {
            ++at_;
            left = apply(sign, left, product());
        }
        return left;
    }
    SettingValue product() {
        auto left = factor();
        for (char sign = peek(); sign == '*' || sign == '/' || sign == '%'; sign = peek()) {
            ++at_;
            left = apply(sign, left, factor());
        }
        return left;
    }
    SettingValue factor() {
        struct Depth {
            int& depth;
            explicit Depth(int& of) : depth(++of) {}
            ~Depth() { --depth; }
        } depth(depth_);
        if (depth_ > deepest) fail("is nested too deep");
        const char next = peek();
        if (next == '-') {
            ++at_;
            return apply('-', std::int64_t{0}, factor());
        }
        if (next == '(') {
            ++at_;
            auto value = sum();
            if (peek() != ')') fail("lacks a ')'");
            ++at_;
            return value;
        }
        const auto begin = at_;
        const auto is = [&](const char* set) {
            return at_ < text_.size() && std::string_view(set).find(text_[at_]) != std::string_view::npos;
        };
        if (is("0123456789.")) {
            while (is("0123456789.")) ++at_;
            if (is("eE")) {
                ++at_;
                if (is("+-")) ++at_;
                while (is("0123456789")) ++at_;
            }
            const auto word = text_.substr(begin, at_ - begin);
            if (const auto integer = integer_of(word)) return *integer;
            if (const auto number = number_of(word)) return *number;
            fail("has " + in_quotes(word) + ", which is no number");
        }
        // A '-' is a sign here, so names with one cannot stand in an expression.
        while (is("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") || (at_ > begin && is("0123456789"))) ++at_;
        const auto name = text_.substr(begin, at_ - begin);
        if (name.empty())
            fail(next == '\0' ? "ends where a number or a name should stand"
                              : "has " + in_quotes(text_.substr(at_, 1)) + " where a number or a name should stand");
        const auto found = variables_.find(name);
        if (found == variables_.end()) {
            std::vector<std::string> names;
            for (const auto& [known, variable] : variables_) names.push_back(known);
            fail("refers to " + in_quotes(name) + ", which is no parameter or index here" + hint(name, names));
        }
        if (used_ != nullptr) (*used_)[std::string(name)] = true;
        return found->second.value;
    }

    SettingValue apply(char sign, const SettingValue& left, const SettingValue& right) const {
        try {
            return calculated(sign, left, right);
        } catch (const ExpressionError& wrong) {
            fail(wrong.message);
        }
    }

    std::string_view text_;
    const Variables& variables_;
    std::map<std::string, bool, std::less<>>* used_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

SettingValue calculated(char sign, const SettingValue& left, const SettingValue& right) {
    for (const auto* side : {&left, &right})
        if (side->index() == 0 || side->index() == 3)
            throw ExpressionError{"calculates with " + in_quotes(text_of(*side)) + ", which is " + kind_of(*side) +
                                  " and no number"};
    const auto* const a = std::get_if<std::int64_t>(&left);
    const auto* const b = std::get_if<std::int64_t>(&right);
    if (a != nullptr && b != nullptr) return whole(sign, *a, *b);
    const auto number = [](const SettingValue& value) {
        const auto* const integer = std::get_if<std::int64_t>(&value);
        return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
    };
    const double x = number(left), y = number(right);
    if ((sign == '/' || sign == '%') && y == 0) throw ExpressionError{"divides by 0"};
    const double result = sign == '+'   ? x + y
                          : sign == '-' ? x - y
                          : sign == '*' ? x * y
                          : sign == '/' ? x / y
                                        : std::fmod(x, y);
    if (!std::isfinite(result)) throw ExpressionError{"has a value that is too large"};
    return result;
}

std::string substituted(std::string_view text, const Variables& variables,
                        std::map<std::string, bool, std::less<>>* used) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const auto dollar = text.find('$', at);
        result += text.substr(at, dollar - at);
        if (dollar == text.npos) break;
        const auto rest = text.substr(dollar);
        if (rest.starts_with("$$")) {
            result += '$';
            at = dollar + 2;
        } else if (rest.starts_with("${")) {
            const auto end = text.find('}', dollar);
            if (end == text.npos) throw ExpressionError{"'${' is not closed by a '}'"};
            result += text_of(Evaluation(text.substr(dollar + 2, end - dollar - 2), variables, used).run());
            at = end + 1;
        } else {
            throw ExpressionError{"a '$' begins an expression, ${...}; write $$ for the sign itself"};
        }
    }
    return result;
}

std::string unit_of(std::string_view text, const Variables& variables) {
    if (!text.starts_with("${") || !text.ends_with("}")) return {};
    const auto found = variables.find(text.substr(2, text.size() - 3));
    return found == variables.end() ? std::string() : found->second.unit;
}

}  // namespace penstock::language
