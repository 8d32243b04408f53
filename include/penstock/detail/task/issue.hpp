// task layer: how a call becomes a record: the templates of Initiator, which one call site each instantiates. Included
// by initiator.hpp.
#pragma once

#include <tuple>
#include <utility>

#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/task/initiator.hpp"

namespace penstock {

template <class Site, class F, std::size_t... I, class... Args>
Handle Initiator::issue(int target, F&& function, std::index_sequence<I...>, Args&&... arguments) {
    // Relaxed, so that threads which share an initiator may count wrongly but not break anything.
    const auto until_sample = until_sample_.load(std::memory_order_relaxed) - 1;
    until_sample_.store(until_sample, std::memory_order_relaxed);
    const std::uint64_t begin = until_sample == 0 ? start_sample() : 0;
    using Call = typename Site::Call;
    constexpr std::string_view name = Site::Registered::entry.name;
    Call::check(name, arguments...);
    const Handle handle = place_bound<Call, false>(Site::Registered::number, target, std::move(function),
                                                   Call::template bind<I>(name, std::forward<Args>(arguments))...);
    if (begin != 0) [[unlikely]]
        end_sample(begin);
    return handle;
}

template <class Site, class F, std::size_t... I, class... Args>
Handle Initiator::issue(const CallOptions& options, F&& function, std::index_sequence<I...>, Args&&... arguments) {
    using Call = typename Site::Call;
    constexpr std::string_view name = Site::Registered::entry.name;
    Call::check(name, arguments...);
    const auto alone = this->alone();
    issued_ = 0;  // such calls are not timed
    const Exchanged<const CallOptions*> asked(asked_, &options);
    const int target = route(options, procedure::home_of(arguments...));
    return place_bound<Call, true>(Site::Registered::number, target, std::move(function),
                                   Call::template bind<I>(name, std::forward<Args>(arguments))...);
}

template <class Site, class Predecessors, class F, std::size_t... I, class... Args>
Handle Initiator::issue_dependent(DependentGroup* group, int target, Predecessors&& predecessors, F&& function,
                                  std::index_sequence<I...>, Args&&... arguments) {
    using Call = typename Site::Call;
    static_assert(!Call::has_residents,
                  "penstock: resident data cannot be given to a call that waits for others; call it inside a task that "
                  "does, or plainly");
    constexpr std::string_view name = Site::Registered::entry.name;
    Call::check(name, arguments...);
    return place_dependent<typename Call::Pack>(Site::Registered::number, group, target, predecessors,
                                                std::move(function),
                                                Call::template bind<I>(name, std::forward<Args>(arguments))...);
}

template <class Pack, class... Stored>
[[gnu::always_inline]] inline Handle Initiator::place(std::uint32_t entry, int target, Stored&&... stored) {
    if (target == any_target && stream_ != nullptr && !lane_again() && Pack::fits(stored...)) [[likely]] {
        if (TaskRecord* const record = stream_->pending().reserve()) [[likely]] {
            fill<Pack>(entry, *record, *stream_, stored...);
            deque_idle_ = false;
            return publish_in_deque(*stream_);
        }
    } else if (direct_ && scope_ == &base_ && Pack::fits(stored...)) {
        if (LaneEnd* const lane = target == any_target ? idle_lane() : empty_lane(target)) {
            count_in_lane();
            fill<Pack>(entry, *lane->producer.reserve(), *lane->ring, stored...);
            const Handle handle = publish_in_lane(*lane);
            if (!lanes_.some_idle()) stream_ = base_.current;  // which takes what comes until the task is back
            return handle;
        }
    }
    return place_elsewhere<Pack>(entry, target, std::move(stored)...);
}

template <class Call, bool asks, class... Bound>
[[gnu::always_inline]] inline Handle Initiator::place_bound(std::uint32_t entry, int target, Bound&&... bound) {
    using Pack = typename Call::Pack;
    if constexpr (!Call::has_residents && asks) return place_elsewhere<Pack>(entry, target, std::move(bound)...);
    else if constexpr (!Call::has_residents) return place<Pack>(entry, target, std::move(bound)...);
    else {
        const auto begin = [&]<class A>(A& argument) {
            if constexpr (procedure::is_resident<A>) return argument.begin(machine_id_);
            else return std::move(argument);
        };
        (procedure::require_machine(bound, machine_id_), ...);
        std::tuple stored{begin(bound)...};
        try {
            return std::apply(
                [&](auto&... each) {
                    // A shared initiator's asked_ may be another thread's until its lock is held, which is later, and
                    // it always goes elsewhere.
                    return shared_ || asked_ == nullptr ? place<Pack>(entry, target, std::move(each)...)
                                                        : place_elsewhere<Pack>(entry, target, std::move(each)...);
                },
                stored);
        } catch (...) {
            std::apply([](auto&... each) { (procedure::discard(each), ...); }, stored);
            throw;
        }
    }
}

template <class Pack, class... Stored>
Handle Initiator::place_elsewhere(std::uint32_t entry, int target, Stored&&... stored) {
    const auto alone = this->alone();
    if (call_side_ != nullptr) return place_offloaded<Pack>(entry, target, stored...);
    std::unique_ptr<typename Pack::Box> box;
    const bool packed = Pack::fits(stored...);
    if (!packed) box = std::make_unique<typename Pack::Box>(std::move(stored)...);
    const Spot spot = reserve(target);
    if (spot.record == nullptr) require_room_to_nest();  // throws while the box is still ours
    const std::uint32_t notice = asked_ != nullptr ? add_notice(entry) : 0;
    if (spot.record == nullptr) return place_nowhere<Pack>(entry, notice, box.release(), stored...);
    if (spot.lane != nullptr) count_in_lane();
    if (packed) fill<Pack>(entry, *spot.record, *spot.ring, stored...);
    else fill_box<Pack>(entry, spot.record->payload, box.release());
    spot.record->payload.flags |= notice << TaskPayload::notice_shift;
    const Handle handle = spot.lane != nullptr ? publish_in_lane(*spot.lane) : publish_deferred(*spot.ring);
    if (notice != 0) note_issued(notice, handle);
    return handle;
}

template <class Pack, class... Stored>
Handle Initiator::place_offloaded(std::uint32_t entry, int target, Stored&... stored) {
    isolated::Carrier carrier(*call_side_, entry, entry_of(entry).name);
    if constexpr (Pack::layout.boxed) {
        carrier.refuse_box();
    } else {
        if (!Pack::fits(stored...)) carrier.refuse_box();
        const auto flags = asked_ != nullptr ? accept_offloaded(entry) : 0;
        int argument = 0;
        (carrier.carry(stored, argument++), ...);
        auto staged = carrier.take();
        const Spot spot = reserve_offloaded(target, staged);
        fill<Pack>(entry, *spot.record, *spot.ring, stored...);
        spot.record->payload.flags = flags;
        return publish_offloaded(spot, std::move(staged));
    }
}

template <class Pack, class... Stored>
Handle Initiator::place_nowhere(std::uint32_t entry, std::uint32_t notice, typename Pack::Box* box,
                                const Stored&... stored) {
    TaskPayload payload;
    Extension extension;
    payload.entry = entry;
    if (box != nullptr) fill_box<Pack>(entry, payload, box);
    else Pack::store(payload, &extension, stored...);
    payload.flags |= notice << TaskPayload::notice_shift;
    return run_at_once(payload, extension);
}

template <class Pack, class Predecessors, class... Stored>
Handle Initiator::place_dependent(std::uint32_t entry, DependentGroup* group, int target, Predecessors& predecessors,
                                  Stored&&... stored) {
    const auto alone = this->alone();
    issued_ = 0;  // such calls are not timed
    std::unique_ptr<typename Pack::Box> box;
    const bool packed = Pack::fits(stored...);
    if (!packed) [[unlikely]]
        box = std::make_unique<typename Pack::Box>(std::move(stored)...);
    Dependents::Spot spot = dependents_.begin(group, target);
    if (packed) fill<Pack>(entry, *spot.record, *spot.ring, stored...);
    else fill_box<Pack>(entry, spot.record->payload, box.release());
    if constexpr (Pack::layout.extended) {
        const auto ahead =
            static_cast<std::uint64_t>(spot.record - spot.ring->slots()) + Dependents::Spot::extensions_ahead;
        prefetch_write(&spot.ring->extensions()[ahead & (spot.ring->capacity() - 1)]);
    }
    try {
        predecessors(spot);
        dependents_.push_edges(spot);
    } catch (...) {
        dependents_.abandon(spot);
        throw;
    }
    return dependents_.commit(spot);
}

template <class Pack, class... Stored>
void Initiator::fill(std::uint32_t entry, TaskRecord& record, Ring& ring, const Stored&... stored) noexcept {
    record.payload.entry = entry;
    record.payload.flags = 0;
    if (issued_ != 0) [[unlikely]]
        ring.note_issued(record, issued_);
    [[maybe_unused]] Extension* extension = nullptr;
    if constexpr (Pack::layout.extended) extension = &ring.extensions()[&record - ring.slots()];
    Pack::store(record.payload, extension, stored...);
}

template <class Pack>
void Initiator::fill_box(std::uint32_t entry, TaskPayload& payload, typename Pack::Box* box) noexcept {
    payload.entry = entry;
    payload.flags = TaskPayload::boxed;
    Pack::store_box(payload, box);
}

}  // namespace penstock
