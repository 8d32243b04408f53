// task layer: why a dependent task must not run.
#pragma once

#include "penstock/detail/task/dependent.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/detail/task/ring.hpp"
#include "penstock/handle.hpp"

namespace penstock {

/// The first task on the way that failed or was cancelled.
struct Verdict {
    std::string task;
    std::exception_ptr cause;
    bool cancelled = false;  ///< it did not fail: somebody cancelled it

    /// What those say that come after a task which ended in this way.
    static Verdict of(const Failure& failure);
    /// The same for task `number` of `ring`; none when it ran as it should. Costs one load where none so young failed.
    static std::optional<Verdict> on(Ring& ring, std::uint64_t number) {
        if (!ring.may_have_failed(number)) [[likely]]
            return std::nullopt;
        return look(ring, number);
    }
    /// `node` will not run. To be called before its count is lowered for the predecessor in question. Where there is no
    /// memory for a verdict of its own it gets the one that says so.
    static void give(DependentNode& node, const Verdict& verdict) noexcept;
    static void give_without_memory(DependentNode& node) noexcept;
    /// `node` comes after the task of this handle, which has completed.
    static void pass_on(const Handle& handle, DependentNode& node) {
        if (Ring* const ring = handle.ring())
            if (const auto verdict = on(*ring, handle.number())) give(node, *verdict);
    }
    /// Of whoever passes the task over. Leaves that one alone, which all share.
    struct LetGo {
        void operator()(Verdict* verdict) const noexcept;
    };
    using Owned = std::unique_ptr<Verdict, LetGo>;
    /// The failure of the task that was not run because of this.
    Failure failure_of(std::uint64_t number, const Entry& entry, int target) const;

  private:
    static std::optional<Verdict> look(Ring& ring, std::uint64_t number) noexcept;
};

}  // namespace penstock
