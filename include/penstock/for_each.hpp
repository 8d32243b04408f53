// task layer: loops over a range in pieces, run by the caller and by all targets that are free.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "penstock/detail/task/entry.hpp"
#include "penstock/machine.hpp"

namespace penstock {

/// Indices begin .. end - 1 of a loop.
struct Piece {
    std::size_t begin = 0;  ///< the first item
    std::size_t end = 0;    ///< behind the last
    std::size_t size() const noexcept { return end - begin; }
};

namespace loop {

/// A body whose type is forgotten: run(body, piece).
struct Body {
    void (*run)(void* body, Piece piece);
    void* body;
    std::string_view name;
};

/// Runs body over 0 .. n - 1. See Machine::for_each.
void run(Machine& machine, std::size_t n, std::size_t item_bytes, Grain grain, const Body& body);

}  // namespace loop

template <class F>
void Machine::for_each(std::size_t n, F&& body, Grain grain) {
    using Plain = std::remove_reference_t<F>;
    static_assert(std::invocable<Plain&, std::size_t> || std::invocable<Plain&, Piece>,
                  "penstock: the body of a loop takes an index (std::size_t) or a penstock::Piece");
    const auto run = [](void* f, Piece piece) {
        auto& call = *static_cast<Plain*>(f);
        if constexpr (std::invocable<Plain&, std::size_t>)
            for (std::size_t i = piece.begin; i < piece.end; ++i) call(i);
        else call(piece);
    };
    auto* const forgotten = const_cast<void*>(static_cast<const void*>(std::addressof(body)));
    loop::run(*this, n, 0, grain, {run, forgotten, entry_name::of_type<std::remove_cv_t<Plain>>()});
}

template <class Range, class F>
    requires std::ranges::contiguous_range<Range>
void Machine::for_each(Range&& range, F&& body, Grain grain) {
    using Plain = std::remove_reference_t<F>;
    using T = std::remove_reference_t<std::ranges::range_reference_t<Range>>;
    static_assert(
        std::invocable<Plain&, T&> || std::invocable<Plain&, std::span<T>>,
        "penstock: the body of a loop over a range takes an element (T&) or a piece of the range (std::span<T>)");
    auto over = [&body, data = std::ranges::data(range)](Piece piece) {
        if constexpr (std::invocable<Plain&, T&>)
            for (std::size_t i = piece.begin; i < piece.end; ++i) body(data[i]);
        else body(std::span<T>(data + piece.begin, piece.size()));
    };
    const auto run = [](void* f, Piece piece) { (*static_cast<decltype(over)*>(f))(piece); };
    loop::run(*this, static_cast<std::size_t>(std::ranges::size(range)), sizeof(T), grain,
              {run, &over, entry_name::of_type<std::remove_cv_t<Plain>>()});
}

}  // namespace penstock
