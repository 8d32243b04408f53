#include "kernels/convolution.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/convolution_rows.hpp"
#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

using rows::Size;

// The columns of a tile whose taps all lie within the window: from first to end. The others need the border.
struct Middle {
    std::size_t first, end;

    Middle(std::size_t window, std::size_t tile, std::size_t at, std::size_t taps) {
        const std::size_t before = taps / 2, after = taps - 1 - before;
        first = std::min(tile, at < before ? before - at : 0);
        const std::size_t room = window - at;  // columns from the tile's first on
        end = std::max(first, std::min(tile, room > after ? room - after : 0));
    }
};

// The rows of the window that one row of the tile needs; of what lies outside, those that stand for it.
template <class T>
class Sources {
  public:
    Sources(view<const T, 2> window, std::size_t taps, Border<T> border)
        : window_(window), border_(border), rows_(taps) {
        if (border.rule == Outside::constant) constant_.assign(window.extent(1), border.value);
    }
    /// The rows around row `row` of the window.
    void move_to(std::size_t row) {
        const std::size_t before = rows_.size() / 2;
        if (row >= before && row + rows_.size() <= window_.extent(0) + before) {
            const T* const first = window_.data() + (row - before) * window_.stride(0);
            for (std::size_t u = 0; u < rows_.size(); ++u) rows_[u] = first + u * window_.stride(0);
            return;
        }
        for (std::size_t u = 0; u < rows_.size(); ++u) {
            const auto from = static_cast<std::ptrdiff_t>(row + u) - static_cast<std::ptrdiff_t>(before);
            const std::ptrdiff_t at = inside(from, window_.extent(0), border_.rule);
            rows_[u] = at < 0 ? constant_.data() : window_.data() + at * window_.stride(0);
        }
    }
    /// Row u from this column of the window on, which may lie outside of it.
    T tap(std::size_t u, std::ptrdiff_t column) const {
        const std::ptrdiff_t at = inside(column, window_.extent(1), border_.rule);
        return at < 0 ? border_.value : rows_[u][at];
    }
    /// Row u from column `first` of the window on, `width` elements, of which those that lie within the window are only
    /// copied.
    void copy(std::size_t u, std::ptrdiff_t first, T* to, std::size_t width) const {
        const auto within = [&](std::ptrdiff_t column) {
            return static_cast<std::size_t>(
                std::clamp(column - first, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(width)));
        };
        const std::size_t begin = within(0), end = within(static_cast<std::ptrdiff_t>(window_.extent(1)));
        for (std::size_t k = 0; k < begin; ++k) to[k] = tap(u, first + static_cast<std::ptrdiff_t>(k));
        if (begin < end) std::copy_n(rows_[u] + first + static_cast<std::ptrdiff_t>(begin), end - begin, to + begin);
        for (std::size_t k = end; k < width; ++k) to[k] = tap(u, first + static_cast<std::ptrdiff_t>(k));
    }
    /// All rows, beginning at this column.
    const T* const* from(std::size_t column) {
        moved_.resize(rows_.size());
        for (std::size_t u = 0; u < rows_.size(); ++u) moved_[u] = rows_[u] + column;
        return moved_.data();
    }

  private:
    view<const T, 2> window_;
    Border<T> border_;
    std::vector<const T*> rows_, moved_;
    std::vector<T> constant_;
};

std::ptrdiff_t column_of(Place at, std::size_t j, std::size_t v, std::size_t taps) {
    return static_cast<std::ptrdiff_t>(at.column + j + v) - static_cast<std::ptrdiff_t>(taps / 2);
}

// The columns of a tile at one of the window's sides, with what the border makes of the columns beyond: the rows that
// are needed now, each filled once.
template <class T>
class Side {
  public:
    /// For `columns` columns of the tile, whose taps begin at column `first` of the window.
    Side(std::ptrdiff_t first, std::size_t columns, Size size)
        : first_(first), columns_(columns), width_(columns + size.columns - 1), rows_(size.rows), from_(size.rows) {
        if (columns > 0) pixels_.resize(rows_ * width_);
    }
    std::size_t columns() const { return columns_; }
    /// The rows around the tile's row i; called for each in turn.
    const T* const* move_to(std::size_t i, const Sources<T>& sources) {
        for (std::size_t u = i == 0 ? 0 : rows_ - 1; u < rows_; ++u)
            sources.copy(u, first_, pixels_.data() + (i + u) % rows_ * width_, width_);
        for (std::size_t u = 0; u < rows_; ++u) from_[u] = pixels_.data() + (i + u) % rows_ * width_;
        return from_.data();
    }

