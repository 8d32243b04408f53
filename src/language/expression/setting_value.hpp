// A text as the value of a setting.
#pragma once

#include <optional>
#include <string>

#include "penstock/graph.hpp"

namespace penstock::language {

struct GivenValue {
    std::optional<SettingValue> value;
    std::string problem{};  ///< why there is none
};

GivenValue value_of_setting(const SettingDescription& setting, const std::string& text);

}  // namespace penstock::language
