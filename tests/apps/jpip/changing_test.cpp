// Pictures in pictures that come and go while a film runs.
#include "apps/jpip/changing.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "penstock/machine.hpp"

namespace jpip = penstock::apps::jpip;

TEST(JpipChanging, no_frame_is_lost_repeated_or_reordered_while_a_motion_detector_shows_and_hides_pictures) {
    penstock::Machine machine{{.targets = 2}};
    const std::uint64_t changes = std::getenv("PENSTOCK_LONG") != nullptr ? 10'000 : 800;
    const auto found = jpip::change_by_motion(machine, 4, changes);
    EXPECT_GE(found.changes, changes);
    EXPECT_EQ(found.wrong, 0u);
    EXPECT_GT(found.frames, 0u);
}

TEST(JpipChanging, nor_by_events_that_a_component_counts) {
    penstock::Machine machine{{.targets = 2}};
    const auto found = jpip::change_by_count(machine, 3, 200, 4), control = jpip::change_by_stopping(machine, 3, 20, 4);
    EXPECT_EQ(found.changes, 200u);
    EXPECT_EQ(found.frames, 201u * 4);
    EXPECT_EQ(found.wrong, 0u);
    EXPECT_EQ(control.frames, 21u * 4);
    EXPECT_EQ(control.wrong, 0u);
}
