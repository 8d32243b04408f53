#include "language/plan/plan_check.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "language/xml/text.hpp"
#include "stream/description/model.hpp"

namespace penstock::language {
namespace {

constexpr std::size_t most_options_tried = 64;

/// Says where in the file the graph's problem is: its message names filters or ports in quotes.
class Places {
  public:
    Places(const Plan& plan, const SourcePlace& whole) : plan_(plan), whole_(whole) {
        for (std::size_t i = 0; i < plan.components.size(); ++i) components_.emplace(plan.components[i].name, i);
        for (const auto& stream : plan.streams) {
            by_ports_.emplace(std::pair(std::string_view(stream.from), std::string_view(stream.to)), &stream);
            by_ends_.emplace(std::pair(stream.source, stream.sink), &stream);
            by_name_.emplace(stream.options.name, &stream);
        }
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
            if (const auto found = by_ports_.find({names[0], names[1]}); found != by_ports_.end())
                return {found->second->where, false};
            if (problem.find("stream from") != problem.npos)
                if (const auto* const stream = between(*first, *second)) return {stream->where, false};
        }
        if (first != nullptr && names.size() > 1 && problem.find(" -> ") != problem.npos)
            if (const auto* const last = component(names[names.size() - 2]))
                if (const auto* const stream = between(*last, *first)) return {stream->where, false};
        if (first != nullptr) return {first->where, first->doubtful};
        if (!names.empty())
            if (const auto found = by_name_.find(names[0]); found != by_name_.end())
                return {found->second->where, false};
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
        if (found == components_.end()) found = components_.find(std::string_view(name).substr(0, name.rfind('.')));
        return found == components_.end() ? nullptr : &plan_.components[found->second];
    }
    std::size_t number(const PlanComponent& component) const {
        return static_cast<std::size_t>(&component - plan_.components.data());
    }
    const PlanStream* between(const PlanComponent& source, const PlanComponent& sink) const {
        const auto found = by_ends_.find({number(source), number(sink)});
        return found == by_ends_.end() ? nullptr : found->second;
    }

    const Plan& plan_;
    const SourcePlace& whole_;
    std::map<std::string_view, std::size_t> components_;
    // The first of each.
    std::map<std::pair<std::string_view, std::string_view>, const PlanStream*> by_ports_;
    std::map<std::pair<std::size_t, std::size_t>, const PlanStream*> by_ends_;
    std::map<std::string_view, const PlanStream*> by_name_;
};

/// The graph as the stream layer checks it. What is looked at are names, ports and options, so that one filter stands
/// for all components of a class: to make and destroy 100,000 of them takes longer than to check them.
class Sketch {
  public:
    streaming::Model of(const Plan& plan, const std::vector<bool>& on) {
        streaming::Model model;
        model.to_be_checked_only = true;
        model.filters.reserve(plan.components.size());
        model.streams.reserve(plan.streams.size());
        std::vector<std::uint64_t> ids(plan.components.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto& component = plan.components[i];
            if (component.of == nullptr || !holds(component.conditions, on)) continue;
            ids[i] = model.next_id++;
            model.add({.id = ids[i],
                       .name = component.name,
                       .kind = component.of->kind,
                       .first = filter_of(*component.of),
                       .options = component.options,
                       .changes = {}});
        }
        for (const auto& stream : plan.streams) {
            if (!holds(stream.conditions, on) || ids[stream.source] == 0 || ids[stream.sink] == 0) continue;
            const auto output =
                port(model, plan.components[stream.source], stream.from, &streaming::AnyFilter::outputs, "output");
            const auto input =
                port(model, plan.components[stream.sink], stream.to, &streaming::AnyFilter::inputs, "input");
            if (output && input)
                model.streams.push_back(
                    {model.next_id++, ids[stream.source], *output, ids[stream.sink], *input, stream.options});
        }
        return model;
    }

  private:
    const std::shared_ptr<streaming::AnyFilter>& filter_of(const ComponentClass& of) {
        auto& filter = filters_[&of];
        if (filter == nullptr) filter = of.kind->make();
        return filter;
    }
    template <class Ports>
    std::optional<std::size_t> port(streaming::Model& model, const PlanComponent& component, std::string_view end,
                                    Ports streaming::AnyFilter::* ports, const char* kind) {
        const auto name = end.substr(end.rfind('.') + 1);
        const auto& all = *filter_of(*component.of).*ports;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i]->name() == name) return i;
        model.problems.push_back("filter " + in_quotes(component.name) + " has no " + kind + " called " +
                                 in_quotes(name));
        return std::nullopt;
    }

    std::unordered_map<const ComponentClass*, std::shared_ptr<streaming::AnyFilter>> filters_;
};

void check_graph(const Plan& plan, const std::vector<bool>& on, Sketch& sketch, std::optional<Places>& places,
                 const SourcePlace& whole, const std::string& when, std::set<std::string>& said,
                 std::vector<Finding>& findings) {
    for (auto& problem : streaming::problems_of(sketch.of(plan, on), -1)) {
        if (!said.insert(problem).second) continue;
        if (!places) places.emplace(plan, whole);  // which most never need
        const auto found = places->of(problem);
        if (found.doubtful && problem.starts_with("nothing leads to")) continue;
        findings.push_back({Finding::Kind::error, found.where, when + problem});
    }
}

void check_readers(const Plan& plan, std::vector<Finding>& findings) {
    std::unordered_set<std::string_view> read(plan.streams.size());
    for (const auto& stream : plan.streams) read.insert(stream.from);
    for (const auto& component : plan.components) {
        if (component.of == nullptr || component.doubtful) continue;
        for (const auto& port : component.of->filter.outputs)
            if (!read.contains(component.name + "." + port.name))
                findings.push_back({Finding::Kind::warning, component.where,
                                    "nobody reads output " + in_quotes(component.name + "." + port.name) +
                                        ": what is written there is dropped"});
    }
}

}  // namespace

void check_plan(const Plan& plan, const SourcePlace& place, std::vector<Finding>& findings) {
    Sketch sketch;
    std::optional<Places> places;
    std::set<std::string> said;
    const auto initial = plan.initial();
    if (plan.components.empty())
        findings.push_back({Finding::Kind::warning, place, "the application has no components: it ends at once"});
    check_graph(plan, initial, sketch, places, place, "", said, findings);
    for (std::size_t option = 0; option < std::min(plan.options.size(), most_options_tried); ++option) {
        if (!plan.options[option].reached) continue;
        auto on = initial;
        on[option] = !on[option];
        check_graph(plan, on, sketch, places, place,
                    "with option " + in_quotes(plan.options[option].name) + (on[option] ? " on" : " off") + ", ", said,
                    findings);
    }
    const bool wrong = std::any_of(findings.begin(), findings.end(),
                                   [](const Finding& each) { return each.kind == Finding::Kind::error; });
    if (!wrong) check_readers(plan, findings);  // what is wrong may be why nobody reads
}

}  // namespace penstock::language