  private:
    std::ptrdiff_t first_;
    std::size_t columns_, width_, rows_;
    std::vector<T> pixels_;
    std::vector<const T*> from_;
};

std::int64_t absolute_sum(std::span<const std::int16_t> weights) {
    std::int64_t sum = 0;
    for (const std::int16_t weight : weights) sum += std::abs(weight);
    return sum;
}

[[noreturn]] void refuse(const char* kernel, const std::string& why) {
    throw std::invalid_argument(std::string(kernel) + ": " + why);
}

void need_shift(const char* kernel, int shift, int most) {
    if (shift < 0 || shift > most) [[unlikely]]
        refuse(kernel, "a shift of " + std::to_string(shift) + "; it must lie between 0 and " + std::to_string(most));
}

template <class T>
void need_tile(const char* kernel, view<const T, 2> window, view<T, 2> out, Place at) {
    need_within(kernel, window, out, at);
    need_rows(kernel, "window", window);
    need_rows(kernel, "out", out);
}

// What differs between the pixels' types.
class Floats {
  public:
    Floats(const char*, std::span<const float> weights, int) : weights_(weights.data()) {}
    void row(const float* const* from, Size size, float* out, std::size_t columns) const {
        rows::filter(from, size, weights_, out, columns);
    }

  private:
    const float* weights_;
};

class Bytes {
  public:
    Bytes(const char* kernel, std::span<const std::int16_t> weights, int shift)
        : weights_(weights.data()), shift_(shift) {
        need_shift(kernel, shift, 15);
        const std::int64_t sum = absolute_sum(weights);
        if (sum > most) [[unlikely]]
            refuse(kernel, "the absolute weights sum up to " + std::to_string(sum) + ", more than " +
                               std::to_string(most) +
                               ", and 32 bits would not hold the sums; divide the weights and take a smaller shift");
        narrow_ = sum <= 128 && shift <= 7;
    }
    void row(const std::uint8_t* const* from, Size size, std::uint8_t* out, std::size_t columns) const {
        rows::filter(from, size, weights_, shift_, narrow_, out, columns);
    }

  private:
    static constexpr std::int64_t most = std::int64_t{1} << 22;

    const std::int16_t* weights_;
    int shift_;
    bool narrow_ = false;
};

template <class T>
void convolve(const char* kernel, view<const T, 2> window, view<T, 2> out, std::span<const Weight<T>> weights,
              Size size, int shift, Place at, Border<T> border) {
    need_tile(kernel, window, out, at);
    const std::conditional_t<std::is_floating_point_v<T>, Floats, Bytes> pixels{kernel, weights, shift};
    if (out.empty()) return;
    const Middle middle{window.extent(1), out.extent(1), at.column, size.columns};
    const std::size_t columns = out.extent(1);
    // A side is as wide as vectors are, or takes all of a narrow tile.
    constexpr std::size_t vector = 64 / sizeof(Weight<T>);
    std::size_t left = middle.first > 0 ? std::min(columns, std::max(middle.first, vector)) : 0;
    std::size_t right = middle.end < columns ? std::min(columns, std::max(columns - middle.end, vector)) : 0;
    if (left + right > columns) {
        left = columns;
        right = 0;
    }
    Sources<T> sources{window, size.rows, border};
    Side<T> left_side{column_of(at, 0, 0, size.columns), left, size},
        right_side{column_of(at, columns - right, 0, size.columns), right, size};
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        sources.move_to(at.row + i);
        T* const to = out.row(i).data();
        if (left > 0) pixels.row(left_side.move_to(i, sources), size, to, left);
        if (left + right < columns)
            pixels.row(sources.from(at.column + left - size.columns / 2), size, to + left, columns - left - right);
        if (right > 0) pixels.row(right_side.move_to(i, sources), size, to + columns - right, right);
    }
}

