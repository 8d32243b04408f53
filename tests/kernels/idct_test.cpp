#include "kernels/idct.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "kernels/images.hpp"

namespace {

using images::Image;
using namespace penstock::kernels;

/// The orthonormal transform from its definition, in double precision.
template <class T>
std::array<double, 64> defined(const T* coefficients) {
    std::array<double, 64> values{};
    const auto weight = [](std::size_t n, std::size_t k) {
        return (k == 0 ? std::sqrt(0.125) : 0.5) *
               std::cos(static_cast<double>((2 * n + 1) * k) * std::numbers::pi / 16);
    };
    for (std::size_t i = 0; i < 64; ++i)
        for (std::size_t k = 0; k < 64; ++k) values[i] += weight(i / 8, k / 8) * weight(i % 8, k % 8) * coefficients[k];
    return values;
}

TEST(Idct, of_floats_agrees_with_the_definition_in_double_precision_on_every_instruction_set) {
    const Image<float> numbers = images::random_image<float>(1, 64 * 9, 1);
    const std::vector<float> coefficients(numbers.all().data(), numbers.all().data() + 64 * 9);
    std::vector<float> first(64 * 9);
    idct_8x8(coefficients, first);
    for (std::size_t block = 0; block < 9; ++block) {
        const auto wanted = defined(&coefficients[64 * block]);
        double norm = 0;
        for (std::size_t k = 0; k < 64; ++k) norm += std::pow(coefficients[64 * block + k], 2);
        for (std::size_t k = 0; k < 64; ++k) ASSERT_NEAR(first[64 * block + k], wanted[k], 1e-6 * std::sqrt(norm));
    }
    images::with_each_instruction_set([&] {
        std::vector<float> again(coefficients);
        idct_8x8(again, again);  // over itself
        EXPECT_EQ(again, first);
    });
}

TEST(Idct, of_pixels_is_rounded_limited_and_put_where_the_block_belongs) {
    std::mt19937 generator{3};
    std::normal_distribution<double> value{0, 90};
    std::vector<std::int16_t> coefficients(24 * 40);
    for (auto& coefficient : coefficients) coefficient = static_cast<std::int16_t>(value(generator));
    coefficients[0] = 32767;  // far too bright
    coefficients[64] = -32768;
    images::with_each_instruction_set([&] {
        Image<std::uint8_t> pixels{24, 40};
        idct_8x8_pixels(coefficients, pixels.all());
        ASSERT_TRUE(pixels.gaps_are_untouched());
        for (std::size_t block = 0; block < 15; ++block) {
            const auto wanted = defined(&coefficients[64 * block]);
            for (std::size_t k = 0; k < 64; ++k)
                ASSERT_NEAR(pixels(block / 5 * 8 + k / 8, block % 5 * 8 + k % 8),
                            std::clamp(wanted[k] + 128, 0.0, 255.0), 0.501);
        }
    });
}

TEST(Idct, refuses_parts_of_blocks) {
    std::vector<float> numbers(65);
    EXPECT_THROW(idct_8x8(numbers, numbers), std::invalid_argument);
    const std::vector<std::int16_t> coefficients(64);
    Image<std::uint8_t> narrow{16, 4}, large{16, 16};
    EXPECT_THROW(idct_8x8_pixels(coefficients, narrow.all()), std::invalid_argument);
    EXPECT_THROW(idct_8x8_pixels(coefficients, large.all()), std::invalid_argument);
}

}  // namespace
