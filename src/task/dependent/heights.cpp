#include "task/dependent/heights.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <span>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/ring.hpp"

namespace penstock {
namespace {

std::uint32_t slot_of(const DependentNode& node) noexcept {
    return static_cast<std::uint32_t>(&node - node.ring()->nodes());
}

/// Measures by going down from each task to those that come after it, each of which is measured once.
///
/// The lists may be read although tasks complete meanwhile. Only the owner uses a slot again, and it is here. What a
/// list leads to stays in place: a completing thread takes the head of its own list, and changes no link.
template <class Known>
class Descent {
  public:
    explicit Descent(std::span<Known> all) noexcept : all_(all) {}

    void measure(DependentNode& from) {
        left_.push_back(&from);
        while (!left_.empty()) {
            DependentNode& node = *left_.back();
            std::uint32_t* const height = find(node);
            if (*height != 0) {
                left_.pop_back();
                continue;
            }
            std::uint32_t highest = 0;
            const auto before = left_.size();
            DependentNode::each_successor(node.look(), [&](DependentNode& successor) {
                const std::uint32_t* const its = find(successor);
                if (its == nullptr) return;  // waited for by somebody else
                if (*its == 0) left_.push_back(&successor);
                else highest = std::max(highest, *its);
            });
            if (left_.size() != before) continue;
            *height = highest + 1;
            left_.pop_back();
        }
    }

  private:
    std::uint32_t* find(const DependentNode& node) const noexcept {
        for (Known& one : all_)
            if (one.ring == node.ring()) return &one.heights[slot_of(node)];
        return nullptr;
    }

    std::span<Known> all_;
    std::vector<DependentNode*> left_;
};

}  // namespace

void Heights::measure(const std::vector<Ring*>& rings) {
    std::vector<Known> all;
    for (const Ring* ring : rings) all.push_back({ring, 0, 0, std::vector<std::uint32_t>(ring->capacity())});
    Descent<Known> descent{all};
    std::size_t count = 0;
    for (std::size_t r = 0; r < rings.size(); ++r) {
        auto& pending = rings[r]->pending();
        const auto last = all[r].through = pending.appended();
        const auto first = last < rings[r]->capacity() ? 1 : last - rings[r]->capacity() + 1;
        // Later ones first: mostly these come after the earlier ones.
        for (auto number = last; number >= first; --number) {
            if (pending.completed(number)) continue;
            descent.measure(rings[r]->nodes()[pending.slot(number)]);
            ++all[r].count;
        }
        count += all[r].count;
    }
    for (std::size_t places = 0, rings_known = 0;;) {
        // Memory is asked for, and given back, where nobody waits for the lock.
        std::vector<Ready> ready;
        std::vector<Known> known;
        ready.reserve(places);
        known.reserve(rings_known);
        const std::lock_guard locked(lock_);
        places = ready_.size() + count;
        for (const Known& one : known_) places += one.count;
        rings_known = known_.size() + all.size();
        if (ready.capacity() < places || known.capacity() < rings_known) continue;
        ready.assign(ready_.begin(), ready_.end());
        ready_.swap(ready);
        std::ranges::move(known_, std::back_inserter(known));
        std::ranges::move(all, std::back_inserter(known));
        known_.swap(known);
        any_.store(true, std::memory_order_relaxed);
        return;
    }
}

void Heights::forget(const std::vector<Ring*>& rings) noexcept {
    const std::lock_guard locked(lock_);
    std::erase_if(known_, [&](const Known& one) { return std::ranges::find(rings, one.ring) != rings.end(); });
    if (known_.empty()) any_.store(false, std::memory_order_relaxed);
}

std::uint32_t Heights::known(const DependentNode& node) const noexcept {
    const Ring& ring = *node.ring();
    for (const Known& one : known_) {
        if (one.ring != &ring) continue;
        const auto slot = slot_of(node);
        return ring.slots()[slot].sequence.load(std::memory_order_relaxed) >> 1 <= one.through ? one.heights[slot] : 0;
    }
    return 0;
}

std::uint32_t Heights::of(const DependentNode& node) noexcept {
    const std::lock_guard locked(lock_);
    return known(node);
}

bool Heights::push(DependentNode& node) noexcept {
    const std::lock_guard locked(lock_);
    const std::uint64_t height = known(node);
    if (height == 0 || ready_.size() == ready_.capacity()) return false;
    ready_.push_back({height << 32 | turn_++, &node, node.ring()->scope()});
    std::push_heap(ready_.begin(), ready_.end());
    note_size();
    return true;
}

DependentNode* Heights::take(const Scope* only) noexcept {
    if (!inviting()) return nullptr;
    const std::lock_guard locked(lock_);
    if (ready_.empty()) return nullptr;
    if (only == nullptr || ready_.front().scope == only) {
        std::pop_heap(ready_.begin(), ready_.end());
    } else {
        auto best = ready_.end();
        for (auto one = ready_.begin(); one != ready_.end(); ++one)
            if (one->scope == only && (best == ready_.end() || *best < *one)) best = one;
        if (best == ready_.end()) return nullptr;
        std::swap(*best, ready_.back());
        std::make_heap(ready_.begin(), ready_.end() - 1);
    }
    DependentNode* const node = ready_.back().node;
    ready_.pop_back();
    note_size();
    return node;
}

bool Heights::holds(const Scope& scope) noexcept {
    if (!inviting()) return false;
    const std::lock_guard locked(lock_);
    return std::ranges::any_of(ready_, [&](const Ready& one) { return one.scope == &scope; });
}

std::vector<DependentNode*> Heights::take_all() {
    std::vector<DependentNode*> all;
    if (!inviting()) return all;
    const std::lock_guard locked(lock_);
    all.reserve(ready_.size());
    for (const Ready& one : ready_) all.push_back(one.node);
    ready_.clear();
    note_size();
    return all;
}

void Heights::note_size() noexcept {
    size_.store(static_cast<std::uint32_t>(ready_.size()), std::memory_order_relaxed);
    highest_.store(ready_.empty() ? 0 : static_cast<std::uint32_t>(ready_.front().rank >> 32),
                   std::memory_order_relaxed);
}

// ---- when it is worth it ----

OrderByHeight::OrderByHeight(Heights& heights, const std::vector<Ring*>* rings, std::uint32_t workers) noexcept
    : heights_(heights), rings_(rings) {
    static const double ticks = Heights::worth_it / Clock::nanoseconds_per_tick();
    least_ticks_ =
        static_cast<std::uint64_t>(ticks * std::max(1.0, static_cast<double>(workers) / Heights::workers_of_worth_it));
}

bool OrderByHeight::timed(std::uint64_t ticks) noexcept {
    if (ticks < least_ticks_) {
        long_in_a_row_ = 0;
        until_next_ = 15;
        return false;
    }
    if (++long_in_a_row_ < long_ones) return false;
    try {
        heights_.measure(*rings_);
    } catch (const std::bad_alloc&) {
        rings_ = nullptr;  // the other way needs none
        return false;
    }
    return measured_ = true;
}

}  // namespace penstock
