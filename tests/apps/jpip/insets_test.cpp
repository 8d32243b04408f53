#include "apps/jpip/insets.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::view;
namespace jpip = penstock::apps::jpip;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t rows = 37, columns = 50, frames = 12;

const jpip::Films& films() {
    static const jpip::Films made = [] {
        const Bytes photograph = jpip::generated_photograph(60, 70, 2);
        return jpip::make_films(jpip::tiles, {rows, columns, frames, 4}, {photograph.data(), {60, 70 * 3}});
    }();
    return made;
}

TEST(Insets, every_screen_has_the_bits_of_what_it_says_that_it_shows) {
    constexpr std::size_t behind = 6;
    for (const std::bitset<jpip::tiles> shown :
         {0b0000'0000'0000'0000ul, 0b1000'0000'0010'0001ul, 0b1111'1111'1111'1111ul}) {
        for (const auto& [targets, copies] : {std::pair{1, 1}, std::pair{3, 2}}) {
            Machine machine{{.targets = targets}};
            Bytes result(frames * rows * columns * 3), wanted(rows * columns * 3);
            const auto screens =
                jpip::insets(films(), behind, shown, {result.data(), {frames, rows, columns * 3}}, machine, copies);
            ASSERT_EQ(screens.size(), frames);
            std::bitset<jpip::tiles> seen;
            for (std::size_t f = 0; f < frames; ++f) {
                EXPECT_EQ(screens[f].frame, f);
                jpip::draw(films(), behind, screens[f], {wanted.data(), {rows, columns * 3}});
                EXPECT_EQ(Bytes(result.begin() + static_cast<std::ptrdiff_t>(f * wanted.size()),
                                result.begin() + static_cast<std::ptrdiff_t>((f + 1) * wanted.size())),
                          wanted)
                    << "frame " << f;
                for (const auto& [film, frame] : screens[f].pictures) seen.set(film);
            }
            EXPECT_EQ(seen & ~shown, 0u);
        }
    }
}

TEST(Insets, refuse_events_that_mean_nothing_to_them) {
    using penstock::Event;
    using Number = std::int64_t;
    jpip::Insert insert{{}};
    EXPECT_NO_THROW(insert.on_event({"show", Number{15}}));
    EXPECT_NO_THROW(insert.on_event({"hide", Number{0}}));
    EXPECT_NO_THROW(insert.on_event({"turn", Number{3}}));  // an application may have events of its own
    for (const Event& event : {Event{"show", Number{16}}, Event{"hide", Number{-1}}, Event{"show", std::string{"3"}}})
        EXPECT_THROW(insert.on_event(event), penstock::UsageError) << event.name;
}

}  // namespace
