// Attributes as values.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "language/elaboration/elaboration.hpp"
#include "language/elaboration/option_words.hpp"
#include "language/expression/setting_value.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {

std::string Elaboration::text(const Element& element, std::string_view attribute, const Scope& scope) {
    const auto* const given = element.attribute(attribute);
    if (given == nullptr) return {};
    // What is looked up by these: nothing is called "".
    constexpr std::string_view naming[] = {"class",     "group",   "event",  "file",    "from",  "to",
                                           "component", "setting", "enable", "disable", "toggle"};
    try {
        auto found = substituted(given->value, scope.variables, scope.used);
        if (found.empty() && std::find(std::begin(naming), std::end(naming), attribute) != std::end(naming))
            error(element.place_of(attribute), in_quotes(attribute) + " is empty");
        return found;
    } catch (const ExpressionError& wrong) {
        error(element.place_of(attribute), wrong.message);
        return {};
    }
}

std::string Elaboration::name(const Element& element, std::string_view attribute, const Scope& scope, bool path) {
    const auto* const given = element.attribute(attribute);
    if (given == nullptr) return {};  // the grammar has said so
    const auto before = findings_.size();
    auto found = text(element, attribute, scope);
    if (findings_.size() != before) return {};
    if (path ? is_path(found) : is_name(found)) return found;
    error(element.place_of(attribute), in_quotes(found) +
                                           " is no name: a name is a letter, then letters, digits, '-' and '_'" +
                                           (path ? ", and '/' after the name of a group" : ""));
    return {};
}

std::optional<std::int64_t> Elaboration::integer(const Element& element, std::string_view attribute, const Scope& scope,
                                                 std::int64_t least, std::int64_t most) {
    if (element.attribute(attribute) == nullptr) return std::nullopt;
    const auto before = findings_.size();
    const auto found = text(element, attribute, scope);
    if (findings_.size() != before) return std::nullopt;
    const auto value = integer_of(found);
    if (value && *value >= least && *value <= most) return value;
    error(element.place_of(attribute), in_quotes(attribute) + " is " + in_quotes(found) +
                                           ", and should be an integer from " + std::to_string(least) + " to " +
                                           std::to_string(most));
    return std::nullopt;
}

std::optional<double> Elaboration::number(const Element& element, std::string_view attribute, const Scope& scope,
                                          double least, double most) {
    if (element.attribute(attribute) == nullptr) return std::nullopt;
    const auto before = findings_.size();
    const auto found = text(element, attribute, scope);
    if (findings_.size() != before) return std::nullopt;
    const auto value = number_of(found);
    if (value && *value >= least && *value <= most) return value;
    error(element.place_of(attribute), in_quotes(attribute) + " is " + in_quotes(found) +
                                           ", and should be a number from " + text_of(least) + " to " + text_of(most));
    return std::nullopt;
}

bool Elaboration::flag(const Element& element, std::string_view attribute, const Scope& scope, bool otherwise) {
    constexpr std::string_view words[] = {"false", "true"};
    return choice(element, attribute, scope, words, otherwise ? 1 : 0) == 1;
}

std::size_t Elaboration::choice(const Element& element, std::string_view attribute, const Scope& scope,
                                std::span<const std::string_view> words, std::size_t otherwise) {
    if (element.attribute(attribute) == nullptr) return otherwise;
    const auto before = findings_.size();
    const auto found = text(element, attribute, scope);
    if (findings_.size() != before) return otherwise;
    const auto at = std::find(words.begin(), words.end(), found);
    if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
    std::string all;
    for (const auto word : words) all += (all.empty() ? "" : word == words.back() ? " or " : ", ") + in_quotes(word);
    error(element.place_of(attribute), in_quotes(attribute) + " is " + in_quotes(found) + ", and should be " + all);
    return otherwise;
}

