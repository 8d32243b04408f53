// task layer: how the arguments of a call travel in a descriptor.
//
// For each argument a Codec says how many bytes it takes, whether its value fits them, and how it is stored and loaded.
// Arguments fill the 40 bytes of the line first, then the slot's extension; which one each takes is settled at compile
// time. What cannot be packed (an owned value, an array of 2^32 elements, an address above 2^48) makes the whole call
// travel in a box on the heap.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "penstock/argument.hpp"
#include "penstock/detail/task/descriptor.hpp"
#include "penstock/detail/task/entry.hpp"

namespace penstock::packing {

/// An address in 48 bits. Linux gives user space no higher address unless it is asked for.
inline constexpr std::size_t address_bytes = 6;
static_assert(std::endian::native == std::endian::little, "addresses are packed low byte first");

inline bool address_fits(const void* address) noexcept { return reinterpret_cast<std::uint64_t>(address) >> 48 == 0; }
// In two stores and two loads, which the registers join. One copy of six bytes would go over the stack, where a load
// waits for stores of other widths: 4 ns a span.
inline void store_address(std::byte* at, const void* address) noexcept {
    const auto word = reinterpret_cast<std::uint64_t>(address);
    const auto low = static_cast<std::uint32_t>(word);
    const auto high = static_cast<std::uint16_t>(word >> 32);
    std::memcpy(at, &low, 4);
    std::memcpy(at + 4, &high, 2);
}
inline void* load_address(const std::byte* at) noexcept {
    std::uint32_t low = 0;
    std::uint16_t high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 2);
    return reinterpret_cast<void*>(low | std::uint64_t{high} << 32);
}
/// Three bytes, loaded likewise.
inline std::uint32_t load_extent(const std::byte* at) noexcept {
    std::uint16_t low = 0;
    std::memcpy(&low, at, 2);
    return low | std::to_integer<std::uint32_t>(at[2]) << 16;
}

/// A scalar: its own bytes.
template <class Stored>
struct Codec {
    using V = Stored;
    static constexpr bool boxed = !std::is_trivially_copyable_v<V> || sizeof(V) > sizeof(Extension);
    // a function that is part of the type is free
    static constexpr std::size_t bytes = std::is_empty_v<V> ? 0 : sizeof(V);
    static bool fits(const V&) noexcept { return true; }
    static void store(std::byte* at, const V& value) noexcept { std::memcpy(at, &value, bytes); }
    static V load(const std::byte* at) noexcept {
        alignas(V) std::byte copy[sizeof(V)]{};
        std::memcpy(copy, at, bytes);
        return *std::launder(reinterpret_cast<V*>(copy));
    }
};

/// A span, or the caller's list of pieces: address and 32-bit length.
template <Access access, class Shape, bool staged>
    requires(tagging::is_span<Shape> || tagging::is_pieces<Shape>)
struct Codec<Tagged<access, Shape, staged>> {
    using Stored = Tagged<access, Shape, staged>;
    static constexpr bool boxed = false;
    static constexpr std::size_t bytes = address_bytes + 4;
    static auto list_of(const Stored& a) noexcept {
        if constexpr (tagging::is_span<Shape>) return a.value;
        else return a.value.list();
    }
    static bool fits(const Stored& a) noexcept {
        return address_fits(list_of(a).data()) && list_of(a).size() >> 32 == 0;
    }
    static void store(std::byte* at, const Stored& a) noexcept {
        const auto length = static_cast<std::uint32_t>(list_of(a).size());
        store_address(at, list_of(a).data());
        std::memcpy(at + address_bytes, &length, 4);
    }
    static Stored load(const std::byte* at) noexcept {
        using List = decltype(list_of(std::declval<const Stored&>()));
        std::uint32_t length = 0;
        std::memcpy(&length, at + address_bytes, 4);
        return {Shape(List(static_cast<typename List::pointer>(load_address(at)), length))};
    }
};

