// The words of the language for options of streams and filters, in the order of their enumerations.
#pragma once

#include <string_view>

namespace penstock::language {

inline constexpr std::string_view policy_words[] = {"demand-driven", "round-robin", "random",
                                                    "broadcast",     "by-key",      "chosen"};
inline constexpr std::string_view when_full_words[] = {"wait", "drop-oldest", "drop-newest", "fail"};
inline constexpr std::string_view on_failure_words[] = {"stop", "go-on"};
inline constexpr std::string_view isolation_words[] = {"thread", "process"};
inline constexpr std::string_view type_words[] = {"boolean", "integer", "number", "text"};  ///< of SettingValue
inline constexpr std::string_view shape_words[] = {"task", "slice", "crossdep"};

}  // namespace penstock::language
