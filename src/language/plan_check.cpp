#include "language/plan_check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "language/text.hpp"

namespace penstock::language {
namespace {

constexpr std::size_t most_options_tried = 64;

/// Says where in the file the graph's problem is: its message names filters or ports in quotes.
class Places {
  public:
    Places(const Plan& plan, const SourcePlace& whole) : plan_(plan), whole_(whole) {
        for (std::size_t i = 0; i < plan.components.size(); ++i) components_.emplace(plan.components[i].name, i);
    }

    struct Found {
        SourcePlace where;
        bool doubtful = false;
    };
    Found of(const std::string& problem) const {
        const auto names = quoted_names(problem);
        const PlanComponent* first = names.empty() ? nullptr : component(names[0]);
        const PlanComponent* second = names.size() < 2 ? nullptr : component(names[1]);
        if (first != nullptr && second != nullptr) {
            // "the stream from 'a.x' to 'b.y'", "the cycle 'a' -> 'b' -> 'a'": the stream, if there is one.
            for (const auto& stream : plan_.streams)
                if ((stream.from == names[0] && stream.to == names[1]) ||
                    (stream.source == number(*first) && stream.sink == number(*second) && problem.find("stream from") != problem.npos))
                    return {stream.where, false};
        }
        if (problem.find(" -> ") != problem.npos && names.size() > 1)
            if (const auto* const last = component(names[names.size() - 2]))
                for (const auto& stream : plan_.streams)
                    if (first != nullptr && stream.source == number(*last) && stream.sink == number(*first)) return {stream.where, false};
        if (first != nullptr) return {first->where, first->doubtful};
        for (const auto& stream : plan_.streams)
            if (!names.empty() && stream.options.name == names[0]) return {stream.where, false};
        return {whole_, false};
    }

  private:
    static std::vector<std::string> quoted_names(const std::string& text) {
        std::vector<std::string> names;
        for (auto begin = text.find('\''); begin != text.npos; begin = text.find('\'', begin)) {
            const auto end = text.find('\'', begin + 1);
            if (end == text.npos) break;
            names.push_back(text.substr(begin + 1, end - begin - 1));
            begin = end + 1;
        }
        return names;
    }
    const PlanComponent* component(const std::string& name) const {
        auto found = components_.find(name);
        if (found == components_.end()) found = components_.find(name.substr(0, name.rfind('.')));
        return found == components_.end() ? nullptr : &plan_.components[found->second];
    }
    std::size_t number(const PlanComponent& component) const { return static_cast<std::size_t>(&component - plan_.components.data()); }

    const Plan& plan_;
    const SourcePlace& whole_;
    std::map<std::string, std::size_t> components_;
};

void check_graph(const Plan& plan, const std::vector<bool>& on, const Places& places, const std::string& when, std::set<std::string>& said,
                 std::vector<Finding>& findings) {
    Graph graph;
    build(plan, on, graph);
    for (auto& problem : graph.check()) {
        if (!said.insert(problem).second) continue;
        const auto found = places.of(problem);
        if (found.doubtful && problem.starts_with("nothing leads to")) continue;
        findings.push_back({Finding::Kind::error, found.where, when + problem});
    }
}

void check_readers(const Plan& plan, std::vector<Finding>& findings) {
    std::set<std::string> read;
    for (const auto& stream : plan.streams) read.insert(stream.from);
    for (const auto& component : plan.components) {
        if (component.of == nullptr || component.doubtful) continue;
        for (const auto& port : component.of->filter.outputs)
            if (!read.contains(component.name + "." + port.name))
                findings.push_back({Finding::Kind::warning, component.where,
                                    "nobody reads output " + in_quotes(component.name + "." + port.name) + ": what is written there is dropped"});
    }
}

}  // namespace

void check_plan(const Plan& plan, const SourcePlace& place, std::vector<Finding>& findings) {
    const Places places(plan, place);
    std::set<std::string> said;
    const auto initial = plan.initial();
    if (plan.components.empty()) findings.push_back({Finding::Kind::warning, place, "the application has no components: it ends at once"});
    check_graph(plan, initial, places, "", said, findings);
    for (std::size_t option = 0; option < std::min(plan.options.size(), most_options_tried); ++option) {
        if (!plan.options[option].reached) continue;
        auto on = initial;
        on[option] = !on[option];
        check_graph(plan, on, places, "with option " + in_quotes(plan.options[option].name) + (on[option] ? " on" : " off") + ", ", said, findings);
    }
    const bool wrong = std::any_of(findings.begin(), findings.end(), [](const Finding& each) { return each.kind == Finding::Kind::error; });
    if (!wrong) check_readers(plan, findings);  // what is wrong may be why nobody reads
}

}  // namespace penstock::language
