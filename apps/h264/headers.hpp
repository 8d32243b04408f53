// What stands in a stream before the macroblocks: parameter sets and slice headers, as NAL units (7.3, annex B).
#pragma once

#include <cstdint>
#include <vector>

#include "apps/h264/bits.hpp"
#include "apps/h264/picture.hpp"
#include "apps/h264/settings.hpp"

namespace penstock::apps::h264 {

/// Pictures a second, as a fraction.
struct Rate {
    std::uint32_t pictures = 25, seconds = 1;
    bool operator==(const Rate&) const = default;
};

enum class Type : std::uint8_t { p, b, i };  // as slice_type counts them

/// A picture's place in the stream.
struct Place {
    Type type = Type::i;
    bool idr = false;          ///< nothing behind it refers to what is before it
    bool reference = true;     ///< others may refer to it
    std::uint32_t number = 0;  ///< frame_num, before it is cut to its bits
    std::uint32_t shown = 0;   ///< pictures since the last idr one that are shown before it
    std::uint32_t idr_count = 0;
    int quantiser = 26;
};

/// Bytes of a NAL unit without a start code.
using Unit = std::vector<std::uint8_t>;

inline constexpr int number_bits = 8, order_bits = 8;  ///< of frame_num and pic_order_cnt_lsb

Unit sequence_parameters(Size size, Rate rate, const EncoderSettings& settings);
Unit picture_parameters();
/// Puts a slice's header, which the macroblocks follow.
void put_slice_header(Bits& bits, const Place& place, const EncoderSettings& settings);
/// Ends the slice and makes it a unit.
Unit slice_unit(Bits& bits, const Place& place);

}  // namespace penstock::apps::h264
