// language layer: the value of an application's parameter, and what is calculated of such: `(streams + 1) * 2`. It
// calculates as expressions of the language do: integers stay integers, `/` drops the rest; what does not fit, and a
// division by 0, is refused.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include "penstock/port.hpp"

namespace penstock {

/// A bool, an integer, a number or a text.
class ParameterValue {
  public:
    /// A bool.
    ParameterValue(bool value) : value_(value) {}
    /// An integer.
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    ParameterValue(T value) : value_(static_cast<std::int64_t>(value)) {}
    /// A number.
    ParameterValue(double value) : value_(value) {}
    /// A text.
    ParameterValue(std::string value) : value_(std::move(value)) {}
    /// A text.
    ParameterValue(const char* value) : value_(std::string(value)) {}
    /// Any of these.
    explicit ParameterValue(SettingValue value) : value_(std::move(value)) {}

    /// As a setting takes it.
    const SettingValue& value() const noexcept { return value_; }
    /// The shortest text that gives the same value again.
    std::string text() const;
    /// As an integer between these; `what` names it in messages. Throws UsageError.
    std::int64_t integer(const std::string& what, std::int64_t least, std::int64_t most) const;
    /// As a number between these. Throws UsageError.
    double number(const std::string& what, double least, double most) const;

    // Throw UsageError.
    friend ParameterValue operator+(const ParameterValue& a, const ParameterValue& b) { return calculated('+', a, b); }
    friend ParameterValue operator-(const ParameterValue& a, const ParameterValue& b) { return calculated('-', a, b); }
    friend ParameterValue operator*(const ParameterValue& a, const ParameterValue& b) { return calculated('*', a, b); }
    friend ParameterValue operator/(const ParameterValue& a, const ParameterValue& b) { return calculated('/', a, b); }
    friend ParameterValue operator%(const ParameterValue& a, const ParameterValue& b) { return calculated('%', a, b); }
    friend ParameterValue operator-(const ParameterValue& value) { return ParameterValue(0) - value; }

  private:
    static ParameterValue calculated(char sign, const ParameterValue& left, const ParameterValue& right);

    SettingValue value_;
};

/// Values as one text, one behind the other.
template <class... Values>
ParameterValue joined(const Values&... values) {
    return ParameterValue((std::string() + ... + ParameterValue(values).text()));
}

}  // namespace penstock
