// The kernels of images as compiled bodies: C functions over addresses, rows, columns and pitch, as Python's
// machine.call passes them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/affine.hpp"
#include "kernels/convolution.hpp"
#include "kernels/idct.hpp"
#include "kernels/lab.hpp"
#include "kernels/local_binary_pattern.hpp"
#include "kernels/maximum.hpp"
#include "kernels/yuv.hpp"
#include "python/calls/python_machine.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace penstock::kernels;

using Long = std::intptr_t;

template <class T>
view<T, 2> image(T* pixels, Long rows, Long columns, Long pitch) {
    return {pixels, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), pitch};
}

kernels::Place place(Long row, Long column) {
    if (row < 0 || column < 0)
        throw std::invalid_argument("row " + std::to_string(row) + ", column " + std::to_string(column) +
                                    " lies before the image");
    return {static_cast<std::size_t>(row), static_cast<std::size_t>(column)};
}

/// A value of an enumeration whose last is `last`.
template <class E>
E choice(const char* what, std::int32_t value, E last) {
    if (value < 0 || value > static_cast<std::int32_t>(last))
        throw std::invalid_argument(std::to_string(value) + " is no " + what + "; see penstock.kernels");
    return static_cast<E>(value);
}

template <class T>
Border<T> border(std::int32_t rule, T value) {
    return {choice("Outside", rule, Outside::constant), value};
}

template <class T>
void call_maximum(const T* a, Long ar, Long ac, Long ap, const T* b, Long br, Long bc, Long bp, T* out, Long r, Long c,
                  Long p) {
    maximum<T>(image(a, ar, ac, ap), image(b, br, bc, bp), image(out, r, c, p));
}

template <class T>
void call_convolve(const T* window, Long wr, Long wc, Long wp, const Weight<T>* weights, Long fr, Long fc, Long fp,
                   T* out, Long r, Long c, Long p, std::int32_t shift, std::int32_t rule, T value, Long row,
                   Long column) {
    if (fp != fc && fr > 1) throw std::invalid_argument("convolve: the rows of `weights` lie apart; copy them");
    convolve_dense<T>(image(window, wr, wc, wp), {weights, static_cast<std::size_t>(fr * fc)}, image(out, r, c, p),
                      {static_cast<std::size_t>(fr), static_cast<std::size_t>(fc), shift}, place(row, column),
                      border(rule, value));
}

template <class T>
void call_separable(const T* window, Long wr, Long wc, Long wp, const Weight<T>* vertical, Long vn,
                    const Weight<T>* horizontal, Long hn, T* out, Long r, Long c, Long p, std::int32_t shift,
                    std::int32_t rule, T value, Long row, Long column) {
    convolve_separable<T>(image(window, wr, wc, wp), {vertical, static_cast<std::size_t>(vn)},
                          {horizontal, static_cast<std::size_t>(hn)}, image(out, r, c, p), shift, place(row, column),
                          border(rule, value));
}

template <class T>
void call_affine(const T* window, Long wr, Long wc, Long wp, const double* matrix, Long numbers, T* out, Long r, Long c,
                 Long p, std::int32_t interpolation, std::int32_t rule, T value, Long row, Long column) {
    if (numbers != 6)
        throw std::invalid_argument("affine: a matrix of " + std::to_string(numbers) + " numbers; it has 6");
    Affine map;
    std::copy_n(matrix, 6, map.m.begin());
    affine<T>(image(window, wr, wc, wp), image(out, r, c, p), map,
              choice("Interpolation", interpolation, Interpolation::bilinear), border(rule, value), place(row, column));
}

void call_yuv(const std::uint8_t* y, Long yr, Long yc, Long yp, const std::uint8_t* u, Long ur, Long uc, Long up,
              const std::uint8_t* v, Long vr, Long vc, Long vp, std::uint8_t* rgb, Long r, Long c, Long p,
              std::int32_t range) {
    yuv_to_rgb(image(y, yr, yc, yp), image(u, ur, uc, up), image(v, vr, vc, vp), image(rgb, r, c, p),
               choice("YuvRange", range, YuvRange::full));
}

void call_idct(const float* coefficients, Long n, float* values, Long m) {
    idct_8x8({coefficients, static_cast<std::size_t>(n)}, {values, static_cast<std::size_t>(m)});
}

void call_idct_pixels(const std::int16_t* coefficients, Long n, std::uint8_t* pixels, Long r, Long c, Long p) {
    idct_8x8_pixels({coefficients, static_cast<std::size_t>(n)}, image(pixels, r, c, p));
}

void call_lab(const std::uint8_t* rgb, Long fr, Long fc, Long fp, float* lab, Long r, Long c, Long p) {
    rgb_to_lab(image(rgb, fr, fc, fp), image(lab, r, c, p));
}

