// The three shapes of parallel parts.

#include "language/elaboration/elaboration.hpp"

namespace penstock::language {
namespace {

bool has_ports(const Element& element) {
    return std::ranges::any_of(element.children,
                               [](const auto& child) { return child.name == "input" || child.name == "output"; });
}

}  // namespace

void Elaboration::parallel(const Element& element, const Environment& scope) {
    if (!count(element)) return;
    const auto own = name(element, "name", scope, true);
    const auto shape = choice(element, "shape", scope, shape_words, std::size(shape_words));
    if (own.empty() || shape >= std::size(shape_words) || !take_name(scope.prefix + own, element)) return;
    auto inner = scope;
    inner.prefix = scope.prefix + own + "/";
    for (const auto* attribute : {"slices", "index"})
        if (shape == 0 && element.attribute(attribute) != nullptr)
            error(element.place_of(attribute), "parallel tasks have no " + in_quotes(attribute));
    for (const auto* attribute : {"in", "above", "below", "out"})
        if (shape != 2 && element.attribute(attribute) != nullptr)
            error(element.place_of(attribute), in_quotes(attribute) + " is for the shape 'crossdep'");
    if (shape == 0) {
        const auto before = taken_.size();
        body(element, inner);
        Instance instance;
        ports(element, inner, instance);
        for (auto i = before; i < taken_.size(); ++i)
            if (is_part_of(inner.prefix, *taken_[i])) instance.first.push_back(*taken_[i]);
        std::sort(instance.first.begin(), instance.first.end());
        instance.last = instance.first;
        instances_.emplace(scope.prefix + own, std::move(instance));
        return;
    }
    if (element.attribute("slices") == nullptr)
        return error(element.place(),
                     "the shape '" + std::string(shape_words[shape]) + "' needs the number of its 'slices'");
    const auto count = number<std::int64_t>(element, "slices", scope, 1, 100'000);
    if (!count) return void(unknown_.insert(scope.prefix + own));
    const auto index = element.attribute("index") == nullptr ? "slice" : name(element, "index", scope);
    if (shape == 1) slices(element, inner, *count, index);
    else crossdep(element, inner, *count, index);
}

void Elaboration::slices(const Element& element, const Environment& scope, std::int64_t count,
                         const std::string& index) {
    const auto own = scope.prefix.substr(0, scope.prefix.size() - 1);
    Instance whole;
    whole.sliced = true;
    for (std::int64_t i = 0; i < count && !too_many_; ++i) {
        auto inner = scope;
        inner.prefix += std::to_string(i) + "/";
        inner.variables[index] = {i, ""};
        body(element, inner);
        Instance slice;
        ports(element, inner, slice);
        if (!has_ports(element))
            for (const auto& child : element.children)
                if (child.name == "component" || child.name == "use" || child.name == "parallel")
                    slice.first.push_back(inner.prefix + text(child, "name", inner));
        slice.last = slice.first;
        whole.first.push_back(own + "/" + std::to_string(i));
        instances_.emplace(whole.first.back(), std::move(slice));
    }
    whole.last = whole.first;
    const auto parts =
        std::ranges::count_if(element.children, [](const auto& child) { return child.name != "stream"; });
    if (!has_ports(element) && parts != 1)
        error(element.place(),
              "a slice of several parts needs ports of its own: <input name=\"...\" to=\"part.port\"/> and <output "
              ".../>");
    instances_.emplace(own, std::move(whole));
}

void Elaboration::crossdep(const Element& element, const Environment& scope, std::int64_t count,
                           const std::string& index) {
    const auto own = scope.prefix.substr(0, scope.prefix.size() - 1);
    const auto port = [&](std::string_view attribute) {
        return element.attribute(attribute) == nullptr ? std::string(attribute) : name(element, attribute, scope);
    };
    const auto in = port("in"), above = port("above"), below = port("below"), out = port("out");
    std::vector<const Element*> stages;
    for (const auto& child : element.children) {
        if (child.name == "component") stages.push_back(&child);
        else error(child.place(), "the shape 'crossdep' has components only, one for each stage");
    }
    if (stages.size() < 2)
        return error(element.place(), "the shape 'crossdep' has at least two stages, a component each");
    Instance whole;
    whole.sliced = true;
    std::vector<std::vector<std::string>> parts(stages.size());  // by stage, then by slice
    for (std::int64_t i = 0; i < count && !too_many_; ++i) {
        auto inner = scope;
        inner.prefix += std::to_string(i) + "/";
        inner.variables[index] = {i, ""};
        for (std::size_t stage = 0; stage < stages.size(); ++stage) {
            component(*stages[stage], inner);
            parts[stage].push_back(inner.prefix + text(*stages[stage], "name", inner));
        }
    }
    if (too_many_) return;
    for (std::size_t stage = 1; stage < stages.size(); ++stage)
        for (std::int64_t i = 0; i < count; ++i) {
            // At the edge a slice is its own neighbour, so that each has three.
            const std::int64_t from[] = {i, std::max<std::int64_t>(i - 1, 0), std::min(i + 1, count - 1)};
            const std::string* const to[] = {&in, &above, &below};
            for (std::size_t side = 0; side < 3 && this->count(element); ++side) {
                pending_streams_.push_back({.from = parts[stage - 1][static_cast<std::size_t>(from[side])] + "." + out,
                                            .to = parts[stage][static_cast<std::size_t>(i)] + "." + *to[side],
                                            .conditions = scope.conditions,
                                            .element = stages[stage]});
            }
        }
    ports(element, scope, whole);
    whole.first = parts.front();
    whole.last = parts.back();
    instances_.emplace(own, std::move(whole));
}

}  // namespace penstock::language
