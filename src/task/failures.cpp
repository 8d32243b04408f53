#include "penstock/failures.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "penstock/error.hpp"

namespace penstock {
namespace {

constexpr const char* unknown_task = "(a task of which nothing more is known)";

std::exception_ptr nothing_known() {
    return std::make_exception_ptr(
        Error("more tasks failed than are kept one by one, or there was no memory to keep them; this is one of them, or is between them. "
              "Wait for handles, or call barrier(), before thousands of tasks have failed"));
}

}  // namespace

void Failures::keep(Failure failure, std::size_t most) noexcept {
    const auto number = failure.number;
    const bool cancelled = failure.cancelled;
    ByNumber& kept = cancelled ? told_ : untold_;
    try {
        kept.insert_or_assign(number, std::move(failure));
    } catch (const std::bad_alloc&) {
        return forget(number);
    }
    if (kept.size() <= most) return;
    if (cancelled) {
        kept.erase(kept.begin());
    } else {
        const auto second = std::next(kept.begin());
        forget(second->first);
        kept.erase(second);
    }
}

void Failures::forget(std::uint64_t number) noexcept {
    first_forgotten_ = std::min(first_forgotten_, number);
    last_forgotten_ = std::max(last_forgotten_, number);
    ++forgotten_;
}

std::optional<Failure> Failures::look(std::uint64_t number) const {
    for (const ByNumber* list : {&untold_, &told_})
        if (const auto found = list->find(number); found != list->end()) return found->second;
    if (!forgot(number)) return std::nullopt;
    return Failure{number, unknown_task, -1, nothing_known(), false};
}

std::optional<Failure> Failures::tell(std::uint64_t number, std::size_t most) {
    auto found = look(number);
    if (auto node = untold_.extract(number)) {
        told_.insert(std::move(node));
        if (told_.size() > most) told_.erase(told_.begin());
    }
    return found;
}

std::vector<Failure> Failures::take(std::uint64_t after, std::uint64_t until) {
    std::vector<Failure> taken;
    const auto first = untold_.upper_bound(after), last = untold_.upper_bound(until);
    const bool all_forgotten = forgotten_ != 0 && first_forgotten_ > after && last_forgotten_ <= until;
    taken.reserve(static_cast<std::size_t>(std::distance(first, last)) + (all_forgotten ? 1 : 0));
    for (auto one = first; one != last; ++one) taken.push_back(std::move(one->second));
    untold_.erase(first, last);
    if (all_forgotten) {
        taken.push_back({last_forgotten_, unknown_task, -1, nothing_known(), false, forgotten_ - 1});
        first_forgotten_ = ~std::uint64_t{0};
        last_forgotten_ = 0;
        forgotten_ = 0;
    }
    return taken;
}

std::uint64_t Failures::newest() const noexcept {
    const auto last = [](const ByNumber& list) { return list.empty() ? 0 : list.rbegin()->first; };
    return std::max({last(untold_), last(told_), last_forgotten_});
}

}  // namespace penstock
