// Both algorithms as jobs inside a firing: the 16 convolutions of an angle and the greatest of them are a chain for
// each tile of the picture. Its intermediate results stay in the local store of whichever target runs it, and its
// window is fetched while the tile before it is at work. (Cell-Space's components stand for such jobs.)
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "apps/edge/edge.hpp"
#include "penstock/spread.hpp"

namespace penstock::apps::edge {

/// Rows and columns of a tile: a window of it and what lies between its jobs fit a local store. Wide ones, since a
/// kernel runs along rows and what is smoothed beside a tile is smoothed again beside the next; and as high as their
/// elements allow, about equally, since each step of a chain costs about 0.15 us with the beginning of its kernel.
struct TileSize {
    std::size_t rows, columns;
};
TileSize tile_size(std::size_t rows, std::size_t columns) noexcept;

/// A tile in its window: the part of the picture that the kernels reach from it, as far as the picture goes.
struct TileWindow {
    view<const float, 2> window;
    view<float, 2> tile;
    kernels::Place at;  ///< where the tile begins in the window
};

/// All tiles of a picture and of the result, which has its shape.
std::vector<TileWindow> tiles_of(view<const float, 2> picture, view<float, 2> result);

/// Edge-2D. Kept by a filter as long as its firings.
class DenseJobs {
  public:
    explicit DenseJobs(std::size_t angles) : angles_(angles) {}
    /// strongest := the greatest magnitude of the 16 responses at angle number `angle`, when the jobs have completed.
    void issue(Spread& tasks, std::size_t angle, view<const float, 2> picture, view<float, 2> strongest);

  private:
    using TileChain = Chain<view<const float, 2>, view<float, 2>, kernels::Place>;
    const TileChain& chain(std::size_t angle, std::size_t rows, std::size_t columns);
    std::size_t angles_;
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, TileChain> chains_;
};

/// The middle of Edge-Rot.
class SeparableJobs {
  public:
    SeparableJobs();
    void issue(Spread& tasks, view<const float, 2> canvas, view<float, 2> strongest);

  private:
    using TileChain = Chain<view<const float, 2>, view<float, 2>, std::size_t>;
    /// Of a tile that begins at this column of its window.
    const TileChain& chain(const TileWindow& of);
    std::vector<Kernel> derivatives_, smoothings_;
    std::map<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>, TileChain> chains_;
};

}  // namespace penstock::apps::edge
