// The kernels of images as compiled bodies: C functions over addresses, rows, columns and pitch, as Python's
// machine.call passes them.
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

/// A parameter's type as C writes it.
template <class T>
std::string c_name() {
    if constexpr (std::is_pointer_v<T>) {
        using Target = std::remove_pointer_t<T>;
        return (std::is_const_v<Target> ? "const " : "") + c_name<std::remove_const_t<Target>>() + " *";
    } else if constexpr (std::is_floating_point_v<T>) {
        return sizeof(T) == sizeof(float) ? "float" : "double";
    } else if constexpr (std::is_same_v<T, Long>) {
        return "intptr_t";
    } else {
        return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T)) + "_t";
    }
}

template <class... Parameters>
void add(nb::list& all, const char* name, void (*function)(Parameters...)) {
    std::string parameters;
    ((parameters += (parameters.empty() ? "" : ", ") + c_name<Parameters>()), ...);
    all.append(nb::make_tuple(name, reinterpret_cast<std::uint64_t>(function), "void (" + parameters + ")"));
}

nb::list bodies() {
    using Byte = std::uint8_t;
    nb::list all;
    add(all, "maximum_uint8", &call_maximum<Byte>);
    add(all, "maximum_float32", &call_maximum<float>);
    add(all, "convolve_uint8", &call_convolve<Byte>);
    add(all, "convolve_float32", &call_convolve<float>);
    add(all, "convolve_separable_uint8", &call_separable<Byte>);
    add(all, "convolve_separable_float32", &call_separable<float>);
    add(all, "affine_uint8", &call_affine<Byte>);
    add(all, "affine_float32", &call_affine<float>);
    add(all, "local_binary_pattern_uint8", &call_pattern<Byte>);
    add(all, "local_binary_pattern_float32", &call_pattern<float>);
    add(all, "yuv_to_rgb", &call_yuv);
    add(all, "idct_8x8", &call_idct);
    add(all, "idct_8x8_pixels", &call_idct_pixels);
    add(all, "rgb_to_lab", &call_lab);
    add(all, "rgb_to_lab_with_statistics", &call_lab_statistics);
    return all;
}

}  // namespace

void bind_kernels(nb::module_& module) {
    module.def("kernel_bodies", &bodies, nb::sig("def kernel_bodies() -> list[tuple[str, int, str]]"),
               "Name, address and signature of each kernel of images; penstock.kernels makes bodies of them.");
}

}  // namespace penstock::python
