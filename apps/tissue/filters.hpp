// The filters of the analysis. The tag `user[0]` of each buffer is the number of the tile that it comes from. Those at
// the ends work in the program's memory, where they are given any, and else in files that their settings name.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "apps/settings.hpp"
#include "apps/tissue/stages.hpp"
#include "components/picture.hpp"
#include "penstock/filter.hpp"

namespace penstock {
class Components;
class Graph;
}  // namespace penstock

namespace penstock::apps::tissue {

/// The encoded tiles of a slide, one a firing, as often as it is to be read.
struct Read {
    Output<std::uint8_t> jpeg{"jpeg"};
    PictureSettings input;
    PassSetting times;
    Setting<int> quality{"quality", 90, {.least = 1, .most = 100}};

    Read() = default;
    explicit Read(const Slide* of) : slide_{of} {}
    /// Over and over; once it is told that it is enough, to the end of the slide and once more.
    Read(const Slide* of, const std::atomic<bool>* enough) : slide_{of}, enough_{enough} {}
    void start() {
        if (slide_ != nullptr) return;
        own_ = std::make_shared<Slide>(input.picture(), input.tiling(), quality);
        slide_ = own_.get();
    }
    bool operator()() {
        const std::size_t count = slide_->tiling().count();
        if (enough_ == nullptr) end_ = times.count() * count;
        else if (end_ == endless && enough_->load(std::memory_order_relaxed))
            end_ = (next_ + count - 1) / count * count + count;
        if (next_ == end_) return false;
        const std::size_t tile = next_ % count;
        auto buffer = jpeg.wrap(slide_->encoded(tile), own_);
        buffer.edit_tags() = {.sequence = next_++, .time = 0, .user = {tile, 0}};
        jpeg.write(std::move(buffer));
        return true;
    }

  private:
    static constexpr std::size_t endless = ~std::size_t{0};
    const Slide* slide_ = nullptr;
    std::shared_ptr<Slide> own_;
    const std::atomic<bool>* enough_ = nullptr;
    std::size_t next_ = 0, end_ = endless;
};

/// The pixels of a decoded slide, a tile a firing.
struct ReadPixels {
    Output<std::uint8_t> rgb{"rgb"};

    ReadPixels(const Slide* of, std::size_t passes) : slide_{of}, end_{passes * of->tiling().count()} {}
    bool operator()() {
        if (next_ == end_) return false;
        const std::size_t tile = next_ % slide_->tiling().count();
        auto buffer = rgb.wrap(slide_->pixels(tile));
        buffer.edit_tags() = {.sequence = next_++, .time = 0, .user = {tile, 0}};
        rgb.write(std::move(buffer));
        return true;
    }

  private:
    const Slide* slide_;
    std::size_t next_ = 0, end_;
};

struct Decode {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> jpeg{"jpeg"};
    Output<std::uint8_t> rgb{"rgb"};
    TileDecoder decoder;

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

/// What overviews make that come and go: one after the other has its own.
struct Screens {
    struct Screen {
        explicit Screen(const Tiling& tiling) : analysis{tiling} {}
        Analysis analysis;
        Log log;
    };
    std::deque<Screen> all;  ///< written by the overview that is there
};

/// Small tiles and verdicts come in any order; a class is drawn when its tile is there.
struct Overview {
    static constexpr bool on_any_input = true;
    Input<std::uint8_t> small{"small"};
    Input<Verdict> verdict{"verdict"};
    Output<double> counts{"counts"};  ///< at the end: how many tiles are background, stroma, stained
    TileSettings size;
    Setting<std::string> picture{"picture", ""}, features_file{"features", ""}, classes_file{"classes", ""};

