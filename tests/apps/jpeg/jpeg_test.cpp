#include "apps/jpeg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

using penstock::view;
using penstock::apps::encode_jpeg;
using penstock::apps::JpegDecoder;
using penstock::apps::JpegError;
using penstock::apps::PictureSize;

std::vector<std::uint8_t> slope(std::size_t rows, std::size_t columns) {
    std::vector<std::uint8_t> rgb(rows * columns * 3);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
            for (std::size_t c = 0; c < 3; ++c)
                rgb[3 * (i * columns + j) + c] =
                    static_cast<std::uint8_t>(60 + 40 * c + 80 * i / rows + 30 * j / columns);
    return rgb;
}

view<std::uint8_t, 2> shaped(std::vector<std::uint8_t>& rgb, PictureSize size) {
    return {rgb.data(), {size.rows, 3 * size.columns}};
}

}  // namespace

TEST(Jpeg, what_was_encoded_is_decoded_again_nearly_as_it_was) {
    auto rgb = slope(37, 70);
    const auto jpeg = encode_jpeg(shaped(rgb, {37, 70}), 95);
    JpegDecoder decoder;
    ASSERT_EQ(decoder.size(jpeg), (PictureSize{37, 70}));
    std::vector<std::uint8_t> found(rgb.size());
    decoder.decode(jpeg, shaped(found, {37, 70}));
    for (std::size_t i = 0; i < rgb.size(); ++i) ASSERT_LE(std::abs(int{rgb[i]} - int{found[i]}), 12) << i;
}

TEST(Jpeg, a_picture_is_decoded_smaller_into_rows_that_lie_apart) {
    auto rgb = slope(64, 64);
    const auto jpeg = encode_jpeg(shaped(rgb, {64, 64}));
    JpegDecoder decoder;
    ASSERT_EQ(decoder.size(jpeg, 4), (PictureSize{16, 16}));
    std::vector<std::uint8_t> wall(20 * 100, 7);
    decoder.decode(jpeg, view<std::uint8_t, 2>{wall.data() + 100 + 3, 16, 48, 100}, 4);
    for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(wall[100 * (i + 1) + 2], 7);
        EXPECT_EQ(wall[100 * (i + 1) + 51], 7);
        EXPECT_NEAR(wall[100 * (i + 1) + 3], rgb[3 * 64 * (4 * i + 2)], 6) << i;
    }
}

TEST(Jpeg, what_is_no_picture_or_ends_early_is_refused_and_the_decoder_goes_on) {
    auto rgb = slope(64, 64);
    const auto jpeg = encode_jpeg(shaped(rgb, {64, 64}));
    JpegDecoder decoder;
    std::vector<std::uint8_t> found(rgb.size());
    const std::vector<std::uint8_t> text(100, 'x');
    EXPECT_THROW(decoder.size(text), JpegError);
    EXPECT_THROW(decoder.size({}), JpegError);
    EXPECT_THROW(decoder.decode(std::span(jpeg).first(jpeg.size() / 2), shaped(found, {64, 64})), JpegError);
    EXPECT_THROW(decoder.decode(jpeg, shaped(found, {64, 32})), penstock::UsageError);
    EXPECT_THROW(decoder.size(jpeg, 3), penstock::UsageError);
    EXPECT_THROW(decoder.decode(jpeg, [](PictureSize) -> view<std::uint8_t, 2> { throw std::bad_alloc(); }),
                 std::bad_alloc);
    EXPECT_NO_THROW(decoder.decode(jpeg, shaped(found, {64, 64})));
    EXPECT_THROW(encode_jpeg(view<const std::uint8_t, 2>{rgb.data(), {0, 0}}), JpegError);
    EXPECT_THROW(encode_jpeg(view<const std::uint8_t, 2>{rgb.data(), {2, 3 * 65501}}), JpegError);
}
