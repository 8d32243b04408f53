// The filters of the sum. Those at the ends work in the program's memory, where they are given any, and else in files
// that their settings name.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "apps/addition/streams.hpp"
#include "apps/random.hpp"
#include "apps/settings.hpp"
#include "kernels/add.hpp"
#include "penstock/error.hpp"

namespace penstock::apps::addition {

/// Reads a matrix in buffers of so many whole rows, again and again.
struct ReadRows {
    Output<float> rows{"rows"};
    Setting<std::string> file{"file", ""};  ///< .npy; else random numbers in [-1, 1)
    Setting<int> made_rows{"rows", 512, {.least = 1, .most = 1 << 20}},
        made_columns{"columns", 512, {.least = 1, .most = 1 << 20}};
    Setting<std::int64_t> seed{"seed", 1, {.least = 0, .most = 4294967295.0}};
    Setting<int> at_once{
        "rows-a-buffer", 0, {.unit = "rows", .least = 0, .most = 1 << 20}};  ///< 0: the runtime's choice;
    PassSetting times;

    ReadRows() = default;
    explicit ReadRows(Source of) : matrix_{of}, given_{true} {}
    void start() {
        if (given_) return;
        std::array<std::size_t, 2> shape{static_cast<std::size_t>(made_rows.get()),
                                         static_cast<std::size_t>(made_columns.get())};
        if (file.get().empty()) {
            own_.resize(shape[0] * shape[1]);
            Random random{static_cast<std::uint32_t>(seed.get())};
            fill(own_, nullptr, random, -1.0f, 1.0f);
        } else {
            auto array = read_array<float>(file);
            if (array.shape.size() != 2 || array.values.empty())
                throw UsageError("the file '" + file.get() + "' holds no matrix");
            shape = {array.shape[0], array.shape[1]};
            own_ = std::move(array.values);
        }
        matrix_ = Source{own_.data(), shape};
    }
    bool operator()() {
        if (next_ == matrix_.extent(0) && ++pass_ < times.count()) next_ = 0;
        if (next_ == matrix_.extent(0)) return false;
        auto buffer = rows.make(std::min(rows_a_buffer(), matrix_.extent(0) - next_), matrix_.extent(1));
        read_rows(matrix_, next_, buffer.edit_image());
        buffer.edit_tags().user[0] = next_;
        next_ += buffer.extent(0);
        rows.write(std::move(buffer));
        return true;
    }

  private:
    std::size_t rows_a_buffer() const {
        if (at_once != 0) return static_cast<std::size_t>(at_once.get());
        std::size_t all = 0;
        if (__builtin_mul_overflow(matrix_.extent(0), times.count(), &all))
            all = std::numeric_limits<std::size_t>::max();
        return rows.units_a_buffer(all, matrix_.extent(1));
    }

    Source matrix_{};
    bool given_ = false;
    std::vector<float> own_;
    std::size_t pass_ = 0, next_ = 0;
};

/// Reuses the buffer of its first operand for the sum.
struct Add {
    static constexpr bool may_be_copied = true;
    Input<float> a{"a"}, b{"b"};
    Output<float> sum{"sum"};

    void operator()() {
        auto first = a.read();
        const auto second = b.read();
        if (first.image().extents() != second.image().extents())
            throw UsageError("the matrices that are to be added have different shapes");
        const auto to = first.edit_image();
        kernels::add(to, second.image(), to);
        sum.write(std::move(first));
    }
};

/// Puts the sums where they belong, in whatever order they come: the tag `user[0]` is the number of the first row. At
/// the end: how many rows.
struct PlaceRows {
    Input<float> rows{"rows"};
    Output<double> placed{"placed"};
    Setting<std::string> file{"file", ""};  ///< .npy

