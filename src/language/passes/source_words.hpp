// Words of C++: texts, numbers and names of the language as they are written in a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/port.hpp"

namespace penstock::language {

/// A text as C++ writes it, in quotes.
std::string cpp_text(std::string_view text);
/// A name that is no word of C++, and none that generated programs use themselves.
std::string identifier(std::string_view name);
/// A value by its text, as the type of `like` is written.
std::string literal_of(const std::string& text, const SettingValue& like);
/// A text with expressions as an expression of ParameterValue.
std::string expression_of(std::string_view text);
/// ", {a, b}", or nothing when there are none.
std::string listed(const std::vector<std::string>& parts);
/// A comment of XML as comments of C++.
std::string commented(std::string_view comment, const std::string& indent);

}  // namespace penstock::language
