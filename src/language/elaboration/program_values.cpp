#include "language/elaboration/program_values.hpp"

#include "language/elaboration/elaboration.hpp"
#include "language/xml/grammar.hpp"

namespace penstock::language {

ParameterValues values_of(const ApplicationProgram& program,
                          const std::vector<std::pair<std::string, std::string>>& settings) {
    Element root{.name = "application", .at = {}, .file = &program.name, .attributes = {}, .children = {}};
    root.set("xmlns", std::string(namespace_name));
    root.set("name", program.name);
    for (const auto& parameter : program.parameters) {
        auto& element = root.children.emplace_back(
            Element{.name = "parameter", .at = {}, .file = &program.name, .attributes = {}, .children = {}});
        element.set("name", parameter.name);
        element.set("type", parameter.type);
        for (const auto& [attribute, value] : {std::pair{"default", &parameter.otherwise},
                                               {"least", &parameter.least},
                                               {"most", &parameter.most},
                                               {"unit", &parameter.unit}})
            if (!value->empty() || (attribute == std::string_view("default") && parameter.type == "text"))
                element.set(attribute, *value);
    }
    Plan plan;
    std::vector<Finding> findings;
    const ApplicationOptions options{.settings = settings};
    Elaboration elaboration(plan, options, findings);
    elaboration.run(root);
    std::erase_if(findings, [](const Finding& each) { return each.kind == Finding::Kind::warning; });
    if (!findings.empty()) {
        std::string text;
        for (const auto& each : findings) text += (text.empty() ? "" : "\n") + each.message;
        throw UsageError(text);
    }
    ParameterValues values;
    for (const auto& [name, variable] : elaboration.variables()) values.emplace(name, ParameterValue(variable.value));
    return values;
}

}  // namespace penstock::language
