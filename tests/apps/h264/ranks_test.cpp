#include "apps/h264/ranks.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "../ranks.hpp"
#include "apps/h264/h264.hpp"
#include "apps/picture.hpp"

namespace {

using namespace penstock::apps::h264;

Clip clip(int columns, int rows, std::size_t count) {
    const auto made =
        penstock::apps::spots(static_cast<std::size_t>(rows) + 64, static_cast<std::size_t>(columns) + 64, 3);
    return made_clip(made.all(), {columns, rows}, count, 2);
}

class H264Ranks : public app_tests::RanksTest {};

// Bands of one macroblock and of many, more ranks than columns, pictures of one row; motion within the neighbour's band
// and across several; samples, which begin at whole bytes.
TEST_P(H264Ranks, give_the_bytes_of_the_sequential_encoder) {
    const std::map<std::string, std::string> kinds[] = {{{"effort", "fast"}},
                                                        {{"range", "16"}, {"b_pictures", "2"}, {"period", "5"}},
                                                        {{"effort", "thorough"}, {"quantiser", "2"}, {"range", "128"}}};
    const std::array<int, 2> counts[] = {{3, 8}, {1, 2}, {2, 5}, {3, 4}};
    std::size_t turn = 0;
    for (const auto& [columns, rows, count] : {std::array{16, 48, 3}, std::array{150, 16, 4}, std::array{98, 82, 6}}) {
        const Clip film = clip(columns, rows, static_cast<std::size_t>(count));
        for (const auto& kind : kinds) {
            Stream wanted, found;
            serial(job_of(film, settings_of(kind), wanted, false));
            for (const auto variant : {Variant::shared, Variant::bulk, Variant::push, Variant::multicast})
                for (const int ranks : counts[turn++ % std::size(counts)]) {
                    EXPECT_GT(over_ranks(film, settings_of(kind), variant, on(ranks, ranks < 4 ? 2 : 1), found), 0.0);
                    EXPECT_TRUE(found.bytes == wanted.bytes)
                        << name(variant) << ", " << ranks << " ranks, " << columns << " x " << rows;
                    EXPECT_EQ(found.sizes, wanted.sizes);
                }
        }
    }
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(H264Ranks);

}  // namespace
