#include "kernels/stronger.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/images.hpp"

namespace {

using images::Image;
using penstock::view;
using penstock::kernels::stronger;

TEST(Stronger, takes_the_greater_magnitude_and_touches_nothing_else) {
    for (const std::size_t columns : {1u, 7u, 8u, 33u, 100u}) {
        const auto a = images::random_image<float>(3, columns, 1), b = images::random_image<float>(3, columns, 2);
        images::with_each_instruction_set([&] {
            Image<float> out{3, columns};
            stronger(a.all(), b.all(), out.all());
            for (std::size_t i = 0; i < 3; ++i)
                for (std::size_t j = 0; j < columns; ++j)
                    ASSERT_EQ(out(i, j), std::max(std::abs(a(i, j)), std::abs(b(i, j)))) << i << ' ' << j;
            EXPECT_TRUE(out.gaps_are_untouched());
        });
    }
}

TEST(Stronger, of_something_and_what_is_no_number_is_no_number) {
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    images::with_each_instruction_set([&] {
        for (const std::size_t columns : {3u, 40u}) {
            std::vector<float> a(columns, -3.0f), b(columns, 2.0f);
            a[1] = none;
            b[2] = none;
            const view<float, 2> left{a.data(), {1, columns}}, right{b.data(), {1, columns}};
            stronger(left, right, right);
            EXPECT_EQ(b[0], 3.0f);
            EXPECT_TRUE(std::isnan(b[1]));
            EXPECT_TRUE(std::isnan(b[2]));
        }
    });
}

TEST(Stronger, refuses_shapes_that_differ) {
    std::vector<float> a(12), b(12);
    EXPECT_THROW(
        stronger(view<float, 2>{a.data(), {3, 4}}, view<float, 2>{b.data(), {3, 4}}, view<float, 2>{b.data(), {4, 3}}),
        std::invalid_argument);
}

}  // namespace
