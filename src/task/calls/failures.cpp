#include "penstock/detail/task/failures.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "penstock/error.hpp"

namespace penstock {
namespace {

using How = ForgottenNumbers::How;

constexpr const char* unknown_task = "(a task of which only the number is kept)";
constexpr const char* advice = "Wait for handles, or call barrier(), before thousands of tasks have failed";

std::exception_ptr cause_of(ForgottenNumbers::Found found) {
    const std::string which = found.sure ? "" : "; this is one of them, or lies between them";
    if (found.how == How::cancelled)
        return std::make_exception_ptr(
            TaskCancelled("the task was cancelled, or not run because of what it comes after; more tasks were "
                          "cancelled than are kept "
                          "one by one, or there was no memory to keep them" +
                          which));
    return std::make_exception_ptr(
        Error("its exception is no longer kept: more tasks failed than are kept one by one, or there was no memory to "
              "keep them" +
              which + ". " + advice));
}

}  // namespace

Failures::Dropped Failures::keep(Failure&& failure, std::size_t most) noexcept {
    const auto number = failure.number;
    const bool cancelled = failure.cancelled;
    ByNumber& kept = cancelled ? told_ : untold_;
    try {
        const auto [at, fresh] = kept.try_emplace(number, std::move(failure));
        if (!fresh) std::swap(at->second, failure);  // the worker that ran it died after it had told of a failure
    } catch (const std::bad_alloc&) {
        forgotten_.note(number, cancelled ? How::cancelled : How::untold);
        return {};
    }
    if (kept.size() <= most) return {};
    return drop(kept, cancelled ? kept.begin() : std::next(kept.begin()));
}

/// Only its number stays.
Failures::Dropped Failures::drop(ByNumber& kept, ByNumber::iterator which) noexcept {
    const auto how = which->second.cancelled ? How::cancelled : &kept == &untold_ ? How::untold : How::told;
    forgotten_.note(which->first, how);
    return kept.extract(which);
}

std::optional<Failure> Failures::look(std::uint64_t number) const {
    for (const ByNumber* list : {&untold_, &told_}) {
        const auto found = list->find(number);
        if (found == list->end()) continue;
        Failure failure = found->second;
        if (failure.cause == nullptr)
            failure.cause =
                std::make_exception_ptr(TaskCancelled("task " + failure.task + " was cancelled before it started"));
        return failure;
    }
    const auto found = forgotten_.look(number);
    if (found.how == How::none) return std::nullopt;
    return Failure{number, unknown_task, TaskFailed::unknown_target, cause_of(found), found.how == How::cancelled};
}

std::optional<Failure> Failures::tell(std::uint64_t number, std::size_t most, Dropped& dropped) {
    auto failure = look(number);
    if (auto node = untold_.extract(number)) {
        told_.insert(std::move(node));
        if (told_.size() > most) dropped = drop(told_, told_.begin());
    } else if (const auto found = forgotten_.look(number); found.sure && found.how == How::untold) {
        forgotten_.note(number, How::told);
    }
    return failure;
}

std::vector<Failure> Failures::take(std::uint64_t after, std::uint64_t until) {
    const auto first = untold_.upper_bound(after), last = untold_.upper_bound(until);
    auto cause = forgotten_.untold() == 0 ? nullptr : cause_of({How::untold, true});
    std::string task = cause == nullptr ? "" : unknown_task;
    std::vector<Failure> taken;
    taken.reserve(static_cast<std::size_t>(std::distance(first, last)) + 2);
    // From here on nothing needs memory.
    for (auto one = first; one != last; ++one) taken.push_back(std::move(one->second));
    untold_.erase(first, last);
    if (const auto others = forgotten_.take(after, until); others != 0)
        taken.push_back({until, std::move(task), TaskFailed::unknown_target, std::move(cause), false, others - 1});
    return taken;
}

std::uint64_t Failures::newest() const noexcept {
    const auto last = [](const ByNumber& list) { return list.empty() ? 0 : list.rbegin()->first; };
    return std::max({last(untold_), last(told_), forgotten_.newest()});
}

}  // namespace penstock
