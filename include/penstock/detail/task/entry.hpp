// task layer: entry points. A procedure that can be called is known by a number, which travels in the descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

// Blocks are written where they stay, field by field. Words that were just written and are read together, as where a
// whole block is copied, are not there for the reader before all earlier writes have come to memory, and these are
// completions and results that other processors look at: 100 ns a task (4 KiB from memory, `./bench prefetch`).
template <class T>
bool describe_block(ArgumentBlock& block, Access access, std::span<T> value) noexcept {
    block.base = reinterpret_cast<const std::byte*>(value.data());
    block.rows = 1;
    block.row_bytes = value.size_bytes();
    block.pitch = 0;
    block.access = access;
    return true;
}
/// False for a view whose rows do not lie at one pitch.
template <class T, std::size_t Rank>
bool describe_block(ArgumentBlock& block, Access access, const view<T, Rank>& value) noexcept {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    block.base = reinterpret_cast<const std::byte*>(value.data());
    block.access = access;
    if (value.contiguous()) {
        block.rows = 1;
        block.row_bytes = value.size() * sizeof(T);
        block.pitch = 0;
        return true;
    }
    if constexpr (Rank == 1) {
        block.rows = value.extent(0);
        block.row_bytes = sizeof(T);
        block.pitch = value.stride(0) * size;
        return true;
    } else if constexpr (Rank == 2) {
        block.rows = value.extent(0);
        block.row_bytes = value.extent(1) * sizeof(T);
        block.pitch = value.stride(0) * size;
        return value.stride(1) == 1;
    } else {
        return false;
    }
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
