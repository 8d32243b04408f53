#include "task/verdict.hpp"

#include <memory>
#include <utility>

#include "penstock/error.hpp"

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

std::optional<Verdict> Verdict::look(Ring& ring, std::uint64_t number) {
    if (const auto failure = ring.look_at_failure_of(number)) return of(*failure);
    return std::nullopt;
}

void Verdict::give(DependentNode& node, const Verdict& verdict) {
    auto copy = std::make_unique<Verdict>(verdict);
    if (node.give_verdict(copy.get())) (void)copy.release();  // freed when the task is passed over
}

Failure Verdict::failure_of(std::uint64_t number, const Entry& entry, int target) const {
    const std::string name(entry.name);
    auto error = std::make_exception_ptr(PredecessorFailed(name, task, cancelled ? "was cancelled" : "failed", cause));
    return {number, name, target, std::move(error), true};
}

}  // namespace penstock
