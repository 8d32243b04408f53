// What sites of one run say to one another: the kinds of frames, and what their heads hold.
#pragma once

#include <string>
#include <tuple>

#include "penstock/port.hpp"
#include "wire/frame.hpp"

namespace penstock::streaming {

/// In the head of each frame of a run stands first which run.
enum class FarKind : std::uint16_t {
    data = wire::number(wire::FrameKind::first_of_users),
    close,   ///< the link's last
    credit,  ///< the reader has taken buffers
    ended,   ///< a copy of a filter has ended: it reads no more, and all that it wrote has arrived
    done,    ///< what came of a buffer has left the node
    event,
    stop,                  ///< everybody ends without firing again
    close_all,             ///< all sources end
    first_of_cluster = 64  ///< those of the layer above
};

struct DataHead {
    std::uint32_t run;
    std::uint32_t link;
    std::uint64_t order;
    std::uint64_t written;
    Tags tags;
    std::array<std::uint64_t, Block::max_rank> extents;
    std::uint32_t rank;
    std::uint16_t tagged;
    std::uint16_t skip;  ///< a turn in the order in which nothing was written
};
struct LinkHead {
    std::uint32_t run;
    std::uint32_t link;
};
struct CreditHead {
    std::uint32_t run;
    std::uint32_t link;
    std::uint64_t taken;
    std::uint64_t taken_bytes;
    std::uint64_t ran_dry;
};
struct RunHead {
    std::uint32_t run;
};
struct DoneHead {
    std::uint32_t run;
    std::uint32_t link;
    std::uint64_t order;
};
struct StationHead {
    static constexpr std::uint32_t everybody = ~std::uint32_t{0};  ///< of an event that a filter has sent
    std::uint32_t run;
    std::uint32_t station;
};

/// A setting's value as bytes: which of the four, and it.
using CarriedValue = std::tuple<std::uint64_t, std::int64_t, double, std::string>;
inline CarriedValue carried_value(const SettingValue& value) {
    CarriedValue made{value.index(), 0, 0.0, {}};
    if (const auto* const yes = std::get_if<bool>(&value)) std::get<1>(made) = *yes;
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) std::get<1>(made) = *integer;
    if (const auto* const real = std::get_if<double>(&value)) std::get<2>(made) = *real;
    if (const auto* const text = std::get_if<std::string>(&value)) std::get<3>(made) = *text;
    return made;
}
inline SettingValue setting_value(const CarriedValue& value) {
    switch (std::get<0>(value)) {
        case 0:
            return std::get<1>(value) != 0;
        case 1:
            return std::get<1>(value);
        case 2:
            return std::get<2>(value);
        default:
            return std::get<3>(value);
    }
}

constexpr std::uint16_t number(FarKind kind) noexcept { return static_cast<std::uint16_t>(kind); }

}  // namespace penstock::streaming
