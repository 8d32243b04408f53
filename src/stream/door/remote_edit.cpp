#include "stream/door/remote_edit.hpp"

#include <algorithm>
#include <array>

#include "machine/said_by.hpp"
#include "stream/description/option_names.hpp"
#include "stream/door/palette.hpp"
#include "trace/text.hpp"

namespace penstock::streaming {
namespace {

template <class Choice, std::size_t n>
Choice chosen(const Json& step, std::string_view name, const Names<n>& names, Choice otherwise) {
    if (step.find(name) == nullptr) return otherwise;
    auto said = step.text(name);
    std::ranges::replace(said, ' ', '_');  // as graphs are told
    const auto found = std::ranges::find(names, said);
    if (found == names.end())
        throw WrongJson("'" + std::string(name) + "' is one of " + trace::list_of(names, ", ") + ", not '" + said +
                        "'");
    return static_cast<Choice>(found - names.begin());
}

StreamOptions stream_options(const Json& step) {
    StreamOptions options;
    options.policy = chosen(step, "policy", policy_names, options.policy);
    options.when_full = chosen(step, "when_full", when_full_names, options.when_full);
    if (step.find("capacity") != nullptr)
        options.capacity = static_cast<std::uint32_t>(step.integer("capacity", 0, 1'000'000));
    options.ordered = step.flag("ordered", options.ordered);
    options.feedback = step.flag("feedback", options.feedback);
    if (options.policy == Policy::by_key || options.policy == Policy::chosen)
        throw WrongJson(
            "the policies by_key and chosen need a function of the program's, which cannot be said from outside");
    return options;
}

std::shared_ptr<const FilterKind> kind_of(const std::string& name) {
    const auto* const palette = Palette::offered.load();
    if (palette == nullptr)
        throw UsageError("this program has no component classes: it does not use the language of applications");
    if (auto kind = palette->kind_of(name)) return kind;
    throw UsageError("there is no component class '" + name + "' in this program");
}

void give(const Json& step, const std::string& filter, Edit& edit) {
    const Json* const settings = step.find("settings");
    if (settings == nullptr) return;
    settings->find("");  // refuses what is no object
    for (const auto& [name, value] : std::get<Json::Object>(settings->value)) edit.set(filter, name, value.setting());
}

int count_of(const Json& step, std::string_view name) {
    return static_cast<int>(step.integer(name, FilterOptions::automatic, 1024));
}

struct Verb {
    std::string_view name;
    void (*act)(const Json& step, Edit& edit);
};

constexpr std::array verbs{
    Verb{"set",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "filter", "setting", "value"});
             edit.set(step.text("filter"), step.text("setting"), step.setting("value"));
         }},
    Verb{"copies",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "filter", "count"});
             edit.copies(step.text("filter"), count_of(step, "count"));
         }},
    Verb{"place",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "filter", "targets"});
             std::vector<int> targets;
             for (const auto& each : step.list("targets")) {
                 const auto* const target = std::get_if<std::int64_t>(&each.value);
                 if (target == nullptr || *target < 0 || *target > 1024)
                     throw WrongJson("'targets' is a list of numbers of targets");
                 targets.push_back(static_cast<int>(*target));
             }
             edit.place(step.text("filter"), std::move(targets));
         }},
    Verb{"add",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "name", "class", "copies", "settings"});
             FilterOptions options;
             if (step.find("copies") != nullptr) options.copies = count_of(step, "copies");
             edit.add_kind(step.text("name"), std::move(options), kind_of(step.text("class")));
             give(step, step.text("name"), edit);
         }},
    Verb{"replace",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "filter", "class", "settings", "how"});
             edit.replace_kind(step.text("filter"), chosen(step, "how", removal_names, Removal::hand_over),
                               kind_of(step.text("class")));
             give(step, step.text("filter"), edit);
         }},
    Verb{"remove",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "filter", "how"});
             edit.remove(step.text("filter"), chosen(step, "how", removal_names, Removal::hand_over));
         }},
    Verb{"connect",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "from", "to", "capacity", "policy", "when_full", "ordered", "feedback"});
             edit.connect(step.text("from"), step.text("to"), stream_options(step));
         }},
    Verb{"change",
         [](const Json& step, Edit& edit) {
             step.allow({"do", "from", "to", "capacity", "policy", "when_full", "ordered", "feedback"});
             edit.change(step.text("from"), step.text("to"), stream_options(step));
         }},
    Verb{"disconnect", [](const Json& step, Edit& edit) {
             step.allow({"do", "from", "to"});
             edit.disconnect(step.text("from"), step.text("to"));
         }}};

void act(const Json& step, Edit& edit) {
    const auto& name = step.text("do");
    const auto verb = std::ranges::find(verbs, name, &Verb::name);
    if (verb == verbs.end())
        throw WrongJson("nobody can do '" + name + "': there are " +
                        trace::list_of(verbs, ", ", [](const Verb& each) { return each.name; }));
    verb->act(step, edit);
}

}  // namespace

void describe(const Json& request, Edit& edit) {
    request.allow({"edits"});
    edit.allow_ended_readers();
    int number = 0;
    for (const auto& step : request.list("edits")) {
        ++number;
        try {
            act(step, edit);
        } catch (const std::exception& error) {
            throw UsageError("edit " + std::to_string(number) + ": " + said_by(error));
        }
    }
    if (number == 0) throw UsageError("'edits' is empty: there is nothing to do");
}

}  // namespace penstock::streaming
