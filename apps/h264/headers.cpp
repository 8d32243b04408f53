#include "apps/h264/headers.hpp"

#include <span>

namespace penstock::apps::h264 {
namespace {

constexpr int baseline = 66, main_profile = 77;

// Table A-1: macroblocks a second, macroblocks of a picture, macroblocks of the pictures that are kept; level_idc.
struct Level {
    std::uint64_t a_second, a_picture, kept;
    int number;
};
constexpr Level levels[] = {{1485, 99, 396, 10},           {3000, 396, 900, 11},          {6000, 396, 2376, 12},
                            {11880, 396, 2376, 13},        {19800, 792, 4752, 21},        {20250, 1620, 8100, 22},
                            {40500, 1620, 8100, 30},       {108000, 3600, 18000, 31},     {216000, 5120, 20480, 32},
                            {245760, 8192, 32768, 40},     {522240, 8704, 34816, 42},     {589824, 22080, 110400, 50},
                            {983040, 36864, 184320, 51},   {2073600, 36864, 184320, 52},  {4177920, 139264, 696320, 60},
                            {8355840, 139264, 696320, 61}, {16711680, 139264, 696320, 62}};

int level_of(Size size, Rate rate, std::uint64_t kept) {
    const auto blocks = static_cast<std::uint64_t>(size.macroblocks());
    const auto longest = static_cast<std::uint64_t>(std::max(size.across(), size.down()));
    for (const Level& level : levels)
        if (blocks * rate.pictures <= level.a_second * rate.seconds && blocks <= level.a_picture &&
            blocks * kept <= level.kept && longest * longest <= 8 * level.a_picture)
            return level.number;
    return 62;
}

// The bits as a NAL unit: no three bytes in it look like a start code (7.4.1).
Unit unit_of(int importance, int kind, Bits& bits) {
    const auto bytes = bits.bytes();
    Unit unit;
    unit.reserve(bytes.size() + bytes.size() / 64 + 8);
    unit.push_back(static_cast<std::uint8_t>(importance << 5 | kind));
    int zeros = 0;
    for (const std::uint8_t byte : bytes) {
        if (zeros == 2 && byte <= 3) {
            unit.push_back(3);
            zeros = 0;
        }
        unit.push_back(byte);
        zeros = byte == 0 ? zeros + 1 : 0;
    }
    return unit;
}

void put_usability(Bits& bits, Rate rate, const EncoderSettings& settings) {
    bits.put(0, 4);  // aspect ratio, overscan, video signal, places of chrominance: not said
    bits.put(1, 1);  // timing: two fields a picture
    bits.put(rate.seconds, 32);
    bits.put(2 * rate.pictures, 32);
    bits.put(1, 1);
    bits.put(0, 3);  // no hypothetical decoders, no pic_struct
    bits.put(1, 1);  // how much a decoder has to keep
    bits.put(1, 1);
    for (const std::uint32_t value : {0u, 0u, 13u, 11u}) bits.put_unsigned(value);
    bits.put_unsigned(settings.b_pictures > 0 ? 1 : 0);  // pictures that are shown later than they come
    bits.put_unsigned(settings.b_pictures > 0 ? 2 : 1);
}

}  // namespace

Unit sequence_parameters(Size size, Rate rate, const EncoderSettings& settings) {
    Bits bits;
    const bool both = settings.b_pictures > 0;
    bits.put(both ? main_profile : baseline, 8);
    bits.put(both ? 0x40 : 0xc0, 8);  // constraints: Main's; Baseline's too
    bits.put(static_cast<std::uint32_t>(level_of(size, rate, both ? 2 : 1)), 8);
    bits.put_unsigned(0);
    bits.put_unsigned(number_bits - 4);
    if (both) {
        bits.put_unsigned(0);
        bits.put_unsigned(order_bits - 4);
    } else {
        bits.put_unsigned(2);
    }
    bits.put_unsigned(both ? 2 : 1);  // reference pictures
    bits.put(0, 1);
    bits.put_unsigned(static_cast<std::uint32_t>(size.across() - 1));
    bits.put_unsigned(static_cast<std::uint32_t>(size.down() - 1));
    bits.put(1, 1);  // whole frames
    bits.put(1, 1);  // direct motion by quarters
    const auto right = static_cast<std::uint32_t>(16 * size.across() - size.columns) / 2;
    const auto below = static_cast<std::uint32_t>(16 * size.down() - size.rows) / 2;
    bits.put(right != 0 || below != 0, 1);
    if (right != 0 || below != 0)
        for (const std::uint32_t cut : {0u, right, 0u, below}) bits.put_unsigned(cut);
    bits.put(1, 1);
    put_usability(bits, rate, settings);
    bits.put_trailing();
    return unit_of(3, 7, bits);
}

Unit picture_parameters() {
    Bits bits;
    bits.put_unsigned(0);
    bits.put_unsigned(0);
    bits.put(0, 2);                                    // CAVLC; no order of fields
    for (int i = 0; i < 3; ++i) bits.put_unsigned(0);  // one slice group, one picture in each list
    bits.put(0, 3);                                    // no weights
    for (int i = 0; i < 3; ++i) bits.put_signed(0);    // quantisers from 26, chrominance without offset
    bits.put(1, 1);                                    // slices say how their edges are filtered
    bits.put(0, 2);
    bits.put_trailing();
    return unit_of(3, 8, bits);
}

void put_slice_header(Bits& bits, const Place& place, const EncoderSettings& settings) {
    bits.put_unsigned(0);
    bits.put_unsigned(static_cast<std::uint32_t>(place.type) + 5);  // all slices of the picture are of the type
    bits.put_unsigned(0);
    bits.put(place.number & ((1u << number_bits) - 1), number_bits);
    if (place.idr) bits.put_unsigned(place.idr_count & 0xffff);
    if (settings.b_pictures > 0) bits.put(2 * place.shown & ((1u << order_bits) - 1), order_bits);
    if (place.type == Type::b) bits.put(1, 1);  // direct motion from neighbours
    if (place.type != Type::i) bits.put(0, 1);  // as many reference pictures as the parameters say
    if (place.type != Type::i) bits.put(0, place.type == Type::b ? 2 : 1);  // in their order
    if (place.reference) bits.put(0, place.idr ? 2 : 1);
    bits.put_signed(place.quantiser - 26);
    bits.put_unsigned(settings.loop_filter ? 0 : 1);
    if (settings.loop_filter) bits.put(0b11, 2);  // no offsets: two times se(0)
}

Unit slice_unit(Bits& bits, const Place& place) {
    bits.put_trailing();
    return unit_of(place.reference ? 2 : 0, place.idr ? 5 : 1, bits);
}

}  // namespace penstock::apps::h264
