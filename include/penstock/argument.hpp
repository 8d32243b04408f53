// task layer: the tags. in(x), out(x) and inout(x) say what a task does with memory that the caller keeps alive
// (contract 6 to 10).
//
// A tag turns whatever the caller holds into one of three shapes: a span (contiguous), a view (strided), or pieces (a
// list). Which parameter takes which shape is checked at compile time in pack.hpp. The words in, out and inout are
// TPC's.
#pragma once

#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "penstock/view.hpp"

namespace penstock {

/// What the task does with an argument.
enum class Access : std::uint8_t { in, out, inout };

/// An argument with its tag. `Shape` is std::span<T>, view<T, Rank> or pieces<T>; T is const for in.
template <Access access_, class Shape, bool staged_ = false>
struct Tagged {
    static constexpr Access access = access_;  ///< what the task does with it
    static constexpr bool staged = staged_;    ///< is it copied to the local store?
    using shape_type = Shape;                  ///< span, view or pieces
    Shape value;                               ///< the memory
};

/// An argument that travels into the task and dies with it.
template <class T>
struct Owned {
    T value;  ///< what the task takes over
};

namespace tagging {

template <class T>
inline constexpr bool is_view = false;
template <class T, std::size_t Rank>
inline constexpr bool is_view<view<T, Rank>> = true;
template <class T>
inline constexpr bool is_pieces = false;
template <class T>
inline constexpr bool is_pieces<pieces<T>> = true;
template <class T>
inline constexpr bool is_span = false;
template <class T, std::size_t N>
inline constexpr bool is_span<std::span<T, N>> = true;
/// A shape of memory.
template <class T>
inline constexpr bool is_shape = is_view<T> || is_pieces<T> || is_span<T>;
template <class T>
inline constexpr bool is_tagged = false;
template <Access A, class S, bool G>
inline constexpr bool is_tagged<Tagged<A, S, G>> = true;
/// May it lie in pieces apart from one another?
template <class T>
inline constexpr bool is_in_rows = false;
template <Access A, class S, bool G>
inline constexpr bool is_in_rows<Tagged<A, S, G>> = !is_span<S>;
template <class T>
inline constexpr bool is_owned = false;
template <class T>
inline constexpr bool is_owned<Owned<T>> = true;

/// Memory that stays when the expression that named it is gone: an lvalue, or something that only refers (span, view).
template <class X>
concept outlives_the_call = std::is_lvalue_reference_v<X> || is_view<std::remove_cvref_t<X>> ||
                            is_pieces<std::remove_cvref_t<X>> || std::ranges::borrowed_range<X>;

/// Not memory itself: something that stands for memory which is known later, and says how it is tagged
/// (chain_argument.hpp).
template <class X>
concept stands_for_memory = requires { typename X::StandsForMemory; };

template <class X>
concept contiguous = std::ranges::contiguous_range<X> && std::ranges::sized_range<X>;

template <Access access, class T>
using Element = std::conditional_t<access == Access::in, const T, T>;

template <Access access, class X>
constexpr auto tag(X&& x) {
    using Plain = std::remove_cvref_t<X>;
    static_assert(
        outlives_the_call<X> || stands_for_memory<Plain>,
        "penstock: this temporary owns its memory and is gone before the task runs; name it and keep it alive until "
        "the task has completed, or hand it over with own(std::move(x))");
    if constexpr (stands_for_memory<Plain>) {
        return x.template tagged<access>();
    } else if constexpr (is_view<Plain>) {
        using T = typename Plain::element_type;
        static_assert(access == Access::in || !std::is_const_v<T>,
                      "penstock: out and inout need memory that is not const");
        return Tagged<access, view<Element<access, T>, Plain::rank()>>{x};
    } else if constexpr (is_pieces<Plain>) {
        using T = typename Plain::element_type;
        static_assert(access == Access::in || !std::is_const_v<T>,
                      "penstock: out and inout need memory that is not const");
        return Tagged<access, Plain>{x};
    } else if constexpr (contiguous<X>) {
        using T = std::remove_reference_t<std::ranges::range_reference_t<X>>;
        static_assert(access == Access::in || !std::is_const_v<T>,
                      "penstock: out and inout need memory that is not const");
        return Tagged<access, std::span<Element<access, T>>>{{std::ranges::data(x), std::ranges::size(x)}};
    } else {
        using T = std::remove_reference_t<X>;
        static_assert(access == Access::in || !std::is_const_v<T>,
                      "penstock: out and inout need memory that is not const");
        static_assert(!std::is_pointer_v<Plain>,
                      "penstock: a bare pointer has no length; use in(std::span(pointer, n))");
        static_assert(!std::ranges::range<X>,
                      "penstock: this range is not contiguous in memory; use a view, pieces, or a copy");
        return Tagged<access, std::span<Element<access, T>>>{{std::addressof(x), 1}};
    }
}

}  // namespace tagging

/// The task reads x: any contiguous container or span, a view, pieces, or a single object. x must live until
/// completion.
template <class X>
constexpr auto in(X&& x) {
    return tagging::tag<Access::in>(std::forward<X>(x));
}
/// The task writes all of x and does not read it.
template <class X>
constexpr auto out(X&& x) {
    return tagging::tag<Access::out>(std::forward<X>(x));
}
/// The task reads and writes x.
template <class X>
constexpr auto inout(X&& x) {
    return tagging::tag<Access::inout>(std::forward<X>(x));
}

/// Moves x into the task, which destroys it after it has run. Costs an allocation.
template <class X>
auto own(X&& x) {
    static_assert(!std::is_lvalue_reference_v<X>, "penstock: own(std::move(x)) takes x over; it cannot share it");
    return Owned<std::remove_cvref_t<X>>{std::forward<X>(x)};
}

/// Asks that the argument be copied into the target's local store, contiguous, and written back if it is out or inout.
template <Access access, class Shape, bool already>
constexpr auto staged(Tagged<access, Shape, already> argument) {
    return Tagged<access, Shape, true>{argument.value};
}

}  // namespace penstock
