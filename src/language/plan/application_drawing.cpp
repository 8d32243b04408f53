// An application as a drawing: components in the boxes of their groups, options as boxes of their own, streams as
// arrows.
#include <map>
#include <set>

#include "language/plan/plan.hpp"
#include "language/xml/text.hpp"

namespace penstock {
namespace {

using language::Conditions;
using language::Plan;
using language::PlanComponent;
using language::PlanStream;
using trace::dot_text;

std::string label(const PlanComponent& component) {
    const auto& options = component.options;
    auto text = component.name.substr(component.name.rfind('/') + 1);
    if (options.copies == FilterOptions::automatic) text += " x (as many as needed)";
    else if (options.copies != 1) text += " x " + std::to_string(options.copies);
    text += "\n" + component.of->name;
    if (!options.near.empty()) text += "\nnear " + options.near;
    if (!options.targets.empty())
        text += "\non target " + language::list_of(options.targets, ", ", language::number_text);
    if (!options.target_classes.empty()) text += "\non " + language::list_of(options.target_classes, ", ");
    if (!options.nodes.empty()) text += "\non nodes " + options.nodes;
    if (options.isolation) text += options.stays_in_program() ? "\nin the program" : "\nin a worker process";
    return dot_text(text);
}

std::string label(const PlanStream& stream) {
    const auto& options = stream.options;
    auto text = language::port_of(stream.from) + " - " + language::port_of(stream.to);
    if (options.policy != StreamOptions().policy)
        text += "\n" + std::string(language::policy_words[static_cast<std::size_t>(options.policy)]);
    if (options.capacity != 0) text += "\nroom for " + std::to_string(options.capacity);
    if (options.ordered) text += "\nordered";
    return dot_text(text);
}

class Drawing {
  public:
    explicit Drawing(const Plan& plan) : plan_(plan), on_(plan.initial()) {
        for (std::size_t i = 0; i < plan.components.size(); ++i) {
            const auto& component = plan.components[i];
            auto* box = &whole_;
            for (const auto& condition : component.conditions) box = &box->options[condition];
            std::size_t begin = 0;
            for (auto end = component.name.find('/'); end != component.name.npos;
                 begin = end + 1, end = component.name.find('/', begin))
                box = &box->groups[component.name.substr(begin, end - begin)];
            box->components.push_back(&component);
        }
        for (const auto& rule : plan.rules) {
            if (!rule.switches()) continue;
            const auto verb = language::switch_words[static_cast<std::size_t>(rule.kind)];
            switched_[rule.option].insert(rule.event + " " + std::string(verb) + "s");
        }
    }

    std::string text() {
        out_ =
            "digraph " + dot_text(plan_.name) + " {\n  rankdir=LR; label=" + dot_text(plan_.name) +
            "; labelloc=t; fontname=\"sans-serif\";\n" +
            "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\", fontsize=11];\n" +
            "  edge [fontname=\"sans-serif\", fontsize=9];\n";
        draw(whole_, "", "  ");
        for (const auto& stream : plan_.streams)
            out_ += "  " + dot_text(plan_.components[stream.source].name) + " -> " +
                    dot_text(plan_.components[stream.sink].name) + " [label=" + label(stream) +
                    style(stream.conditions) + (stream.options.feedback ? ", constraint=false" : "") + "];\n";
        return out_ + "}\n";
    }

  private:
    struct Box {
        std::map<language::Condition, Box> options;
        std::map<std::string, Box> groups;
        std::vector<const PlanComponent*> components;
    };

    std::string style(const Conditions& conditions) const {
        return language::holds(conditions, on_) ? "" : ", style=dashed, color=gray50, fontcolor=gray50";
    }

    void draw(const Box& box, const std::string& path, const std::string& indent) {
        for (const auto* const component : box.components)
            out_ += indent + dot_text(component->name) + " [label=" + label(*component) +
                    (language::holds(component->conditions, on_)
                         ? ""
                         : ", style=\"rounded,dashed\", color=gray50, fontcolor=gray50") +
                    "];\n";
        for (const auto& [name, group] : box.groups)
            draw_box(group, path + name + "/", indent, name, "rounded", "gray50");
        for (const auto& [condition, inner] : box.options) {
            const auto& option = plan_.options[condition.option];
            const bool exists = on_[condition.option] == condition.on;
            auto title = (condition.on ? "option " : "otherwise of ") + option.name;
            if (const auto events = switched_.find(condition.option); condition.on && events != switched_.end())
                for (const auto& each : events->second) title += "\n" + each;
            draw_box(inner, path + option.name + (condition.on ? " on/" : " off/"), indent, title,
                     exists ? "solid" : "dashed", "steelblue");
        }
    }
    void draw_box(const Box& box, const std::string& path, const std::string& indent, const std::string& title,
                  const char* style, const char* color) {
        out_ += indent + "subgraph " + dot_text("cluster " + path) + " {\n" + indent + "  label=" + dot_text(title) +
                "; style=\"" + style + "\"; color=" + color + "; fontcolor=gray30; fontsize=10;\n";
        draw(box, path, indent + "  ");
        out_ += indent + "}\n";
    }

    const Plan& plan_;
    const std::vector<bool> on_;
    Box whole_;
    std::map<std::size_t, std::set<std::string>> switched_;
    std::string out_;
};

}  // namespace

std::string drawing_of(const Application& application) { return Drawing(*application.plan_).text(); }

}  // namespace penstock
