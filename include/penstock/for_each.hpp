// task layer: loops over a range in pieces, run by the caller and by all targets that are free.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
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

class Loop;

/// A body whose type is forgotten: run(body, piece).
struct Body {
    void (*run)(void* body, Piece piece);
    void* body;
    std::string_view name;
    std::uint32_t entry;  ///< of take_part() for this type
    std::size_t copied;   ///< bytes of the body that a target gets with its part; 0: only where it is
    const void* like;     ///< loops over bodies of which this is the same take about the same time an item
};

/// One thread's part of a short loop, in a descriptor.
struct Part {
    static constexpr std::size_t most_items = 65'535;  ///< of the whole loop

    alignas(8) std::byte body[24];  ///< a copy, or a pointer to it
    Loop* loop;
    std::uint16_t first, items, pieces;
};
static_assert(sizeof(Part) <= sizeof TaskPayload::line);

/// Does it fit a part, beside so many bytes?
template <class F, std::size_t beside = 0>
constexpr bool is_small() noexcept {
    if constexpr (!std::is_object_v<F>) return false;
    else
        return sizeof(F) + beside <= sizeof Part::body && alignof(F) <= alignof(Part) &&
               std::is_trivially_copyable_v<F> && std::is_trivially_copy_constructible_v<F>;
}
/// Has each target a copy of its own? Only of what may be called as a constant, by several threads at once.
template <class F>
inline constexpr bool is_copied =
    is_small<F>() &&
    (std::invocable<F&, std::size_t> ? std::invocable<const F&, std::size_t> : std::invocable<const F&, Piece>);

template <class F>
void run_piece(void* body, Piece piece) {
    auto& call = *static_cast<std::conditional_t<is_copied<F>, const F, F>*>(body);
    if constexpr (std::invocable<decltype(call), std::size_t>)
        for (std::size_t i = piece.begin; i < piece.end; ++i) call(i);
    else call(piece);
}

/// A target's part.
void take_part(const PackedArguments& part, LocalStore& store, void (*run)(void*, Piece), bool copied);

/// What a target runs for a loop has nothing to fetch ahead.
constexpr Entry entry_of_loop(decltype(Entry::run) run, std::string_view name) {
    return {.run = run,
            .discard = [](const PackedArguments&) noexcept {},
            .describe = [](const PackedArguments&, ArgumentBlock*) noexcept { return std::size_t{0}; },
            .name = name,
            .has_blocks = false,
            .has_rows = false};
}

/// `Named`: the type that users know.
template <class F, class Named>
struct Registered {
    static constexpr Entry entry = entry_of_loop(
        [](const PackedArguments& part, LocalStore& store) { take_part(part, store, run_piece<F>, is_copied<F>); },
        entry_name::of_type<Named>());
    static inline const std::uint32_t number = register_entry(entry);
};
template <class Named, class F>
Body body_of(F& body) noexcept {
    auto* const forgotten = const_cast<void*>(static_cast<const void*>(std::addressof(body)));
    using Taken = Registered<F, std::remove_cv_t<Named>>;
    return {run_piece<F>, forgotten, Taken::entry.name, Taken::number, is_copied<F> ? sizeof(F) : 0, &Taken::entry};
}

/// Over the elements of a range. `Held`: a body, or a pointer to one that is not copied.
template <class Held, class T>
struct OverRange {
    Held held;
    T* data;

    void operator()(Piece piece) const {
        auto& body = [this]() -> auto& {
            if constexpr (std::is_pointer_v<Held>) return *held;
            else return held;
        }();
        if constexpr (std::invocable<decltype(body), T&>)
            for (std::size_t i = piece.begin; i < piece.end; ++i) body(data[i]);
        else body(std::span<T>(data + piece.begin, piece.size()));
    }
};

/// Runs body over 0 .. n - 1. See Machine::for_each.
void run(Machine& machine, std::size_t n, std::size_t item_bytes, Grain grain, const Body& body);

}  // namespace loop

template <class F>
void Machine::for_each(std::size_t n, F&& body, Grain grain) {
    using Plain = std::remove_reference_t<F>;
    static_assert(std::invocable<Plain&, std::size_t> || std::invocable<Plain&, Piece>,
                  "penstock: the body of a loop takes an index (std::size_t) or a penstock::Piece");
    loop::run(*this, n, 0, grain, loop::body_of<Plain>(body));
}

template <class Range, class F>
    requires std::ranges::contiguous_range<Range>
void Machine::for_each(Range&& range, F&& body, Grain grain) {
    using Plain = std::remove_reference_t<F>;
    using T = std::remove_reference_t<std::ranges::range_reference_t<Range>>;
    static_assert(
        std::invocable<Plain&, T&> || std::invocable<Plain&, std::span<T>>,
        "penstock: the body of a loop over a range takes an element (T&) or a piece of the range (std::span<T>)");
    constexpr bool held =
        loop::is_small<Plain, sizeof(T*)>() &&
        (std::invocable<Plain&, T&> ? std::invocable<const Plain&, T&> : std::invocable<const Plain&, std::span<T>>);
    auto* const data = std::ranges::data(range);
    const auto size = static_cast<std::size_t>(std::ranges::size(range));
    const auto over = [&] {
        if constexpr (held) return loop::OverRange<std::remove_const_t<Plain>, T>{body, data};
        else return loop::OverRange<Plain*, T>{std::addressof(body), data};
    }();
    loop::run(*this, size, sizeof(T), grain, loop::body_of<Plain>(over));
}

}  // namespace penstock