    Overview() = default;
    Overview(const Slide* slide, Analysis* into) : tiling_{slide->tiling()}, analysis_{into} {}
    Overview(const Slide* slide, Screens* screens) : tiling_{slide->tiling()}, screens_{screens} {}
    void start() {
        if (screens_ != nullptr) {
            auto& screen = screens_->all.emplace_back(tiling_);
            analysis_ = &screen.analysis;
            log_ = &screen.log;
        } else if (analysis_ == nullptr) {
            tiling_ = size.tiling();
            own_ = std::make_unique<Analysis>(tiling_);
            analysis_ = own_.get();
        }
        drawn_.resize(tiling_.count());
        known_.resize(tiling_.count());
    }
    void operator()() {
        if (const auto tile = small.read_if_any()) {
            const auto number = tile->tags().user[0];
            draw_tile(tiling_[number], components::rows_of(*tile), analysis_->overview);
            drawn_[number] = true;
            show(number);
        }
        if (const auto found = verdict.read_if_any()) {
            const auto number = found->tags().user[0];
            analysis_->features[number] = (*found)[0].features;
            analysis_->classes[number] = (*found)[0].of_class;
            known_[number] = true;
            if (log_ != nullptr) log_->push_back(found->tags().sequence);
            show(number);
        }
    }
    void finish() {
        auto found = counts.make(3);
        std::ranges::fill(found.edit(), 0.0);
        for (std::size_t number = 0; number < known_.size(); ++number)
            if (known_[number] && analysis_->classes[number] < 3) found.edit()[analysis_->classes[number]] += 1;
        counts.write(std::move(found));
        if (own_ != nullptr) save();
    }

  private:
    void show(std::size_t number) {
        if (drawn_[number] && known_[number])
            draw_class(tiling_[number], analysis_->classes[number], analysis_->overview);
    }
    void save() const {
        const std::size_t down = tiling_.count() / tiling_.across(), tiles[] = {down, tiling_.across()},
                          vectors[] = {tiling_.count(), features};
        if (!picture.get().empty()) write_picture(picture, own_->overview);
        if (!features_file.get().empty())
            write_array<double>(features_file, vectors, {own_->features.front().data(), tiling_.count() * features});
        if (!classes_file.get().empty()) write_array<std::uint32_t>(classes_file, tiles, own_->classes);
    }

    Tiling tiling_{};
    Analysis* analysis_ = nullptr;
    Screens* screens_ = nullptr;
    std::unique_ptr<Analysis> own_;
    Log* log_ = nullptr;
    std::vector<bool> drawn_, known_;
};

/// In the overview's place.
struct Count {
    Input<Verdict> verdict{"verdict"};
    Count() = default;
    explicit Count(Log* noting) : log_{noting} {}
    void operator()() {
        const auto found = verdict.read();
        if (log_ != nullptr) log_->push_back(found.tags().sequence);
    }

  private:
    Log* log_ = nullptr;
};

/// Compares each verdict with the one that is wanted.
struct Compared {
    std::atomic<std::size_t> tiles{0};
    std::size_t wrong = 0;  ///< for whoever has waited for the end of the run
};

/// Beside the overview: counts verdicts, and compares them, where there is something to compare them with.
struct Compare {
    Input<Verdict> verdict{"verdict"};
    Compare() = default;
    Compare(const Analysis* wanted, Compared* into) : wanted_{wanted}, into_{into} {}
    void operator()() {
        const auto found = verdict.read();
        if (into_ == nullptr) return;
        const auto number = found.tags().user[0];
        if (found[0].features != wanted_->features[number] || found[0].of_class != wanted_->classes[number])
            ++into_->wrong;
        into_->tiles.fetch_add(1, std::memory_order_release);
    }

  private:
    const Analysis* wanted_ = nullptr;
    Compared* into_ = nullptr;
};

/// By name what is between the ends and in no general class.
void add_stages(Components& components);

/// Adds what makes the tiles of a slide, decoded by so many copies where it is not decoded; where they come from.
Output<std::uint8_t>& add_tiles(Graph& graph, const Slide& slide, int copies, std::size_t passes);

}  // namespace penstock::apps::tissue
