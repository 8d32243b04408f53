// The filters of the conversion. Those at the ends work in the program's memory, where they are given any, and else in
// files that their settings name.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "apps/colour/colour.hpp"
#include "apps/settings.hpp"
#include "components/picture.hpp"

namespace penstock::apps::colour {

/// One tile in a firing; the tag `sequence` counts them, `user[0]` is the number of the tile.
struct Read {
    Output<std::uint8_t> rgb{"rgb"};
    PictureSettings input;
    PassSetting times;

    Read() = default;
    explicit Read(const Work* work) : picture_{&work->picture}, tiling_{work->tiling} {}
    void start() {
        if (picture_ != nullptr) return;
        own_ = std::make_unique<Picture>(input.picture());
        picture_ = own_.get();
        tiling_ = input.tiling();
    }
    bool operator()() {
        const std::size_t count = tiling_.count();
        if (next_ == times.count() * count) return false;
        const Tile tile = tiling_[next_ % count];
        auto buffer = rgb.make(tile.rows, tile.columns, 3);
        read_tile(*picture_, tile, components::edit_rows(buffer));
        buffer.edit_tags() = {.sequence = next_, .time = 0, .user = {next_ % count, 0}};
        rgb.write(std::move(buffer));
        ++next_;
        return true;
    }

  private:
    const Picture* picture_ = nullptr;
    std::unique_ptr<Picture> own_;
    Tiling tiling_{};
    std::size_t next_ = 0;
};

/// What `lab-with-statistics` says of a tile: pixels, means, sums of squared distances.
inline void put_statistics(const ChannelStatistics& from, std::span<double> to) {
    to[0] = static_cast<double>(from.pixels);
    std::ranges::copy(from.mean, to.begin() + 1);
    std::ranges::copy(from.squares, to.begin() + 4);
}
inline ChannelStatistics statistics_of(std::span<const double> from) {
    return {static_cast<std::uint64_t>(from[0]), {from[1], from[2], from[3]}, {from[4], from[5], from[6]}};
}

struct Convert {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> rgb{"rgb"};
    Output<float> lab{"lab"};
    Output<double> statistics{"statistics"};

    void operator()() {
        const auto from = rgb.read();
        auto to = components::make_picture(lab, components::shape_of(from));
        auto of_tile = statistics.make(7);
        ChannelStatistics found;
        kernels::rgb_to_lab_with_statistics(components::rows_of(from), components::edit_rows(to), {&found, 1});
        put_statistics(found, of_tile.edit());
        lab.write(std::move(to));
        statistics.write(std::move(of_tile));
    }
};

/// The numbers of the tiles, for `ConvertInPlace`.
struct Numbers {
    Output<std::uint64_t> tile{"tile"};

    Numbers(const Work* work, std::size_t passes) : count_{work->tiling.count()}, end_{passes * count_} {}
    bool operator()() {
        if (next_ == end_) return false;
        auto number = tile.make(1);
        number.edit()[0] = next_ % count_;
        number.edit_tags() = {.sequence = next_++, .time = 0, .user = {number[0], 0}};
        tile.write(std::move(number));
        return true;
    }

  private:
    std::size_t count_, end_, next_ = 0;
};

/// From the photograph into the result, in the program's own memory.
struct ConvertInPlace {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> tile{"tile"};
    Output<double> statistics{"statistics"};

    explicit ConvertInPlace(const Work* work) : work_{work} {}
    void operator()() {
        const auto number = tile.read();
        auto of_tile = statistics.make(7);
        ChannelStatistics found;
        convert_tile(*work_, number[0], found);
        put_statistics(found, of_tile.edit());
        statistics.write(std::move(of_tile));
    }

  private:
    const Work* work_;
};

/// Tiles come in any order, and so do their statistics. `moments`, written at the end: the means of L*, a* and b*, then
/// their variances.
struct Collect {
    static constexpr bool on_any_input = true;
    Input<float> lab{"lab", {.required = false}};  ///< open where they lie in their places already
    Input<double> statistics{"statistics"};
    Output<double> moments{"moments"};
    TileSettings size;
    Setting<std::string> file{"file", ""};

    Collect() = default;
    /// Into the work's result; `into`: what all tiles have together.
    Collect(const Work* work, ChannelStatistics* into)
        : lab_{work->lab}, tiling_{work->tiling}, into_{into}, tiles_(tiling_.count()) {}
    void start() {
        if (into_ != nullptr) return;
        tiling_ = size.tiling();
        tiles_.resize(tiling_.count());
        own_.resize(tiling_.rows * tiling_.columns * 3);
        lab_ = {own_.data(), {tiling_.rows, 3 * tiling_.columns}};
    }
    void operator()() {
        if (const auto tile = lab.read_if_any())
            place_tile(tiling_[tile->tags().user[0]], components::rows_of(*tile), lab_);
        if (const auto of_tile = statistics.read_if_any())
            tiles_[of_tile->tags().user[0]] = statistics_of(of_tile->span());
    }
    void finish() {
        const auto all = merged(tiles_);
        if (into_ != nullptr) *into_ = all;
        const std::size_t shape[] = {tiling_.rows, tiling_.columns, 3};
        if (!own_.empty() && !file.get().empty()) write_array<float>(file, shape, own_);
        auto found = moments.make(6);
        for (std::size_t c = 0; c < 3; ++c) found.edit()[c] = all.mean[c], found.edit()[3 + c] = all.variance(c);
        moments.write(std::move(found));
    }

  private:
    view<float, 2> lab_{};
    Tiling tiling_{};
    ChannelStatistics* into_ = nullptr;
    std::vector<float> own_;
    std::vector<ChannelStatistics> tiles_;
};

}  // namespace penstock::apps::colour
