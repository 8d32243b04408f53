// task layer: entry points. A procedure that can be called is known by a number, which travels in the descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "penstock/argument.hpp"
#include "penstock/detail/task/descriptor.hpp"

namespace penstock {

class LocalStore;

/// One argument's memory as the prefetcher sees it: `rows` of `row_bytes`, `pitch` bytes apart.
struct ArgumentBlock {
    const std::byte* base;
    std::size_t rows;
    std::size_t row_bytes;
    std::ptrdiff_t pitch;
    Access access;
    bool staged = false;  ///< it is copied into the local store, or from there

    std::size_t bytes() const noexcept { return rows * row_bytes; }
};

template <class T>
std::optional<ArgumentBlock> block_of(Access access, std::span<T> value) noexcept {
    return ArgumentBlock{reinterpret_cast<const std::byte*>(value.data()), 1, value.size_bytes(), 0, access};
}
/// None for a view whose rows do not lie at one pitch.
template <class T, std::size_t Rank>
std::optional<ArgumentBlock> block_of(Access access, const view<T, Rank>& value) noexcept {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    const auto* const base = reinterpret_cast<const std::byte*>(value.data());
    if (value.contiguous()) return ArgumentBlock{base, 1, value.size() * sizeof(T), 0, access};
    if constexpr (Rank == 1) return ArgumentBlock{base, value.extent(0), sizeof(T), value.stride(0) * size, access};
    else if constexpr (Rank == 2)
        if (value.stride(1) == 1)
            return ArgumentBlock{base, value.extent(0), value.extent(1) * sizeof(T), value.stride(0) * size, access};
    return std::nullopt;
}

/// What the runtime knows of a procedure. All pointers are to functions that the compiler made for it.
struct Entry {
    static constexpr std::size_t max_blocks = 16;

    /// Unpacks the arguments, stages what asks for it in `store`, calls, writes back, and frees a box. Rethrows.
    void (*run)(const PackedArguments&, LocalStore& store);
    /// Frees a box without calling. For tasks that are cancelled.
    void (*discard)(const PackedArguments&) noexcept;
    /// Fills `blocks` with at most max_blocks tagged arguments and returns how many.
    std::size_t (*describe)(const PackedArguments&, ArgumentBlock* blocks) noexcept;
    std::string_view name;
    bool has_blocks;      ///< false: there is nothing to prefetch, ever
    bool has_rows;        ///< an argument may lie in pieces apart from one another
    bool stages = false;  ///< an argument is copied into the local store, or from there
};

/// Gives `entry` a number, from 1. Called during static initialisation, in the same order in every process of one
/// program. Throws UsageError when a program has more than 65,535 procedures.
std::uint32_t register_entry(const Entry& entry);

/// The entry with this number.
inline std::array<const Entry*, 65'536> entries{};
inline const Entry& entry_of(std::uint32_t number) noexcept { return *entries[number]; }

namespace entry_name {

/// The name of a function given as template argument, cut out of what the compiler calls this function.
template <auto function>
constexpr std::string_view of() {
    std::string_view text = __PRETTY_FUNCTION__;
    const auto begin = text.find("function = ") + 11;
    auto name = text.substr(begin, text.find_first_of(";]", begin) - begin);
    if (const auto cut = name.find('('); cut != 0 && cut != name.npos && name.find("lambda") == name.npos)
        name = name.substr(0, cut);
    if (!name.empty() && name.front() == '&') name.remove_prefix(1);
    return name;
}

/// The name of a closure's type, likewise.
template <class Closure>
constexpr std::string_view of_type() {
    std::string_view text = __PRETTY_FUNCTION__;
    const auto begin = text.find("Closure = ") + 10;
    return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

}  // namespace entry_name
}  // namespace penstock
