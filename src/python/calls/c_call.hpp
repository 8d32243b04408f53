// Calls a C function whose parameters are known only at run time, without a code generator.
//
// The calling conventions of x86-64 (System V) and of 64-bit Arm (AAPCS64, Linux) sort parameters into two classes,
// integers (with pointers) and floating point; each class fills registers of its own from left to right, and what is
// left over goes onto the stack in order, 8 bytes each. So a function whose parameters are [all integer registers, all
// floating registers, n words] puts every word where any callee looks for it, as long as the caller sorted the words;
// registers too many are harmless. A float lies in the low half of its register or word. Elsewhere only integers and
// pointers in registers are supported, which every convention passes alike.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace penstock::python {

#if defined(__x86_64__) && defined(__linux__)
inline constexpr std::size_t integer_registers = 6;
inline constexpr std::size_t floating_registers = 8;
inline constexpr std::size_t most_stack_words = 256;
#elif defined(__aarch64__) && defined(__linux__)
inline constexpr std::size_t integer_registers = 8;
inline constexpr std::size_t floating_registers = 8;
inline constexpr std::size_t most_stack_words = 256;
#else
inline constexpr std::size_t integer_registers = 6;
inline constexpr std::size_t floating_registers = 0;
inline constexpr std::size_t most_stack_words = 0;
#endif

/// How many words of each class a call has. The words lie in this order: integers, floating, stack.
struct WordCounts {
    std::uint16_t integers = 0;
    std::uint16_t floating = 0;
    std::uint16_t stack = 0;

    std::size_t total() const noexcept { return std::size_t{integers} + floating + stack; }
};

namespace c_call {

template <std::size_t, class T>
using Repeat = T;

template <class Integers, class Floating, class Stack>
struct Convention;

template <std::size_t... I, std::size_t... F, std::size_t... S>
struct Convention<std::index_sequence<I...>, std::index_sequence<F...>, std::index_sequence<S...>> {
    using Function = void (*)(Repeat<I, std::uint64_t>..., Repeat<F, double>..., Repeat<S, std::uint64_t>...);

    static void call(std::uint64_t function, const std::uint64_t* words, const WordCounts& counts) {
        std::array<std::uint64_t, integer_registers> integers{};
        std::array<double, floating_registers + 1> floating{};
        std::array<std::uint64_t, sizeof...(S) + 1> stack{};
        for (std::size_t i = 0; i < counts.integers; ++i) integers[i] = *words++;
        for (std::size_t i = 0; i < counts.floating; ++i) floating[i] = std::bit_cast<double>(*words++);
        for (std::size_t i = 0; i < counts.stack; ++i) stack[i] = *words++;
        reinterpret_cast<Function>(function)(integers[I]..., floating[F]..., stack[S]...);
    }
};

template <std::size_t floating, std::size_t stack>
using With = Convention<std::make_index_sequence<integer_registers>, std::make_index_sequence<floating>,
                        std::make_index_sequence<stack>>;

}  // namespace c_call

/// Calls the function at this address. At most integer_registers, floating_registers and most_stack_words of each
/// class.
inline void call_c(std::uint64_t function, const std::uint64_t* words, const WordCounts& counts) {
    if (counts.stack == 0 && counts.floating == 0) return c_call::With<0, 0>::call(function, words, counts);
    if constexpr (floating_registers > 0) {
        if (counts.stack == 0) return c_call::With<floating_registers, 0>::call(function, words, counts);
        if (counts.stack <= 8) return c_call::With<floating_registers, 8>::call(function, words, counts);
        if (counts.stack <= 32) return c_call::With<floating_registers, 32>::call(function, words, counts);
        return c_call::With<floating_registers, most_stack_words>::call(function, words, counts);
    }
}

}  // namespace penstock::python
