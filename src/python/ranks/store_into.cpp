// remote[key] = value: NumPy understands the key and converts the value; long rows leave as whole lines.
#include <cstring>

#include "penstock/region.hpp"
#include "python/errors.hpp"
#include "python/ranks/region.hpp"

namespace penstock::python {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::size_t fill_bytes = std::size_t{4} << 10;

bool names_part(nb::handle key) {
    if (PyBool_Check(key.ptr())) return false;  // to NumPy a mask
    return PyLong_Check(key.ptr()) || PySlice_Check(key.ptr()) || key.is(nb::ellipsis()) ||
           nb::isinstance<nb::str>(key) || nb::isinstance(key, numpy("integer"));
}

/// An array's memory, as its array interface tells it: buffers cannot carry all element types.
struct Strided {
    std::byte* data;
    std::size_t item;
    std::vector<std::size_t> shape;
    std::vector<std::ptrdiff_t> strides;

    explicit Strided(const nb::object& array)
        : data(reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(array.attr("__array_interface__")["data"][0]))),
          item(nb::cast<std::size_t>(array.attr("itemsize"))) {
        for (nb::handle extent : array.attr("shape")) shape.push_back(nb::cast<std::size_t>(extent));
        for (nb::handle stride : array.attr("strides")) strides.push_back(nb::cast<std::ptrdiff_t>(stride));
        // Where there is one element in a row its stride says nothing, and must not be taken for one that rows lie
        // apart.
        if (!shape.empty() && shape.back() <= 1) strides.back() = static_cast<std::ptrdiff_t>(item);
    }

    std::size_t dimensions() const noexcept { return shape.size(); }
    /// Elements of the last dimension, one behind the other. One element stands for a row of one.
    bool rows_contiguous() const noexcept {
        return shape.empty() || shape.back() <= 1 || strides.back() == static_cast<std::ptrdiff_t>(item);
    }
    std::size_t row_bytes() const noexcept { return (shape.empty() ? 1 : shape.back()) * item; }
    /// Makes the last two dimensions one.
    void join_rows() {
        shape[shape.size() - 2] *= shape.back();
        strides[shape.size() - 2] = strides.back();
        shape.pop_back();
        strides.pop_back();
    }
    bool rows_follow_one_another() const noexcept {
        const auto d = shape.size() - 2;
        return shape[d] <= 1 || strides[d] == strides[d + 1] * static_cast<std::ptrdiff_t>(shape[d + 1]);
    }
};

/// One element, again and again.
void fill(std::byte* to, std::size_t bytes, const std::byte* element, std::size_t item, StoreWay way) {
    const std::size_t piece = std::max(item, fill_bytes / item * item);
    std::vector<std::byte> pattern(std::min(piece, bytes));
    for (std::size_t done = 0; done < pattern.size(); done += item) std::memcpy(pattern.data() + done, element, item);
    for (std::size_t done = 0; done < bytes; done += pattern.size())
        store_bytes(to + done, pattern.data(), std::min(pattern.size(), bytes - done), way);
}

/// Row by row, from dimension `d` on. Both have the same shape; the source's rows are contiguous, or one element over
/// and over.
void store_rows(const Strided& target, const Strided& source, StoreWay way, std::size_t d, std::byte* to,
                const std::byte* from) {
    if (d + 1 < target.dimensions()) {
        for (std::size_t i = 0; i < target.shape[d]; ++i, to += target.strides[d], from += source.strides[d])
            store_rows(target, source, way, d + 1, to, from);
        return;
    }
    const bool constant = !source.shape.empty() && source.shape.back() > 1 && source.strides.back() == 0;
    if (constant) fill(to, target.row_bytes(), from, target.item, way);
    else store_bytes(to, from, target.row_bytes(), way);
}

}  // namespace

namespace {

void add_rows(const Strided& part, std::size_t d, const std::byte* at, std::vector<std::span<const std::byte>>& rows) {
    if (d + 1 < part.dimensions()) {
        for (std::size_t i = 0; i < part.shape[d]; ++i, at += part.strides[d]) add_rows(part, d + 1, at, rows);
        return;
    }
    if (part.rows_contiguous()) {
        if (part.row_bytes() != 0) rows.emplace_back(at, part.row_bytes());
        return;
    }
    for (std::size_t i = 0; i < part.shape[d]; ++i, at += part.strides[d]) rows.emplace_back(at, part.item);
}

}  // namespace

