#include "apps/likelihood/patterns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_map>

namespace penstock::apps::likelihood {

Patterns::Patterns(const Alignment& alignment) : taxa_{alignment.taxa()}, sites_{alignment.sites()} {
    std::unordered_map<std::string, std::size_t> known;
    std::vector<std::size_t> first;  // the column that shows each pattern
    std::string column(taxa_, '\0');
    for (std::size_t site = 0; site < sites_; ++site) {
        for (std::size_t taxon = 0; taxon < taxa_; ++taxon)
            column[taxon] = static_cast<char>(alignment.sequences[taxon][site]);
        const auto [place, is_new] = known.try_emplace(column, first.size());
        if (is_new) {
            first.push_back(site);
            weights_.push_back(0);
        }
        weights_[place->second] += 1;
    }
    count_ = first.size();
    constexpr std::size_t block = kernels::likelihood::block;
    weights_.resize((count_ + block - 1) / block * block);

    std::array<bool, any_base + 1> occurs{};
    occurs[any_base] = true;
    for (const auto& sequence : alignment.sequences)
        for (const Bases bases : sequence) occurs[bases] = true;
    std::array<std::uint8_t, any_base + 1> code{};
    for (Bases bases = 1; bases <= any_base; ++bases) {
        if (!occurs[bases]) continue;
        code[bases] = static_cast<std::uint8_t>(bases_.size());
        bases_.push_back(bases);
    }
    codes_.assign(taxa_ * weights_.size(), code[any_base]);
    for (std::size_t taxon = 0; taxon < taxa_; ++taxon)
        for (std::size_t pattern = 0; pattern < count_; ++pattern)
            codes_[taxon * weights_.size() + pattern] = code[alignment.sequences[taxon][first[pattern]]];
}

double weighted_sum(const Patterns& patterns, std::span<const double> values) noexcept {
    std::array<double, 4> sums{};  // that do not wait for one another
    const auto weights = patterns.weights();
    for (std::size_t i = 0; i < patterns.count(); ++i) sums[i % sums.size()] += weights[i] * values[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

std::vector<double> base_shares(const Alignment& alignment) {
    constexpr std::size_t bases = 4;
    std::array<double, any_base + 1> counts{};
    for (const auto& sequence : alignment.sequences)
        for (const Bases set : sequence) counts[set] += 1;
    std::vector<double> shares(bases, 1.0 / bases);
    for (int round = 0; round < 1000; ++round) {
        std::vector<double> sums(bases);
        for (std::size_t set = 1; set < any_base; ++set) {
            if (counts[set] == 0) continue;
            double all = 0;
            for (std::size_t i = 0; i < bases; ++i)
                if ((set >> i & 1) != 0) all += shares[i];
            for (std::size_t i = 0; i < bases; ++i)
                if ((set >> i & 1) != 0) sums[i] += counts[set] * shares[i] / all;
        }
        double total = 0, moved = 0;
        for (const double sum : sums) total += sum;
        if (total == 0) return shares;  // nothing but gaps
        for (std::size_t i = 0; i < bases; ++i) {
            const double share = std::max(sums[i] / total, 1e-6);
            moved = std::max(moved, std::abs(share - shares[i]));
            shares[i] = share;
        }
        if (moved < 1e-15) break;
    }
    double total = 0;
    for (const double share : shares) total += share;
    for (double& share : shares) share /= total;
    return shares;
}

}  // namespace penstock::apps::likelihood
