#include "stream/description/adjacency.hpp"

#include <numeric>

namespace penstock::streaming {

Adjacency::Adjacency(const Model& model)
    : model_(model), into_(sorted_by(&StreamModel::to)), out_of_(sorted_by(&StreamModel::from)),
      in_order_(passing_order_on(false)) {
    ranks_.resize(model.streams.size());
    std::vector<std::size_t> so_far;  // into each input of a filter
    for (const auto& filter : model.filters) {
        so_far.assign(filter.first->inputs.size(), 0);
        for (const auto* const stream : into(filter.id)) ranks_[number(*stream)] = so_far[stream->input]++;
    }
    find_anchors();
}

template <class Filter>
Adjacency::Side Adjacency::sorted_by(Filter filter) const {
    Side side{std::vector<const StreamModel*>(model_.streams.size()),
              std::vector<std::size_t>(model_.filters.size() + 2)};
    std::vector<std::size_t> positions;
    positions.reserve(model_.streams.size());
    for (const auto& stream : model_.streams)
        ++side.begins[positions.emplace_back(model_.position(stream.*filter)) + 1];
    std::partial_sum(side.begins.begin(), side.begins.end(), side.begins.begin());
    auto next = side.begins;
    for (std::size_t i = 0; i < positions.size(); ++i) side.streams[next[positions[i]]++] = &model_.streams[i];
    return side;
}

std::span<const StreamModel* const> Adjacency::of(const Side& side, std::uint64_t filter) const noexcept {
    const auto at = model_.position(filter);
    if (at == model_.filters.size()) return {};
    return std::span(side.streams).subspan(side.begins[at], side.begins[at + 1] - side.begins[at]);
}

std::vector<bool> Adjacency::passing_order_on(bool by_feedback) const {
    std::vector<bool> passing(model_.filters.size());
    std::vector<std::uint64_t> found;
    // Where a filter in copies writes to such a stream, the order of what it reads matters, too.
    const auto mark = [&](const StreamModel& stream) {
        const auto at = model_.position(stream.from);
        if (passing[at] || model_.filters[at].options.copies == 1 || (stream.options.feedback && !by_feedback)) return;
        passing[at] = true;
        found.push_back(stream.from);
    };
    for (const auto& stream : model_.streams)
        if (stream.options.ordered || model_.filter(stream.from)->options.tracked()) mark(stream);
    while (!found.empty()) {
        const auto filter = found.back();
        found.pop_back();
        for (const auto* const stream : into(filter)) mark(*stream);
    }
    return passing;
}

/// Each is looked up once: a filter near one whose anchor is known has the same anchor.
void Adjacency::find_anchors() {
    const auto none = model_.filters.size();
    anchors_.assign(none, none);
    std::vector<std::size_t> way;
    for (std::size_t first = 0; first < none; ++first) {
        auto at = first;
        while (anchors_[at] == none) {
            const auto& near = model_.filters[at].options.near;
            const auto* const next = near.empty() ? nullptr : model_.named(near);
            anchors_[at] = at;  // and remains so where a circle, which is no graph that can run, comes back to it
            if (next == nullptr) break;
            way.push_back(at);
            at = static_cast<std::size_t>(next - model_.filters.data());
        }
        for (const auto each : way) anchors_[each] = anchors_[at];
        way.clear();
    }
}

bool Adjacency::shared(const StreamModel& stream) const {
    const auto& name = stream.options.name;
    return stream.options.policy == Policy::broadcast ||
           std::ranges::any_of(out_of(stream.from), [&](const StreamModel* other) {
               return other->output == stream.output && other != &stream &&
                      (name.empty() || other->options.name != name);
           });
}

int Adjacency::place(const FilterModel& filter, int copy) const noexcept {
    const auto& targets = targets_of(filter);
    return targets.empty() ? -1 : targets[static_cast<std::size_t>(copy) % targets.size()];
}

bool Adjacency::near_for_ever(const FilterModel& filter) const noexcept {
    const auto& near = model_.filters[anchors_[model_.position(filter.id)]].options.near;
    return !near.empty() && model_.named(near) != nullptr;
}

bool Adjacency::order_matters(std::uint64_t filter, std::size_t output) const noexcept {
    const auto at = model_.position(filter);
    if (!in_order_[at]) return false;
    return std::ranges::any_of(out_of(filter), [&](const StreamModel* stream) {
        return stream->output == output && !stream->options.feedback &&
               (stream->options.ordered || model_.filters[at].options.tracked() ||
                in_order_[model_.position(stream->to)]);
    });
}

}  // namespace penstock::streaming
