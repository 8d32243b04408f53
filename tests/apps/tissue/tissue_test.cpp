#include "apps/tissue/tissue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "apps/tissue/stages.hpp"
#include "components/files/picture_file.hpp"
#include "penstock/cluster.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::view;
using penstock::apps::Picture;
using penstock::apps::Settings;
using penstock::apps::spots;
using penstock::apps::Team;
using penstock::apps::Tiling;
namespace tissue = penstock::apps::tissue;

void expect_equal(const tissue::Analysis& found, const tissue::Analysis& wanted) {
    EXPECT_EQ(found.features, wanted.features);
    EXPECT_EQ(found.classes, wanted.classes);
    EXPECT_TRUE(std::ranges::equal(found.overview.rgb.span(), wanted.overview.rgb.span()));
}

/// In TIFF; in JPEG where Penstock was built without it.
tissue::Slide stored_without_loss(const Picture& picture, const Tiling& tiling) {
    try {
        return {picture, tiling, 90, tissue::Stored::tiff};
    } catch (const penstock::components::PictureError&) {
        return {picture, tiling};
    }
}

std::string text() {
    std::string made = "classes a b c # names\n";
    const auto line = [&](const char* word, std::size_t count, const char* value) {
        made += word;
        for (std::size_t i = 0; i < count; ++i) made += std::string(" ") + value;
        made += "\n";
    };
    line("mean", 22, "1");
    line("scale", 22, "2");
    line("weights", 22, "0");
    line("weights", 22, "0.5");
    line("weights", 22, "-1");
    line("bias", 3, "0.25");
    return made;
}

}  // namespace

// targets, copies
class TissueOn : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(TissueOn, every_number_of_copies_and_targets_gives_the_bits_of_one_thread) {
    const auto [targets, copies] = GetParam();
    const Picture picture = spots(150, 210, 5);
    const Tiling tiling{150, 210, 32, 40};
    const tissue::Slide slide{picture, tiling};
    tissue::Analysis one{tiling}, by_hand{tiling}, streams{tiling};
    tissue::serial(slide, one);
    Team team{targets + 1};
    tissue::hand(slide, by_hand, team);
    expect_equal(by_hand, one);
    Machine machine{{.targets = targets}};
    tissue::streamed(slide, streams, machine, copies, 2);
    expect_equal(streams, one);
    tissue::Slide decoded = slide;
    decoded.decode();
    tissue::Analysis without_decoding{tiling}, streams_without{tiling};
    tissue::serial(decoded, without_decoding);
    expect_equal(without_decoding, one);
    tissue::streamed(decoded, streams_without, machine, copies, 2);
    expect_equal(streams_without, one);
    tissue::Analysis as_written{tiling};
    tissue::written(slide, as_written, machine, copies, 2);
    expect_equal(as_written, one);
    const auto errors = tissue::errors_of(slide, streams, 6);
    EXPECT_LE(errors.colour, 1e-4);
    EXPECT_EQ(errors.pattern, 0);
}

TEST_P(TissueOn, as_published_luminance_goes_by_pointer_on_the_same_thread_and_scheduled_apart_gives_the_same_bits) {
    const auto [targets, copies] = GetParam();
    const Tiling tiling{150, 210, 32, 40};
    tissue::Slide slide = stored_without_loss(spots(150, 210, 5), tiling);
    tissue::Analysis one{tiling}, grey{tiling};
    tissue::published_serial(slide, one);
    tissue::serial(slide, grey);
    EXPECT_NE(one.features, grey.features);
    Machine machine{{.targets = targets}};
    for (const bool decoded : {false, true}) {
        if (decoded) slide.decode();
        tissue::Analysis streams{tiling}, apart{tiling};
        const auto handed_on = tissue::published(slide, streams, machine, copies, 2);
        expect_equal(streams, one);
        EXPECT_EQ(handed_on.tiles, 2 * tiling.count());
        EXPECT_EQ(handed_on.posted, 0u);
        EXPECT_GT(handed_on.right_behind, 0u);
        tissue::decoupled(slide, apart, machine, 2);
        expect_equal(apart, one);
    }
    const auto errors = tissue::published_errors_of(slide, one, 6);
    EXPECT_LE(errors.colour, 1e-4);
    EXPECT_EQ(errors.pattern, 0);
}

TEST(Tissue, as_published_it_runs_without_targets_too) {
    const Tiling tiling{150, 210, 32, 40};
    const tissue::Slide slide = stored_without_loss(spots(150, 210, 5), tiling);
    tissue::Analysis one{tiling}, streams{tiling}, apart{tiling};
    tissue::published_serial(slide, one);
    Machine machine{{.targets = 0}};
    tissue::published(slide, streams, machine, 1);
    expect_equal(streams, one);
    tissue::decoupled(slide, apart, machine);
    expect_equal(apart, one);
}

TEST(Tissue, as_published_its_tiles_may_be_decoded_on_other_nodes) {
    const Tiling tiling{150, 210, 32, 40};
    const tissue::Slide slide = stored_without_loss(spots(150, 210, 5), tiling);
    tissue::Analysis one{tiling};
    tissue::published_serial(slide, one);
    for (const int targets : {0, 2}) {
        penstock::ClusterOptions options;
        options.nodes = {{"decoders", 2}};
        options.machine.targets = targets;
        options.node_machine.targets = 1;
        penstock::Cluster cluster(options);
        tissue::Analysis nodes{tiling};
        tissue::published(slide, nodes, cluster, 2);
        expect_equal(nodes, one);
    }
}

