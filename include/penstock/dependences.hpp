// task layer: calls whose order follows from their tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "penstock/detail/task/history.hpp"
#include "penstock/machine.hpp"
#include "penstock/recording.hpp"

namespace penstock {

/// Calls whose order follows from their tags, as if they ran one after the other:
///
///     penstock::Dependences order(machine);
///     order.call<factor>(inout(a));
///     order.call<solve>(in(a), inout(b));     // waits for factor
///     order.call<solve>(in(a), inout(c));     // waits for factor, and runs beside the other
///     order.wait();
///
/// A task waits for those issued before it, by this object, that write what it touches, and for those that read what it
/// writes; readers run beside one another. Exact for every shape, also where arguments share only some of their bytes.
/// The caller never waits. Memory that other tasks touch (machine.call, another Dependences) is not looked at: use
/// machine.after for those.
///
/// Used by the thread, or inside the task, that made it; a task needs one of its own. The machine must live longer. The
/// tasks are covered by the machine's barrier too. Costs about twenty plain tasks for a call with four arguments
/// (`./bench dependences`).
class Dependences : public TakesCalls<Dependences> {
  public:
    /// Throws MachineGone in the child after a fork, UsageError in one of the threads beyond the 63rd of a machine,
    /// which share an initiator.
    explicit Dependences(Machine& machine);
    /// Does not wait: the machine's next barrier does.
    ~Dependences();
    Dependences(const Dependences&) = delete;
    Dependences& operator=(const Dependences&) = delete;

    // call<f>(...) and call(f, ...), of TakesCalls, are as a machine's, in order. When a task fails, those that come
    // after it do not run: waiting for them throws PredecessorFailed, and wait() throws the failure itself. Throws
    // UsageError when another thread or task than the one that made this calls.

    /// The same for one target alone. `target` is not checked.
    template <auto function, class... Args>
    Handle call_on(int target, Args&&... arguments) {
        return call_on(target, procedure::Constant<function>{}, std::forward<Args>(arguments)...);
    }
    template <class F, class... Args>
    Handle call_on(int target, F&& function, Args&&... arguments) {
        using Pack = typename procedure::SiteOf<F, Args...>::Pack;
        return initiator().call_dependent(
            &group_, target, [&](Dependents::Spot& spot) { touch_all<Pack>(spot, arguments...); },
            std::forward<F>(function), std::forward<Args>(arguments)...);
    }

    /// As call_on, for a closure that holds its arguments itself: `blocks` is the memory that it touches, and
    /// `addresses` says where in the closure addresses lie (6 bytes each, counted from its beginning), for recordings.
    template <class F>
    Handle call_blocks_on(int target, std::span<const ArgumentBlock> blocks, std::span<const std::uint32_t> addresses,
                          F&& function) {
        const auto touch = [&](Dependents::Spot& spot) {
            for (const ArgumentBlock& block : blocks) history_.touch(spot, block);
            if (!history_.recording()) return;
            std::vector<AddressPlace> places;
            const auto& at = procedure::SiteOf<F>::Pack::layout.places[0];
            for (const auto offset : addresses)
                places.push_back({at.in_line, static_cast<std::uint32_t>(at.offset) + offset});
            history_.keep(spot, std::move(places));
        };
        return initiator().call_dependent(&group_, target, touch, std::forward<F>(function));
    }

    /// Waits for all tasks issued by this object, running ready ones meanwhile. Throws TaskFailed for the first failure
    /// and counts the others.
    void wait();

    /// Waits for all tasks issued so far, runs `body`, which issues tasks by this object, waits for these too, and
    /// gives them as a recording that can be replayed. Throws what wait() throws, and then there is no recording;
    /// UsageError when a task's arguments do not fit a descriptor.
    template <class Body>
    Recording record(Body&& body) {
        wait();
        history_.start_recording();
        try {
            body();
            wait();
        } catch (...) {
            history_.stop_recording();
            throw;
        }
        return Recording(machine_, history_.stop_recording());
    }

    /// How many different blocks of memory it knows.
    std::size_t blocks() const noexcept { return history_.size(); }

  private:
    friend class TakesCalls<Dependences>;
    template <class F, class... Args>
    Handle issue_call(F&& function, Args&&... arguments) {
        return call_on(Initiator::any_target, std::forward<F>(function), std::forward<Args>(arguments)...);
    }
    Initiator& initiator() {
        Initiator& now = machine_.initiator();
        if (&now != &initiator_ || now.current_scope() != scope_) [[unlikely]]
            refuse_stranger();
        if (history_.crowded()) [[unlikely]]
            tidy();
        return now;
    }
    template <class Pack, class... Args>
    void touch_all(Dependents::Spot& spot, const Args&... arguments) {
        (history_.touch(spot, arguments), ...);
        if (history_.recording()) [[unlikely]] {
            std::vector<AddressPlace> addresses;
            if constexpr (!Pack::layout.boxed) {
                std::size_t i = 1;  // 0 is the callable
                const auto one = [&]<class A>(const A&) {
                    const auto& place = Pack::layout.places[i++];
                    if constexpr (is_block<A>)
                        addresses.push_back({place.in_line, static_cast<std::uint32_t>(place.offset)});
                };
                (one(arguments), ...);
            }
            history_.keep(spot, std::move(addresses));
        }
    }
    /// Is its packed form an address and then sizes? A list of pieces is the caller's and stays.
    template <class A>
    static constexpr bool is_block = [] {
        if constexpr (tagging::is_tagged<A>) return !tagging::is_pieces<typename A::shape_type>;
        else return false;
    }();
    static Initiator& initiator_of_its_own(Machine& machine);
    [[noreturn]] static void refuse_stranger();
    void tidy();

    Machine& machine_;
    Initiator& initiator_;
    Scope* scope_;  ///< of the task that made it, or of the thread
    DependentGroup group_;
    History history_;
};

}  // namespace penstock
