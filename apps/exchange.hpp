// A region at each rank that all ranks may store to: what all-to-all exchanges are made of.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/region.hpp"
#include "penstock/remote.hpp"

namespace penstock::apps {

/// This rank's region of a name, and everybody's as remotes (its own too, so that no rank is a special case). Made by
/// all ranks together.
template <class T>
class Exchange {
  public:
    /// `size` > 0 elements at this rank; others may have more or fewer.
    Exchange(Rank me, std::string_view name, std::size_t size) : mine_{me, name, size} {
        for (int rank = 0; rank < me.size(); ++rank) mine_.grant(rank);
        for (int rank = 0; rank < me.size(); ++rank) theirs_.push_back(Remote<T>::accept(me, rank, name));
    }

    std::span<T> mine() const noexcept { return mine_.elements(); }
    const Remote<T>& of(std::size_t rank) const noexcept { return theirs_[rank]; }
    /// Stores to this rank travel by the way that suits `count` elements, as when they are published together in
    /// pieces.
    void expect(std::size_t rank, std::size_t count) { theirs_[rank].set_way(StoreWays::here().of(count * sizeof(T))); }

  private:
    Region<T> mine_;
    std::vector<Remote<T>> theirs_;
};

}  // namespace penstock::apps
