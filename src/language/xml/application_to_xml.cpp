// An application written down again: its options around what stands in them, one manager with all rules.
//
// The plan has components, streams and options in the order of the file that they came from, each kind by itself. Parts
// of a body are put into an order that keeps all three; there is one, because what stands in an option stood together.
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "language/plan/plan.hpp"
#include "language/xml/part_elements.hpp"
#include "language/xml/text.hpp"

namespace penstock {
namespace language {
namespace {

/// Numbers of what stands in a body.
struct Parts {
    std::vector<std::size_t> components, streams, options;
};

class Writing {
  public:
    explicit Writing(const Plan& plan) : plan_(plan) {}

    Element root() {
        auto root = application_element(plan_.name);
        for (const auto& event : plan_.events) set_plain(add(root, "event"), "name", event);
        Parts all;
        for (std::size_t i = 0; i < plan_.components.size(); ++i) all.components.push_back(i);
        for (std::size_t i = 0; i < plan_.streams.size(); ++i) all.streams.push_back(i);
        for (std::size_t i = 0; i < plan_.options.size(); ++i) all.options.push_back(i);
        body(root, all, 0);
        for (const auto& timer : plan_.timers) {
            auto& made = add(root, "timer");
            set_plain(made, "event", timer.event);
            set_plain(made, "after", seconds(timer.after));
            if (timer.every.count() != 0) set_plain(made, "every", seconds(timer.every));
        }
        if (plan_.rules.empty()) return root;
        auto& manager = add(root, "manager");
        for (const auto& each : plan_.rules) rule(add(manager, "on"), each);
        return root;
    }

  private:
    using Own = std::span<const Condition>;
    Own component_stands(std::size_t number) const { return plan_.components[number].conditions; }
    Own stream_stands(std::size_t number) const {
        return Own(plan_.streams[number].conditions).first(plan_.streams[number].own_conditions);
    }
    Own option_stands(std::size_t number) const { return plan_.options[number].conditions; }

    static Element& add(Element& owner, const char* name) {
        owner.children.emplace_back().name = name;
        return owner.children.back();
    }
    static std::string seconds(std::chrono::nanoseconds time) {
        return text_of(static_cast<double>(time.count()) / 1e9);
    }

    /// A component or a stream of a body, or an option with all that stands in it.
    struct Part {
        enum class Kind { component, stream, option } kind;
        std::size_t number;
        Parts on{}, off{};
        std::set<std::size_t> before{};  ///< parts that stand behind it
        std::size_t after = 0;           ///< parts that stand before it
    };
    using Pick = std::vector<std::size_t> Parts::*;
    using Stands = Own (Writing::*)(std::size_t) const;

    void body(Element& owner, const Parts& all, std::size_t depth) {
        std::vector<Part> parts;
        std::map<std::size_t, std::size_t> options;
        const auto option = [&](std::size_t number) {
            const auto [at, fresh] = options.emplace(number, parts.size());
            if (fresh) parts.push_back({Part::Kind::option, number});
            return at->second;
        };
        const auto sort_in = [&](Pick pick, Stands stands, Part::Kind kind) {
            constexpr auto none = static_cast<std::size_t>(-1);
            auto last = none;
            for (const auto number : all.*pick) {
                const auto own = (this->*stands)(number);
                std::size_t part = parts.size();
                if (own.size() > depth) {
                    part = option(own[depth].option);
                    ((own[depth].on ? parts[part].on : parts[part].off).*pick).push_back(number);
                } else if (kind == Part::Kind::option) {
                    part = option(number);
                } else {
                    parts.push_back({kind, number});
                }
                if (last != none && last != part && parts[last].before.insert(part).second) ++parts[part].after;
                last = part;
            }
        };
        sort_in(&Parts::components, &Writing::component_stands, Part::Kind::component);
        sort_in(&Parts::streams, &Writing::stream_stands, Part::Kind::stream);
        sort_in(&Parts::options, &Writing::option_stands, Part::Kind::option);
        std::set<std::size_t> ready;
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts[i].after == 0) ready.insert(i);
        while (!ready.empty()) {
            const auto next = *ready.begin();
            ready.erase(ready.begin());
            write(owner, parts[next], depth);
            for (const auto behind : parts[next].before)
                if (--parts[behind].after == 0) ready.insert(behind);
        }
    }

    void write(Element& owner, const Part& part, std::size_t depth) {
        if (part.kind == Part::Kind::component)
            return owner.children.push_back(component(plan_.components[part.number]));
        if (part.kind == Part::Kind::stream) {
            const auto& stream = plan_.streams[part.number];
            return owner.children.push_back(stream_element(stream.from, stream.to, stream.options));
        }
        const auto& option = plan_.options[part.number];
        Element made;
        made.name = "option";
        set_plain(made, "name", option.name);
        set_plain(made, "initially", option.initially ? "on" : "off");
        body(made, part.on, depth + 1);
        if (!part.off.components.empty() || !part.off.streams.empty() || !part.off.options.empty()) {
            Element otherwise;
            otherwise.name = "otherwise";
            body(otherwise, part.off, depth + 1);
            made.children.push_back(std::move(otherwise));
        }
        owner.children.push_back(std::move(made));
    }

    Element component(const PlanComponent& component) const {
        return component_element(component.name, class_name(*component.of, component.name), component.options,
                                 written(component.settings));
    }
    static std::vector<WrittenSetting> written(const Settings& settings) {
        std::vector<WrittenSetting> all;
        for (const auto& [name, value] : settings) all.push_back({name, value});
        return all;
    }
    /// What was described in C++ by its type has a name only if a class has.
    std::string class_name(const ComponentClass& of, const std::string& user) const {
        return plan_.known.find(of.name) == &of ? of.name : class_for(of.filter.type, user, plan_.known).name;
    }

    void rule(Element& made, const PlanRule& rule) const {
        set_plain(made, "event", rule.event);
        constexpr const char* verbs[] = {"enable", "disable", "toggle"};
        switch (rule.kind) {
            case PlanRule::Kind::enable:
            case PlanRule::Kind::disable:
            case PlanRule::Kind::toggle:
                set_plain(made, verbs[static_cast<std::size_t>(rule.kind)], plan_.options[rule.option].name);
                break;
            case PlanRule::Kind::set:
                set_plain(made, "component", plan_.components[rule.component].name);
                set_plain(made, "setting", rule.settings.front().first);
                set_plain(made, "value", text_of(rule.settings.front().second));
                break;
            case PlanRule::Kind::replace:
                set_plain(made, "component", plan_.components[rule.component].name);
                set_plain(made, "class", class_name(*rule.of, plan_.components[rule.component].name));
                for (const auto& setting : written(rule.settings)) made.children.push_back(setting_element(setting));
                break;
        }
    }

    const Plan& plan_;
};

}  // namespace
}  // namespace language

std::string to_xml(const Application& application) {
    language::Document document;
    document.root = language::Writing(*application.plan_).root();
    return language::text_of(document);
}

}  // namespace penstock
