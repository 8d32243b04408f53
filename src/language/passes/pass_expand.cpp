// Passes `expand` and `tasks`: repetitions and parallel parts are expanded.

#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

bool any(const Transforming&, const Element&) { return true; }

/// The values of a repetition's index; its attributes have values only.
std::vector<SettingValue> values_of(const Element& repeat) {
    std::vector<SettingValue> all;
    const auto text = [&](std::string_view attribute) { return substituted(repeat.value(attribute), {}); };
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

/// What a parallel consists of, with names below its own.
std::vector<Element> parts_of(const Transforming& work, const Element& parallel, const std::string& prefix) {
    std::vector<Element> all;
    const auto own = prefix + parallel.value("name") + "/";
    const auto& shape = parallel.value("shape");
    if (shape == "task") {
        add_copies(all, parallel, {}, true);
        return all;
    }
    const auto index = parallel.attribute("index") == nullptr ? "slice" : parallel.value("index");
    const auto count = integer_of(substituted(parallel.value("slices"), {})).value_or(0);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto before = all.size();
        add_copies(all, parallel, {{index, {i, ""}}}, i == 0);
        for (auto& copy : std::span(all).subspan(before)) put_prefix(copy, std::to_string(i) + "/");
    }
    if (shape != "crossdep") return all;
    const Element plain{.name = "stream", .at = parallel.at, .file = parallel.file};
    for (const auto& stage : parallel.children)
        if (stage.name == "component")
            for (const auto* stream : work.streams_at(stage)) all.push_back(element_of(plain, *stream, own));
    return all;
}

bool has_data_parallel_parts(const Transforming& work, const Element& repeat) {
    return contains(repeat, "parallel") || joins_inner_parts(work, repeat);
}
bool is_data_parallel(const Transforming&, const Element& parallel) { return parallel.value("shape") != "task"; }

}  // namespace

bool joins_inner_parts(const Transforming& work, const Element& element) {
    const auto depth = [](std::string_view name) { return std::count(name.begin(), name.end(), '/'); };
    if (element.name == "stream")
        for (const auto* stream : work.streams_at(element))
            if (depth(stream->from) > depth(element.value("from")) || depth(stream->to) > depth(element.value("to")))
                return true;
    return std::ranges::any_of(element.children, [&](const auto& child) { return joins_inner_parts(work, child); });
}

bool expand_repetitions(Transforming& work, Wanted wanted) {
    std::set<std::string> names;
    bool some = false;
    visit_below(work.root(), [&](Element& element) {
        if (element.name == "group") return false;
        if (element.name == "repeat" && wanted(work, element))
            collect_names(element, names, is_structural), some = true;
        return true;
    });
    if (!some) return false;
    work.fix(names);
    const auto before = work.text();
    const auto goes = [&](const Element& child) { return child.name == "repeat" && wanted(work, child); };
    visit_owners(work.root(), [&](Element& owner, const std::string&) {
        while (std::ranges::any_of(owner.children, goes))
            replace_children(owner, [&](Element& child, std::vector<Element>& others) {
                if (!goes(child)) return false;
                for (bool first = true; const auto& value : values_of(child))
                    add_copies(others, child, {{child.value("index"), {value, ""}}}, std::exchange(first, false));
                return true;
            });
    });
    const bool changed = work.text() != before;  // not when they are in parallel parts
    work.renew();                                // elements have moved in any case
    return changed;
}

bool replace_parallels(Transforming& work, Wanted wanted, bool as_tasks) {
    const auto goes = [&](const Element& child) { return child.name == "parallel" && wanted(work, child); };
    const auto stays = [&](const Element& child) { return !goes(child); };
    std::vector<std::string> names;
    const auto collect = [&](Element& owner, const std::string& prefix) {
        for (const auto& child : owner.children)
            if (goes(child)) names.push_back(prefix + child.value("name"));
    };
    visit_owners(work.root(), collect, stays);
    if (names.empty()) return false;
    join_directly(work, names);
    const auto replace_in = [&](Element& owner, const std::string& prefix) {
        replace_children(owner, [&](Element& child, std::vector<Element>& others) {
            if (!goes(child)) return false;
            others = parts_of(work, child, prefix);
            if (as_tasks) {
                Element task{.name = "parallel", .at = child.at, .file = child.file, .children = std::move(others)};
                task.set("name", child.value("name"));
                task.set("shape", "task");
                others.assign(1, std::move(task));
            } else {
                for (auto& each : others) put_prefix(each, child.value("name") + "/");
            }
            return true;
        });
    };
    visit_owners(work.root(), replace_in, stays);
    work.renew();
    return true;
}

void join_directly(Transforming& work, std::span<const std::string> parts) {
    const auto join_in = [&](Element& owner, const std::string& prefix) {
        const auto touches = [&](const std::string& endpoint) {
            return std::ranges::any_of(parts,
                                       [&](const auto& part) { return lies_in(part_of(prefix + endpoint), part); });
        };
        replace_children(owner, [&](Element& child, std::vector<Element>& others) {
            if (child.name != "stream" || !(touches(child.value("from")) || touches(child.value("to")))) return false;
            for (const auto* stream : work.streams_at(child)) {
                others.push_back(element_of(child, *stream, prefix));
                others.back().comments.clear();
            }
            return true;
        });
    };
    visit_owners(work.root(), join_in);
}

void fix_structure(Transforming& work) {
    std::set<std::string> names;
    for (const auto& child : work.root().children)
        if (is_part(child)) collect_names(child, names, is_structural);
    work.fix(names);
}

void expand(Transforming& work, int) {
    if (!contains(work.root(), "repeat") && !contains(work.root(), "parallel")) return;
    fix_structure(work);
    do {
        while (expand_repetitions(work, any)) {
        }
    } while (replace_parallels(work, any, false));
}

void slices_to_tasks(Transforming& work, int) {
    if (!contains(work.root(), "parallel")) return;
    fix_structure(work);
    do {
        while (expand_repetitions(work, has_data_parallel_parts)) {
        }
    } while (replace_parallels(work, is_data_parallel, true));
}

}  // namespace penstock::language
