// Pass `unroll`: a loop of stages makes several of them each time round.

#include "language/passes/transforming.hpp"

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

/// Calls `visit` for each owner of parts, those within first, with the indices that its expressions may name.
void visit_scopes(Element& owner, const std::set<std::string>& indices,
                  const std::function<void(Element&, const std::set<std::string>&)>& visit) {
    for (auto& child : owner.children) {
        if (child.name == "group") continue;
        auto inner = indices;
        collect_indices({.name = child.name, .at = child.at, .attributes = child.attributes}, inner);
        visit_scopes(child, inner, visit);
    }
    visit(owner, indices);
}

/// The loop in which a repetition goes on with several stages each time round, and what is left over behind it. False
/// where it is too short for that.
bool unroll_one(const Element& repeat, int factor, std::vector<Element>& others) {
    const auto bound = [&](const char* attribute, std::int64_t otherwise) {
        const auto& given = repeat.value(attribute);
        return given.empty() ? otherwise : integer_of(substituted(given, {})).value();
    };
    const auto from = bound("from", 0), to = bound("to", 0), step = bound("step", 1);
    const auto rounds = to < from ? 0 : ((to - from) / step + 1) / factor;
    if (rounds == 0) return false;
    const auto index = repeat.value("index");
    Element loop = repeat;
    loop.comments.clear();
    loop.children.clear();
    loop.set("from", std::to_string(from));
    loop.set("to", std::to_string(from + (rounds - 1) * factor * step));
    loop.set("step", std::to_string(step * factor));
    add_copies(loop.children, repeat, {}, true);
    for (int i = 1; i < factor; ++i)
        add_copies(loop.children, repeat, {{index, {{}, "(" + index + " + " + std::to_string(i * step) + ")"}}}, false);
    others.push_back(std::move(loop));
    for (auto value = from + rounds * factor * step; value <= to; value += step)
        add_copies(others, repeat, {{index, {value, ""}}}, false);
    return true;
}

}  // namespace

void unroll(Transforming& work, int factor) {
    std::set<std::string> names;
    visit_scopes(work.root(), {}, [&](Element& owner, const std::set<std::string>& indices) {
        for (const auto& child : owner.children)
            if (child.name == "repeat" && is_constant(child, work.variables(), indices))
                for (const auto* attribute : range) names.merge(names_in(child.value(attribute)));
    });
    work.fix(names);
    visit_scopes(work.root(), {}, [&](Element& owner, const std::set<std::string>& indices) {
        replace_children(owner, [&](Element& child, std::vector<Element>& others) {
            return child.name == "repeat" && is_constant(child, work.variables(), indices) &&
                   unroll_one(child, factor, others);
        });
    });
    work.renew();
}

}  // namespace penstock::language
