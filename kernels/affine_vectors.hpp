// The vector code of affine transformations. Included where it is compiled for an instruction set, into that one's
// namespace, and so without an include guard.
using Lanes = hn::CappedTag<float, strip_columns>;
using Integers = hn::RebindToSigned<Lanes>;

// A pixel and the one to its right, as one word.
template <class T>
using Pair = std::conditional_t<sizeof(T) == 1, std::uint16_t, std::uint64_t>;
static_assert(std::endian::native == std::endian::little);

// 64 pixels at a time, in three steps, each a loop of its own: where they come from (vectors), the pixels around (one
// load after the other: gather instructions took three times as long on a Zen 3), and what is between them (vectors).
struct Chunk {
    static constexpr std::size_t strips = 8, pixels = strips * strip_columns;

    alignas(32) std::int32_t row[strips], column[strips];  // of the strip's first pixel
    alignas(32) float down[strips], right[strips];
    alignas(32) std::int32_t offset[pixels];  // from that, or of the window where the border may matter; in elements
    alignas(32) float below[pixels], beside[pixels];
    // What the border makes of where they come from: of the window, in elements; below 0 where it is the constant.
    alignas(32) std::int32_t upper[pixels], lower[pixels], left[pixels], right_one[pixels];

    HWY_INLINE void place(const StripRow& strip_row, std::size_t first) {
        const hn::CappedTag<double, strips> d;
        const hn::Rebind<std::int32_t, decltype(d)> integers;
        const hn::Rebind<float, decltype(d)> singles;
        const auto origin = hn::Set(d, static_cast<double>(strip_row.first_column + first * strip_columns));
        for (std::size_t s = 0; s < strips; s += hn::Lanes(d)) {
            const auto at =
                hn::Add(origin, hn::Mul(hn::Iota(d, static_cast<double>(s)), hn::Set(d, double{strip_columns})));
            const auto along = [&](double start, double step, std::int32_t* whole, float* rest) HWY_ATTR {
                const auto value = hn::Add(hn::Set(d, start), hn::Mul(hn::Set(d, step), at));
                const auto floor = hn::Floor(value);
                hn::StoreU(hn::DemoteTo(integers, floor), integers, whole + s);
                hn::StoreU(hn::DemoteTo(singles, hn::Sub(value, floor)), singles, rest + s);
            };
            along(strip_row.row_of_first, strip_row.row_a_column, row, down);
            along(strip_row.column_of_first, strip_row.column_a_column, column, right);
        }
    }

    // Calls each(k, rows, columns) for vectors of pixels, which come from that far from their strips' first.
    // Whole numbers stand in the last bits of their sum with 1.5 * 2^23, so that none has to be converted: an
    // instruction and the three that make its result what C++ says of numbers that are too large.
    template <Interpolation interpolation, class Each>
    HWY_INLINE void spread(const StripRow& strip_row, std::size_t count, Each each) {
        const Lanes d;
        const Integers integers;
        const float half = interpolation == Interpolation::nearest ? 0.5f : 0.0f;
        const auto high_bits = hn::Set(d, 12'582'912.0f);
        const auto integer = [&](hn::Vec<Lanes> whole) HWY_ATTR {
            return hn::Sub(hn::BitCast(integers, hn::Add(whole, high_bits)), hn::BitCast(integers, high_bits));
        };
        for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
            const std::size_t s = k / strip_columns;
            const auto lane = hn::Iota(d, static_cast<float>(k % strip_columns));
            const auto y =
                hn::Add(hn::Add(hn::Set(d, down[s]), hn::Mul(lane, hn::Set(d, strip_row.down))), hn::Set(d, half));
            const auto x =
                hn::Add(hn::Add(hn::Set(d, right[s]), hn::Mul(lane, hn::Set(d, strip_row.right))), hn::Set(d, half));
            const auto whole_y = hn::Floor(y), whole_x = hn::Floor(x);
            each(k, integer(whole_y), integer(whole_x));
            if constexpr (interpolation == Interpolation::bilinear) {
                hn::Store(hn::Sub(y, whole_y), d, below + k);
                hn::Store(hn::Sub(x, whole_x), d, beside + k);
            }
        }
    }

    HWY_INLINE hn::Vec<Lanes> mix(std::size_t k, hn::Vec<Lanes> a, hn::Vec<Lanes> b, hn::Vec<Lanes> c,
                                  hn::Vec<Lanes> e) const {
        const Lanes d;
        const auto to_right = hn::Load(d, beside + k), to_below = hn::Load(d, below + k);
        const auto upper = hn::Add(a, hn::Mul(to_right, hn::Sub(b, a))),
                   lower = hn::Add(c, hn::Mul(to_right, hn::Sub(e, c)));
        return hn::Add(upper, hn::Mul(to_below, hn::Sub(lower, upper)));
    }
};

