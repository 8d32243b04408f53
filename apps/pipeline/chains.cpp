#include "apps/pipeline/chains.hpp"

#include <algorithm>

#include "kernels/maximum.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::pipeline {

TileChains::TileChains(const Work& work, const Tiling& tiling) : rows_{tiling.rows}, columns_{tiling.columns} {
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const Need need = need_of(work, tiling[t], rows_, columns_);
        auto found = chains_.find(size_of(need));
        if (found == chains_.end()) found = chains_.emplace(size_of(need), chain_for(work, need)).first;
        steps_.push_back({tiling[t], need, &found->second});
    }
}

TileChains::Size TileChains::size_of(const Need& need) noexcept {
    return {need.greater.rows,     need.greater.columns, need.filtered.rows,
            need.filtered.columns, need.place().row,     need.place().column};
}

TileChains::TileChain TileChains::chain_for(const Work& work, const Need& need) {
    TileChain chain("of a tile");
    auto [first, second, result, at, whole] = chain.parameters();
    auto greater = chain.local<float>(need.greater.rows, need.greater.columns);
    auto filtered = chain.local<float>(need.filtered.rows, need.filtered.columns);
    chain.add<kernels::maximum<float>>(in(first), in(second), out(greater));
    chain.add<kernels::convolve_3x3<float>>(in(greater), out(filtered), work.filter, need.place(), border);
    chain.add<kernels::affine<float>>(in(filtered), out(result), work.map, interpolation, border, at, whole);
    return chain;
}

void TileChains::issue(const Images& images, Machine& machine) const {
    for (const auto& [tile, need, chain] : steps_) {
        machine.call(*chain, in(cut(images.first, need.greater)), in(cut(images.second, need.greater)),
                     out(part(images.result, tile)), kernels::Place{tile.row, tile.column},
                     kernels::Whole{need.filtered.at, rows_, columns_});
    }
}

std::size_t TileChains::local_bytes() const {
    std::size_t most = 0;
    for (const auto& [size, chain] : chains_) most = std::max(most, chain.local_bytes());
    return most;
}

}  // namespace penstock::apps::pipeline
