// What a thread tells its core while it spins, and what it asks the core to fetch ahead.
#pragma once

namespace penstock {

/// One breath in a spin loop: tells the core that nothing useful happens here, so that its other hardware thread runs
/// and the loop leaves cheaply. Costs between nothing and 140 cycles, by processor; never gives up the processor.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    asm volatile("yield");
#elif defined(__riscv)
    asm volatile(".insn i 0x0F, 0, x0, x0, 0x010");  // pause, by number: older assemblers do not know the name
#endif
}

/// Asks for the cache line at `address` to be brought near for reading. Any address is legal; nothing is read.
inline void prefetch_read(const void* address) noexcept {
    __builtin_prefetch(address, 0, 3);
    // g++ 12 takes a function that only prefetches for one without effect and drops its calls; this says that there is
    // one.
    asm volatile("" : : "r"(address));
}

/// Asks for the cache line at `address` to be brought near for writing, and taken from whoever has it.
inline void prefetch_write(const void* address) noexcept {
#if defined(__x86_64__)
    // The builtin gives a prefetch for reading unless the compiler was told of a newer processor; every 64-bit
    // processor takes this instruction, at worst as nothing.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
    __builtin_prefetch(address, 1, 3);
    asm volatile("" : : "r"(address));
#endif
}

}  // namespace penstock
