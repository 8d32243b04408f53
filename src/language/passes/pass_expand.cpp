// Passes `expand` and `tasks`: repetitions and parallel parts are expanded.
#include <algorithm>

#include "language/elaboration/option_words.hpp"
#include "language/passes/rewriting.hpp"
#include "language/passes/transforming.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

std::string value_of(const Element& element, std::string_view attribute) {
    const auto* const given = element.attribute(attribute);
    return given == nullptr ? std::string() : given->value;
}

std::string shape_of(const Element& parallel) { return value_of(parallel, "shape"); }
bool has_scope_of_owner(const Element& element) {
    return element.name == "option" || element.name == "otherwise" || element.name == "manager";
}

/// The values of a repetition's index; its attributes have values only.
std::vector<SettingValue> values_of(const Element& repeat) {
    std::vector<SettingValue> all;
    const auto text = [&](std::string_view attribute) { return substituted(value_of(repeat, attribute), {}); };
    if (repeat.attribute("over") != nullptr) {
        for (auto& word : words_of(text("over"))) {
            if (const auto number = integer_of(word)) all.emplace_back(*number);
            else all.emplace_back(std::move(word));
        }
        return all;
    }
    const auto from = integer_of(text("from")).value_or(0), to = integer_of(text("to")).value_or(-1),
               step = integer_of(text("step")).value_or(1);
    for (auto i = from; i <= to; i += step) all.emplace_back(i);
    return all;
}

std::vector<Element> copies_of(const Element& repeat) {
    std::vector<Element> all;
    bool first = true;
    for (const auto& value : values_of(repeat)) {
        for (const auto& child : repeat.children) {
            auto& copy = all.emplace_back(child);
            if (!first) copy.comments.clear();
            replace_names(copy, {{value_of(repeat, "index"), {value, ""}}});
        }
        first = false;
    }
    return all;
}

void expand_in(const Transforming& work, Element& owner, Wanted wanted) {
    replace_children(owner, [&](Element& child, std::vector<Element>& others) {
        if (child.name != "repeat" || !wanted(work, child)) return false;
        others = copies_of(child);
        return true;
    });
    bool again = false;
    for (auto& child : owner.children) {
        again = again || (child.name == "repeat" && wanted(work, child));
        if (has_scope_of_owner(child) || (child.name == "parallel" && shape_of(child) == "task"))
            expand_in(work, child, wanted);
    }
    if (again) expand_in(work, owner, wanted);
}

/// A stream from the plan as an element beside others whose names begin with `prefix`.
Element element_of(const Element& like, const PlanStream& stream, const std::string& prefix) {
    Element made = like;
    made.set("from", stream.from.substr(prefix.size()));
    made.set("to", stream.to.substr(prefix.size()));
    if (!stream.options.name.empty()) made.set("name", literal(stream.options.name.substr(prefix.size())));
    if (stream.options.policy != StreamOptions().policy)
        made.set("policy", std::string(policy_words[static_cast<std::size_t>(stream.options.policy)]));
    return made;
}

void join_in(const Transforming& work, Element& owner, const std::string& prefix, std::span<const std::string> parts) {
    const auto touches = [&](const std::string& endpoint) {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const std::string& part) { return lies_in(part_of(prefix + endpoint), part); });
    };
    for (auto& child : owner.children) {
        if (has_scope_of_owner(child)) join_in(work, child, prefix, parts);
        if (child.name == "parallel" && shape_of(child) == "task")
            join_in(work, child, prefix + value_of(child, "name") + "/", parts);
    }
    replace_children(owner, [&](Element& child, std::vector<Element>& others) {
        if (child.name != "stream" || !(touches(value_of(child, "from")) || touches(value_of(child, "to"))))
            return false;
        for (const auto* stream : work.streams_at(child)) {
            others.push_back(element_of(child, *stream, prefix));
            others.back().comments.clear();
        }
        return true;
    });
}

/// What a parallel consists of, with names below its own.
std::vector<Element> parts_of(const Transforming& work, const Element& parallel, const std::string& prefix) {
    std::vector<Element> all;
    const auto own = prefix + value_of(parallel, "name") + "/";
    const auto shape = shape_of(parallel);
    if (shape == "task") {
        std::copy_if(parallel.children.begin(), parallel.children.end(), std::back_inserter(all), is_part);
        return all;
    }
    const auto index = parallel.attribute("index") == nullptr ? std::string("slice") : value_of(parallel, "index");
    const auto count = integer_of(substituted(value_of(parallel, "slices"), {})).value_or(0);
    for (std::int64_t i = 0; i < count; ++i)
        for (const auto& child : parallel.children) {
            if (!is_part(child)) continue;
            auto& copy = all.emplace_back(child);
            if (i != 0) copy.comments.clear();
            replace_names(copy, {{index, {i, ""}}});
            put_prefix(copy, std::to_string(i) + "/");
        }
    if (shape != "crossdep") return all;
    const Element plain{.name = "stream", .at = parallel.at, .file = parallel.file, .attributes = {}, .children = {}};
    for (const auto& stage : parallel.children)
        if (stage.name == "component")
            for (const auto* stream : work.streams_at(stage)) all.push_back(element_of(plain, *stream, own));
    return all;
}

