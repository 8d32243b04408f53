// Filters that join two pictures.
#include <algorithm>
#include <map>

#include "components/classes.hpp"
#include "components/picture.hpp"
#include "kernels/blend.hpp"
#include "kernels/maximum.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

template <class T>
void require_same(const Buffer<T>& a, const Buffer<T>& b) {
    if (shape_of(a) != shape_of(b))
        throw UsageError("a picture of " + text_of(shape_of(a)) + " met one of " + text_of(shape_of(b)) +
                         ": both have one shape");
}

template <class T>
struct Maximum {
    static constexpr bool may_be_copied = true;
    Input<T> a{"a"}, b{"b"};
    Output<T> greater{"greater"};
    void operator()() {
        auto left = a.read();
        const auto right = b.read();
        require_same(left, right);
        const auto to = edit_rows(left);
        kernels::maximum<T>(to, rows_of(right), to);
        greater.write(std::move(left));
    }
};

/// Pictures of one number, in any order; those of later numbers may come before.
template <class T>
struct Greatest {
    Input<T> picture{"picture"};
    Output<T> greatest{"greatest"};
    Setting<int> of{"of", 2, {.least = 1, .most = 1 << 20, .doc = "So many pictures of each number (user[0])."}};
    void operator()() {
        auto read = picture.read();
        const auto number = read.tags().user[0];
        Best& best = best_[number];
        if (best.count++ == 0) {
            best.picture = std::move(read);
        } else {
            require_same(best.picture, read);
            const auto to = edit_rows(best.picture);
            kernels::maximum<T>(rows_of(read), to, to);
        }
        if (best.count < of) return;
        best.picture.edit_tags().user[1] = 0;
        greatest.write(std::move(best.picture));
        best_.erase(number);
    }

  private:
    struct Best {
        Buffer<T> picture;
        int count = 0;
    };
    std::map<std::uint64_t, Best> best_;
};

struct Blend {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> a{"a"}, b{"b"};
    Output<std::uint8_t> blended{"blended"};
    Setting<double> share{"share", 0.5, {.least = 0, .most = 1, .doc = "Of the second picture."}};
    void operator()() {
        auto left = a.read();
        const auto right = b.read();
        require_same(left, right);
        const auto to = edit_rows(left);
        kernels::blend(to, rows_of(right), to, static_cast<unsigned>(share * 256 + 0.5));
        blended.write(std::move(left));
    }
};

struct Difference {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> a{"a"}, b{"b"};
    Output<std::uint8_t> difference{"difference"};
    void operator()() {
        auto left = a.read();
        const auto right = b.read();
        require_same(left, right);
        auto to = left.edit();
        std::ranges::transform(to, right.span(), to.begin(), [](std::uint8_t x, std::uint8_t y) {
            return static_cast<std::uint8_t>(x > y ? x - y : y - x);
        });
        difference.write(std::move(left));
    }
};

/// A picture where a mask is white, and black elsewhere.
struct KeepWhere {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"}, mask{"mask"};
    Output<std::uint8_t> kept{"kept"};
    Setting<bool> instead{"instead", false, {.doc = "Pixels outside of the mask become grey, instead of black."}};
    void operator()() {
        auto read = picture.read();
        const auto where = mask.read();
        const auto shape = shape_of(read), of_mask = shape_of(where, 1);
        if (shape.rows != of_mask.rows || shape.columns != of_mask.columns)
            throw UsageError("a picture of " + text_of(shape) + " met a mask of " + text_of(of_mask));
        auto* pixel = read.edit().data();
        for (const auto in : where.span()) {
            unsigned sum = 0;
            for (std::size_t c = 0; c < shape.channels && instead; ++c) sum += pixel[c];
            for (std::size_t c = 0; c < shape.channels && in < 128; ++c)
                pixel[c] = static_cast<std::uint8_t>(sum / shape.channels);
            pixel += shape.channels;
        }
        kept.write(std::move(read));
    }
};

/// Between options: streams that come and go need ends that stay.
struct Relay {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> in{"in"};
    Output<std::uint8_t> out{"out"};
    void operator()() { out.write(in.read()); }
};

/// The picture behind sets the pace. Once the small one has ended, its last frame stays.
struct LayOver {
    Input<std::uint8_t> background{"background"};
    Input<std::uint8_t> picture{"picture", {.required = false}};
    Output<std::uint8_t> screen{"screen"};
    Setting<int> row{"row",
                     0,
                     {.unit = "pixels",
                      .least = 0,
                      .most = 1 << 16,
                      .doc = "Where the small picture begins; what reaches beyond the background is cut off."}};
    Setting<int> column{"column", 0, {.unit = "pixels", .least = 0, .most = 1 << 16}};
    Setting<double> share{
        "share", 1, {.least = 0, .most = 1, .doc = "Of the small picture where it lies; the rest shines through."}};
    Setting<int> grid_rows{
        "grid-rows",
        0,
        {.least = 0, .most = 65535, .doc = "If not 0, `row` counts these parts of the background, and not pixels."}};
    Setting<int> grid_columns{"grid-columns", 0, {.least = 0, .most = 65535, .doc = "The same for `column`."}};
    Setting<std::string> take{
        "take",
        "next",
        {.choices = {"next", "newest"},
         .doc =
             "At each picture behind: the next small one, so that both go at one pace, or the newest that has come."}};
    void operator()() {
        auto behind = background.read();  // first, so that its tags are passed on
        while (picture.waiting() != 0) {
            newest_ = picture.read();
            if (take.get() == "next") break;
        }
        if (newest_) {
            const auto shape = shape_of(behind), small = shape_of(newest_, shape.channels);
            const auto place = [](int at, std::size_t side, int parts) {
                return static_cast<std::size_t>(at) * (parts == 0 ? 1 : side / static_cast<std::size_t>(parts));
            };
            const auto first_row = place(row, shape.rows, grid_rows),
                       first_column = place(column, shape.columns, grid_columns);
            const auto rows = std::min(small.rows, shape.rows - std::min(first_row, shape.rows)),
                       columns = std::min(small.columns, shape.columns - std::min(first_column, shape.columns));
            if (rows != 0 && columns != 0) {
                const auto to = edit_rows(behind).part({first_row, first_column * shape.channels},
                                                       {rows, columns * shape.channels});
                const auto from = rows_of(newest_).part({0, 0}, {rows, columns * shape.channels});
                kernels::blend(to, from, to, static_cast<unsigned>(share * 256 + 0.5));
            }
        }
        screen.write(std::move(behind));
    }

  private:
    Buffer<std::uint8_t> newest_;
};

}  // namespace

void add_unions(Components& components) {
    components.add<Maximum<std::uint8_t>>("maximum", "The greater of two pictures, value by value.");
    components.add<Maximum<float>>("maximum:float32", "The same for pictures of float32.");
    components.add<Greatest<std::uint8_t>>(
        "greatest",
        "The greatest of several pictures of one number (user[0]), value by value, when the last has come.");
    components.add<Greatest<float>>("greatest:float32", "The same for pictures of float32.");
    components.add<Blend>("blend", "Two pictures laid over one another, each with its share.");
    components.add<Difference>("difference", "By how much two pictures differ, value by value.");
    components.add<KeepWhere>("keep-where", "A picture where a mask is white; black elsewhere.");
    components.add<Relay>("relay", "Passes pictures, or bytes, on as they are.");
    components.add<LayOver>("lay-over",
                            "A small picture laid over a larger one (picture in picture): the newest that has come.");
}

}  // namespace penstock::components