// The vertical sums that one row of the tile needs, and their weighting.
class FloatHalves {
  public:
    using Sum = float;
    FloatHalves(const char* kernel, std::span<const float> vertical, std::span<const float> horizontal, int shift)
        : vertical_(vertical), horizontal_(horizontal) {
        need_shift(kernel, shift, 0);
    }
    void down(const float* const* from, Sum* out, std::size_t columns) const {
        rows::filter(from, {vertical_.size(), 1}, vertical_.data(), out, columns);
    }
    template <class At>
    Sum down_at(At at) const {
        return rows::sum({vertical_.size(), 1}, vertical_.data(), at);
    }
    void across(const Sum* from, float* out, std::size_t columns) const {
        rows::filter(&from, {1, horizontal_.size()}, horizontal_.data(), out, columns);
    }

  private:
    std::span<const float> vertical_, horizontal_;
};

class ByteHalves {
  public:
    using Sum = std::int16_t;
    ByteHalves(const char* kernel, std::span<const std::int16_t> vertical, std::span<const std::int16_t> horizontal,
               int shift)
        : vertical_(vertical), horizontal_(horizontal), shift_(shift) {
        need_shift(kernel, shift, 30);
        need_sum(kernel, "vertical", vertical, 128);
        need_sum(kernel, "horizontal", horizontal, 32768);
    }
    void down(const std::uint8_t* const* from, Sum* out, std::size_t columns) const {
        rows::filter_vertically(from, vertical_.size(), vertical_.data(), out, columns);
    }
    template <class At>
    Sum down_at(At at) const {
        return static_cast<Sum>(rows::sum({vertical_.size(), 1}, vertical_.data(), at));
    }
    void across(const Sum* from, std::uint8_t* out, std::size_t columns) const {
        rows::filter_horizontally(from, horizontal_.size(), horizontal_.data(), shift_, out, columns);
    }

  private:
    static void need_sum(const char* kernel, const char* argument, std::span<const std::int16_t> weights,
                         std::int64_t most) {
        if (const std::int64_t sum = absolute_sum(weights); sum > most) [[unlikely]]
            refuse(kernel, std::string("the absolute weights of `") + argument + "` sum up to " + std::to_string(sum) +
                               "; they may sum up to " + std::to_string(most));
    }
    std::span<const std::int16_t> vertical_, horizontal_;
    int shift_;
};

/// Stores to lines that are far away wait for them: they are asked for a row ahead.
template <class T>
void fetch_to_write(std::span<T> row) {
    for (std::size_t j = 0; j < row.size(); j += 64 / sizeof(T)) __builtin_prefetch(row.data() + j, 1);
}

template <class T, class Halves>
void convolve_strip(view<const T, 2> window, const Halves& halves, Size size, view<T, 2> out, Place at,
                    Border<T> border, Sources<T>& sources, std::vector<typename Halves::Sum>& sums) {
    // sums[k] belongs to column at.column + k - taps / 2 of the window; those within it are computed in one go.
    const std::size_t taps = size.columns, count = out.extent(1) + taps - 1;
    const std::size_t first = at.column < taps / 2 ? taps / 2 - at.column : 0;
    const std::size_t end = std::min(count, window.extent(1) + taps / 2 - at.column);
    sums.resize(count);
    // Columns beyond the window have the sums of those that stand for them.
    struct Beyond {
        std::size_t k;
        std::ptrdiff_t own;
        std::size_t other;  ///< whose sum it has, if that is among these
    };
    std::vector<Beyond> beyond;
    const auto add_beyond = [&](std::size_t k) {
        const std::ptrdiff_t own = column_of(at, k, 0, taps), column = inside(own, window.extent(1), border.rule);
        const auto other = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(k) + column - own);
        beyond.push_back({k, own, column >= 0 && other >= first && other < end ? other : k});
    };
    for (std::size_t k = 0; k < first; ++k) add_beyond(k);
    for (std::size_t k = end; k < count; ++k) add_beyond(k);
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        sources.move_to(at.row + i);
        if (i + 1 < out.extent(0)) fetch_to_write(out.row(i + 1));
        halves.down(sources.from(at.column + first - taps / 2), sums.data() + first, end - first);
        for (const auto [k, own, other] : beyond)
            sums[k] = other != k ? sums[other]
                                 : halves.down_at([&](std::size_t u, std::size_t) { return sources.tap(u, own); });
        halves.across(sums.data(), out.row(i).data(), out.extent(1));
    }
}

}  // namespace