HWY_INLINE void interpolate(const Chunk& chunk, const std::uint32_t* squares, std::uint8_t* out, std::size_t count) {
    const Lanes d;
    const Integers integers;
    const hn::Rebind<std::uint8_t, Lanes> bytes;
    const auto mask = hn::Set(integers, 255);
    for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
        const auto square = hn::BitCast(integers, hn::Load(hn::RebindToUnsigned<Lanes>(), squares + k));
        const auto low = [&](auto word) HWY_ATTR { return hn::ConvertTo(d, hn::And(word, mask)); };
        const auto value = chunk.mix(k, low(square), low(hn::ShiftRight<8>(square)), low(hn::ShiftRight<16>(square)),
                                     low(hn::ShiftRight<24>(square)));
        hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(value)), bytes, out + k);
    }
}

HWY_INLINE void interpolate(const Chunk& chunk, const float* upper, const float* lower, float* out, std::size_t count) {
    const Lanes d;
    for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
        hn::Vec<Lanes> a, b, c, e;
        hn::LoadInterleaved2(d, upper + 2 * k, a, b);
        hn::LoadInterleaved2(d, lower + 2 * k, c, e);
        hn::StoreU(chunk.mix(k, a, b, c, e), d, out + k);
    }
}

// Strips of a row of the result whose pixels all have their neighbours within the window.
template <class T, Interpolation interpolation>
std::size_t affine_strips(const StripRow& row, const T* pixels, std::ptrdiff_t pitch, T* out, std::size_t strips) {
    Chunk chunk;
    for (std::size_t first = 0; first < strips; first += Chunk::strips, out += Chunk::pixels) {
        const std::size_t count = strips - first < Chunk::strips ? strips - first : Chunk::strips;
        chunk.place(row, first);
        chunk.template spread<interpolation>(
            row, count * strip_columns, [&](std::size_t k, auto rows, auto columns) HWY_ATTR {
                const Integers integers;
                const auto along = hn::Mul(rows, hn::Set(integers, static_cast<std::int32_t>(pitch)));
                hn::Store(hn::Add(along, columns), integers, chunk.offset + k);
            });
        alignas(32) std::conditional_t<sizeof(T) == 1, std::uint32_t, float>
            around[sizeof(T) == 1 ? 1 : 2][Chunk::pixels * (sizeof(T) == 1 ? 1 : 2)];
        for (std::size_t s = 0; s < count; ++s) {
            const T* const from = pixels + (chunk.row[s] - row.top) * pitch + (chunk.column[s] - row.left);
            const std::int32_t* const offset = chunk.offset + s * strip_columns;
            for (std::size_t l = 0; l < strip_columns; ++l) {
                const T* const pixel = from + offset[l];
                const std::size_t k = s * strip_columns + l;
                if constexpr (interpolation == Interpolation::nearest) {
                    out[k] = *pixel;
                } else {
                    Pair<T> upper, lower;
                    std::memcpy(&upper, pixel, sizeof upper);
                    std::memcpy(&lower, pixel + pitch, sizeof lower);
                    if constexpr (sizeof(T) == 1) {
                        around[0][k] = std::uint32_t{upper} | static_cast<std::uint32_t>(lower) << 16;
                    } else {
                        std::memcpy(around[0] + 2 * k, &upper, sizeof upper);
                        std::memcpy(around[1] + 2 * k, &lower, sizeof lower);
                    }
                }
            }
        }
        if constexpr (interpolation == Interpolation::bilinear) {
            if constexpr (sizeof(T) == 1) interpolate(chunk, around[0], out, count * strip_columns);
            else interpolate(chunk, around[0], around[1], out, count * strip_columns);
        }
    }
    return strips;
}

