// JPiP: sixteen films in motion JPEG are decoded, made smaller, and laid side by side, 4 x 4 (Cell-Space's evaluation);
// and one film in which pictures of the others are shown while they are wanted (picture in picture; see insets.hpp).
//
// A film's frame is decoded by libjpeg-turbo at 1/divisor of its size (its slow integer DCT, so that every program that
// uses it gives the same bits), and the rest of the way to a quarter is the mean of squares of pixels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "apps/jpeg.hpp"
#include "apps/jpip/films.hpp"
#include "apps/report.hpp"
#include "apps/settings.hpp"
#include "components/picture.hpp"
#include "penstock/graph.hpp"
#include "penstock/run.hpp"
#include "penstock/spread.hpp"
#include "penstock/view.hpp"

namespace penstock {
class Components;
class Machine;
}  // namespace penstock

namespace penstock::apps::jpip {

inline constexpr std::size_t tiles_down = 4, tiles_across = 4, tiles = tiles_down * tiles_across;
/// A tile's sides are those of a frame, over this.
inline constexpr std::size_t smaller = 4;
inline constexpr std::size_t channels = 3;

/// Size of a tile of frames of this size.
constexpr PictureSize tile_of(const PictureSize& frame) noexcept {
    return {(frame.rows + smaller - 1) / smaller, (frame.columns + smaller - 1) / smaller};
}
/// Size of a mosaic of such tiles.
constexpr PictureSize mosaic_of(const PictureSize& frame) noexcept {
    return {tiles_down * tile_of(frame).rows, tiles_across * tile_of(frame).columns};
}
/// Where tile number t of a mosaic lies, for images of rows x 3 columns of bytes.
template <class T>
view<T, 2> tile_in(view<T, 2> mosaic, std::size_t t) noexcept {
    const std::size_t rows = mosaic.extent(0) / tiles_down, bytes = mosaic.extent(1) / tiles_across;
    return mosaic.part({t / tiles_across * rows, t % tiles_across * bytes}, {rows, bytes});
}
void copy(view<const std::uint8_t, 2> from, view<std::uint8_t, 2> to);

/// One thread: result(f, i, 3 j + c) := the mosaic of frame f of the 16 films. `divisor`: 1, 2 or 4, of what the
/// decoder leaves out.
void serial(const Films& films, int divisor, view<std::uint8_t, 3> result);

/// The same by a graph of filters on the machine's targets and the caller, with so many copies of the filters that
/// decode and shrink. Returns the seconds without those in which the graph was described. Throws FilterFailed for a
/// file that is no JPEG picture.
double streams(const Films& films, int divisor, view<std::uint8_t, 3> result, Machine& machine, int copies);

/// The application for the gallery. Settings: rows and columns of a frame (720 x 1280), block_rows (frames of each
/// film, 8), block_columns (the divisor: 1, 2 or 4; 1), seed. Inputs: "jpeg" (bytes of all files, film by film, uint8)
/// with "ends" (of each file, uint32; 16 films x frames), or "photograph" (rows x columns x 3, uint8) from which the
/// films are made; else they are made from a generated one. Arrays kept: "jpeg", "ends" and "result" (frames x rows x
/// columns x 3).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

// ---- the filters ----

/// tags.user[0]: the number of the frame, which goes on when the films are shown again (tags.time begins anew).
/// tags.user[1]: the film, as its place in the mosaic (components::Grid).
enum Tag : std::size_t { frame_tag = 0, place_tag = 1 };
inline std::uint64_t place_of(std::size_t film) noexcept {
    return components::Grid{static_cast<std::uint16_t>(film / tiles_across),
                            static_cast<std::uint16_t>(film % tiles_across), tiles_down, tiles_across}
        .tag();
}
inline std::size_t film_of(const Tags& tags) { return components::Grid::of(tags.user[place_tag]).number(); }

/// A source: the files of one film, one after the other. The program's films, or those of a folder (as save() writes
/// them), or made ones.
struct Camera {
    Output<std::uint8_t> jpeg{"jpeg"};
    Setting<int> film{"film", 0, {.least = 0, .most = tiles - 1}};
    PassSetting times;
    Setting<std::string> folder{"folder", ""};
    Setting<int> frames{"frames", 8, {.unit = "frames", .least = 1, .most = 4096}};
    Setting<int> rows{"rows", 720, {.unit = "pixels", .least = 1, .most = 1 << 14}},
        columns{"columns", 1280, {.unit = "pixels", .least = 1, .most = 1 << 14}};
    Setting<std::int64_t> seed{"seed", 1, {.least = 0, .most = 4294967295.0}};
    Camera() = default;
    Camera(const Films* films, std::size_t number) : films_{films} { film = static_cast<int>(number); }
    explicit Camera(const Films* films) : films_{films} {}
    void start();
    bool operator()();

  private:
    const Films* films_ = nullptr;
    std::shared_ptr<const Films> own_;  ///< all films, which the cameras of a program share
    std::size_t next_ = 0;
};

/// A file's pixels, at 1/divisor of the size: rows x 3 columns.
struct Decode {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> jpeg{"jpeg"};
    Output<std::uint8_t> rgb{"rgb"};
    Setting<int> divisor{"divisor", 1, {.least = 1, .most = 8}};
    Decode() = default;
    explicit Decode(int by) { divisor = by; }
    void operator()();

  private:
    JpegDecoder decoder_;
};

/// The files of a frame of all 16 films to a mosaic, by 16 chains of jobs: one decodes some rows of a file into the
/// local store, the next makes them smaller, into the film's tile, and so on. So no decoded frame ever lies in main
/// memory. Files of later frames may have come before.
struct Mosaic {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> jpeg{"jpeg"};
    Output<std::uint8_t> mosaic{"mosaic"};
    Setting<int> divisor{"divisor", 1, {.least = 1, .most = 4}};
    Spread tasks;
    Mosaic() = default;
    /// `result`: where mosaics are made, by their tags' time, of which each must come once, for a Store that knows the
    /// same place; none: in buffers.
    explicit Mosaic(int by, view<std::uint8_t, 3> result = {}) : result_{result} { divisor = by; }
    void operator()();

  private:
    struct Begun {
        std::uint64_t frame = 0;
        std::size_t count = 0;
        std::array<penstock::Buffer<std::uint8_t>, tiles> files;
    };
    using TileChain = Chain<std::span<const std::uint8_t>, view<std::uint8_t, 2>>;
    const TileChain& chain(const PictureSize& frame);
    view<std::uint8_t, 3> result_{};
    std::vector<Begun> begun_;
    JpegDecoder decoder_;
    std::map<std::tuple<std::size_t, std::size_t, int>, TileChain> chains_;  ///< of each size of frames, and divisor
};

/// Puts frames where they belong, in whatever order they come: into the program's memory, or into a file (.npy). At the
/// end: how many came.
struct Store {
    Input<std::uint8_t> frame{"frame"};
    Output<double> stored{"stored"};
    Setting<std::string> file{"file", ""};
    Store() = default;
    explicit Store(view<std::uint8_t, 3> result) : result_{result} {}
    void operator()();
    void finish();

  private:
    view<std::uint8_t, 3> result_{};
    std::vector<std::uint8_t> own_;
    std::size_t rows_ = 0, bytes_ = 0, count_ = 0;
};

/// The filters by name, for the graphs written down (jpip.xml, picture-in-picture.xml): with files at their ends, or
/// with the program's memory.
void add_components(Components& components);
void add_components(Components& components, const Films& films, view<std::uint8_t, 3> result);

}  // namespace penstock::apps::jpip