template <class T>
void convolve_3x3(view<const T, 2> window, view<T, 2> out, Filter<T, 9> filter, Place at, Border<T> border) {
    if constexpr (std::is_floating_point_v<T>)
        convolve<T>("convolve_3x3", window, out, filter.weights, {3, 3}, 0, at, border);
    else convolve<T>("convolve_3x3", window, out, filter.weights, {3, 3}, filter.shift, at, border);
}

template <class T>
void convolve_5x1(view<const T, 2> window, view<T, 2> out, Filter<T, 5> filter, Place at, Border<T> border) {
    if constexpr (std::is_floating_point_v<T>)
        convolve<T>("convolve_5x1", window, out, filter.weights, {5, 1}, 0, at, border);
    else convolve<T>("convolve_5x1", window, out, filter.weights, {5, 1}, filter.shift, at, border);
}

template <class T>
void convolve_1x5(view<const T, 2> window, view<T, 2> out, Filter<T, 5> filter, Place at, Border<T> border) {
    if constexpr (std::is_floating_point_v<T>)
        convolve<T>("convolve_1x5", window, out, filter.weights, {1, 5}, 0, at, border);
    else convolve<T>("convolve_1x5", window, out, filter.weights, {1, 5}, filter.shift, at, border);
}

template <class T>
void convolve_dense(view<const T, 2> window, std::span<const Weight<T>> weights, view<T, 2> out, Shape shape, Place at,
                    Border<T> border) {
    if (shape.rows == 0 || shape.columns == 0 || weights.size() / shape.columns != shape.rows ||
        weights.size() % shape.columns != 0)
        refuse("convolve_dense", std::to_string(weights.size()) + " weights for a filter of " +
                                     std::to_string(shape.rows) + " x " + std::to_string(shape.columns));
    if (std::is_floating_point_v<T>) need_shift("convolve_dense", shape.shift, 0);
    convolve<T>("convolve_dense", window, out, weights, {shape.rows, shape.columns}, shape.shift, at, border);
}

template <class T>
void convolve_separable(view<const T, 2> window, std::span<const Weight<T>> vertical,
                        std::span<const Weight<T>> horizontal, view<T, 2> out, int shift, Place at, Border<T> border) {
    const char* const kernel = "convolve_separable";
    if (vertical.empty() || horizontal.empty()) refuse(kernel, "a filter without weights");
    need_tile(kernel, window, out, at);
    using Halves = std::conditional_t<std::is_floating_point_v<T>, FloatHalves, ByteHalves>;
    const Halves halves{kernel, vertical, horizontal, shift};
    if (out.empty()) return;
    // In strips, whose rows of the window are still in the nearest cache when the next row of the tile needs them; each
    // computes a few sums of its neighbours again. A single row is needed once.
    constexpr std::size_t near = 16 * 1024;
    const std::size_t columns = out.extent(1), width = std::max({near / ((vertical.size() + 3) * sizeof(T)),
                                                                 8 * horizontal.size(), std::size_t{64}});
    const std::size_t strips = vertical.size() == 1 ? 1 : (columns + width - 1) / width;
    Sources<T> sources{window, vertical.size(), border};
    std::vector<typename Halves::Sum> sums;
    for (std::size_t s = 0; s < strips; ++s) {
        const std::size_t from = columns * s / strips, to = columns * (s + 1) / strips;
        convolve_strip(window, halves, {vertical.size(), horizontal.size()},
                       out.part({0, from}, {out.extent(0), to - from}), Place{at.row, at.column + from}, border,
                       sources, sums);
    }
}

#define PENSTOCK_CONVOLUTIONS(T)                                                                                  \
    template void convolve_3x3<T>(view<const T, 2>, view<T, 2>, Filter<T, 9>, Place, Border<T>);                  \
    template void convolve_5x1<T>(view<const T, 2>, view<T, 2>, Filter<T, 5>, Place, Border<T>);                  \
    template void convolve_1x5<T>(view<const T, 2>, view<T, 2>, Filter<T, 5>, Place, Border<T>);                  \
    template void convolve_dense<T>(view<const T, 2>, std::span<const Weight<T>>, view<T, 2>, Shape, Place,       \
                                    Border<T>);                                                                   \
    template void convolve_separable<T>(view<const T, 2>, std::span<const Weight<T>>, std::span<const Weight<T>>, \
                                        view<T, 2>, int, Place, Border<T>)
PENSTOCK_CONVOLUTIONS(float);
PENSTOCK_CONVOLUTIONS(std::uint8_t);

}  // namespace penstock::kernels
