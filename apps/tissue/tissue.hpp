// Analysis of a stained tissue: JPEG tiles are decoded and converted to CIELAB; four statistics of each channel and the
// local binary patterns of the brightness make a feature vector, by which a tile is classified; an overview shows the
// picture small, with the class of each tile drawn around it.
//
// As a graph:
//
//     read -> decode +-> colour  -> classify -> overview
//                    +-> pattern ---^              ^
//                    +-> shrink -------------------+
//
// `decode`, `colour`, `pattern` and `shrink` run in copies. The two parts of a feature vector come to `classify` in the
// order of the tiles (ordered streams), so that they fit together; the overview takes its parts in any order. Every
// number of copies gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/jpeg.hpp"
#include "apps/picture.hpp"
#include "apps/report.hpp"
#include "apps/team.hpp"
#include "apps/tiles.hpp"
#include "apps/tissue/classifier.hpp"
#include "penstock/view.hpp"

namespace penstock {
class Cluster;
class Components;
class Machine;
}  // namespace penstock

namespace penstock::apps::tissue {

/// How a slide stores its tiles. TIFF loses nothing.
enum class Stored { jpeg, tiff };

/// A picture as slide scanners store it: tiles, each a JPEG picture of its own, or a TIFF picture.
class Slide {
  public:
    /// Cuts and encodes the picture. Throws components::PictureError for TIFF where Penstock was built without it.
    Slide(const Picture& picture, const Tiling& tiling, int quality = 90, Stored stored = Stored::jpeg);

    const Tiling& tiling() const noexcept { return tiling_; }
    std::span<const std::uint8_t> encoded(std::size_t tile) const noexcept {
        return std::span(bytes_).subspan(offsets_[tile], offsets_[tile + 1] - offsets_[tile]);
    }
    const std::vector<std::uint8_t>& bytes() const noexcept { return bytes_; }
    const std::vector<std::uint32_t>& offsets() const noexcept { return offsets_; }  ///< of each tile, and of the end

    /// Decodes all tiles and keeps their pixels: from now on all ways but `written` begin with these, and decode
    /// nothing.
    void decode();
    bool decoded() const noexcept { return !pixels_.empty(); }
    /// rows x 3 columns of a decoded tile.
    view<const std::uint8_t, 2> pixels(std::size_t tile) const noexcept;

  private:
    Tiling tiling_;
    std::vector<std::uint8_t> bytes_;
    std::vector<std::uint32_t> offsets_;
    std::vector<std::vector<std::uint8_t>> pixels_;
};

/// The overview is this many times smaller, both ways. Tiles' sides must be multiples of it.
inline constexpr std::size_t shrinking = 4;

/// What was found.
struct Analysis {
    explicit Analysis(const Tiling& tiling);
    std::vector<Features> features;      ///< of each tile
    std::vector<std::uint32_t> classes;  ///< of each tile
    Picture overview;
};

/// One thread, tile after tile.
void serial(const Slide& slide, Analysis& analysis);
/// Each thread of the team takes equally many tiles that follow one another. Returns seconds.
double hand(const Slide& slide, Analysis& analysis, Team& team);
/// The graph above with so many copies of each filter that may be copied; it reads the slide `passes` times. A slide
/// that is decoded goes to the other filters tile by tile, and `decode` is left out.
void streamed(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes = 1);

/// The same by the graph as it is written down, tissue.xml.
void written(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes = 1);

/// The filters by name, for tissue.xml: with files at its ends, or with the program's memory.
void add_components(Components& components);
void add_components(Components& components, const Slide& slide, Analysis& analysis);

/// What became of a slide that was read several times while the graph above changed.
struct Changed {
    std::size_t tiles = 0;             ///< read
    std::size_t wrong_verdicts = 0;    ///< that differ from `wanted`
    std::size_t lost_or_repeated = 0;  ///< verdicts that came to neither of the filters behind `classify`, or twice
    Analysis again;                    ///< what the overview that was put in again made
};
/// tissue.xml, whose overview and `shrink` are taken out by an event while it runs (a filter that only counts verdicts
/// stands in) and later put in again, whereupon `shrink` is exchanged for a fresh one. Each verdict is compared with
/// `wanted`.
Changed changing(const Slide& slide, const Analysis& wanted, Machine& machine, int copies);

/// The largest error of the colour features of some tiles against their definition in float64, and of the shares of
/// patterns.
struct Errors {
    double colour = 0, pattern = 0;
};
Errors errors_of(const Slide& slide, const Analysis& analysis, std::size_t tiles);

// ---- as the paper on DataCutter-Lite has it ----
//
//     read -> decode +-> colour -> pattern -> classify -> overview
//                    +-> shrink ------------------------------^
//
// `colour` writes the tile in CIELAB, and `pattern` reads its luminance. The paper reads TIFF tiles. The classifier is
// the one above, which was trained by the patterns of grey tiles: those of luminance differ little (by a hundredth of a
// share at most on the picture that it was trained on).

/// One thread, tile after tile.
void published_serial(const Slide& slide, Analysis& analysis);

/// How `pattern` got what `colour` had made (StreamStatistics).
struct HandedOn {
    std::uint64_t tiles = 0, posted = 0, right_behind = 0;
};
/// The graph. Each target has a `colour` and a `pattern` of its own, which its thread alone runs; what else may be
/// copied runs in so many copies. Without targets there is one of each.
HandedOn published(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes = 1);
/// The graph, whose tiles are decoded by so many copies on the cluster's nodes "decoders" (the paper's figures 20
/// and 21).
HandedOn published(const Slide& slide, Analysis& analysis, Cluster& cluster, int copies);
/// The paper's rival, which schedules both stages apart: the caller reads and decodes tiles, and issues a tagged call
/// that converts a tile, and, when that is complete, one for its pattern, each to whichever target is free.
void decoupled(const Slide& slide, Analysis& analysis, Machine& machine, std::size_t passes = 1);

/// The largest error of the colour features of some tiles against their definition in float64, and of the shares of
/// patterns against their definition on the luminance that was found.
Errors published_errors_of(const Slide& slide, const Analysis& analysis, std::size_t tiles);

/// The application for the gallery. Settings: rows (512) and columns (1024) of the picture, block_rows and
/// block_columns (128) of a tile, multiples of 4; seed. 4096 x 4096 makes 1,024 tiles. Input "image" (any rows x any
/// columns x 3, uint8), which is mirrored to the size. Arrays kept: "image" (of that size), "tiles" (the JPEG pictures,
/// one after the other), "starts" (of each, and the end), "features" (tiles x 22, float64), "overview", and "result"
/// (the class of each tile: 0 background, 1 stroma, 2 stained).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::tissue
