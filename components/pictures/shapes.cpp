// Pictures of other sizes, turned, and cut out.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "components/classes.hpp"
#include "components/pictures/planes.hpp"
#include "kernels/affine.hpp"
#include "kernels/resize.hpp"
#include "kernels/shrink.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

constexpr double most_side = 1 << 16;

struct Resize {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> resized{"resized"};
    Setting<int> longest{"longest",
                         0,
                         {.unit = "pixels",
                          .least = 0,
                          .most = most_side,
                          .doc = "Of the longer side: the other keeps its proportion, and smaller pictures stay as "
                                 "they are. 0: as `rows` and `columns` say."}};
    Setting<int> rows{
        "rows", 0, {.unit = "pixels", .least = 0, .most = most_side, .doc = "0: in proportion to the columns."}};
    Setting<int> columns{
        "columns", 0, {.unit = "pixels", .least = 0, .most = most_side, .doc = "0: in proportion to the rows."}};

    void start() {
        if (longest == 0 && rows == 0 && columns == 0)
            throw UsageError("it is not said how large pictures shall be: set `longest`, `rows` or `columns`");
        if (longest != 0 && (rows != 0 || columns != 0))
            throw UsageError("`longest` is set, and `rows` or `columns`: set one of the two ways");
    }
    void operator()() {
        auto read = picture.read();
        const auto shape = shape_of(read);
        if (shape.pixels() == 0) throw UsageError("a picture without pixels cannot be made larger or smaller");
        const auto wanted = wished(shape);
        if (wanted == shape) return resized.write(std::move(read));
        auto made = make_picture(resized, wanted);
        kernels::resize(rows_of(read), edit_rows(made), shape.channels);
        resized.write(std::move(made));
    }

  private:
    PictureShape wished(const PictureShape& shape) const {
        const auto part = [](std::size_t side, std::size_t to, std::size_t of) {
            return std::max<std::size_t>(1, (2 * side * to + of) / (2 * of));  // rounded
        };
        const auto given = [](int side) { return static_cast<std::size_t>(side); };
        if (longest != 0) {
            const auto longer = std::max(shape.rows, shape.columns);
            if (longer <= given(longest)) return shape;
            return {part(shape.rows, given(longest), longer), part(shape.columns, given(longest), longer),
                    shape.channels};
        }
        return {rows != 0 ? given(rows) : part(shape.rows, given(columns), shape.columns),
                columns != 0 ? given(columns) : part(shape.columns, given(rows), shape.rows), shape.channels};
    }
};

struct Shrink {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> small{"small"};
    Setting<int> factor{"factor", 2, {.least = 1, .most = 64, .doc = "By which the sides become smaller, rounded up."}};

    void operator()() {
        auto read = picture.read();
        const auto shape = shape_of(read);
        const auto by = static_cast<std::size_t>(factor.get());
        if (by == 1) return small.write(std::move(read));
        auto made = make_picture(small, {(shape.rows + by - 1) / by, (shape.columns + by - 1) / by, shape.channels});
        kernels::shrink(rows_of(read), edit_rows(made), by, shape.channels);
        small.write(std::move(made));
    }
};

/// What affine filters share.
template <class T>
struct Warping {
    Setting<std::string> interpolation{"interpolation", "bilinear", {.choices = {"nearest", "bilinear"}}};
    Setting<std::string> outside{
        "outside",
        "constant",
        {.choices = {"reflect", "replicate", "constant"}, .doc = "What lies outside of the picture."}};
    Setting<int> value{"value", 0, {.least = 0, .most = 255, .doc = "Of `constant`."}};

    void warp(const Buffer<T>& from, Buffer<T>& to, const kernels::Affine& map) {
        const auto way =
            interpolation.get() == "nearest" ? kernels::Interpolation::nearest : kernels::Interpolation::bilinear;
        const auto rule = outside.get() == "reflect"     ? kernels::Outside::reflect101
                          : outside.get() == "replicate" ? kernels::Outside::replicate
                                                         : kernels::Outside::constant;
        planes_.each(from, to, [&](view<const T, 2> in, view<T, 2> out) {
            kernels::affine<T>(in, out, map, way, {rule, static_cast<T>(value.get())});
        });
    }

  private:
    Planes<T> planes_;
};

template <class T>
struct Rotate {
    static constexpr bool may_be_copied = true;
    Input<T> picture{"picture"};
    Output<T> turned{"turned"};
    Setting<double> angle{"angle", 0, {.unit = "degrees", .least = -36000, .most = 36000, .doc = "Anticlockwise."}};
    Setting<int> angles{
        "angles",
        0,
        {.least = 0,
         .most = 1 << 20,
         .doc = "If not 0: half a turn has so many angles, and a picture is turned by number user[1] of "
                "them besides."}};
    Setting<bool> back{"back", false, {.doc = "The other way: clockwise."}};
    Setting<bool> whole{
        "whole", false, {.doc = "The result is as large as the turned picture needs; else as the picture is."}};
    Setting<int> margin{
        "margin", 0, {.unit = "pixels", .least = 0, .most = 1 << 14, .doc = "Of `whole`: more on each side."}};
    Setting<int> rows{
        "rows", 0, {.unit = "pixels", .least = 0, .most = most_side, .doc = "Of the result, without `whole`."}};
    Setting<int> columns{"columns", 0, {.unit = "pixels", .least = 0, .most = most_side}};
    Warping<T> warping;

