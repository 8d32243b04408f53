// task layer: one task as it is stored into a lane or a deque. The layout is frozen: messages, streams and process
// targets use it.
//
//   word 0     sequence      from the channel's Record: number of the record, and whether it completes in its slot
//   word 1     done          from the channel's Record
//   word 2     entry, flags  which procedure; whether the arguments are boxed
//   word 3..7  40 bytes of packed arguments: four spans (a 48-bit address and a 32-bit length each) fill them exactly
//
// What does not fit goes into the slot's Extension (three more lines, only touched when used), and beyond that into a
// box on the heap. `./bench null-task` prints what each step costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

/// Written by the initiator, read by whoever runs the task.
struct TaskPayload {
    static constexpr std::uint32_t boxed = 1;  ///< the arguments lie on the heap; `line` holds the pointer
    /// The bits above: index of what the initiator asked for this task, or 0 (task/waiting/notices.hpp)
    static constexpr int notice_shift = 1;

    std::uint32_t entry = 0;  ///< number of the Entry, the same in every process of one program
    std::uint32_t flags = 0;
    std::byte line[40]{};
};

/// The further argument bytes of one slot.
struct alignas(64) Extension {
    std::byte bytes[192];
};

using TaskRecord = Record<TaskPayload>;

static_assert(sizeof(TaskPayload) == 48 && std::is_trivially_copyable_v<TaskPayload>);
static_assert(sizeof(TaskRecord) == 64 && alignof(TaskRecord) == 64, "a descriptor is one cache line");

/// The packed arguments of one task, as a trampoline finds them.
struct PackedArguments {
    std::byte* line;
    std::byte* extension;
    bool boxed;
};

}  // namespace penstock
