// language layer: passes over applications that users write themselves, beside those of transformation.hpp.
//
//     register_pass({"gentle", "All components go on behind failures."}, [](ApplicationElement& application, auto) {
//         visit(application, [](ApplicationElement& element) {
//             if (element.name == "component") element.set("on-failure", "go-on");
//         });
//     });
//     const auto text = transform("tissue.xml", {"expand", "gentle"});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/transformation.hpp"

namespace penstock {

/// An element of an application as a tree: what docs/language.md describes.
struct ApplicationElement {
    std::string name;  ///< "component"
    std::vector<std::pair<std::string, std::string>> attributes{};
    std::vector<ApplicationElement> children{};
    std::vector<std::string> comments{};  ///< before it

    /// Empty where there is none.
    std::string attribute(const std::string& wanted) const;
    /// Gives an attribute a value; a new one becomes the last.
    void set(const std::string& wanted, std::string value);
    /// False: it was not there.
    bool erase(const std::string& wanted);
};

/// Calls `work` for each element below this one, and for those below it, outermost first.
void visit(ApplicationElement& element, const std::function<void(ApplicationElement&)>& work);

/// Changes the application in place. `argument`: what stood behind "NAME="; nothing where nothing did.
using PassFunction = std::function<void(ApplicationElement& application, std::optional<int> argument)>;

/// Makes a pass known to transform() and `penstock transform`, by its name. What it leaves is read and checked as a
/// file is: transform() throws UsageError, with the pass and all that is wrong. Throws UsageError for a name that is
/// taken or is none. Any thread.
void register_pass(Transformation of, PassFunction apply);

}  // namespace penstock
