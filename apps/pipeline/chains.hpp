// The pipeline as chains: one for each tile, whose parts of the images between the stages lie in the local store of
// whichever target runs it.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "apps/pipeline/pipeline.hpp"
#include "penstock/chain.hpp"

namespace penstock::apps::pipeline {

/// What is known before any image is there: which parts each tile needs, and a chain for each size of these parts.
/// Issued as often as there are images of this size, as for the frames of a film.
class TileChains {
  public:
    TileChains(const Work& work, const Tiling& tiling);

    /// Issues one chain for each tile. The caller waits.
    void issue(const Images& images, Machine& machine) const;

    /// Number of chains. Tiles inside of an image share a few; each tile at the edge may have one of its own.
    std::size_t size() const noexcept { return chains_.size(); }
    /// What the largest one needs of the local store.
    std::size_t local_bytes() const;

  private:
    /// Parts of both images, a tile, where the tile lies, and where its part of the filtered image does.
    using TileChain = Chain<view<const float, 2>, view<const float, 2>, view<float, 2>, kernels::Place, kernels::Whole>;
    /// Rows and columns of the greater part and of the filtered one, and where the second lies within the first.
    using Size = std::array<std::size_t, 6>;

    struct Step {
        Tile tile;
        Need need;
        const TileChain* chain;
    };

    static Size size_of(const Need& need) noexcept;
    static TileChain chain_for(const Work& work, const Need& need);

    std::map<Size, TileChain> chains_;
    std::vector<Step> steps_;
    std::size_t rows_, columns_;
};

}  // namespace penstock::apps::pipeline