void call_lab_statistics(const std::uint8_t* rgb, Long fr, Long fc, Long fp, float* lab, Long r, Long c, Long p,
                         double* statistics, Long n) {
    if (n != 7)
        throw std::invalid_argument("rgb_to_lab_with_statistics: " + std::to_string(n) + " statistics; there are 7");
    ChannelStatistics found;
    rgb_to_lab_with_statistics(image(rgb, fr, fc, fp), image(lab, r, c, p), {&found, 1});
    statistics[0] = static_cast<double>(found.pixels);
    std::copy_n(found.mean.begin(), 3, statistics + 1);
    std::copy_n(found.squares.begin(), 3, statistics + 4);
}

template <class T>
void call_pattern(const T* window, Long wr, Long wc, Long wp, std::uint8_t* out, Long r, Long c, Long p,
                  std::int32_t code, std::int32_t rule, T value, Long row, Long column, Long from_row,
                  Long from_column) {
    local_binary_pattern<T>(image(window, wr, wc, wp), image(out, r, c, p),
                            choice("PatternCode", code, PatternCode::uniform), place(row, column), border(rule, value),
                            place(from_row, from_column));
}

const std::string shape = ", intptr_t, intptr_t, intptr_t";
std::string in(const std::string& type) { return "const " + type + " *" + shape + ", "; }
std::string out(const std::string& type) { return type + " *" + shape; }

/// Adds name_uint8 and name_float32; `signature` gives the parameters for the pixels' type and that of the weights.
template <class Signature>
void add_both(nb::list& all, const std::string& name, std::uint64_t of_bytes, std::uint64_t of_floats,
              Signature signature) {
    all.append(nb::make_tuple(name + "_uint8", of_bytes,
                              "void (" + signature(std::string("uint8_t"), std::string("int16_t")) + ")"));
    all.append(nb::make_tuple(name + "_float32", of_floats,
                              "void (" + signature(std::string("float"), std::string("float")) + ")"));
}

template <class Function>
std::uint64_t address(Function* function) {
    return reinterpret_cast<std::uint64_t>(function);
}

nb::list bodies() {
    using Byte = std::uint8_t;
    using Text = const std::string&;
    nb::list all;
    add_both(all, "maximum", address(call_maximum<Byte>), address(call_maximum<float>),
             [](Text type, Text) { return in(type) + in(type) + out(type); });
    add_both(all, "convolve", address(call_convolve<Byte>), address(call_convolve<float>), [](Text type, Text weight) {
        return in(type) + in(weight) + out(type) + ", int32_t, int32_t, " + type + ", intptr_t, intptr_t";
    });
    add_both(all, "convolve_separable", address(call_separable<Byte>), address(call_separable<float>),
             [](Text type, Text weight) {
                 return in(type) + "const " + weight + " *, intptr_t, const " + weight + " *, intptr_t, " + out(type) +
                        ", int32_t, int32_t, " + type + ", intptr_t, intptr_t";
             });
    add_both(all, "affine", address(call_affine<Byte>), address(call_affine<float>), [](Text type, Text) {
        return in(type) + "const double *, intptr_t, " + out(type) + ", int32_t, int32_t, " + type +
               ", intptr_t, intptr_t";
    });
    add_both(all, "local_binary_pattern", address(call_pattern<Byte>), address(call_pattern<float>),
             [](Text type, Text) {
                 return in(type) + out("uint8_t") + ", int32_t, int32_t, " + type +
                        ", intptr_t, intptr_t, intptr_t, intptr_t";
             });
    const auto add = [&](const char* name, std::uint64_t at, const std::string& parameters) {
        all.append(nb::make_tuple(name, at, "void (" + parameters + ")"));
    };
    add("yuv_to_rgb", address(call_yuv), in("uint8_t") + in("uint8_t") + in("uint8_t") + out("uint8_t") + ", int32_t");
    add("idct_8x8", address(call_idct), "const float *, intptr_t, float *, intptr_t");
    add("idct_8x8_pixels", address(call_idct_pixels), "const int16_t *, intptr_t, " + out("uint8_t"));
    add("rgb_to_lab", address(call_lab), in("uint8_t") + out("float"));
    add("rgb_to_lab_with_statistics", address(call_lab_statistics),
        in("uint8_t") + out("float") + ", double *, intptr_t");
    return all;
}

}  // namespace

void bind_kernels(nb::module_& module) {
    module.def("kernel_bodies", &bodies, nb::sig("def kernel_bodies() -> list[tuple[str, int, str]]"),
               "Name, address and signature of each kernel of images; penstock.kernels makes bodies of them.");
}

}  // namespace penstock::python
