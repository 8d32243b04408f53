// The columns of an alignment, each kind once, as the kernels want them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/likelihood/alignment.hpp"
#include "kernels/likelihood.hpp"

namespace penstock::apps::likelihood {

/// How often each kind of column occurs. The last block is filled up with columns of gaps that occur no times.
class Patterns {
  public:
    explicit Patterns(const Alignment& alignment);

    std::size_t taxa() const noexcept { return taxa_; }
    std::size_t sites() const noexcept { return sites_; }
    std::size_t count() const noexcept { return count_; }
    std::size_t blocks() const noexcept { return weights_.size() / kernels::likelihood::block; }

    /// One number for each pattern, the filling too.
    std::span<const double> weights() const noexcept { return weights_; }
    /// Which of bases() each pattern has at this taxon.
    std::span<const std::uint8_t> codes(std::size_t taxon) const noexcept {
        return std::span{codes_}.subspan(taxon * weights_.size(), weights_.size());
    }
    /// The sets of bases that occur, in order; any_base is the last.
    std::span<const Bases> bases() const noexcept { return bases_; }

  private:
    std::size_t taxa_, sites_, count_ = 0;
    std::vector<double> weights_;
    std::vector<std::uint8_t> codes_;
    std::vector<Bases> bases_;
};

/// The sum over all patterns of how often each occurs times its value, in one order.
double weighted_sum(const Patterns& patterns, std::span<const double> values) noexcept;

/// The share of each base in an alignment. What may be several bases counts as parts of them, by the shares of the
/// bases themselves; what may be any base does not count. A base that does not occur has a share of 10^-6.
std::vector<double> base_shares(const Alignment& alignment);

}  // namespace penstock::apps::likelihood
