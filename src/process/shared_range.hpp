// Addresses that mean the same in this process and in those forked from the one that launch() started.
//
// launch() reserves them before it forks, so no process of the family has anything else there. A program that never
// called launch() reserves them at first use; then they are its own alone.
#pragma once

#include <cstddef>

namespace penstock::shared_range {

/// A part of the reserved addresses. No memory is behind it.
struct Window {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
};

/// Reserves the addresses unless that was done. Without memory and without a file behind them; throws nothing: a system
/// that gives none says so when a window is wanted.
void reserve() noexcept;

/// A window of `bytes` (a power of two) that nobody has. Throws SystemError (ENOMEM) where there is none.
Window take(std::size_t bytes);
/// Whatever was mapped there is replaced by pages of zeros that can be read: a thread that looks at what has gone reads
/// zeros.
void give_back(Window window) noexcept;

/// Bytes reserved in all.
std::size_t size() noexcept;

}  // namespace penstock::shared_range
