#include "penstock/barrier.hpp"

#include <new>

namespace penstock {
namespace {

constexpr std::uint64_t barrier_kind = 0x52524142;  // "BARR"

}  // namespace

Barrier::Barrier(Rank me, std::string_view name) : me_(me) {
    const int rounds = Cells::rounds_of(me.size());
    const auto count = static_cast<std::size_t>(rounds > 0 ? rounds : 1);
    own_ = me.make(name, count * sizeof(BarrierCell<>), barrier_kind);
    auto* own = reinterpret_cast<BarrierCell<>*>(own_.data());
    for (std::size_t round = 0; round < count; ++round) new (own + round) BarrierCell<>;
    for (int round = 0; round < rounds; ++round) me.grant(own_, Cells::before(me.index(), round, me.size()));
    std::array<BarrierCell<>*, Cells::most_rounds> told{};
    if (me.far() != nullptr) over_nodes_ = std::make_unique<BarrierCell<>[]>(count);
    for (int round = 0; round < rounds; ++round) {
        told_.push_back(me.accept_anywhere(Cells::behind(me.index(), round, me.size()), name, barrier_kind));
        told[static_cast<std::size_t>(round)] = over_nodes_ != nullptr
                                                    ? &over_nodes_[static_cast<std::size_t>(round)]
                                                    : reinterpret_cast<BarrierCell<>*>(told_.back().data()) + round;
    }
    barrier_ = Cells(own, told, rounds);
}

void Barrier::tell_over_nodes(int round) const {
    const auto at = static_cast<std::size_t>(round);
    const auto& from = over_nodes_[at];
    const RankMemory& memory = told_[at];
    auto* const to = reinterpret_cast<BarrierCell<>*>(memory.data()) + round;
    me_.far()->release(memory.owner());
    to->lost.store(from.lost.load(std::memory_order_relaxed), std::memory_order_release);
    to->arrived.store(from.arrived.load(std::memory_order_relaxed), std::memory_order_release);
    auto* const far = memory.far();
    if (far == nullptr) return;
    if (to->lost.load(std::memory_order_relaxed) != 0) far->copy(0, 0, far->offset_of(&to->lost), sizeof to->lost);
    else far->copy(0, 0, far->offset_of(&to->arrived));
}

int Barrier::hopeless(int round) const {
    // Only the teller of this round can be missed here: whoever else is gone had told its own ranks before, or they
    // give up and say so, from one to the next.
    const int teller = Cells::before(me_.index(), round, me_.size());
    const bool gone = me_.gone(teller);
    if (const int lost = barrier_.heard_of_loss(); lost >= 0) return lost;  // for which the teller may have left
    return gone ? teller : -1;
}

}  // namespace penstock