void collect_parallels(const Transforming& work, const Element& owner, const std::string& prefix, Wanted wanted,
                       std::vector<std::string>& names) {
    for (const auto& child : owner.children) {
        if (has_scope_of_owner(child)) collect_parallels(work, child, prefix, wanted, names);
        if (child.name != "parallel") continue;
        const auto name = prefix + value_of(child, "name");
        if (wanted(work, child)) names.push_back(name);
        else if (shape_of(child) == "task") collect_parallels(work, child, name + "/", wanted, names);
    }
}

void replace_in(const Transforming& work, Element& owner, const std::string& prefix, Wanted wanted, bool as_tasks) {
    for (auto& child : owner.children) {
        if (has_scope_of_owner(child)) replace_in(work, child, prefix, wanted, as_tasks);
        if (child.name == "parallel" && shape_of(child) == "task" && !wanted(work, child))
            replace_in(work, child, prefix + value_of(child, "name") + "/", wanted, as_tasks);
    }
    replace_children(owner, [&](Element& child, std::vector<Element>& others) {
        if (child.name != "parallel" || !wanted(work, child)) return false;
        others = parts_of(work, child, prefix);
        if (as_tasks) {
            Element task{.name = "parallel",
                         .at = child.at,
                         .file = child.file,
                         .attributes = {},
                         .children = std::move(others)};
            task.set("name", value_of(child, "name"));
            task.set("shape", "task");
            others.assign(1, std::move(task));
            return true;
        }
        for (auto& each : others) put_prefix(each, value_of(child, "name") + "/");
        return true;
    });
}

bool any(const Transforming&, const Element&) { return true; }
bool has_data_parallel_parts(const Transforming& work, const Element& repeat) {
    return contains(repeat, "parallel") || joins_inner_parts(work, repeat);
}
bool is_data_parallel(const Transforming&, const Element& parallel) { return shape_of(parallel) != "task"; }

}  // namespace

bool joins_inner_parts(const Transforming& work, const Element& element) {
    const auto depth = [](std::string_view name) { return std::count(name.begin(), name.end(), '/'); };
    if (element.name == "stream")
        for (const auto* stream : work.streams_at(element))
            if (depth(stream->from) > depth(value_of(element, "from")) ||
                depth(stream->to) > depth(value_of(element, "to")))
                return true;
    return std::any_of(element.children.begin(), element.children.end(),
                       [&](const Element& child) { return joins_inner_parts(work, child); });
}

bool expand_repetitions(Transforming& work, Wanted wanted) {
    std::set<std::string> names;
    bool some = false;
    visit_below(work.root(), [&](Element& element) {
        if (element.name == "group") return false;
        if (element.name == "repeat" && wanted(work, element)) collect_structural_names(element, names), some = true;
        return true;
    });
    if (!some) return false;
    work.fix(names);
    const auto before = work.text();
    expand_in(work, work.root(), wanted);
    const bool changed = work.text() != before;  // not when they are in parallel parts
    work.renew();                                // elements have moved in any case
    return changed;
}

bool replace_parallels(Transforming& work, Wanted wanted, bool as_tasks) {
    std::vector<std::string> names;
    collect_parallels(work, work.root(), "", wanted, names);
    if (names.empty()) return false;
    join_directly(work, names);
    replace_in(work, work.root(), "", wanted, as_tasks);
    work.renew();
    return true;
}

void join_directly(Transforming& work, std::span<const std::string> parts) { join_in(work, work.root(), "", parts); }

void fix_structure(Transforming& work) {
    std::set<std::string> names;
    for (const auto& child : work.root().children)
        if (is_part(child)) collect_structural_names(child, names);
    work.fix(names);
}

void expand(Transforming& work) {
    if (!contains(work.root(), "repeat") && !contains(work.root(), "parallel")) return;
    fix_structure(work);
    do {
        while (expand_repetitions(work, any)) {
        }
    } while (replace_parallels(work, any, false));
}

void slices_to_tasks(Transforming& work) {
    if (!contains(work.root(), "parallel")) return;
    fix_structure(work);
    do {
        while (expand_repetitions(work, has_data_parallel_parts)) {
        }
    } while (replace_parallels(work, is_data_parallel, true));
}

}  // namespace penstock::language