std::optional<SettingValue> Elaboration::value_for(const Element& element, const SettingDescription& setting,
                                                   const Scope& scope) {
    const auto before = findings_.size();
    const auto found = text(element, "value", scope);
    if (findings_.size() != before || element.attribute("value") == nullptr) return std::nullopt;
    const auto place = element.place_of("value");
    auto [value, problem] = value_of_setting(setting, found);
    if (!value) {
        error(place, std::move(problem));
        return std::nullopt;
    }
    const auto& limits = setting.limits;
    const bool says_unit = element.attribute("unit") != nullptr;
    const auto unit =
        says_unit ? text(element, "unit", scope) : unit_of(element.attribute("value")->value, scope.variables);
    if ((says_unit || !unit.empty()) && unit != limits.unit)
        error(says_unit ? element.place_of("unit") : place,
              "setting " + in_quotes(setting.name) +
                  (limits.unit.empty() ? " has no unit" : " is in " + in_quotes(limits.unit)) +
                  ", and the value is in " + in_quotes(unit));
    return value;
}

Settings Elaboration::settings_for(const Element& element, const ComponentClass& of, const Scope& scope) {
    Settings all;
    for (const auto& child : element.children) {
        if (child.name != "set") continue;
        const auto wanted = text(child, "name", scope);
        if (wanted.empty()) continue;
        const auto& settings = of.filter.settings;
        const auto found = std::find_if(settings.begin(), settings.end(),
                                        [&](const SettingDescription& each) { return each.name == wanted; });
        if (found == settings.end()) {
            std::vector<std::string> names;
            for (const auto& each : settings) names.push_back(each.name);
            error(child.place_of("name"),
                  "class " + in_quotes(of.name) + " has no setting " + in_quotes(wanted) + hint(wanted, names));
            continue;
        }
        if (std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.first == wanted; })) {
            error(child.place(), "setting " + in_quotes(wanted) + " is set twice");
            continue;
        }
        if (auto value = value_for(child, *found, scope)) all.emplace_back(wanted, std::move(*value));
    }
    return all;
}

StreamOptions Elaboration::stream_options(const Element& element, const Scope& scope) {
    constexpr auto most = std::int64_t{1} << 40;
    StreamOptions options;
    options.policy =
        static_cast<Policy>(choice(element, "policy", scope, policy_words, static_cast<std::size_t>(options.policy)));
    options.when_full = static_cast<WhenStreamFull>(
        choice(element, "when-full", scope, when_full_words, static_cast<std::size_t>(options.when_full)));
    options.capacity = static_cast<std::size_t>(integer(element, "capacity", scope, 0, most).value_or(0));
    options.capacity_bytes = static_cast<std::size_t>(integer(element, "capacity-bytes", scope, 0, most).value_or(0));
    options.ordered = flag(element, "ordered", scope, options.ordered);
    options.fuse = flag(element, "fuse", scope, options.fuse);
    options.feedback = flag(element, "feedback", scope, options.feedback);
    options.name = text(element, "name", scope);
    return options;
}

FilterOptions Elaboration::filter_options(const Element& element, const Scope& scope) {
    FilterOptions options;
    if (const auto* const copies = element.attribute("copies")) {
        if (copies->value == "automatic") options.copies = FilterOptions::automatic;
        else options.copies = static_cast<int>(integer(element, "copies", scope, 1, 100'000).value_or(1));
    }
    for (const auto& word : words_of(text(element, "targets", scope))) {
        const auto target = integer_of(word);
        if (target && *target >= 0 && *target < 100'000) options.targets.push_back(static_cast<int>(*target));
        else
            error(element.place_of("targets"), "'targets' has " + in_quotes(word) +
                                                   ", and should be numbers of targets, from 0, with spaces between");
    }
    if (element.attribute("near") != nullptr) {
        const auto near = name(element, "near", scope, true);
        if (!near.empty()) options.near = scope.prefix + near;
    }
    options.on_failure = static_cast<OnFailure>(choice(element, "on-failure", scope, on_failure_words, 0));
    options.pool = static_cast<std::size_t>(integer(element, "pool", scope, 0, 1 << 30).value_or(0));
    if (const auto way = choice(element, "isolation", scope, isolation_words, std::size(isolation_words));
        way < std::size(isolation_words))
        options.isolation = static_cast<Isolation>(way);
    constexpr double longest = 27 * 60;
    if (const auto limit = number(element, "time-limit", scope, 1e-3, longest))
        options.time_limit = std::chrono::nanoseconds(std::llround(*limit * 1e9));
    return options;
}

}  // namespace penstock::language