std::vector<std::span<const std::byte>> rows_of(const nb::object& part) {
    std::vector<std::span<const std::byte>> rows;
    if (nb::cast<std::size_t>(part.attr("nbytes")) == 0) return rows;
    Strided whole(part);
    while (whole.dimensions() > 1 && whole.rows_contiguous() && whole.rows_follow_one_another()) whole.join_rows();
    add_rows(whole, 0, whole.data, rows);
    return rows;
}

nb::object part_of(const nb::object& window, nb::handle key, const std::string& region) {
    const bool several = PyTuple_Check(key.ptr());
    bool has_ellipsis = false, has_field = false;
    nb::list parts(several ? nb::borrow<nb::tuple>(key) : nb::make_tuple(key));
    for (nb::handle part : parts) {
        if (!names_part(part))
            throw UsageError("a remote is indexed by numbers, slices, '...', and tuples of these, not by " +
                             nb::cast<std::string>(nb::repr(part)) + "; store each part by itself");
        has_ellipsis |= part.is(nb::ellipsis());
        has_field |= nb::isinstance<nb::str>(part);
    }
    try {
        if (has_field && !several) return window[key];
        if (!has_ellipsis) parts.append(nb::ellipsis());  // so that one element too is an array, not its value
        return window[nb::tuple(parts)];
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_IndexError)) throw;
        const auto what = nb::cast<std::string>(nb::str(error.value()));
        if (what.find("out of bounds") == what.npos) throw;
        throw_object(error_object("OutOfBounds", "storing into region '" + region + "': " + what, "region", region));
    }
}

void store_into(const nb::object& part, nb::object value, std::optional<StoreWay> way, bool own,
                ReaderDistance& reader) {
    // Between processes a rank that accepted its own region has it at two addresses, so nobody would see that the two
    // overlap.
    const auto is_memory = [&] {
        return PyObject_CheckBuffer(value.ptr()) || nb::hasattr(value, "__array_interface__") ||
               nb::hasattr(value, "__array__");
    };
    if (own && is_memory()) value = numpy("array")(value);
    const auto bytes = nb::cast<std::size_t>(part.attr("nbytes"));
    const auto assign = [&] { part[nb::ellipsis()] = value; };
    if (!way && bytes < ReaderDistance::seen_in) return assign();
    Strided target(part);
    if (!target.rows_contiguous() || (target.row_bytes() < line_bytes && bytes != target.row_bytes())) {
        // Narrow blocks of an array that lies packed are one long row.
        if (!nb::cast<bool>(part.attr("flags").attr("c_contiguous"))) return assign();
    }
    nb::object source = numpy("asarray")(value, nb::arg("dtype") = part.attr("dtype"), nb::arg("order") = "C");
    // As in an assignment: what the source has more dimensions than the target must be of length 1.
    if (const auto extents = Strided(source).shape; extents.size() > target.dimensions()) {
        const auto surplus = extents.size() - target.dimensions();
        nb::list kept;
        for (std::size_t d = 0; d < extents.size(); ++d) {
            if (d >= surplus) kept.append(extents[d]);
            else if (extents[d] != 1) return assign();  // NumPy says what is wrong
        }
        source = source.attr("reshape")(nb::tuple(kept));
    }
    if (nb::cast<bool>(numpy("may_share_memory")(part, source))) source = source.attr("copy")();
    const nb::object spread = numpy("broadcast_to")(source, part.attr("shape"));
    if (bytes == 0) return;
    Strided from(spread);
    while (target.dimensions() > 1 && target.rows_follow_one_another() && from.rows_follow_one_another()) {
        target.join_rows();
        from.join_rows();
    }
    without_interpreter([&] {
        const StoreWay by = way ? *way : reader.way(target.data, target.row_bytes());
        store_rows(target, from, by, 0, target.data, from.data);
    });
}

}  // namespace penstock::python
