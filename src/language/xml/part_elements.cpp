#include "language/xml/part_elements.hpp"

#include "language/elaboration/option_words.hpp"
#include "language/xml/grammar.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

constexpr const char* cannot = "the graph cannot be written as XML: ";

Element named(const char* name) {
    Element made;
    made.name = name;
    return made;
}

template <class Choice, std::size_t n>
void set_word(Element& element, std::string_view attribute, Choice choice, Choice usual,
              const streaming::Names<n>& words) {
    if (choice != usual) set_plain(element, attribute, words[static_cast<std::size_t>(choice)]);
}

void set_number(Element& element, std::string_view attribute, std::size_t number) {
    if (number != 0) set_plain(element, attribute, std::to_string(number));
}

}  // namespace

void set_plain(Element& element, std::string_view attribute, std::string_view value) {
    std::string doubled;
    for (const char c : value) doubled += c == '$' ? "$$" : std::string(1, c);
    element.set(attribute, std::move(doubled));
}

Element setting_element(const WrittenSetting& setting) {
    auto made = named("set");
    set_plain(made, "name", setting.name);
    set_plain(made, "value", text_of(setting.value));
    if (!setting.unit.empty()) set_plain(made, "unit", setting.unit);
    return made;
}

Element component_element(const std::string& name, const std::string& class_name, const FilterOptions& options,
                          const std::vector<WrittenSetting>& settings) {
    if (!is_path(name)) throw UsageError(cannot + in_quotes(name) + " is no name of the language");
    auto made = named("component");
    set_plain(made, "name", name);
    set_plain(made, "class", class_name);
    if (options.copies == FilterOptions::automatic) set_plain(made, "copies", "automatic");
    else if (options.copies != 1) set_plain(made, "copies", std::to_string(options.copies));
    std::string targets;
    for (const int target : options.targets) targets += (targets.empty() ? "" : " ") + std::to_string(target);
    if (!targets.empty()) set_plain(made, "targets", targets);
    if (!options.near.empty()) set_plain(made, "near", options.near);
    set_word(made, "on-failure", options.on_failure, OnFailure::stop, on_failure_words);
    set_number(made, "pool", options.pool);
    if (options.isolation) set_plain(made, "isolation", isolation_words[static_cast<std::size_t>(*options.isolation)]);
    if (options.time_limit.count() != 0)
        set_plain(made, "time-limit", text_of(static_cast<double>(options.time_limit.count()) / 1e9));
    for (const auto& setting : settings) made.children.push_back(setting_element(setting));
    return made;
}

Element stream_element(const std::string& from, const std::string& to, const StreamOptions& options) {
    if (options.key)
        throw UsageError(cannot + ("the stream from " + in_quotes(from) + " to " + in_quotes(to)) +
                         " has a function as its key, and a file has no functions");
    auto made = named("stream");
    set_plain(made, "from", from);
    set_plain(made, "to", to);
    const StreamOptions usual;
    if (!options.name.empty()) set_plain(made, "name", options.name);
    set_word(made, "policy", options.policy, usual.policy, policy_words);
    set_number(made, "capacity", options.capacity);
    set_number(made, "capacity-bytes", options.capacity_bytes);
    set_word(made, "when-full", options.when_full, usual.when_full, when_full_words);
    if (options.ordered) set_plain(made, "ordered", "true");
    if (!options.fuse) set_plain(made, "fuse", "false");
    if (options.feedback) set_plain(made, "feedback", "true");
    return made;
}

Element application_element(const std::string& name) {
    if (!is_name(name))
        throw UsageError(in_quotes(name) +
                         " cannot name an application: a name is a letter, then letters, digits, '-' and '_'");
    auto made = named("application");
    made.set("xmlns", std::string(namespace_name));
    made.set("name", name);
    return made;
}

const ComponentClass& class_for(const std::string& type, const std::string& user, const Components& components) {
    const auto* const of = components.of_type(type);
    if (of == nullptr)
        throw UsageError(cannot + ("no component class has filters of type '" + type) + "' (" + in_quotes(user) +
                         "): give it a name with register_component");
    return *of;
}

}  // namespace penstock::language
