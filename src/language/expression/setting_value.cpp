#include "language/expression/setting_value.hpp"

#include "language/xml/text.hpp"

namespace penstock::language {

GivenValue value_of_setting(const SettingDescription& setting, const std::string& text) {
    auto value = value_like(setting.value, text);
    if (!value)
        return {std::nullopt, "setting " + in_quotes(setting.name) + " is given " + in_quotes(text) +
                                  ", and should be " + kind_of(setting.value)};
    const auto& limits = setting.limits;
    const auto* const integer = std::get_if<std::int64_t>(&*value);
    const auto* const real = std::get_if<double>(&*value);
    const double size = integer != nullptr ? static_cast<double>(*integer) : real != nullptr ? *real : 0;
    if ((integer != nullptr || real != nullptr) && (size < limits.least || size > limits.most))
        return {std::nullopt, "setting " + in_quotes(setting.name) + " is given " + text + ", and should be from " +
                                  text_of(limits.least) + " to " + text_of(limits.most) +
                                  (limits.unit.empty() ? "" : " " + limits.unit)};
    return {std::move(value), ""};
}

}  // namespace penstock::language
