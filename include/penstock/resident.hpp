// task layer: resident data. What many tasks read, or add to, is sent once to each target that uses it and stays there,
// in memory of the target's own. The idea is Cell-RTL's persistent data.
//
// Each update makes a Version: the bytes, and a copy for each worker (a target, or a thread that helps), which that
// worker makes the first time it runs a task with this version. A task carries the version that was current when it was
// issued, so an update takes effect for what is issued after it and for nothing else. A version is freed when it is no
// longer current and the last task with it has ended (use_count.hpp). `./bench jobs` prints what resident arguments
// save.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "penstock/detail/task/resident_argument.hpp"
#include "penstock/machine.hpp"

namespace penstock {

/// What Resident and Accumulator share.
template <class T>
class ResidentBase {
    static_assert(std::is_trivially_copyable_v<T>,
                  "penstock: resident data are copied to each target, so they must be trivially copyable");
    static_assert(alignof(T) <= LocalStore::alignment, "penstock: resident data are aligned to 128 bytes");

  public:
    using StandsForMemory = void;
    using element_type = T;

    std::size_t size() const noexcept { return state_->bytes() / sizeof(T); }
    /// How often it was updated, from 1 for the first values.
    std::uint64_t version() const noexcept { return state_->number(); }
    /// Replaces the values for all tasks that are issued from now on; each target fetches them at its next such task.
    /// Tasks that were issued before keep theirs. Any thread may. Throws UsageError for another number of elements.
    /// Costs a copy.
    void update(std::span<const T> values) { state_->update(std::as_bytes(values)); }
    void update(const T& value) { update(std::span<const T>(&value, 1)); }

  protected:
    ResidentBase(Machine& machine, std::span<const T> values, bool accumulates)
        : state_(std::make_shared<resident::State>(machine, std::as_bytes(values), accumulates)) {}

    std::shared_ptr<resident::State> state_;
};

/// Values that tasks read on any target of one machine: in(resident) stands for them in calls and in chains. Copies of
/// the object share the data, which are freed when the last one is gone and the tasks that use them have ended.
template <class T>
class Resident : public ResidentBase<T> {
  public:
    /// Throws UsageError when the resident data of the machine would be larger than a local store.
    Resident(Machine& machine, std::span<const T> values) : ResidentBase<T>(machine, values, false) {}

    template <Access access>
    auto tagged() const {
        static_assert(access == Access::in,
                      "penstock: resident data are only read by tasks; change them with update(), or add up in a "
                      "machine.accumulator(...)");
        return resident::Use<access, const T>{this->state_};
    }
};

/// Values that tasks change, each worker in a copy of its own that begins with the first values: inout(accumulator) in
/// calls and in chains. collect() puts the copies together.
template <class T>
class Accumulator : public ResidentBase<T> {
  public:
    Accumulator(Machine& machine, std::span<const T> first) : ResidentBase<T>(machine, first, true) {}

    template <Access access>
    auto tagged() const {
        static_assert(access != Access::out,
                      "penstock: an accumulator keeps what earlier tasks left there; say inout(accumulator)");
        return resident::Use<access, tagging::Element<access, T>>{this->state_};
    }

    /// The copies of all workers put together: combine(T& into, const T& from) for each element of each copy, into the
    /// first values. Copies are visited in the order of targets, then of helping threads. Wait for the tasks that use
    /// it first: throws UsageError while some are outstanding. The copies stay as they are; update(first values) begins
    /// anew.
    template <class Combine>
    std::vector<T> collect(Combine&& combine) const {
        std::vector<T> result(this->size());
        this->state_->visit(
            [&](const std::byte* first) {
                if (!result.empty()) std::memcpy(result.data(), first, result.size() * sizeof(T));
            },
            [&](std::uint32_t, const std::byte* copy) {
                const T* const values = reinterpret_cast<const T*>(copy);
                for (std::size_t i = 0; i < result.size(); ++i) combine(result[i], values[i]);
            });
        return result;
    }
    /// Calls each(worker, std::span<const T>) for each worker that has a copy: targets by their numbers, then helping
    /// threads.
    template <class Each>
    void each_copy(Each&& each) const {
        this->state_->visit([](const std::byte*) {},
                            [&](std::uint32_t worker, const std::byte* copy) {
                                each(static_cast<int>(worker),
                                     std::span<const T>(reinterpret_cast<const T*>(copy), this->size()));
                            });
    }
};

template <class Values>
auto Machine::resident(const Values& values) {
    if constexpr (tagging::contiguous<const Values&>) {
        using T = std::remove_cvref_t<std::ranges::range_reference_t<const Values&>>;
        return Resident<T>(*this, std::span<const T>(std::ranges::data(values), std::ranges::size(values)));
    } else {
        return Resident<Values>(*this, std::span<const Values>(&values, 1));
    }
}

template <class Values>
auto Machine::accumulator(const Values& first) {
    if constexpr (tagging::contiguous<const Values&>) {
        using T = std::remove_cvref_t<std::ranges::range_reference_t<const Values&>>;
        return Accumulator<T>(*this, std::span<const T>(std::ranges::data(first), std::ranges::size(first)));
    } else {
        return Accumulator<Values>(*this, std::span<const Values>(&first, 1));
    }
}

}  // namespace penstock
