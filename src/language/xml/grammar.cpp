// Which elements there are, which attributes each has, and what may stand in it.

#include "language/xml/document.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

struct Rule {
    std::string_view name;      ///< of an element
    std::string_view required;  ///< attributes
    std::string_view optional;
    std::string_view children;
};

#define PENSTOCK_BODY "component stream use repeat parallel manager option event signal"  // undefined below
constexpr Rule rules[] = {
    {"application", "name", "xmlns doc", "parameter include group timer nodes " PENSTOCK_BODY},
    {"library", "", "xmlns name doc", "include group"},
    {"include", "file", "", ""},
    {"parameter", "name type", "default least most unit doc", ""},
    {"group", "name", "doc", "parameter input output " PENSTOCK_BODY},
    {"input", "name to", "", ""},
    {"output", "name from", "", ""},
    {"component", "name class",
     "copies targets target-classes near on-failure pool isolation time-limit nodes on-node-loss doc", "set"},
    {"set", "name value", "unit", ""},
    {"stream", "from to", "capacity capacity-bytes policy when-full ordered fuse feedback name", ""},
    {"use", "name group", "doc", "set"},
    {"repeat", "index", "from to step over", PENSTOCK_BODY},
    {"parallel", "name shape", "slices index in above below out", "input output " PENSTOCK_BODY},
    {"event", "name", "doc", ""},
    {"signal", "from event", "", ""},
    {"timer", "event", "after every", ""},
    {"nodes", "name", "count cpus memory doc", ""},
    {"manager", "", "name doc", "on option"},
    {"on", "event", "enable disable toggle component setting value unit class least most is", "set"},
    {"option", "name", "initially doc", "otherwise " PENSTOCK_BODY},
    {"otherwise", "", "", PENSTOCK_BODY},
};
#undef PENSTOCK_BODY

std::string stands_in(std::string_view child) {
    std::string text;
    for (const auto& rule : rules)
        if (stands_in_list(rule.children, child))
            text += (text.empty() ? "; it stands in <" : ", <") + std::string(rule.name) + ">";
    return text;
}

/// Deep files have been refused before.
void check(const Element& element, bool outermost, std::vector<Finding>& findings) {
    const auto* const rule = named(rules, element.name);
    for (const auto& attribute : element.attributes) {
        if (stands_in_list(rule->required, attribute.name)) continue;
        if (stands_in_list(rule->optional, attribute.name) && (outermost || attribute.name != "xmlns")) continue;
        auto known = words_of(rule->required);
        for (auto& name : words_of(rule->optional))
            if (outermost || name != "xmlns") known.push_back(std::move(name));
        add_error(findings, {*element.file, attribute.at.line, attribute.at.column},
                  "<" + element.name + "> has no attribute " + in_quotes(attribute.name) + hint(attribute.name, known));
    }
    for (const auto word : std::views::split(rule->required, ' '))
        if (const std::string_view name(word.begin(), word.end()); element.attribute(name) == nullptr)
            add_error(findings, element.place(), "<" + element.name + "> needs the attribute " + in_quotes(name));
    for (const auto& child : element.children) {
        if (stands_in_list(rule->children, child.name)) check(child, false, findings);
        else if (named(rules, child.name) != nullptr)
            add_error(findings, child.place(),
                      "<" + child.name + "> cannot stand in <" + element.name + ">" + stands_in(child.name));
        else
            add_error(findings, child.place(),
                      "there is no element " + in_quotes(child.name) + hint(child.name, words_of(rule->children)));
    }
}

}  // namespace

bool check_grammar(const Element& root, std::string_view name, std::vector<Finding>& findings) {
    if (root.name != name) {
        add_error(findings, root.place(),
                  "the outermost element is " + in_quotes(root.name) + ", and should be <" + std::string(name) + ">");
        return false;
    }
    const auto* const given = root.attribute("xmlns");
    if (given == nullptr || given->value != namespace_name)
        add_error(findings, root.place_of("xmlns"),
                  "<" + root.name + "> should say xmlns=\"" + std::string(namespace_name) + "\"" +
                      (given == nullptr ? "" : ", not " + in_quotes(given->value)));
    check(root, true, findings);
    return true;
}

}  // namespace penstock::language
