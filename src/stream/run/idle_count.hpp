// How many threads have nothing to do, for whoever has put something where they look.
//
// Happens-before. Whoever puts something there publishes it first and looks at the count behind that; whoever has
// nothing to do counts itself first and looks for something behind that. All four are sequentially consistent, so one
// of the two sees the other: nothing lies there while everybody sleeps who could take it.
// tests/model/idle_count_model_test.cpp checks this code.
#pragma once

#include "penstock/detail/channel/channel.hpp"

namespace penstock::streaming {

template <class Policy = StandardAtomics>
class IdleCount {
  public:
    /// The caller has nothing to do. Behind this it looks once more, by sequentially consistent loads.
    void enter() noexcept { count_.fetch_add(1, std::memory_order_seq_cst); }
    void leave() noexcept { count_.fetch_sub(1, std::memory_order_relaxed); }
    /// For whoever has put something there, by a sequentially consistent store: must somebody be told?
    bool any() const noexcept { return count_.load(std::memory_order_seq_cst) != 0; }

  private:
    typename Policy::template Atomic<int> count_{0};
};

}  // namespace penstock::streaming
