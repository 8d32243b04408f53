#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "language/plan/plan.hpp"
#include "language/xml/document.hpp"
#include "language/xml/text.hpp"
#include "stream/description/model.hpp"

namespace penstock::language {
namespace {

constexpr std::size_t most_options_tried = 64;

/// Says where in the file the graph's problem is: its message names filters or ports in quotes.
class Places {
  public:
    Places(const Plan& plan, const SourcePlace& whole) : whole_(whole) {
        for (const auto& component : plan.components) components_.emplace(component.name, &component);
        for (const auto& stream : plan.streams) {
            by_ports_.emplace(std::pair(std::string_view(stream.from), std::string_view(stream.to)), &stream);
            by_ends_.emplace(std::pair(&plan.components[stream.source], &plan.components[stream.sink]), &stream);
            by_name_.emplace(stream.options.name, &stream);
        }
    }

    struct Found {
        SourcePlace where;
        bool doubtful = false;
    };
    Found of(const std::string& problem) const {
        const auto names = quoted_names(problem);
        if (names.empty()) return {whole_};
        const auto* const first = component(names[0]);
        const auto* stream = first == nullptr ? look(by_name_, names[0]) : nullptr;
        if (first != nullptr && names.size() > 1) {
            // "the stream from 'a.x' to 'b.y'", "the cycle 'a' -> 'b' -> 'a'": the stream, if there is one.
            stream = look(by_ports_, {names[0], names[1]});
            if (stream == nullptr && problem.find("stream from") != problem.npos)
                stream = look(by_ends_, {first, component(names[1])});
            if (stream == nullptr && problem.find(" -> ") != problem.npos)
                stream = look(by_ends_, {component(names[names.size() - 2]), first});
        }
        if (stream != nullptr) return {stream->where};
        return first != nullptr ? Found{first->where, first->doubtful} : Found{whole_};
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
    /// Null where there is none.
    template <class Key, class Part>
    static const Part* look(const std::map<Key, const Part*>& all, const std::type_identity_t<Key>& key) {
        const auto found = all.find(key);
        return found == all.end() ? nullptr : found->second;
    }
    const PlanComponent* component(std::string_view name) const {
        const auto* const found = look(components_, name);
        return found != nullptr ? found : look(components_, name.substr(0, name.rfind('.')));
    }

    const SourcePlace& whole_;
    // The first of each.
    std::map<std::string_view, const PlanComponent*> components_;
    std::map<std::pair<std::string_view, std::string_view>, const PlanStream*> by_ports_;
    std::map<std::pair<const PlanComponent*, const PlanComponent*>, const PlanStream*> by_ends_;
    std::map<std::string_view, const PlanStream*> by_name_;
};

/// The graph as the stream layer checks it. What is looked at are names, ports and options, so that one filter stands
/// for all components of a class: to make and destroy 100,000 of them takes longer than to check them.
class Sketch {
  public:
    streaming::Model of(const Plan& plan, const std::vector<bool>& on) {
        streaming::Model model;
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
                       .options = component.options});
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
    const auto check_graph = [&](const std::vector<bool>& on, const std::string& when) {
        for (auto& problem : streaming::problems_of(sketch.of(plan, on), -1)) {
            if (!said.insert(problem).second) continue;
            if (!places) places.emplace(plan, place);  // which most never need
            const auto found = places->of(problem);
            if (found.doubtful && problem.starts_with("nothing leads to")) continue;
            add_error(findings, found.where, when + problem);
        }
    };
    if (plan.components.empty())
        findings.push_back({Finding::Kind::warning, place, "the application has no components: it ends at once"});
    check_graph(plan.initial(), "");
    for (std::size_t option = 0; option < std::min(plan.options.size(), most_options_tried); ++option) {
        if (!plan.options[option].reached) continue;
        auto on = plan.initial();
        on[option] = !on[option];
        check_graph(on, "with option " + in_quotes(plan.options[option].name) + (on[option] ? " on" : " off") + ", ");
    }
    if (!has_errors(findings)) check_readers(plan, findings);  // what is wrong may be why nobody reads
}

}  // namespace penstock::language
