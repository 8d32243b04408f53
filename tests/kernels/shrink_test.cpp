#include "kernels/shrink.hpp"

#include <stdexcept>
#include <vector>

#include "kernels/images.hpp"

namespace {

using images::Image;
using penstock::view;
using penstock::kernels::shrink;

std::uint8_t mean(const Image<std::uint8_t>& picture, std::size_t i, std::size_t j, std::size_t c, std::size_t factor,
                  std::size_t channels) {
    double sum = 0, count = 0;
    for (std::size_t u = i * factor; u < std::min((i + 1) * factor, picture.rows()); ++u)
        for (std::size_t v = j * factor; v < std::min((j + 1) * factor, picture.columns() / channels); ++v) {
            sum += picture(u, v * channels + c);
            count += 1;
        }
    return static_cast<std::uint8_t>(sum / count + 0.5);
}

TEST(Shrink, takes_the_rounded_mean_of_each_square_also_of_those_that_the_edge_cuts) {
    for (const std::size_t channels : {1u, 2u, 3u, 4u})
        for (const std::size_t factor : {1u, 2u, 3u, 4u, 7u, 64u})
            for (const std::size_t columns : {1u, 8u, 30u, 1100u}) {
                const std::size_t rows = 10, out_rows = (rows + factor - 1) / factor,
                                  out_columns = (columns + factor - 1) / factor;
                const auto picture = images::random_image<std::uint8_t>(rows, columns * channels, 5);
                Image<std::uint8_t> out{out_rows, out_columns * channels};
                shrink(picture.all(), out.all(), factor, channels);
                EXPECT_TRUE(out.gaps_are_untouched());
                for (std::size_t i = 0; i < out_rows; ++i)
                    for (std::size_t j = 0; j < out_columns; ++j)
                        for (std::size_t c = 0; c < channels; ++c)
                            ASSERT_EQ(out(i, j * channels + c), mean(picture, i, j, c, factor, channels))
                                << channels << " channels, by " << factor << ", " << columns << " columns: " << i << ' '
                                << j;
            }
}

TEST(Shrink, of_white_is_white) {
    const std::vector<std::uint8_t> white(64 * 64, 255);
    std::uint8_t pixel = 0;
    shrink({white.data(), {64, 64}}, {&pixel, {1, 1}}, 64, 1);
    EXPECT_EQ(pixel, 255);
}

TEST(Shrink, refuses_what_does_not_fit) {
    std::vector<std::uint8_t> picture(8 * 12), out(100);
    const view<const std::uint8_t, 2> from{picture.data(), {8, 12}};
    EXPECT_THROW(shrink(from, {out.data(), {2, 3}}, 0, 3), std::invalid_argument);
    EXPECT_THROW(shrink(from, {out.data(), {1, 3}}, 65, 3), std::invalid_argument);
    EXPECT_THROW(shrink(from, {out.data(), {2, 4}}, 4, 3), std::invalid_argument);
    EXPECT_THROW(shrink(from, {out.data(), {2, 3}}, 4, 5), std::invalid_argument);
    EXPECT_NO_THROW(shrink(from, {out.data(), {2, 3}}, 4, 3));
}

}  // namespace
