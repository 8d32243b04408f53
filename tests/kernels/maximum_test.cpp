#include "kernels/maximum.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/images.hpp"

namespace {

using images::Image;
using penstock::view;
using penstock::kernels::maximum;

template <class T>
class Maximum : public testing::Test {};
using Pixels = testing::Types<std::uint8_t, float>;
TYPED_TEST_SUITE(Maximum, Pixels);

TYPED_TEST(Maximum, takes_the_greater_pixel_and_touches_nothing_else) {
    for (const std::size_t columns : {1u, 7u, 16u, 33u, 64u, 100u, 131u}) {
        const auto a = images::random_image<TypeParam>(3, columns, 1),
                   b = images::random_image<TypeParam>(3, columns, 2);
        images::with_each_instruction_set([&] {
            Image<TypeParam> out{3, columns};
            maximum<TypeParam>(a.all(), b.all(), out.all());
            for (std::size_t i = 0; i < 3; ++i)
                for (std::size_t j = 0; j < columns; ++j)
                    ASSERT_EQ(out(i, j), std::max(a(i, j), b(i, j))) << i << ' ' << j;
            EXPECT_TRUE(out.gaps_are_untouched());
        });
    }
}

TYPED_TEST(Maximum, may_write_over_what_it_reads) {
    const auto a = images::random_image<TypeParam>(2, 77, 1);
    auto b = images::random_image<TypeParam>(2, 77, 2), wanted = b;
    maximum<TypeParam>(a.all(), b.all(), wanted.all());
    maximum<TypeParam>(a.all(), b.all(), b.all());
    EXPECT_EQ(b, wanted);
}

TEST(MaximumOf, of_something_and_what_is_no_number_is_no_number) {
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    images::with_each_instruction_set([&] {
        for (const std::size_t columns : {3u, 40u}) {
            std::vector<float> a(columns, 1.0f), b(columns, 2.0f), out(columns);
            a[1] = none;
            b[2] = none;
            maximum<float>(view<float, 2>{a.data(), {1, columns}}, view<float, 2>{b.data(), {1, columns}},
                           view<float, 2>{out.data(), {1, columns}});
            EXPECT_EQ(out[0], 2.0f);
            EXPECT_TRUE(std::isnan(out[1]));
            EXPECT_TRUE(std::isnan(out[2]));
        }
    });
}

TEST(MaximumOf, refuses_shapes_that_differ_and_pixels_that_lie_apart) {
    std::vector<float> a(12), b(12), out(12);
    const view<float, 2> three_by_four{a.data(), {3, 4}}, four_by_three{b.data(), {4, 3}};
    EXPECT_THROW(maximum<float>(three_by_four, four_by_three, view<float, 2>{out.data(), {4, 3}}),
                 std::invalid_argument);
    EXPECT_THROW(
        maximum<float>(three_by_four, view<float, 2>{b.data(), {3, 4}, {1, 3}}, view<float, 2>{out.data(), {3, 4}}),
        std::invalid_argument);
}

}  // namespace
