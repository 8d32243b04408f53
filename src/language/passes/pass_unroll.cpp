// Pass `unroll`: a loop of stages makes several of them each time round.
#include <algorithm>
#include <cstdint>

#include "language/passes/rewriting.hpp"
#include "language/passes/transforming.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

constexpr const char* range[] = {"from", "to", "step"};

struct Range {
    std::int64_t from = 0, to = 0, step = 1;
    std::int64_t count() const { return to < from ? 0 : (to - from) / step + 1; }
};

/// Does the range depend on parameters of the application only?
bool is_constant(const Element& repeat, const Variables& variables, const std::set<std::string>& indices) {
    if (repeat.attribute("to") == nullptr || !names_in(repeat.attribute("index")->value).empty()) return false;
    for (const auto* attribute : range)
        if (const auto* const given = repeat.attribute(attribute))
            for (const auto& name : names_in(given->value))
                if (!variables.contains(name) || indices.contains(name)) return false;
    return true;
}

Range range_of(const Element& repeat) {
    const auto value = [&](const char* attribute, std::int64_t otherwise) {
        const auto* const given = repeat.attribute(attribute);
        return given == nullptr ? otherwise : integer_of(substituted(given->value, {})).value();
    };
    return {value("from", 0), value("to", 0), value("step", 1)};
}

void unroll_in(Element& owner, int factor, const Variables& variables, const std::set<std::string>& indices) {
    for (auto& child : owner.children) {
        if (child.name == "group") continue;
        auto inner = indices;
        collect_indices({.name = child.name, .at = child.at, .attributes = child.attributes, .children = {}}, inner);
        unroll_in(child, factor, variables, inner);
    }
    replace_children(owner, [&](Element& child, std::vector<Element>& others) {
        if (child.name != "repeat" || !is_constant(child, variables, indices)) return false;
        const auto all = range_of(child);
        const auto rounds = all.count() / factor;
        if (rounds == 0) return false;
        const auto index = child.attribute("index")->value;
        Element loop = child;
        loop.comments.clear();
        loop.children.clear();
        loop.set("from", std::to_string(all.from));
        loop.set("to", std::to_string(all.from + (rounds - 1) * factor * all.step));
        loop.set("step", std::to_string(all.step * factor));
        for (int i = 0; i < factor; ++i)
            for (const auto& part : child.children) {
                auto& copy = loop.children.emplace_back(part);
                if (i == 0) continue;
                copy.comments.clear();
                replace_names(copy, {{index, {{}, "(" + index + " + " + std::to_string(i * all.step) + ")"}}});
            }
        others.push_back(std::move(loop));
        for (auto value = all.from + rounds * factor * all.step; value <= all.to; value += all.step)
            for (const auto& part : child.children) {
                auto& copy = others.emplace_back(part);
                copy.comments.clear();
                replace_names(copy, {{index, {value, ""}}});
            }
        return true;
    });
}

void collect_ranges(const Element& owner, const Variables& variables, std::set<std::string> indices,
                    std::set<std::string>& names) {
    for (const auto& child : owner.children) {
        if (child.name == "group") continue;
        auto inner = indices;
        collect_indices({.name = child.name, .at = child.at, .attributes = child.attributes, .children = {}}, inner);
        if (child.name == "repeat" && is_constant(child, variables, indices))
            for (const auto* attribute : range)
                if (const auto* const given = child.attribute(attribute)) names.merge(names_in(given->value));
        collect_ranges(child, variables, std::move(inner), names);
    }
}

}  // namespace

void unroll(Transforming& work, int factor) {
    std::set<std::string> names;
    collect_ranges(work.root(), work.variables(), {}, names);
    work.fix(names);
    unroll_in(work.root(), factor, work.variables(), {});
    work.renew();
}

}  // namespace penstock::language
