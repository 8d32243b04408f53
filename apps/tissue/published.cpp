// The analysis as the paper on DataCutter-Lite has it: CIELAB, then the pattern of its luminance on the same target,
// without a queue between the two; and its rival, whose main loop schedules both apart.
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "apps/graphs.hpp"
#include "apps/tissue/filters.hpp"
#include "penstock/cluster.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace penstock::apps::tissue {
namespace {

struct ToLab {
    Input<std::uint8_t> rgb{"rgb"};
    Output<float> lab{"lab"};
    Output<double> features{"features"};

    void operator()() {
        const auto tile = rgb.read();
        auto image = lab.make(tile.extent(0), tile.extent(1));
        auto found = features.make(colour_features);
        lab_and_features_of(tile.image(), image.edit_image(), found.edit());
        features.write(std::move(found));
        image.edit_tags() = tile.tags();
        lab.write(std::move(image));
    }
};

struct PatternOfLuminance {
    Input<float> lab{"lab"};
    Output<double> features{"features"};
    PatternScratch scratch;

    void operator()() {
        const auto image = lab.read();
        auto found = features.make(pattern_features);
        luminance_features_of(image.image(), scratch, found.edit());
        features.write(std::move(found));
    }
};

/// Both parts of a tile's features come in any order: from several filters, some of which overtake others.
struct ClassifyBoth {
    static constexpr bool on_any_input = true;
    Input<double> colour{"colour"}, pattern{"pattern"};
    Output<Verdict> verdict{"verdict"};

    void operator()() {
        if (const auto part = colour.read_if_any()) add(*part, 0);
        if (const auto part = pattern.read_if_any()) add(*part, colour_features);
    }

  private:
    struct Half {
        Features features{};
        int parts = 0;
    };
    void add(const penstock::Buffer<double>& part, std::size_t at) {
        const auto number = part.tags().sequence;
        Half& half = halves_[number];
        std::ranges::copy(part.span(), half.features.begin() + static_cast<std::ptrdiff_t>(at));
        if (++half.parts < 2) return;
        auto found = verdict.make(1);
        found.edit_tags() = part.tags();
        found.edit()[0] = {half.features, trained_classifier().classify(half.features)};
        verdict.write(std::move(found));
        halves_.erase(number);
    }
    std::map<std::uint64_t, Half> halves_;
};

/// Tiles that another node has decoded come here once, however many filters read them.
struct Arrive {
    Input<std::uint8_t> decoded{"decoded"};
    Output<std::uint8_t> rgb{"rgb"};

    void operator()() { rgb.write(decoded.read()); }
};

/// What is behind the decoder.
void add_analysis(Graph& graph, Output<std::uint8_t>& rgb, const Slide& slide, Analysis& analysis,
                  const Machine& machine, int copies, std::size_t passes) {
    auto& shrink = graph.add<Shrink>("shrink", {.copies = copies});
    auto& classify = graph.add<ClassifyBoth>("classify");
    auto& overview = graph.add<Overview>("overview", {}, &slide, &analysis);
    // What is found must never have to wait for room, or the filter that found it would have its next buffer queued.
    const std::size_t room = passes * slide.tiling().count();
    const int pairs = std::max(1, machine.targets());
    for (int pair = 0; pair < pairs; ++pair) {
        FilterOptions place;
        if (machine.targets() > 0) place.targets = {pair};
        const std::string number = " " + std::to_string(pair);
        auto& colour = graph.add<ToLab>("colour" + number, place);
        auto& pattern = graph.add<PatternOfLuminance>("pattern" + number, place);
        graph.connect(rgb, colour.rgb, {.name = "tiles"});
        graph.connect(colour.lab, pattern.lab);
        graph.connect(colour.features, classify.colour, {.capacity = room});
        graph.connect(pattern.features, classify.pattern, {.capacity = room});
    }
    graph.connect(rgb, shrink.rgb);
    graph.connect(shrink.small, overview.small);
    graph.connect(classify.verdict, overview.verdict);
}

HandedOn to_the_end(Run run) {
    run.finish();
    note_graph(run);
    HandedOn all;
    for (const StreamStatistics& each : run.statistics().streams) {
        if (!each.to.ends_with(".lab")) continue;
        all.tiles += each.buffers;
        all.posted += each.posted;
        all.right_behind += each.right_behind;
    }
    return all;
}

/// A call's, because each thread that runs one needs memory of its own.
void luminance_features(view<const float, 2> lab, std::span<double> shares) {
    thread_local PatternScratch scratch;
    luminance_features_of(lab, scratch, shares);
}

}  // namespace

