// Which numbers of an order have come: a set that is nearly all of 0, 1, 2 ..., kept as its intervals.
#pragma once

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
    bool add(std::uint64_t number) { return add(number, number + 1); }
    bool contains(std::uint64_t number) const {
        const auto behind = intervals_.upper_bound(number);
        return behind != intervals_.begin() && number < std::prev(behind)->second;
    }
    void add(const Intervals& all) {
        for (const auto& [from, to] : all)
            for (auto number = from; number < to; ++number) add(number);
    }
    Intervals all() const { return {intervals_.begin(), intervals_.end()}; }

  private:
    bool add(std::uint64_t from, std::uint64_t to) {
        if (contains(from)) return false;
        auto next = intervals_.upper_bound(from);
        if (next != intervals_.begin() && std::prev(next)->second == from) {
            const auto before = std::prev(next);
            before->second = to;
            if (next != intervals_.end() && next->first == to) {
                before->second = next->second;
                intervals_.erase(next);
            }
        } else if (next != intervals_.end() && next->first == to) {
            const auto last = next->second;
            intervals_.erase(next);
            intervals_[from] = last;
        } else {
            intervals_[from] = to;
        }
        return true;
    }

    std::map<std::uint64_t, std::uint64_t> intervals_;
};

}  // namespace penstock::streaming
