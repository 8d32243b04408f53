// The encoder over ranks: each has a band of columns of the picture (RSP 4.3).
//
// A band's row of macroblocks begins when the left neighbour has ended the same row and the right one has begun the row
// above: so all ranks encode one picture at once, about a row apart, and the slice is one. What is final of a picture
// goes to all that may need it for the next one.
#pragma once

#include <cstdint>
#include <string_view>

#include "apps/h264/clip.hpp"
#include "apps/ranks.hpp"

namespace penstock::apps::h264 {

/// How pixels get to those that need them.
enum class Variant : std::uint8_t {
    shared,     ///< pictures lie in global memory, and ranks tell one another how far they are
    bulk,       ///< each rank has pictures of its own; what others need is gathered, copied at once, and unpacked there
    push,       ///< ... is stored into their pictures, where it belongs
    multicast,  ///< the same, and final rows are read once and stored into all others' pictures
};

/// The word for it in reports.
std::string_view name(Variant variant) noexcept;

/// Encodes the clip by ranks, into `stream` (without decoded pictures). Returns seconds. Throws as serial() and spmd().
double over_ranks(const Clip& clip, const EncoderSettings& settings, Variant variant, const RankOptions& options,
                  Stream& stream);

}  // namespace penstock::apps::h264