    void start() {
        if (whole && (rows != 0 || columns != 0))
            throw UsageError("`whole` is set, and `rows` or `columns`: set one of the two ways");
    }
    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        if (shape.pixels() == 0) throw UsageError("a picture without pixels cannot be turned");
        double turn = angle * std::numbers::pi / 180;
        if (angles != 0)
            turn += static_cast<double>(read.tags().user[1]) * std::numbers::pi / static_cast<double>(angles.get());
        const double cosine = std::cos(turn), sine = back ? -std::sin(turn) : std::sin(turn);
        const auto high = static_cast<double>(shape.rows - 1), wide = static_cast<double>(shape.columns - 1);
        const auto side = [&](double length) {
            return static_cast<std::size_t>(std::ceil(length - 1e-9)) + 1 + 2 * static_cast<std::size_t>(margin.get());
        };
        const auto given = [](int pixels, std::size_t otherwise) {
            return pixels != 0 ? static_cast<std::size_t>(pixels) : otherwise;
        };
        const PictureShape wanted =
            whole ? PictureShape{side(high * std::abs(cosine) + wide * std::abs(sine)),
                                 side(high * std::abs(sine) + wide * std::abs(cosine)), shape.channels}
                  : PictureShape{given(rows, shape.rows), given(columns, shape.columns), shape.channels};
        const double row = static_cast<double>(wanted.rows - 1) / 2,
                     column = static_cast<double>(wanted.columns - 1) / 2;
        auto made = make_picture(turned, wanted);
        warping.warp(read, made,
                     {{cosine, sine, high / 2 - cosine * row - sine * column, -sine, cosine,
                       wide / 2 + sine * row - cosine * column}});
        turned.write(std::move(made));
    }
};

template <class T>
struct AffineMap {
    static constexpr bool may_be_copied = true;
    Input<T> picture{"picture"};
    Output<T> mapped{"mapped"};
    Setting<std::string> map{
        "map", "1 0 0 0 1 0", {.doc = "Pixel (r, c) comes from row m0 r + m1 c + m2, column m3 r + m4 c + m5."}};
    Setting<int> rows{
        "rows", 0, {.unit = "pixels", .least = 0, .most = most_side, .doc = "Of the result; 0: as the picture has."}};
    Setting<int> columns{"columns", 0, {.unit = "pixels", .least = 0, .most = most_side}};
    Warping<T> warping;

    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        if (shape.pixels() == 0) throw UsageError("a picture without pixels cannot be mapped");
        kernels::Affine wanted;
        std::istringstream words(map.get());
        std::string more;
        for (double& each : wanted.m)
            if (!(words >> each)) throw UsageError("the map '" + map.get() + "' is not six numbers");
        if (words >> more) throw UsageError("the map '" + map.get() + "' is more than six numbers");
        const auto side = [](int given, std::size_t otherwise) {
            return given != 0 ? static_cast<std::size_t>(given) : otherwise;
        };
        auto made = make_picture(mapped, {side(rows, shape.rows), side(columns, shape.columns), shape.channels});
        warping.warp(read, made, wanted);
        mapped.write(std::move(made));
    }
};

struct Crop {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> part{"part"};
    Setting<int> row{"row", 0, {.unit = "pixels", .least = 0, .most = most_side, .doc = "Where the part begins."}};
    Setting<int> column{"column", 0, {.unit = "pixels", .least = 0, .most = most_side}};
    Setting<int> rows{"rows", 0, {.unit = "pixels", .least = 0, .most = most_side, .doc = "0: up to the end."}};
    Setting<int> columns{"columns", 0, {.unit = "pixels", .least = 0, .most = most_side, .doc = "0: up to the end."}};

    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        const auto number = [](int given) { return static_cast<std::size_t>(given); };
        const auto first_row = number(row), first_column = number(column);
        const auto length = [&](int given, std::size_t first, std::size_t all) {
            return given != 0 ? number(given) : all - std::min(first, all);
        };
        const PictureShape wanted{length(rows, first_row, shape.rows), length(columns, first_column, shape.columns),
                                  shape.channels};
        if (wanted.pixels() == 0 || first_row + wanted.rows > shape.rows ||
            first_column + wanted.columns > shape.columns)
            throw UsageError("a part of " + text_of(wanted) + " at row " + std::to_string(first_row) + ", column " +
                             std::to_string(first_column) + " does not lie in a picture of " + text_of(shape));
        auto made = make_picture(part, wanted);
        const auto from = rows_of(read);
        const auto to = edit_rows(made);
        for (std::size_t i = 0; i < wanted.rows; ++i)
            std::copy_n(from.row(first_row + i).data() + first_column * shape.channels, to.extent(1), to.row(i).data());
        part.write(std::move(made));
    }
};

}  // namespace

void add_shapes(Components& components) {
    components.add<Resize>(
        "resize",
        "A picture of another size: means where it becomes smaller, between neighbours where it becomes larger.");
    components.add<Shrink>("shrink", "A picture made smaller by a whole factor: means of squares of pixels.");
    components.add<Rotate<std::uint8_t>>("rotate", "A picture turned about its middle.");
    components.add<Rotate<float>>("rotate:float32", "The same for pictures of float32.");
    components.add<AffineMap<std::uint8_t>>("affine", "A picture turned, scaled, sheared and moved by a matrix.");
    components.add<AffineMap<float>>("affine:float32", "The same for pictures of float32.");
    components.add<Crop>("crop", "A part of a picture.");
}

}  // namespace penstock::components
