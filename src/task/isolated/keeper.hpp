// task layer, internal: the keeper, a small early process that forks a machine's workers, sees how each of them ends
// and tells the program. Only a process's parent learns that from every kernel, and the program's own fork would be
// slow and is forbidden.
//
// The words between program and keeper, over one socket that keeps messages whole:
//   Setup     program, once: the descriptors of both heaps and of the program's stdout
//   Hello     keeper, once: what the program may call, as it was when launch() was called
//   Command   program: fork a worker, with its end of its own socket and of its stderr's pipe; or kill one
//   News      keeper: a worker could not be forked, or has ended
#pragma once

#include <array>

#include "machine/uninterrupted.hpp"
#include "penstock/heap.hpp"
#include "process/children.hpp"
#include "process/descriptor_message.hpp"

namespace penstock::isolated {

struct Board;

struct Setup {
    struct Window {
        std::byte* base = nullptr;
        std::size_t bytes = 0;
    };
    std::array<Window, 2> heaps{};  ///< control heap, arrays
    Board* board = nullptr;
};

struct Hello {
    static constexpr std::uint32_t most_images = 200;
    std::int32_t error = 0;     ///< 0: all is well; else the error's number
    std::uint32_t entries = 0;  ///< procedures that the process knows
    std::uint32_t images = 0;   ///< programs and libraries that it has loaded, by their base addresses
    std::array<std::uintptr_t, most_images> bases{};
};

struct Command {
    enum Kind : std::uint32_t { fork = 1, kill = 2 };
    std::uint32_t kind = 0;
    std::uint32_t worker = 0;  ///< its number, never used twice
};

struct News {
    enum Kind : std::uint32_t { refused = 1, ended = 2 };
    std::uint32_t kind = 0;
    std::uint32_t worker = 0;
    std::int32_t error = 0;  ///< its number
    process::Death death{};
};

/// To a worker, over its own socket: the number of the seat that it takes, once; then answers to its reports.
enum class Answer : std::uint32_t { go_on = 1, skip = 2 };

/// False, with errno, when there is nobody to tell.
template <class Message>
bool tell(int socket, const Message& message, std::span<const int> descriptors = {}) noexcept {
    return process::send_with_descriptors(socket, std::as_bytes(std::span(&message, 1)), descriptors, 0) >= 0;
}
/// As recv(), but never EINTR.
template <class Message>
ssize_t hear(int socket, Message& message, int flags = 0) noexcept {
    return uninterrupted([&] { return recv(socket, &message, sizeof message, flags); });
}

/// The keeper's life. Returns when the program has closed its end.
void keep_workers(int socket);

/// A worker's life: waits for its seat at `socket` and serves it.
[[noreturn]] void work(int socket, Board& board) noexcept;

}  // namespace penstock::isolated
