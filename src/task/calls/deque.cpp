#include "penstock/detail/task/deque.hpp"

#include <algorithm>
#include <bit>

namespace penstock {
namespace {

/// Of a word that one thread writes.
void set_bit(std::atomic<std::uint64_t>* words, std::uint32_t place, bool to) noexcept {
    const auto bit = std::uint64_t{1} << place % 64;
    const auto before = words[place / 64].load(std::memory_order_relaxed);
    words[place / 64].store(to ? before | bit : before & ~bit, std::memory_order_release);
}

}  // namespace

Ring* Deque::inviting(int target, Look look, std::uint32_t from, std::uint32_t* found) const noexcept {
    const auto words = words_.load(std::memory_order_acquire);
    const auto first_in = [&](std::uint32_t w, std::uint64_t among, int least_target = any_target) -> Ring* {
        auto bits = open_[w].load(std::memory_order_relaxed) & among;
        if (look == Look::urgent) bits &= urgent_[w].load(std::memory_order_relaxed);
        if (look == Look::normal) bits &= ~urgent_[w].load(std::memory_order_relaxed);
        for (; bits != 0; bits &= bits - 1) {
            const auto place = w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
            Ring* const ring = rings_[place].load(std::memory_order_acquire);
            if (ring == nullptr || !ring->may_run_on(target) || ring->only_target() < least_target) continue;
            if (!ring->pending().inviting()) continue;
            if (found != nullptr) *found = place;
            return ring;
        }
        return nullptr;
    };
    constexpr auto all = ~std::uint64_t{0};
    if (from != 0) [[unlikely]]
        for (auto w = from / 64; w < words; ++w) {
            Ring* const ring = first_in(w, w == from / 64 ? all << from % 64 : all);
            if (ring == nullptr) continue;
            if (ring->only_target() < 0) return ring;
            for (std::uint32_t v = 0; v <= w; ++v)  // what is for a named target keeps its order
                if (Ring* const oldest = first_in(v, all, 0)) return oldest;
        }
    for (std::uint32_t w = 0; w < words; ++w)
        if (Ring* const ring = first_in(w, all)) return ring;
    return nullptr;
}

Ring* Deque::add(Ring::Kind kind, std::uint32_t capacity, int only_target, bool urgent) {
    if (count_ == max_rings) return nullptr;
    closed_.reserve(count_ + 1);  // so that closing one needs no memory
    Ring& ring = Ring::acquire(kind, capacity, claimants_, owner_, owner_bell_, only_target,
                               kind == Ring::Kind::pending ? seen_by_ : nullptr);
    ring.place = count_;
    ring.urgent = urgent;
    if (urgent) set_bit(urgent_, count_, true);
    rings_[count_++].store(&ring, std::memory_order_release);
    return &ring;
}

Ring* Deque::open(std::uint32_t capacity, int only_target, bool urgent) {
    const auto used = std::find_if(closed_.begin(), closed_.end(), [&](const Ring* ring) {
        return ring->only_target() == only_target && ring->urgent == urgent && ring->capacity() >= capacity;
    });
    Ring* ring = nullptr;
    if (used != closed_.end()) {
        ring = *used;
        closed_.erase(used);
    } else if ((ring = add(Ring::Kind::pending, capacity, only_target, urgent)) == nullptr) {
        return nullptr;
    }
    if (urgent) board_.urgent.fetch_add(1, std::memory_order_relaxed);
    set_bit(open_, ring->place, true);
    if (ring->place / 64 + 1 > words_.load(std::memory_order_relaxed))
        words_.store(ring->place / 64 + 1, std::memory_order_release);
    return ring;
}

void Deque::close(Ring& ring) noexcept {
    if (ring.urgent) board_.urgent.fetch_sub(1, std::memory_order_relaxed);
    set_bit(open_, ring.place, false);
    closed_.push_back(&ring);
}

}  // namespace penstock
