// Pass `unroll`: a loop of stages makes several of them each time round.
#include <algorithm>
#include <cstdint>

#include "language/passes/rewriting.hpp"
#include "language/passes/transforming.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

constexpr const char* range[] = {"from", "to", "step"};

/// Does the range depend on parameters of the application only?
bool is_constant(const Element& repeat, const Variables& variables, const std::set<std::string>& indices) {
    if (repeat.attribute("to") == nullptr || !names_in(repeat.value("index")).empty()) return false;
    for (const auto* attribute : range)
        for (const auto& name : names_in(repeat.value(attribute)))
            if (!variables.contains(name) || indices.contains(name)) return false;
    return true;
}

void unroll_in(Element& owner, int factor, const Variables& variables, const std::set<std::string>& indices) {
    for (auto& child : owner.children) {
        if (child.name == "group") continue;
        auto inner = indices;
        collect_indices({.name = child.name, .at = child.at, .attributes = child.attributes}, inner);
        unroll_in(child, factor, variables, inner);
    }
    replace_children(owner, [&](Element& child, std::vector<Element>& others) {
        if (child.name != "repeat" || !is_constant(child, variables, indices)) return false;
        const auto bound = [&](const char* attribute, std::int64_t otherwise) {
            const auto& given = child.value(attribute);
            return given.empty() ? otherwise : integer_of(substituted(given, {})).value();
        };
        const auto from = bound("from", 0), to = bound("to", 0), step = bound("step", 1);
        const auto rounds = to < from ? 0 : ((to - from) / step + 1) / factor;
        if (rounds == 0) return false;
        const auto index = child.value("index");
        Element loop = child;
        loop.comments.clear();
        loop.children.clear();
        loop.set("from", std::to_string(from));
        loop.set("to", std::to_string(from + (rounds - 1) * factor * step));
        loop.set("step", std::to_string(step * factor));
        add_copies(loop.children, child, {}, true);
        for (int i = 1; i < factor; ++i)
            add_copies(loop.children, child, {{index, {{}, "(" + index + " + " + std::to_string(i * step) + ")"}}},
                       false);
        others.push_back(std::move(loop));
        for (auto value = from + rounds * factor * step; value <= to; value += step)
            add_copies(others, child, {{index, {value, ""}}}, false);
        return true;
    });
}

void collect_ranges(const Element& owner, const Variables& variables, std::set<std::string> indices,
                    std::set<std::string>& names) {
    for (const auto& child : owner.children) {
        if (child.name == "group") continue;
        auto inner = indices;
        collect_indices({.name = child.name, .at = child.at, .attributes = child.attributes}, inner);
        if (child.name == "repeat" && is_constant(child, variables, indices))
            for (const auto* attribute : range) names.merge(names_in(child.value(attribute)));
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