    PlaceRows() = default;
    explicit PlaceRows(view<float, 2> to) : sum_{to}, given_{true} {}
    void operator()() {
        const auto buffer = rows.read();
        const auto image = buffer.image();
        const std::size_t first = buffer.tags().user[0], end = first + image.extent(0);
        if (!given_ && end * image.extent(1) > own_.size()) {
            own_.resize(end * image.extent(1));
            sum_ = {own_.data(), {end, image.extent(1)}};
        }
        place_rows(image, first, sum_);
        count_ += image.extent(0);
    }
    void finish() {
        const std::size_t shape[] = {sum_.extent(0), sum_.extent(1)};
        if (!given_ && !file.get().empty()) write_array<float>(file, shape, own_);
        auto found = placed.make(1);
        found.edit()[0] = static_cast<double>(count_);
        placed.write(std::move(found));
    }

  private:
    view<float, 2> sum_{};
    bool given_ = false;
    std::vector<float> own_;
    std::size_t count_ = 0;
};

// ---- where every filter but the first has copies ----

struct Operands {
    Source a, b;
    view<float, 2> sum;
    std::size_t at_once;

    /// Rows of the buffer that begins with this one.
    std::size_t count(std::size_t first) const { return std::min(at_once, a.extent(0) - first); }
};

/// The numbers of the first rows of all buffers.
struct Numbers {
    Output<std::uint64_t> first{"first"};

    Numbers(std::size_t rows, std::size_t at_once, std::size_t passes)
        : rows_{rows}, at_once_{at_once}, passes_{passes} {}
    bool operator()() {
        if (pass_ == passes_) return false;
        auto buffer = first.make(1);
        buffer.edit()[0] = next_;
        first.write(std::move(buffer));
        next_ += at_once_;
        if (next_ >= rows_) next_ = 0, ++pass_;
        return true;
    }

  private:
    std::size_t rows_, at_once_, passes_, next_ = 0, pass_ = 0;
};

/// Rows of both matrices in one buffer, the second's below the first's. The tag `user[0]` is the number of the first.
struct ReadBoth {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> first{"first"};
    Output<float> rows{"rows"};

    explicit ReadBoth(const Operands& of) : of_{of} {}
    void operator()() {
        const auto number = first.read();
        const auto begin = static_cast<std::size_t>(number.span()[0]), count = of_.count(begin);
        const std::array<std::size_t, 2> shape{count, of_.a.extent(1)};
        auto buffer = rows.make(2 * count, shape[1]);
        const auto both = buffer.edit_image();
        read_rows(of_.a, begin, both.part({0, 0}, shape));
        read_rows(of_.b, begin, both.part({count, 0}, shape));
        buffer.edit_tags().user[0] = begin;
        rows.write(std::move(buffer));
    }

  private:
    Operands of_;
};

/// The upper half becomes the sum of both.
struct AddHalves {
    static constexpr bool may_be_copied = true;
    Input<float> rows{"rows"};
    Output<float> sum{"sum"};

    void operator()() {
        auto buffer = rows.read();
        const auto both = buffer.edit_image();
        const std::array<std::size_t, 2> shape{both.extent(0) / 2, both.extent(1)};
        const auto to = both.part({0, 0}, shape);
        kernels::add(to, both.part({shape[0], 0}, shape), to);
        sum.write(std::move(buffer));
    }
};

/// Puts the upper half where it belongs.
struct PlaceHalf {
    static constexpr bool may_be_copied = true;
    Input<float> sum{"sum"};

    explicit PlaceHalf(view<float, 2> to) : to_{to} {}
    void operator()() {
        const auto buffer = sum.read();
        const auto both = buffer.image();
        place_rows(both.part({0, 0}, {both.extent(0) / 2, both.extent(1)}), buffer.tags().user[0], to_);
    }

  private:
    view<float, 2> to_;
};

struct AddInPlace {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> first{"first"};

    explicit AddInPlace(const Operands& of) : of_{of} {}
    void operator()() {
        const auto number = first.read();
        const auto begin = static_cast<std::size_t>(number.span()[0]);
        const auto rows = [&](auto matrix) { return matrix.part({begin, 0}, {of_.count(begin), matrix.extent(1)}); };
        kernels::add(rows(of_.a), rows(of_.b), rows(of_.sum));
    }

  private:
    Operands of_;
};

}  // namespace penstock::apps::addition
