// The streams of a model by the filters that they join: made once, in linear time, for whoever asks about many filters.
#pragma once

#include "stream/description/model.hpp"

namespace penstock::streaming {

/// Of a model that stays as it is meanwhile.
class Adjacency {
  public:
    explicit Adjacency(const Model& model);

    const Model& model() const noexcept { return model_; }
    /// The streams that lead into a filter and out of it, in the order of the model. None for a filter that is not in
    /// it.
    std::span<const StreamModel* const> into(std::uint64_t filter) const noexcept { return of(into_, filter); }
    std::span<const StreamModel* const> out_of(std::uint64_t filter) const noexcept { return of(out_of_, filter); }
    /// The number of a stream among those into the same input, from 0.
    std::size_t rank(const StreamModel& stream) const noexcept { return ranks_[number(stream)]; }
    /// Do others get the same buffers as this stream's sink?
    bool shared(const StreamModel& stream) const;
    /// Whose threads alone run the filter; none: any.
    const std::vector<int>& targets_of(const FilterModel& filter) const noexcept {
        return model_.filters[anchors_[model_.position(filter.id)]].options.targets;
    }
    /// The target of a copy, or -1 for any.
    int place(const FilterModel& filter, int copy) const noexcept;
    /// The way from it to the next filter that it is to be near, and so on, does not end.
    bool near_for_ever(const FilterModel& filter) const noexcept;
    /// The copies of a filter write here, and their order is restored further down.
    bool order_matters(std::uint64_t filter, std::size_t output) const noexcept;
    /// Filters in copies whose order is restored further down, by position in the model: back from the ordered streams,
    /// through filters in copies, by all streams or by those that are no feedback.
    std::vector<bool> passing_order_on(bool by_feedback) const;

  private:
    /// The streams of all filters behind one another, and where those of each filter begin.
    struct Side {
        std::vector<const StreamModel*> streams;
        std::vector<std::size_t> begins;
    };
    template <class Filter>
    Side sorted_by(Filter filter) const;
    std::span<const StreamModel* const> of(const Side& side, std::uint64_t filter) const noexcept;
    std::size_t number(const StreamModel& stream) const noexcept {
        return static_cast<std::size_t>(&stream - model_.streams.data());
    }
    void find_anchors();

    const Model& model_;
    Side into_, out_of_;
    std::vector<std::size_t> ranks_;  ///< of the model's streams
    /// Of each filter: the one that it is near in the end; itself, where it is near none
    std::vector<std::size_t> anchors_;
    std::vector<bool> in_order_;  ///< of each filter, without feedback: its copies pass an order on
};

/// Filters by position in the model, each behind all that lead to it, by all streams or by those that are no feedback:
/// all of them where these close no cycle.
std::vector<std::size_t> in_order(const Adjacency& adjacency, bool by_feedback);
/// Which cycle each filter is in: numbers from 1, 0 for none. By position in model.filters. In linear time, as the
/// next.
std::vector<std::size_t> cycles_of(const Adjacency& adjacency);
/// How many streams lie between a source and each filter, by the longest way without feedback. By position in
/// model.filters; of a model whose cycles are declared.
std::vector<std::uint32_t> depths_of(const Adjacency& adjacency);
/// Says of each cycle without a feedback stream that it is not declared, and of each feedback stream that closes no
/// cycle that it does not.
void find_undeclared_cycles(const Adjacency& adjacency, const std::function<void(std::string)>& say);

}  // namespace penstock::streaming
