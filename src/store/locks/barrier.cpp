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
    for (int round = 0; round < rounds; ++round) {
        told_.push_back(me.accept(Cells::behind(me.index(), round, me.size()), name, barrier_kind));
        told[static_cast<std::size_t>(round)] = reinterpret_cast<BarrierCell<>*>(told_.back().data()) + round;
    }
    barrier_ = Cells(own, told, rounds);
}

int Barrier::hopeless(int round) const {
    // Only the teller of this round can be missed here: whoever else is gone had told its own ranks before, or they
    // give up and say so, from one to the next.
    const int teller = Cells::before(me_.index(), round, me_.size());
    return me_.gone(teller) ? teller : barrier_.heard_of_loss();
}

}  // namespace penstock
