// Components and streams as elements of a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "language/xml/document.hpp"

namespace penstock::language {

/// Gives an element an attribute that is meant as it stands: '$' begins an expression in files.
void set_plain(Element& element, std::string_view attribute, std::string_view value);

struct WrittenSetting {
    std::string name;
    SettingValue value;
    std::string unit{};  ///< empty: not said
};

/// A component, with those options that are not as they are by themselves. Throws UsageError for a name that is none.
Element component_element(const std::string& name, const std::string& class_name, const FilterOptions& options,
                          const std::vector<WrittenSetting>& settings);
Element setting_element(const WrittenSetting& setting);
/// The same for a stream. Throws UsageError for one with a function as its key.
Element stream_element(const std::string& from, const std::string& to, const StreamOptions& options);
/// The outermost element. Throws UsageError for a name that is none.
Element application_element(const std::string& name);

/// The class by which a file names filters of this type. Throws UsageError where there is none; `user`: whose filter it
/// is.
const ComponentClass& class_for(const std::string& type, const std::string& user, const Components& components);

}  // namespace penstock::language
