// The filters of the analysis. The tag `user[0]` of each buffer is the number of the tile that it comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/tissue/stages.hpp"
#include "penstock/filter.hpp"
#include "penstock/graph.hpp"

namespace penstock::apps::tissue {

/// Writes tile number `next` of a slide that is read again and again.
inline void write_tile(const Slide& slide, std::size_t next, Output<std::uint8_t>& jpeg) {
    const std::size_t tile = next % slide.tiling().count();
    const auto bytes = slide.jpeg(tile);
    auto buffer = jpeg.reserve(bytes.size());
    buffer.append(bytes);
    buffer.edit_tags() = {.sequence = next, .time = 0, .user = {tile, 0}};
    jpeg.write(std::move(buffer));
}

/// The JPEG tiles of a slide, one a firing, as often as it is to be read.
struct Read {
    Output<std::uint8_t> jpeg{"jpeg"};
    const Slide* slide;
    std::size_t passes, next = 0;

    Read(const Slide* of, std::size_t times) : slide{of}, passes{times} {}
    bool operator()() {
        if (next == passes * slide->tiling().count()) return false;
        write_tile(*slide, next++, jpeg);
        return true;
    }
};

struct Decode {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> jpeg{"jpeg"};
    Output<std::uint8_t> rgb{"rgb"};
    JpegDecoder decoder;

    void operator()() {
        const auto bytes = jpeg.read();
        penstock::Buffer<std::uint8_t> pixels;
        decoder.decode(bytes.span(), [&](PictureSize size) {
            pixels = rgb.make(size.rows, 3 * size.columns);
            return pixels.edit_image();
        });
        rgb.write(std::move(pixels));
    }
};

struct Colour {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> rgb{"rgb"};
    Output<double> features{"features"};
    Scratch<float> lab;

    void operator()() {
        const auto tile = rgb.read();
        auto found = features.make(colour_features);
        colour_features_of(tile.image(), lab, found.edit());
        features.write(std::move(found));
    }
};

struct Pattern {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> rgb{"rgb"};
    Output<double> features{"features"};
    PatternScratch scratch;

    void operator()() {
        const auto tile = rgb.read();
        auto found = features.make(pattern_features);
        pattern_features_of(tile.image(), scratch, found.edit());
        features.write(std::move(found));
    }
};

struct Shrink {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> rgb{"rgb"};
    Output<std::uint8_t> small{"small"};

    void operator()() {
        const auto tile = rgb.read();
        auto made = small.make(shrunk(tile.extent(0)), 3 * shrunk(tile.extent(1) / 3));
        shrink(tile.image(), made.edit_image());
        small.write(std::move(made));
    }
};

/// What is known of a tile at the end.
struct Verdict {
    Features features;
    std::uint32_t of_class;
};

/// Both inputs bring the tiles in the same order.
struct Classify {
    Input<double> colour{"colour"}, pattern{"pattern"};
    Output<Verdict> verdict{"verdict"};

    void operator()() {
        const auto first = colour.read(), last = pattern.read();
        auto found = verdict.make(1);
        Verdict& made = found.edit()[0];
        std::ranges::copy(first.span(), made.features.begin());
        std::ranges::copy(last.span(), made.features.begin() + colour_features);
        made.of_class = trained_classifier().classify(made.features);
        verdict.write(std::move(found));
    }
};

/// Which verdicts came to a filter: their numbers in the stream of tiles.
using Log = std::vector<std::uint64_t>;

/// Small tiles and verdicts come in any order; a class is drawn when its tile is there.
struct Overview {
    static constexpr bool on_any_input = true;
    Input<std::uint8_t> small{"small"};
    Input<Verdict> verdict{"verdict"};
    const Slide* slide;
    Analysis* analysis;
    Log* log;  ///< or null
    std::vector<bool> drawn, known;

    Overview(const Slide* of, Analysis* into, Log* noting = nullptr)
        : slide{of}, analysis{into}, log{noting}, drawn(of->tiling().count()), known(drawn.size()) {}
    void operator()() {
        if (const auto tile = small.read_if_any()) {
            const auto number = tile->tags().user[0];
            draw_tile(slide->tiling()[number], tile->image(), analysis->overview);
            drawn[number] = true;
            show(number);
        }
        if (const auto found = verdict.read_if_any()) {
            const auto number = found->tags().user[0];
            analysis->features[number] = (*found)[0].features;
            analysis->classes[number] = (*found)[0].of_class;
            known[number] = true;
            if (log != nullptr) log->push_back(found->tags().sequence);
            show(number);
        }
    }

  private:
    void show(std::size_t number) {
        if (drawn[number] && known[number]) draw_class(slide->tiling()[number], analysis->classes[number], analysis->overview);
    }
};

/// All of them, joined behind an output that gives the tiles. `overview_of`: what the overview is made of.
struct Filters {
    Decode& decode;
    Colour& colour;
    Pattern& pattern;
    Shrink& shrink;
    Classify& classify;
    Overview& overview;

    template <class... Arguments>
    Filters(GraphBuilder& graph, Output<std::uint8_t>& tiles, int copies, Arguments... overview_of)
        : decode{graph.add<Decode>("decode", {.copies = copies})},
          colour{graph.add<Colour>("colour", {.copies = copies})},
          pattern{graph.add<Pattern>("pattern", {.copies = copies})},
          shrink{graph.add<Shrink>("shrink", {.copies = copies})},
          classify{graph.add<Classify>("classify")},
          overview{graph.add<Overview>("overview", {}, overview_of...)} {
        graph.connect(tiles, decode.jpeg);
        graph.connect(decode.rgb, colour.rgb);
        graph.connect(decode.rgb, pattern.rgb);
        graph.connect(decode.rgb, shrink.rgb);
        graph.connect(colour.features, classify.colour, {.ordered = true});
        graph.connect(pattern.features, classify.pattern, {.ordered = true});
        graph.connect(shrink.small, overview.small);
        graph.connect(classify.verdict, overview.verdict);
    }
};

}  // namespace penstock::apps::tissue
