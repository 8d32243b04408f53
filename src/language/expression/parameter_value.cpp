#include "penstock/parameter_value.hpp"

#include "language/expression/expression.hpp"
#include "language/xml/text.hpp"
#include "penstock/error.hpp"

namespace penstock {
namespace {

ParameterValue calculate(char sign, const ParameterValue& left, const ParameterValue& right) {
    try {
        return ParameterValue(language::calculated(sign, left.value(), right.value()));
    } catch (const language::ExpressionError& wrong) {
        throw UsageError("'" + left.text() + " " + sign + " " + right.text() + "' " + wrong.what());
    }
}

}  // namespace

std::string ParameterValue::text() const { return language::text_of(value_); }

std::int64_t ParameterValue::integer(const std::string& what, std::int64_t least, std::int64_t most) const {
    const auto value = language::integer_of(text());
    if (value && *value >= least && *value <= most) return *value;
    throw UsageError("'" + what + "' is '" + text() + "', and should be an integer from " + std::to_string(least) +
                     " to " + std::to_string(most));
}

double ParameterValue::number(const std::string& what, double least, double most) const {
    const auto value = language::number_of(text());
    if (value && *value >= least && *value <= most) return *value;
    throw UsageError("'" + what + "' is '" + text() + "', and should be a number from " + language::text_of(least) +
                     " to " + language::text_of(most));
}

ParameterValue operator+(const ParameterValue& left, const ParameterValue& right) {
    return calculate('+', left, right);
}
ParameterValue operator-(const ParameterValue& left, const ParameterValue& right) {
    return calculate('-', left, right);
}
ParameterValue operator*(const ParameterValue& left, const ParameterValue& right) {
    return calculate('*', left, right);
}
ParameterValue operator/(const ParameterValue& left, const ParameterValue& right) {
    return calculate('/', left, right);
}
ParameterValue operator%(const ParameterValue& left, const ParameterValue& right) {
    return calculate('%', left, right);
}

}  // namespace penstock
