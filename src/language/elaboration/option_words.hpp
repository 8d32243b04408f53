// The words of the language for options of streams and filters, in the order of their enumerations: the names of the
// stream layer, and some of its own.
#pragma once

#include <string_view>

#include "stream/description/option_names.hpp"

namespace penstock::language {

inline constexpr auto& policy_words = streaming::Spelt<streaming::policy_names, '-'>::words;
inline constexpr auto& when_full_words = streaming::Spelt<streaming::when_full_names, '-'>::words;
inline constexpr auto& on_failure_words = streaming::Spelt<streaming::on_failure_names, '-'>::words;
inline constexpr std::string_view isolation_words[] = {"thread", "process"};
inline constexpr std::string_view type_words[] = {"boolean", "integer", "number", "text"};  ///< of SettingValue
inline const SettingValue values_by_type[] = {false, std::int64_t{0}, 0.0, std::string()};
inline constexpr std::string_view shape_words[] = {"task", "slice", "crossdep"};

}  // namespace penstock::language