// One axis of the window and of the image that it is a part of.
HWY_INLINE hn::Vec<Integers> inside_of(hn::Vec<Integers> index, const Axis& axis, Outside rule, std::int32_t step) {
    const Integers d;
    const auto zero = hn::Zero(d), last = hn::Set(d, axis.size - 1);
    auto at = index;
    if (rule == Outside::reflect101) {  // turned back once at each end, which is as far as these strips lie outside
        at = hn::Sub(last, hn::Abs(hn::Sub(last, hn::Abs(index))));
    } else {
        at = hn::Min(hn::Max(index, zero), last);
    }
    const auto within = hn::Mul(hn::Sub(at, hn::Set(d, axis.first)), hn::Set(d, step));
    if (rule != Outside::constant) return within;
    return hn::IfThenElse(hn::Eq(at, index), within, hn::Set(d, -(std::int32_t{1} << 30)));
}

// Strips whose pixels, or their neighbours, may lie outside of the image.
template <class T, Interpolation interpolation>
std::size_t affine_border_strips(const StripRow& row, const Framed<T>& from, T* out, std::size_t strips) {
    Chunk chunk;
    const Integers d;
    for (std::size_t first = 0; first < strips; first += Chunk::strips, out += Chunk::pixels) {
        const std::size_t count = (strips - first < Chunk::strips ? strips - first : Chunk::strips) * strip_columns;
        chunk.place(row, first);
        chunk.template spread<interpolation>(row, count, [&](std::size_t k, auto rows, auto columns) HWY_ATTR {
            const auto i = hn::Add(rows, hn::Set(d, chunk.row[k / strip_columns]));
            const auto j = hn::Add(columns, hn::Set(d, chunk.column[k / strip_columns]));
            const auto along = inside_of(i, from.rows, from.border.rule, from.pitch);
            const auto across = inside_of(j, from.columns, from.border.rule, 1);
            if constexpr (interpolation == Interpolation::nearest) {
                const auto outside = hn::Lt(hn::Or(along, across), hn::Zero(d));  // their sum may be anything there
                hn::Store(hn::IfThenElse(outside, hn::Set(d, -1), hn::Add(along, across)), d, chunk.offset + k);
            } else {
                const auto one = hn::Set(d, 1);
                hn::Store(along, d, chunk.upper + k);
                hn::Store(across, d, chunk.left + k);
                hn::Store(inside_of(hn::Add(i, one), from.rows, from.border.rule, from.pitch), d, chunk.lower + k);
                hn::Store(inside_of(hn::Add(j, one), from.columns, from.border.rule, 1), d, chunk.right_one + k);
            }
        });
        const auto pixel = [&](std::int32_t along, std::int32_t across) {
            const T* const at = (along | across) < 0 ? &from.border.value : from.pixels + (along + across);
            return *at;
        };
        if constexpr (interpolation == Interpolation::nearest) {
            for (std::size_t k = 0; k < count; ++k) out[k] = pixel(chunk.offset[k], 0);
        } else if constexpr (sizeof(T) == 1) {
            alignas(32) std::uint32_t squares[Chunk::pixels];
            for (std::size_t k = 0; k < count; ++k)
                squares[k] = std::uint32_t{pixel(chunk.upper[k], chunk.left[k])} |
                             std::uint32_t{pixel(chunk.upper[k], chunk.right_one[k])} << 8 |
                             std::uint32_t{pixel(chunk.lower[k], chunk.left[k])} << 16 |
                             std::uint32_t{pixel(chunk.lower[k], chunk.right_one[k])} << 24;
            interpolate(chunk, squares, out, count);
        } else {
            alignas(32) T upper[2 * Chunk::pixels], lower[2 * Chunk::pixels];
            for (std::size_t k = 0; k < count; ++k) {
                upper[2 * k] = pixel(chunk.upper[k], chunk.left[k]);
                upper[2 * k + 1] = pixel(chunk.upper[k], chunk.right_one[k]);
                lower[2 * k] = pixel(chunk.lower[k], chunk.left[k]);
                lower[2 * k + 1] = pixel(chunk.lower[k], chunk.right_one[k]);
            }
            interpolate(chunk, upper, lower, out, count);
        }
    }
    return strips;
}
