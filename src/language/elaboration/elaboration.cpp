#include "language/elaboration/elaboration.hpp"

#include <cmath>
#include <filesystem>

namespace penstock::language {

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
    }
    Environment scope{.used = &used_};
    std::vector<GivenText> given;
    for (const auto& [setting, value] : options_.settings) given.push_back({setting, value, root.place()});
    parameters(root, given, scope, root.place());
    variables_ = scope.variables;
    body(root, scope);
    timers(root, scope);
    nodes(root, scope);
    if (too_many_) return false;
    for (const auto& pending : pending_streams_) join(pending);
    for (const auto& pending : pending_signals_) join(pending);
    plan_.name_events();
    for (const auto& pending : pending_rules_) rule(pending);

    for (const auto& child : root.children) {
        const auto* const called = child.attribute("name");
        if (called == nullptr) continue;
        if (child.name == "parameter" && !used_.contains(called->value))
            warn(child.place(), "parameter " + in_quotes(called->value) + " is used nowhere");
        const auto is_about = [&](const PendingRule& each) { return each.element->value("event") == called->value; };
        if (child.name == "event" && std::ranges::none_of(pending_rules_, is_about) &&
            std::ranges::find(plan_.rules, called->value, &PlanRule::event) == plan_.rules.end())
            warn(child.place(), "event " + in_quotes(called->value) + " changes nothing: no manager has a rule for it");
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
    if (!check_grammar(root, "library", findings_)) return;
    for (const auto& child : root.children) {
        if (child.name == "include") include(child);
        if (child.name == "group") take_group(child, true);
    }
}

std::string Elaboration::variable(const Element& element, std::string_view attribute, const Environment& scope,
                                  const char* what) {
    auto found = name(element, attribute, scope);
    if (found.find('-') == found.npos) return found;
    error(element.place_of(attribute), in_quotes(found) + " cannot name " + what);
    return {};
}

void Elaboration::parameters(const Element& owner, const std::vector<GivenText>& given, Environment& scope,
                             const SourcePlace& caller) {
    std::vector<std::string> names;
    for (const auto& child : owner.children) {
        if (child.name != "parameter") continue;
        const auto wanted = variable(child, "name", {}, "a parameter: '-' is a sign in expressions; write '_'");
        if (wanted.empty()) continue;
        if (std::ranges::find(names, wanted) != names.end()) {
            error(child.place_of("name"), "parameter " + in_quotes(wanted) + " is declared twice");
            continue;
        }
        names.push_back(wanted);
        const GivenText* last = nullptr;
        for (const auto& each : given)
            if (each.name == wanted) last = &each;
        if (auto value = parameter(child, last, caller, scope)) scope.variables[wanted] = std::move(*value);
    }
    for (const auto& each : given)
        if (std::ranges::find(names, each.name) == names.end())
            error(each.where, "<" + owner.name + "> " + in_quotes(owner.value("name")) + " has no parameter " +
                                  in_quotes(each.name) + hint(each.name, names));
}

std::optional<Variable> Elaboration::parameter(const Element& element, const GivenText* from_outside,
                                               const SourcePlace& caller, const Environment& scope) {
    const auto type = choice(element, "type", scope, type_words, std::size(type_words));
    if (type >= std::size(type_words)) return std::nullopt;
    const auto& like = values_by_type[type];
    const auto shown = in_quotes(element.value("name"));
    const bool has_default = element.attribute("default") != nullptr;
    const auto where = from_outside != nullptr ? from_outside->where
                       : has_default           ? element.place_of("default")
                                               : caller;
    const auto written = from_outside != nullptr ? from_outside->text : given(element, "default", scope);
    const auto value = written ? value_like(like, *written) : std::nullopt;
    if (written && !value)
        error(where, "parameter " + shown + " is given " + in_quotes(*written) + ", and should be " + kind_of(like));
    if (from_outside == nullptr && !has_default)
        error(where, "parameter " + shown +
                         " has no default, so it must be given a value (<set> where a group is used; for the "
                         "application, from outside)");
    for (const auto* bound : {"least", "most"})
        if (!size_of(like) && element.attribute(bound) != nullptr)
            error(element.place_of(bound), in_quotes(bound) + " is for integers and numbers");
    // so that what uses it does not complain too
    if (!value) return Variable{like, text(element, "unit", scope)};
    if (const auto size = size_of(*value)) {
        constexpr double widest = 1.7e308;
        const auto least = number<double>(element, "least", scope, -widest, widest);
        const auto most = number<double>(element, "most", scope, -widest, widest);
        if ((least && *size < *least) || (most && *size > *most))
            error(where, "parameter " + shown + " is " + text_of(*value) + ", and should be " +
                             (least ? "at least " + text_of(*least) : "") + (least && most ? " and " : "") +
                             (most ? "at most " + text_of(*most) : ""));
    }
    return Variable{*value, text(element, "unit", scope)};
}

void Elaboration::timers(const Element& root, const Environment& scope) {
    constexpr double longest = 1e9;
    for (const auto& child : root.children) {
        if (child.name != "timer") continue;
        const auto event = name(child, "event", scope);
        if (event.empty() || !checked(child, "event", [&] { return plan_.event_named(event); })) continue;
        const auto every = number<double>(child, "every", scope, 1e-3, longest);
        const auto after = number<double>(child, "after", scope, 0, longest);
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

void Elaboration::nodes(const Element& root, const Environment& scope) {
    for (const auto& child : root.children) {
        if (child.name != "nodes") continue;
        Nodes group;
        group.name = name(child, "name", scope);
        if (group.name.empty()) continue;
        if (std::ranges::find(plan_.nodes, group.name, &Nodes::name) != plan_.nodes.end())
            error(child.place_of("name"), "two groups of nodes are called " + in_quotes(group.name));
        if (group.name == FilterOptions::any_nodes)
            error(child.place_of("name"), "nodes=\"auto\" of a component means any group, so none can be called so");
        group.count = static_cast<int>(number<std::int64_t>(child, "count", scope, 1, 4096).value_or(1));
        group.needs.cpus = number<double>(child, "cpus", scope, 0, 4096).value_or(0);
        group.needs.memory = static_cast<std::uint64_t>(
            number<std::int64_t>(child, "memory", scope, 0, std::int64_t{1} << 50).value_or(0));
        plan_.nodes.push_back(std::move(group));
    }
    for (const auto& component : plan_.components)
        if (const auto& wanted = component.options.nodes;
            !wanted.empty() && wanted != FilterOptions::any_nodes &&
            std::ranges::find(plan_.nodes, wanted, &Nodes::name) == plan_.nodes.end())
            findings_.push_back({Finding::Kind::error, component.where,
                                 "there is no <nodes> called " + in_quotes(wanted) + hint(wanted, names_of_nodes())});
}

std::vector<std::string> Elaboration::names_of_nodes() const {
    std::vector<std::string> names;
    for (const auto& group : plan_.nodes) names.push_back(group.name);
    return names;
}

Understood understood(const Element& root, const ApplicationOptions& options, std::vector<Finding>& findings) {
    Understood made;
    made.plan->known = options.components != nullptr ? *options.components : Components::known();
    if (!check_grammar(root, "application", findings)) return made;
    made.elaboration = std::make_unique<Elaboration>(*made.plan, options, findings);
    if (made.elaboration->run(root)) check_plan(*made.plan, root.place(), findings);
    return made;
}

}  // namespace penstock::language