void published_serial(const Slide& slide, Analysis& analysis) {
    TileScratch scratch;
    for (std::size_t t = 0; t < slide.tiling().count(); ++t) {
        const auto rgb = decoded_tile(slide, t, scratch);
        const auto lab = scratch.lab.shaped(rgb.extent(0), rgb.extent(1));
        Features& found = analysis.features[t];
        lab_and_features_of(rgb, lab, std::span(found).first(colour_features));
        luminance_features_of(lab, scratch.pattern, std::span(found).last(pattern_features));
        finish_tile(slide, t, rgb, scratch.small, analysis);
    }
}

HandedOn published(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes) {
    Graph graph;
    add_analysis(graph, add_tiles(graph, slide, copies, passes), slide, analysis, machine, copies, passes);
    return to_the_end(graph.start(machine));
}

HandedOn published(const Slide& slide, Analysis& analysis, Cluster& cluster, int copies) {
    Graph graph;
    auto& read = graph.add<Read>("read", {}, &slide);
    auto& decode = graph.add<Decode>("decode", {.copies = copies, .nodes = "decoders"});
    auto& arrive = graph.add<Arrive>("arrive");
    graph.connect(read.jpeg, decode.jpeg);
    graph.connect(decode.rgb, arrive.decoded);
    add_analysis(graph, arrive.rgb, slide, analysis, cluster.machine(), 1, 1);
    return to_the_end(graph.start(cluster));
}

void decoupled(const Slide& slide, Analysis& analysis, Machine& machine, std::size_t passes) {
    enum class Stage { free, colour, pattern };
    struct Place {
        Stage stage = Stage::free;
        std::size_t tile = 0;
        Handle call;
        TileScratch scratch;
        view<const std::uint8_t, 2> rgb;
        view<float, 2> lab;
    };
    /// What was issued works in its place's memory, also where a tile cannot be decoded.
    struct Places : std::deque<Place> {
        using std::deque<Place>::deque;
        ~Places() {
            for (Place& place : *this) try {
                    place.call.wait(help);
                } catch (...) {  // it was told, or another failure is on its way
                }
        }
    };
    Places places(static_cast<std::size_t>(2 * (machine.targets() + 1)));
    const std::size_t count = slide.tiling().count();
    constexpr std::size_t looks_between_yields = 256;  // where there are more threads than processors
    std::size_t next = 0, done = 0, looks = 0;
    // One step of one tile; false: it waits for its call.
    const auto step = [&](Place& place) {
        if (place.stage != Stage::free && !place.call.ready()) return false;
        switch (place.stage) {
            case Stage::free:
                if (next == passes * count) return false;
                place.tile = next++ % count;
                place.rgb = decoded_tile(slide, place.tile, place.scratch);
                place.lab = place.scratch.lab.shaped(place.rgb.extent(0), place.rgb.extent(1));
                place.call = machine.call<lab_and_features_of>(
                    in(place.rgb), out(place.lab),
                    out(std::span(analysis.features[place.tile]).first(colour_features)));
                place.stage = Stage::colour;
                return true;
            case Stage::colour:
                place.call.wait();  // throws what went wrong
                place.call = machine.call<luminance_features>(
                    in(view<const float, 2>(place.lab)),
                    out(std::span(analysis.features[place.tile]).last(pattern_features)));
                place.stage = Stage::pattern;
                return true;
            case Stage::pattern:
                place.call.wait();
                finish_tile(slide, place.tile, place.rgb, place.scratch.small, analysis);
                place.stage = Stage::free;
                ++done;
                return true;
        }
        return false;
    };
    while (done < passes * count) {
        bool moved = false;
        for (Place& place : places) moved = step(place) || moved;
        if (moved) continue;
        if (machine.targets() == 0) machine.barrier();  // nobody else runs what was issued
        else if (++looks % looks_between_yields != 0) relax();
        else std::this_thread::yield();
    }
}

}  // namespace penstock::apps::tissue
