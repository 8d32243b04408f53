// Which numbers of an order have come: a set that is nearly all of 0, 1, 2 ..., kept as its intervals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace penstock::streaming {

class Orders {
  public:
    using Intervals = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  ///< from, and the first behind it

    /// False when it was there.
    bool add(std::uint64_t number) {
        if (contains(number)) return false;
        unite(number, number + 1);
        return true;
    }
    bool contains(std::uint64_t number) const {
        const auto behind = intervals_.upper_bound(number);
        return behind != intervals_.begin() && number < std::prev(behind)->second;
    }
    void add(const Intervals& all) {
        for (const auto& [from, to] : all)
            if (from < to) unite(from, to);
    }
    Intervals all() const { return {intervals_.begin(), intervals_.end()}; }

  private:
    /// One interval of it and of all that it touches.
    void unite(std::uint64_t from, std::uint64_t to) {
        auto next = intervals_.upper_bound(from);
        if (next != intervals_.begin() && std::prev(next)->second >= from) {
            --next;
            from = next->first;
        }
        while (next != intervals_.end() && next->first <= to) {
            to = std::max(to, next->second);
            next = intervals_.erase(next);
        }
        intervals_.emplace_hint(next, from, to);
    }

    std::map<std::uint64_t, std::uint64_t> intervals_;
};

}  // namespace penstock::streaming
