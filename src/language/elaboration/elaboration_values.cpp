// Attributes as values.
#include <cmath>

#include "language/elaboration/elaboration.hpp"

namespace penstock::language {

std::optional<std::string> Elaboration::given(const Element& element, std::string_view attribute,
                                              const Environment& scope) {
    const auto* const written = element.attribute(attribute);
    if (written == nullptr) return std::nullopt;
    auto found = checked(element, attribute, [&] { return substituted(written->value, scope.variables, scope.used); });
    // What is looked up by these: nothing is called "".
    constexpr std::string_view naming = "class group event file from to component setting enable disable toggle";
    if (!found || !found->empty() || !stands_in_list(naming, attribute)) return found;
    error(element.place_of(attribute), in_quotes(attribute) + " is empty");
    return std::nullopt;
}

std::string Elaboration::name(const Element& element, std::string_view attribute, const Environment& scope, bool path) {
    const auto found = given(element, attribute, scope);
    if (!found) return {};  // the grammar has said so
    if (path ? is_path(*found) : is_name(*found)) return *found;
    error(element.place_of(attribute), in_quotes(*found) +
                                           " is no name: a name is a letter, then letters, digits, '-' and '_'" +
                                           (path ? ", and '/' after the name of a group" : ""));
    return {};
}

bool Elaboration::flag(const Element& element, std::string_view attribute, const Environment& scope, bool otherwise) {
    constexpr std::string_view words[] = {"false", "true"};
    return choice(element, attribute, scope, words, otherwise ? 1 : 0) == 1;
}

std::size_t Elaboration::choice(const Element& element, std::string_view attribute, const Environment& scope,
                                std::span<const std::string_view> words, std::size_t otherwise) {
    const auto found = given(element, attribute, scope);
    if (!found) return otherwise;
    const auto at = std::ranges::find(words, *found);
    if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
    const auto all = list_of(words.first(words.size() - 1), ", ", in_quotes) + " or " + in_quotes(words.back());
    error(element.place_of(attribute), in_quotes(attribute) + " is " + in_quotes(*found) + ", and should be " + all);
    return otherwise;
}

std::optional<SettingValue> Elaboration::value_for(const Element& element, const SettingDescription& setting,
                                                   const Environment& scope) {
    const auto found = given(element, "value", scope);
    if (!found) return std::nullopt;
    auto value = checked(element, "value", [&] { return value_of_setting(setting, *found); });
    if (!value) return std::nullopt;
    const auto& limits = setting.limits;
    const bool says_unit = element.attribute("unit") != nullptr;
    const auto unit =
        says_unit ? text(element, "unit", scope) : unit_of(element.attribute("value")->value, scope.variables);
    if ((says_unit || !unit.empty()) && unit != limits.unit)
        error(element.place_of(says_unit ? "unit" : "value"),
              "setting " + in_quotes(setting.name) +
                  (limits.unit.empty() ? " has no unit" : " is in " + in_quotes(limits.unit)) +
                  ", and the value is in " + in_quotes(unit));
    return value;
}

Settings Elaboration::settings_for(const Element& element, const ComponentClass& of, const Environment& scope) {
    Settings all;
    for (const auto& child : element.children) {
        if (child.name != "set") continue;
        const auto wanted = text(child, "name", scope);
        if (wanted.empty()) continue;
        const auto* const setting = checked(child, "name", [&] { return &setting_of(of, wanted); }).value_or(nullptr);
        if (setting == nullptr) continue;
        if (named(all, wanted) != nullptr) {
            error(child.place(), "setting " + in_quotes(wanted) + " is set twice");
            continue;
        }
        if (auto value = value_for(child, *setting, scope)) all.emplace_back(wanted, std::move(*value));
    }
    return all;
}

StreamOptions Elaboration::stream_options(const Element& element, const Environment& scope) {
    constexpr auto most = std::int64_t{1} << 40;
    StreamOptions options;
    options.policy =
        static_cast<Policy>(choice(element, "policy", scope, policy_words, static_cast<std::size_t>(options.policy)));
    options.when_full = static_cast<WhenStreamFull>(
        choice(element, "when-full", scope, when_full_words, static_cast<std::size_t>(options.when_full)));
    options.capacity = static_cast<std::size_t>(number<std::int64_t>(element, "capacity", scope, 0, most).value_or(0));
    options.capacity_bytes =
        static_cast<std::size_t>(number<std::int64_t>(element, "capacity-bytes", scope, 0, most).value_or(0));
    options.ordered = flag(element, "ordered", scope, options.ordered);
    options.fuse = flag(element, "fuse", scope, options.fuse);
    options.feedback = flag(element, "feedback", scope, options.feedback);
    options.name = text(element, "name", scope);
    return options;
}

FilterOptions Elaboration::filter_options(const Element& element, const Environment& scope) {
    FilterOptions options;
    if (const auto* const copies = element.attribute("copies")) {
        if (copies->value == "automatic") options.copies = FilterOptions::automatic;
        else options.copies = static_cast<int>(number<std::int64_t>(element, "copies", scope, 1, 100'000).value_or(1));
    }
    for (const auto& word : words_of(text(element, "targets", scope))) {
        const auto target = integer_of(word);
        if (target && *target >= 0 && *target < 100'000) options.targets.push_back(static_cast<int>(*target));
        else
            error(element.place_of("targets"), "'targets' has " + in_quotes(word) +
                                                   ", and should be numbers of targets, from 0, with spaces between");
    }
    options.target_classes = words_of(text(element, "target-classes", scope));
    if (const auto near = name(element, "near", scope, true); !near.empty()) options.near = scope.prefix + near;
    options.on_failure = static_cast<OnFailure>(choice(element, "on-failure", scope, on_failure_words, 0));
    options.pool = static_cast<std::size_t>(number<std::int64_t>(element, "pool", scope, 0, 1 << 30).value_or(0));
    if (const auto way = choice(element, "isolation", scope, isolation_words, std::size(isolation_words));
        way < std::size(isolation_words))
        options.isolation = static_cast<Isolation>(way);
    options.nodes = name(element, "nodes", scope);
    options.on_node_loss = static_cast<OnNodeLoss>(choice(element, "on-node-loss", scope, on_node_loss_words, 0));
    constexpr double longest = 27 * 60;
    if (const auto limit = number<double>(element, "time-limit", scope, 1e-3, longest))
        options.time_limit = std::chrono::nanoseconds(std::llround(*limit * 1e9));
    return options;
}

}  // namespace penstock::language