/// A view: address, 24-bit extents, 32-bit strides. Two views of rank 2 fill the line exactly.
template <Access access, class T, std::size_t Rank, bool staged>
struct Codec<Tagged<access, view<T, Rank>, staged>> {
    using Stored = Tagged<access, view<T, Rank>, staged>;
    static constexpr bool boxed = false;
    static constexpr std::size_t bytes = address_bytes + Rank * 7;
    static bool fits(const Stored& a) noexcept {
        bool good = address_fits(a.value.data());
        for (std::size_t d = 0; d < Rank; ++d)
            good = good && a.value.extent(d) >> 24 == 0 &&
                   a.value.stride(d) == static_cast<std::int32_t>(a.value.stride(d));
        return good;
    }
    static void store(std::byte* at, const Stored& a) noexcept {
        store_address(at, a.value.data());
        at += address_bytes;
        for (std::size_t d = 0; d < Rank; ++d, at += 7) {
            const auto extent = static_cast<std::uint32_t>(a.value.extent(d));
            const auto stride = static_cast<std::int32_t>(a.value.stride(d));
            std::memcpy(at, &extent, 3);
            std::memcpy(at + 3, &stride, 4);
        }
    }
    static Stored load(const std::byte* at) noexcept {
        auto* const data = static_cast<T*>(load_address(at));
        at += address_bytes;
        typename view<T, Rank>::Extents extents{};
        typename view<T, Rank>::Strides strides{};
        for (std::size_t d = 0; d < Rank; ++d, at += 7) {
            std::int32_t stride = 0;
            std::memcpy(&stride, at + 3, 4);
            extents[d] = load_extent(at);
            strides[d] = stride;
        }
        return {{data, extents, strides}};
    }
};

/// An owned value always travels in a box.
template <class T>
struct Codec<Owned<T>> {
    static constexpr bool boxed = true;
    static constexpr std::size_t bytes = 0;
};

/// Where each argument lies: in the line while it fits, else in the extension.
struct Position {
    bool in_line = true;
    std::size_t offset = 0;
};

template <std::size_t N>
struct Layout {
    std::array<Position, N> places{};
    bool boxed = false;     ///< does not fit even the extension, or must not be packed
    bool extended = false;  ///< uses the extension
};

template <class... Stored>
constexpr Layout<sizeof...(Stored)> lay_out() {
    Layout<sizeof...(Stored)> layout;
    std::size_t line = 0;
    std::size_t extension = 0;
    std::size_t i = 0;
    const auto place = [&](bool boxed, std::size_t bytes) {
        layout.boxed = layout.boxed || boxed;
        if (line + bytes <= sizeof(TaskPayload::line)) {
            layout.places[i++] = {true, line};
            line += bytes;
        } else {
            layout.places[i++] = {false, extension};
            extension += bytes;
        }
    };
    (place(Codec<Stored>::boxed, Codec<Stored>::bytes), ...);
    layout.extended = extension != 0;
    layout.boxed = layout.boxed || extension > sizeof(Extension::bytes);
    return layout;
}

/// All arguments of one call. `Stored` are scalars of the parameters' own types, Tagged, and Owned.
template <class... Stored>
class Pack {
  public:
    static constexpr auto layout = lay_out<Stored...>();
    using Box = std::tuple<Stored...>;

    /// Do these values fit the packed form?
    static bool fits(const Stored&... values) noexcept {
        if constexpr (layout.boxed) return false;
        else return (Codec<Stored>::fits(values) && ...);
    }

    static void store(TaskPayload& payload, Extension* extension, const Stored&... values) noexcept {
        if constexpr (!layout.boxed) store_each(std::index_sequence_for<Stored...>{}, payload, extension, values...);
    }

    static void store_box(TaskPayload& payload, Box* box) noexcept { std::memcpy(payload.line, &box, sizeof box); }
    static Box* box(const PackedArguments& arguments) noexcept {
        Box* box = nullptr;
        std::memcpy(&box, arguments.line, sizeof box);
        return box;
    }

    /// The packed value of argument I.
    template <std::size_t I>
    static auto load(const PackedArguments& arguments) noexcept {
        using S = std::tuple_element_t<I, Box>;
        constexpr Position place = layout.places[I];
        return Codec<S>::load((place.in_line ? arguments.line : arguments.extension) + place.offset);
    }

  private:
    template <std::size_t... I>
    static void store_each(std::index_sequence<I...>, TaskPayload& payload, Extension* extension,
                           const Stored&... values) noexcept {
        constexpr auto& places = layout.places;
        (Codec<Stored>::store((places[I].in_line ? payload.line : extension->bytes) + places[I].offset, values), ...);
    }
};

}  // namespace penstock::packing
