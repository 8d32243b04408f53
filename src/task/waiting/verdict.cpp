#include "task/waiting/verdict.hpp"

#include <new>

namespace penstock {

Verdict Verdict::of(const Failure& failure) {
    if (failure.cancelled) {
        try {
            std::rethrow_exception(failure.cause);
        } catch (const PredecessorFailed& passed_on) {
            bool cancelled = false;
            try {
                std::rethrow_exception(passed_on.cause());
            } catch (const TaskCancelled&) {
                cancelled = true;
            } catch (...) {
            }
            return {passed_on.predecessor(), passed_on.cause(), cancelled};
        } catch (...) {
        }
    }
    return {failure.task, failure.cause, failure.cancelled};
}

namespace {

/// Made when the program begins, for when there is no memory.
Verdict& without_memory() {
    static auto* const shared = new Verdict{"unknown", std::make_exception_ptr(std::bad_alloc()), false};
    return *shared;
}
[[maybe_unused]] const auto& made_early = without_memory();

}  // namespace

std::optional<Verdict> Verdict::look(Ring& ring, std::uint64_t number) noexcept {
    try {
        if (const auto failure = ring.look_at_failure_of(number)) return of(*failure);
        return std::nullopt;
    } catch (const std::bad_alloc&) {
        return without_memory();  // as short as it is, its copy needs none
    }
}

void Verdict::give(DependentNode& node, const Verdict& verdict) noexcept {
    try {
        auto copy = std::make_unique<Verdict>(verdict);
        if (node.give_verdict(copy.get())) (void)copy.release();  // freed when the task is passed over
    } catch (const std::bad_alloc&) {
        give_without_memory(node);
    }
}

void Verdict::give_without_memory(DependentNode& node) noexcept { (void)node.give_verdict(&without_memory()); }

void Verdict::LetGo::operator()(Verdict* verdict) const noexcept {
    if (verdict != &without_memory()) delete verdict;
}

Failure Verdict::failure_of(std::uint64_t number, const Entry& entry, int target) const {
    try {
        const std::string name(entry.name);
        auto error =
            std::make_exception_ptr(PredecessorFailed(name, task, cancelled ? "was cancelled" : "failed", cause));
        return {number, name, target, std::move(error), true};
    } catch (const std::bad_alloc&) {  // who asks is told that instead
        return {number, {}, target, std::current_exception(), true};
    }
}

}  // namespace penstock
