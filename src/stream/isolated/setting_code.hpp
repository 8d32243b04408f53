// Values of settings as bytes.
#pragma once

#include <string>
#include <variant>

#include "penstock/carried.hpp"
#include "penstock/port.hpp"

namespace penstock::streaming {

inline void encode_setting(carried::Encoder& to, const SettingValue& value) {
    carried::encode(to, static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& each) { carried::encode(to, each); }, value);
}

/// Throws Error when the bytes are those of no setting.
inline SettingValue decode_setting(carried::Decoder& from) {
    switch (carried::decode<std::uint8_t>(from)) {
        case 0:
            return carried::decode<bool>(from);
        case 1:
            return carried::decode<std::int64_t>(from);
        case 2:
            return carried::decode<double>(from);
        case 3:
            return carried::decode<std::string>(from);
        default:
            carried::Decoder::incomplete();
    }
}

}  // namespace penstock::streaming
