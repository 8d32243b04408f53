// task layer: code that a worker process cannot have from its start: procedures of libraries that are loaded later, and
// machine code that was made while the program ran. Both are closures like any other, on thread targets too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "penstock/error.hpp"
#include "penstock/heap.hpp"

namespace penstock {

/// A library cannot be loaded where the task runs, or has no such symbol. what() says which, in the loader's words.
struct EntryNotFound : Error {
    using Error::Error;
};

namespace plugins {

/// The symbol's address in this process, which loads the library when it is first asked for it. Throws EntryNotFound.
/// About 50 ns after the first time.
void* find(const char* library, const char* symbol);
/// Copies a text with its end. Throws UsageError for one that is too long.
void copy_name(std::string_view from, char* to, std::size_t room);
/// A number that no other code of this program has.
std::uint64_t next_code() noexcept;
/// The code with this number, copied into executable memory of this process when it is first asked for. Throws
/// SystemError.
void* install(std::uint64_t code, const std::byte* bytes, std::size_t size);

}  // namespace plugins

template <class Signature>
class Plugin;

/// What plugin<...>() returns: 160 bytes that travel in the descriptor.
template <class... P>
class Plugin<void(P...)> {
  public:
    /// Throws UsageError for names that are too long (95 and 63 bytes).
    Plugin(std::string_view library, std::string_view symbol) {
        plugins::copy_name(library, library_.data(), library_.size());
        plugins::copy_name(symbol, symbol_.data(), symbol_.size());
    }
    void operator()(P... arguments) const {
        reinterpret_cast<void (*)(P...)>(plugins::find(library_.data(), symbol_.data()))(std::forward<P>(arguments)...);
    }

  private:
    std::array<char, 96> library_{};
    std::array<char, 64> symbol_{};
};

/// A procedure by library and symbol, loaded where the task runs and kept there:
///
///     machine.call(plugin<void(std::span<const float>, std::span<float>)>("libfilter.so", "blur"), in(x), out(y));
///
/// The symbol must be a function of that signature under the name that its library exports (extern "C", or the mangled
/// name); the library is looked for as dlopen() does. A task whose library or symbol is missing fails with
/// EntryNotFound; the signature cannot be checked.
template <class Signature>
Plugin<Signature> plugin(std::string_view library, std::string_view symbol) {
    return {library, symbol};
}

template <class Signature>
class MachineCode;

/// What machine_code<...>() returns. The bytes must live until its tasks have completed.
template <class... P>
class MachineCode<void(P...)> {
  public:
    MachineCode(const std::byte* bytes, std::size_t size) noexcept
        : bytes_(bytes), size_(size), code_(plugins::next_code()) {}
    void operator()(P... arguments) const {
        reinterpret_cast<void (*)(P...)>(plugins::install(code_, bytes_, size_))(std::forward<P>(arguments)...);
    }

  private:
    const std::byte* bytes_;
    std::size_t size_;
    std::uint64_t code_;
};

/// Machine code for this processor, as a compiler at run time makes it, from an array of machine.array, which workers
/// can read. It is copied into executable memory where its first task runs and stays there, so keep what this returns
/// and call it many times. The code must begin with its entry, be position independent, and refer to nothing outside
/// itself but its arguments: nothing is relocated.
template <class Signature>
MachineCode<Signature> machine_code(const SharedArray<std::byte>& bytes) noexcept {
    return {bytes.data(), bytes.size()};
}

}  // namespace penstock
