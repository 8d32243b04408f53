// Pictures cut into tiles, and put together again.
#include <algorithm>
#include <deque>
#include <map>

#include "components/classes.hpp"
#include "components/picture.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

struct CutPicture {
    static constexpr bool may_be_copied = false;  // a firing writes several tiles, whose order would be lost
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> tile{"tile"};
    Setting<int> tile_rows{"tile-rows", 256, {.unit = "pixels", .least = 1, .most = 1 << 16}};
    Setting<int> tile_columns{"tile-columns", 256, {.unit = "pixels", .least = 1, .most = 1 << 16}};

    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        const auto from = rows_of(read);
        const std::size_t high = static_cast<std::size_t>(tile_rows.get()),
                          wide = static_cast<std::size_t>(tile_columns.get());
        const std::size_t down = (shape.rows + high - 1) / high, across = (shape.columns + wide - 1) / wide;
        if (down > Grid::most || across > Grid::most)
            throw UsageError("a picture of " + text_of(shape) + " would have more than 65535 tiles in one direction");
        for (std::size_t row = 0; row < down; ++row) {
            for (std::size_t column = 0; column < across; ++column) {
                const PictureShape part{std::min(high, shape.rows - row * high),
                                        std::min(wide, shape.columns - column * wide), shape.channels};
                auto made = make_picture(tile, part);
                const auto to = edit_rows(made);
                for (std::size_t i = 0; i < part.rows; ++i)
                    std::copy_n(from.row(row * high + i).data() + column * wide * shape.channels, to.extent(1),
                                to.row(i).data());
                const auto place = [](std::size_t value) { return static_cast<std::uint16_t>(value); };
                made.edit_tags() = read.tags();
                made.edit_tags().user[1] = Grid{place(row), place(column), place(down), place(across)}.tag();
                tile.write(std::move(made));
            }
        }
    }
};

/// Tiles come in any order, and those of later pictures may come before. Rows of tiles are as high as their tiles,
/// and columns as wide: so tiles may have been made smaller meanwhile.
template <class T>
struct Assemble {
    Input<T> tile{"tile"};
    Output<T> picture{"picture"};
    Setting<std::int64_t> most_pixels{
        "most-pixels",
        1 << 28,
        {.unit = "pixels", .least = 1, .doc = "Of a whole picture; a larger one is refused (`write-slide` takes it)."}};

    void operator()() {
        auto read = tile.read();
        const auto place = Grid::of(read.tags().user[1]);
        auto& queue = begun_[read.tags().user[0]];
        const auto has_room = [&](const Begun& each) { return !each.tiles[place.number()]; };
        const auto fits = [&](const Begun& each) { return each.tiles.size() == place.count(); };
        if (std::ranges::find_if_not(queue, fits) != queue.end())
            throw UsageError("tiles of one picture say that it has " + std::to_string(queue.front().tiles.size()) +
                             " and " + std::to_string(place.count()) + " tiles");
        auto at = std::ranges::find_if(queue, has_room);
        if (at == queue.end()) {
            queue.emplace_back().tiles.resize(place.count());
            at = std::prev(queue.end());
        }
        at->pixels += shape_of(read).pixels();
        if (at->pixels > static_cast<std::size_t>(most_pixels.get()))
            throw UsageError("a picture of " + std::to_string(place.rows) + " x " + std::to_string(place.columns) +
                             " tiles has more than " + std::to_string(most_pixels.get()) +
                             " pixels (`most-pixels`): make its tiles smaller first, or write it with `write-slide`");
        at->tiles[place.number()] = std::move(read);
        if (++at->there < place.count()) return;
        const auto number = begun_.find(at->tiles.front().tags().user[0]);
        write(place, *at);
        queue.erase(at);
        if (queue.empty()) begun_.erase(number);
    }

  private:
    struct Begun {
        std::vector<Buffer<T>> tiles;
        std::size_t there = 0, pixels = 0;
    };
    void write(const Grid& grid, Begun& all) {
        std::vector<std::size_t> top(grid.rows + 1u), left(grid.columns + 1u);
        const auto channels = shape_of(all.tiles.front()).channels;
        for (std::size_t i = 0; i < grid.rows; ++i) top[i + 1] = top[i] + shape_of(all.tiles[i * grid.columns]).rows;
        for (std::size_t j = 0; j < grid.columns; ++j) left[j + 1] = left[j] + shape_of(all.tiles[j]).columns;
        auto made = make_picture(picture, {top.back(), left.back(), channels});
        const auto to = edit_rows(made);
        for (std::size_t n = 0; n < all.tiles.size(); ++n) {
            const auto row = n / grid.columns, column = n % grid.columns;
            const PictureShape wanted{top[row + 1] - top[row], left[column + 1] - left[column], channels};
            if (shape_of(all.tiles[n]) != wanted)
                throw UsageError("the tile in row " + std::to_string(row) + ", column " + std::to_string(column) +
                                 " is of " + text_of(shape_of(all.tiles[n])) + ", and those beside it leave room for " +
                                 text_of(wanted));
            const auto from = rows_of(all.tiles[n]);
            for (std::size_t i = 0; i < wanted.rows; ++i)
                std::copy_n(from.row(i).data(), from.extent(1), to.row(top[row] + i).data() + left[column] * channels);
        }
        made.edit_tags() = all.tiles.front().tags();
        made.edit_tags().user[1] = 0;
        picture.write(std::move(made));
    }
    std::map<std::uint64_t, std::deque<Begun>> begun_;
};

struct Place {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> in{"in"};
    Output<std::uint8_t> out{"out"};
    Setting<int> row{"row", 0, {.least = 0, .most = 65534, .doc = "Of the grid, from 0."}};
    Setting<int> column{"column", 0, {.least = 0, .most = 65534}};
    Setting<int> rows{"rows", 1, {.least = 1, .most = 65535, .doc = "Of the whole grid."}};
    Setting<int> columns{"columns", 1, {.least = 1, .most = 65535}};

    void start() {
        if (row >= rows || column >= columns) throw UsageError("its place lies outside the grid");
    }
    void operator()() {
        auto read = in.read();
        const auto part = [](int value) { return static_cast<std::uint16_t>(value); };
        read.edit_tags().user[1] = Grid{part(row), part(column), part(rows), part(columns)}.tag();
        out.write(std::move(read));
    }
};

}  // namespace

void add_tiles(Components& components) {
    components.add<CutPicture>("cut", "A picture as tiles; user[1] is the place of each.");
    components.add<Assemble<std::uint8_t>>("assemble", "Tiles in any order as whole pictures.");
    components.add<Assemble<float>>("assemble:float32", "The same for pictures of float32.");
    components.add<Place>("place",
                          "Says where a picture lies in a grid, for `assemble`: as the tiles of one picture, those of "
                          "one number (user[0]) lie side by side.");
}

}  // namespace penstock::components
