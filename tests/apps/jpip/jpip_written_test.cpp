// The films as they are written down: mosaics, and a picture in the picture that events show and hide.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "apps/jpip/insets.hpp"
#include "apps/written.hpp"
#include "penstock/machine.hpp"

using namespace penstock;
namespace jpip = penstock::apps::jpip;

namespace {

constexpr std::size_t rows = 48, columns = 64, frames = 5;

jpip::Films films() {
    const auto photograph = jpip::generated_photograph(100, 120, 1);
    return jpip::make_films(jpip::tiles, {rows, columns, frames, 1}, {photograph.data(), {100, 120 * jpip::channels}});
}

}  // namespace

TEST(JpipWritten, mosaics_are_those_of_the_serial_form) {
    const auto all = films();
    const auto size = jpip::mosaic_of({rows, columns});
    const std::size_t bytes = frames * size.rows * size.columns * jpip::channels;
    for (const auto& [targets, copies] : {std::pair{0, "1"}, std::pair{2, "3"}}) {
        Machine machine{{.targets = targets}};
        std::vector<std::uint8_t> wanted(bytes), found(bytes);
        const auto shaped = [&](std::vector<std::uint8_t>& result) {
            return view<std::uint8_t, 3>{result.data(), {frames, size.rows, size.columns * jpip::channels}};
        };
        jpip::serial(all, 2, shaped(wanted));
        auto components = apps::silent_components();
        jpip::add_components(components, all, shaped(found));
        apps::application(
            "jpip", {.settings = {{"copies", copies}, {"divisor", "2"}, {"passes", "2"}}, .components = &components})
            .start(machine)
            .finish();
        EXPECT_EQ(found, wanted) << targets;
    }
}

TEST(JpipWritten, every_screen_is_a_frame_with_the_picture_or_without_while_events_toggle_it) {
    const auto all = films();
    Machine machine{{.targets = 2}};
    std::vector<std::uint8_t> found(frames * rows * columns * jpip::channels);
    const view<std::uint8_t, 3> screens{found.data(), {frames, rows, columns * jpip::channels}};
    auto components = apps::silent_components();
    jpip::add_components(components, all, screens);
    auto run = apps::application(
                   "picture-in-picture",
                   {.settings = {{"passes", "1000000"}, {"behind", "2"}, {"film", "7"}}, .components = &components})
                   .start(machine);
    const auto shown = [&] {
        std::uint64_t screens_so_far = 0;
        for (const auto& filter : run.run().statistics().filters)
            if (filter.name == "store") screens_so_far = filter.firings;
        return screens_so_far;
    };
    for (int sent = 0; sent < 7; ++sent) {
        run.send({"inset", true});
        run.settle();
        EXPECT_EQ(run.is_on("inset"), sent % 2 == 0);
        for (const auto before = shown(); shown() < before + 2 * frames;) std::this_thread::yield();
    }
    run.run().close();
    run.finish();
    std::vector<std::uint8_t> wanted(rows * columns * jpip::channels);
    const view<std::uint8_t, 2> screen{wanted.data(), {rows, columns * jpip::channels}};
    for (std::size_t f = 0; f < frames; ++f) {
        const auto begin = found.begin() + static_cast<std::ptrdiff_t>(f * wanted.size());
        bool fits = false;
        for (std::size_t g = 0; g <= frames && !fits; ++g) {
            jpip::Screen composed{f, {}};
            if (g < frames) composed.pictures.emplace_back(7, g);
            jpip::draw(all, 2, composed, screen);
            fits = std::equal(wanted.begin(), wanted.end(), begin);
        }
        EXPECT_TRUE(fits) << "frame " << f;
    }
}
