#include "language/elaboration/elaboration.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "language/elaboration/option_words.hpp"
#include "language/xml/grammar.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {

void Elaboration::error(SourcePlace where, std::string message) {
    findings_.push_back({Finding::Kind::error, std::move(where), std::move(message)});
}
void Elaboration::warn(SourcePlace where, std::string message) {
    findings_.push_back({Finding::Kind::warning, std::move(where), std::move(message)});
}

bool Elaboration::count(const Element& element) {
    if (too_many_) return false;
    if (++parts_ <= options_.limits.elements) return true;
    too_many_ = true;
    error(element.place(), "everything repeated, there are more than " + std::to_string(options_.limits.elements) +
                               " parts: repeat less often");
    return false;
}

bool Elaboration::run(const Element& root) {
    plan_.name = name(root, "name", {});
    for (const auto& child : root.children) {
        if (child.name == "include") include(child);
        if (child.name == "group") take_group(child, false);
        if (child.name == "event") {
            const auto event = name(child, "name", {});
            if (event.empty()) continue;
            if (std::find(plan_.events.begin(), plan_.events.end(), event) != plan_.events.end())
                error(child.place_of("name"), "event " + in_quotes(event) + " is declared twice");
            else plan_.events.push_back(event);
        }
    }
    Scope scope;
    scope.used = &used_;
    std::vector<SourcePlace> places(options_.settings.size(), root.place());
    Settings given;
    for (const auto& [setting, value] : options_.settings) given.emplace_back(setting, value);
    parameters(root, given, places, scope, root.place());
    variables_ = scope.variables;
    body(root, scope);
    timers(root, scope);
    if (too_many_) return false;
    for (const auto& pending : pending_streams_) join(pending);
    for (const auto& pending : pending_rules_) rule(pending);

    for (const auto& child : root.children) {
        if (child.name == "parameter" && child.attribute("name") != nullptr &&
            !used_.contains(child.attribute("name")->value))
            warn(child.place(), "parameter " + in_quotes(child.attribute("name")->value) + " is used nowhere");
        if (child.name == "event" && child.attribute("name") != nullptr &&
            std::none_of(pending_rules_.begin(), pending_rules_.end(), [&](const PendingRule& each) {
                const auto* const event = each.element->attribute("event");
                return event != nullptr && event->value == child.attribute("name")->value;
            }))
            warn(child.place(), "event " + in_quotes(child.attribute("name")->value) +
                                    " changes nothing: no manager has a rule for it");
    }
    for (const auto& [group, each] : groups_)
        if (!each.used && !each.of_library)
            warn(each.element->place(), "group " + in_quotes(group) + " is used nowhere");
    for (const auto& option : plan_.options)
        if (!option.reached)
            warn(option.where, "option " + in_quotes(option.name) + " is always " + (option.initially ? "on" : "off") +
                                   ": no manager has a rule that switches it");
    return !too_many_;
}

void Elaboration::take_group(const Element& group, bool of_library) {
    const auto wanted = name(group, "name", {});
    if (wanted.empty()) return;
    const auto [at, fresh] = groups_.emplace(wanted, Group{&group, of_library});
    if (!fresh) {
        const auto other = at->second.element->place();
        error(group.place_of("name"), "there is a group " + in_quotes(wanted) + " already, at " + other.file + ":" +
                                          std::to_string(other.line));
    }
}

const Element* Elaboration::group(const std::string& name) const {
    const auto found = groups_.find(name);
    return found == groups_.end() ? nullptr : found->second.element;
}

std::vector<const Element*> Elaboration::library_groups() const {
    std::vector<const Element*> all;
    for (const auto& [name, each] : groups_)
        if (each.of_library && each.used) all.push_back(each.element);
    return all;
}

void Elaboration::include(const Element& element) {
    namespace fs = std::filesystem;
    const auto file = text(element, "file", {});
    if (file.empty()) return;
    const auto where = element.place_of("file");
    std::error_code failed;
    const auto folder = fs::weakly_canonical(fs::absolute(fs::path(*element.file), failed).parent_path(), failed);
    const auto path = fs::weakly_canonical(fs::path(file).is_absolute() ? fs::path(file) : folder / file, failed);
    if (failed) return error(where, "the file " + in_quotes(file) + " cannot be found: " + failed.message());
    const auto lies_in = [&](const fs::path& allowed) {
        std::error_code unknown;
        const auto base = fs::weakly_canonical(fs::absolute(allowed, unknown), unknown);
        const auto relative = path.lexically_relative(base);
        return !unknown && !relative.empty() && *relative.begin() != "..";
    };
    // the first that includes is the application itself
    if (application_folder_.empty()) application_folder_ = folder.string();
    if (!lies_in(application_folder_) && std::none_of(options_.folders.begin(), options_.folders.end(), lies_in))
        return error(where,
                     "the file " + in_quotes(path.string()) +
                         " lies outside the application's folder: allow its folder (ApplicationOptions::folders)");
    if (!included_.insert(path.string()).second) return;  // once is enough, and a circle ends here
    if (included_.size() > 256) return error(where, "more than 256 files are included");
    std::unique_ptr<Document> document;
    try {
        const auto shown =
            fs::path(file).is_absolute() ? fs::path(file) : (fs::path(*element.file).parent_path() / file);
        document =
            read_document(read_file(path.string(), options_.limits.bytes), shown.string(), options_.limits, findings_);
    } catch (const Error& unreadable) {
        return error(where, unreadable.what());
    }
    if (document == nullptr) return;
    const auto& root = documents_.emplace_back(std::move(document))->root;
    constexpr std::string_view roots[] = {"library"};
    check_grammar(root, roots, findings_);
    if (root.name != "library") return;
    for (const auto& child : root.children) {
        if (child.name == "include") include(child);
        if (child.name == "group") take_group(child, true);
    }
}

