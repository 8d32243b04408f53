// The conversion as a graph of filters.
#include "apps/colour/colour.hpp"
#include "apps/graphs.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::colour {
namespace {

/// One tile in a firing; the tag `sequence` counts them, `user[0]` is the number of the tile.
struct Read {
    Output<std::uint8_t> rgb{"rgb"};
    const Work* work;
    std::size_t passes, next = 0;

    Read(const Work* of, std::size_t times) : work{of}, passes{times} {}
    bool operator()() {
        const std::size_t count = work->tiling.count();
        if (next == passes * count) return false;
        const Tile tile = work->tiling[next % count];
        auto buffer = rgb.make(tile.rows, 3 * tile.columns);
        read_tile(*work, next % count, buffer.edit_image());
        buffer.edit_tags() = {.sequence = next, .time = 0, .user = {next % count, 0}};
        rgb.write(std::move(buffer));
        ++next;
        return true;
    }
};

struct Convert {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> rgb{"rgb"};
    Output<float> lab{"lab"};
    Output<ChannelStatistics> statistics{"statistics"};

    void operator()() {
        const auto from = rgb.read();
        auto to = lab.make(from.extent(0), from.extent(1));
        auto of_tile = statistics.make(1);
        kernels::rgb_to_lab_with_statistics(from.image(), to.edit_image(), of_tile.edit());
        lab.write(std::move(to));
        statistics.write(std::move(of_tile));
    }
};

/// Tiles come in any order, and so do their statistics.
struct Collect {
    static constexpr bool on_any_input = true;
    Input<float> lab{"lab"};
    Input<ChannelStatistics> statistics{"statistics"};
    const Work* work;
    std::vector<ChannelStatistics> tiles;

    explicit Collect(const Work* of) : work{of}, tiles(of->tiling.count()) {}
    void operator()() {
        if (const auto tile = lab.read_if_any()) place_tile(*work, tile->tags().user[0], tile->image());
        if (const auto of_tile = statistics.read_if_any()) tiles[of_tile->tags().user[0]] = (*of_tile)[0];
    }
};

}  // namespace

ChannelStatistics streamed(const Work& work, Machine& machine, int copies, std::size_t passes) {
    Graph graph;
    auto& read = graph.add<Read>("read", {}, &work, passes);
    auto& convert = graph.add<Convert>("convert", {.copies = copies});
    auto& collect = graph.add<Collect>("collect", {}, &work);
    graph.connect(read.rgb, convert.rgb);
    graph.connect(convert.lab, collect.lab);
    graph.connect(convert.statistics, collect.statistics);
    auto run = graph.start(machine);
    run.finish();
    note_graph(run);
    return merged(collect.tiles);
}

}  // namespace penstock::apps::colour
