// JSON as it comes from outside: what a visitor says, as a tree. (It is written by text.hpp.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/port.hpp"

namespace penstock::streaming {

/// The text is no JSON, or a value is not what was expected; what() says where, or which.
class WrongJson : public UsageError {
  public:
    using UsageError::UsageError;
};

struct Json {
    using List = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;  ///< in the order in which they were said
    std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value;

    /// Throws WrongJson. Nested at most 32 deep; no name twice.
    static Json read(std::string_view text);

    /// A member of an object; null when there is none. Throws WrongJson where this is no object.
    const Json* find(std::string_view name) const;
    /// A member that must be there, and be of this kind. Throws WrongJson, which names it.
    const std::string& text(std::string_view name) const;
    std::string text(std::string_view name, const std::string& otherwise) const;
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most) const;
    bool flag(std::string_view name, bool otherwise) const;
    const List& list(std::string_view name) const;
    /// A bool, a number or a text.
    SettingValue setting(std::string_view name) const;
    SettingValue setting() const;
    /// Refuses members that are none of these, so that a slip of the pen is not taken for nothing.
    void allow(std::initializer_list<std::string_view> names) const;
};

}  // namespace penstock::streaming