void Elaboration::parameters(const Element& owner, const Settings& given, const std::vector<SourcePlace>& places,
                             Scope& scope, const SourcePlace& caller) {
    std::vector<std::string> names;
    for (const auto& child : owner.children) {
        if (child.name != "parameter") continue;
        const auto wanted = name(child, "name", {});
        if (wanted.empty()) continue;
        if (wanted.find('-') != wanted.npos) {
            error(child.place_of("name"),
                  in_quotes(wanted) + " cannot name a parameter: '-' is a sign in expressions; write '_'");
            continue;
        }
        if (std::find(names.begin(), names.end(), wanted) != names.end()) {
            error(child.place_of("name"), "parameter " + in_quotes(wanted) + " is declared twice");
            continue;
        }
        names.push_back(wanted);
        const std::string* text = nullptr;
        const SourcePlace* place = &caller;
        for (std::size_t i = 0; i < given.size(); ++i)
            if (given[i].first == wanted) text = &std::get<std::string>(given[i].second), place = &places[i];
        if (auto value = parameter(child, text, *place, scope)) scope.variables[wanted] = std::move(*value);
    }
    for (std::size_t i = 0; i < given.size(); ++i)
        if (std::find(names.begin(), names.end(), given[i].first) == names.end()) {
            const auto shown = owner.attribute("name");
            error(places[i], "<" + owner.name + "> " + in_quotes(shown == nullptr ? "" : shown->value) +
                                 " has no parameter " + in_quotes(given[i].first) + hint(given[i].first, names));
        }
}

std::optional<Variable> Elaboration::parameter(const Element& element, const std::string* given,
                                               const SourcePlace& given_place, const Scope& scope) {
    const auto type = choice(element, "type", scope, type_words, std::size(type_words));
    if (type >= std::size(type_words)) return std::nullopt;
    const SettingValue likes[] = {false, std::int64_t{0}, 0.0, std::string()};
    const auto shown = in_quotes(element.attribute("name")->value);
    const auto value_of = [&](const std::string& text, const SourcePlace& where) -> std::optional<SettingValue> {
        auto value = value_like(likes[type], text);
        if (!value)
            error(where,
                  "parameter " + shown + " is given " + in_quotes(text) + ", and should be " + kind_of(likes[type]));
        return value;
    };
    std::optional<SettingValue> value;
    SourcePlace where = given_place;
    if (given != nullptr) {
        value = value_of(*given, where);
    } else if (element.attribute("default") != nullptr) {
        where = element.place_of("default");
        const auto before = findings_.size();
        const auto found = text(element, "default", scope);
        if (findings_.size() == before) value = value_of(found, where);
    } else {
        error(where, "parameter " + shown +
                         " has no default, so it must be given a value (<set> where a group is used; for the "
                         "application, from outside)");
    }
    const bool numeric = type == 1 || type == 2;
    for (const auto* bound : {"least", "most"})
        if (!numeric && element.attribute(bound) != nullptr)
            error(element.place_of(bound), in_quotes(bound) + " is for integers and numbers");
    // so that what uses it does not complain too
    if (!value) return Variable{likes[type], text(element, "unit", scope)};
    if (numeric) {
        constexpr double widest = 1.7e308;
        const double size = type == 1 ? static_cast<double>(std::get<std::int64_t>(*value)) : std::get<double>(*value);
        const auto least = number(element, "least", scope, -widest, widest);
        const auto most = number(element, "most", scope, -widest, widest);
        if ((least && size < *least) || (most && size > *most))
            error(where, "parameter " + shown + " is " + text_of(*value) + ", and should be " +
                             (least ? "at least " + text_of(*least) : "") + (least && most ? " and " : "") +
                             (most ? "at most " + text_of(*most) : ""));
    }
    return Variable{*value, text(element, "unit", scope)};
}

void Elaboration::timers(const Element& root, const Scope& scope) {
    constexpr double longest = 1e9;
    for (const auto& child : root.children) {
        if (child.name != "timer") continue;
        const auto event = name(child, "event", scope);
        if (event.empty()) continue;
        if (std::find(plan_.events.begin(), plan_.events.end(), event) == plan_.events.end()) {
            error(child.place_of("event"), "there is no event " + in_quotes(event) + hint(event, plan_.events));
            continue;
        }
        const auto every = number(child, "every", scope, 1e-3, longest);
        const auto after = number(child, "after", scope, 0, longest);
        if (!every && !after) {
            if (child.attribute("every") == nullptr && child.attribute("after") == nullptr)
                error(child.place(),
                      "a timer says 'after' how many seconds its event comes, or 'every' how many, or both");
            continue;
        }
        const auto nanoseconds = [](double seconds) { return std::chrono::nanoseconds(std::llround(seconds * 1e9)); };
        plan_.timers.push_back({event, nanoseconds(after ? *after : *every), nanoseconds(every.value_or(0))});
    }
}

}  // namespace penstock::language