TEST(Tissue, tiles_of_tiff_lose_nothing) {
    const Picture picture = spots(96, 80, 5);
    const Tiling tiling{96, 80, 32, 40};
    tissue::Slide slide = stored_without_loss(picture, tiling);
    if (slide.encoded(0)[0] == 0xff) GTEST_SKIP() << "built without TIFF";
    slide.decode();
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const auto found = slide.pixels(t), wanted = picture.part(tiling[t]);
        for (std::size_t i = 0; i < found.extent(0); ++i)
            EXPECT_TRUE(std::ranges::equal(found.row(i), wanted.row(i))) << t << ", row " << i;
    }
}

TEST_P(TissueOn, filters_that_come_and_go_while_it_runs_lose_nothing_and_change_no_bit) {
    const auto [targets, copies] = GetParam();
    const Tiling tiling{150, 210, 32, 40};
    const tissue::Slide slide{spots(150, 210, 5), tiling};
    tissue::Analysis one{tiling};
    tissue::serial(slide, one);
    penstock::Machine machine{{.targets = targets}};
    const auto changed = tissue::changing(slide, one, machine, copies);
    EXPECT_GE(changed.tiles, 5 * tiling.count());
    EXPECT_EQ(changed.tiles % tiling.count(), 0u);
    EXPECT_EQ(changed.wrong_verdicts, 0u);
    EXPECT_EQ(changed.lost_or_repeated, 0u);
    expect_equal(changed.again, one);
}

INSTANTIATE_TEST_SUITE_P(machines, TissueOn, testing::Combine(testing::Values(1, 2), testing::Values(1, 2, 5)));

TEST(Tissue, a_flat_tile_has_its_colour_no_skewness_and_one_pattern) {
    std::vector<std::uint8_t> rgb(16 * 16 * 3, 255);
    tissue::Scratch<float> lab;
    tissue::PatternScratch scratch;
    std::array<double, 12> colour{};
    std::array<double, 10> pattern{};
    tissue::colour_features_of(view<const std::uint8_t, 2>{rgb.data(), {16, 48}}, lab, colour);
    tissue::pattern_features_of(view<const std::uint8_t, 2>{rgb.data(), {16, 48}}, scratch, pattern);
    EXPECT_NEAR(colour[0], 100, 1e-4);
    for (const std::size_t f : {1, 2, 3, 5, 6, 7}) EXPECT_EQ(colour[f], 0) << f;
    // Bilinear weights need not add up to 1 exactly, so some diagonal neighbours of equal pixels are rounded below
    // them.
    double sum = 0;
    for (const double share : pattern) sum += share;
    EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Tissue, shrinking_takes_means_of_what_there_is_and_a_class_is_drawn_around_its_tile) {
    Picture picture{6, 5};
    for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t j = 0; j < 15; ++j) picture.all()(i, j) = static_cast<std::uint8_t>(10 * i + j / 3);
    Picture small{2, 2};
    tissue::shrink(picture.all(), small.all());
    EXPECT_EQ(small.all()(0, 0), 17);  // rows 0..3, columns 0..3: 15 + 1.5, rounded
    EXPECT_EQ(small.all()(0, 3), 19);  // column 4
    EXPECT_EQ(small.all()(1, 3), 49);  // rows 4 and 5, column 4
    Picture overview{2, 4};
    const penstock::apps::Tile tile{0, 8, 6, 5};
    tissue::draw_tile(tile, small.all(), overview);
    EXPECT_EQ(overview.all()(1, 9), 49);
    EXPECT_EQ(overview.all()(1, 0), 0);
    tissue::draw_class(tile, 2, overview);
    EXPECT_EQ(overview.all()(1, 9), 230);
}

TEST(Tissue, a_classifier_is_read_from_text_and_takes_the_greatest_score) {
    const auto classifier = tissue::parse_classifier(text());
    EXPECT_EQ(classifier.names[2], "c");
    tissue::Features of;
    of.fill(3);
    EXPECT_DOUBLE_EQ(classifier.scores(of)[1], 0.25 + 22 * 0.5);
    EXPECT_EQ(classifier.classify(of), 1u);
    of.fill(-1);
    EXPECT_EQ(classifier.classify(of), 2u);
    of.fill(1);
    EXPECT_EQ(classifier.classify(of), 0u);  // all equal: the first
    EXPECT_EQ(tissue::trained_classifier().names[0], "background");
}

TEST(Tissue, a_text_that_is_no_classifier_is_refused) {
    EXPECT_THROW(tissue::parse_classifier(""), penstock::UsageError);
    EXPECT_THROW(tissue::parse_classifier(text() + "weights 1\n"), penstock::UsageError);
    EXPECT_THROW(tissue::parse_classifier(text() + "more 1\n"), penstock::UsageError);
    EXPECT_THROW(tissue::parse_classifier("bias 1 2\n"), penstock::UsageError);
    EXPECT_THROW(tissue::parse_classifier("bias 1 2 3 4\n"), penstock::UsageError);
    auto zero = text();
    zero.replace(zero.find("scale 2"), 7, "scale 0");
    EXPECT_THROW(tissue::parse_classifier(zero), penstock::UsageError);
}

TEST(Tissue, tiles_that_the_overview_cannot_divide_are_refused) {
    Machine machine{{.targets = 1}};
    Settings settings;
    settings.block_rows = 30;
    EXPECT_THROW(tissue::run(machine, settings, {}), penstock::apps::SettingError);
}
