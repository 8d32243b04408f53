#include "python/calls/task_board.hpp"

#include <new>

namespace penstock::python {
namespace {

/// Hands out parts of the board one after the other, each on a line of its own.
struct Layout {
    std::size_t at = 0;

    template <class T>
    T* part(std::byte* base, std::size_t count) noexcept {
        at = (at + 127) & ~std::size_t{127};
        auto* const place = reinterpret_cast<T*>(base + at);
        at += count * sizeof(T);
        return place;
    }
};

}  // namespace

std::size_t TaskBoard::bytes(std::uint32_t workers) noexcept {
    return sizeof(BoardHeader) + workers * (sizeof(WorkerBoard) + (named_capacity + slots) * sizeof(std::uint64_t)) +
           slots * (sizeof(TaskSlot) + BoardHeader::levels * sizeof(std::uint64_t)) +
           functions * sizeof(FunctionPlace) + 8 * 128;
}

TaskBoard::TaskBoard(SharedMemory memory, std::uint32_t workers) : memory_(std::move(memory)), workers_(workers) {
    std::byte* const base = memory_.data();
    Layout layout;
    header_ = layout.part<BoardHeader>(base, 1);
    worker_boards_ = layout.part<WorkerBoard>(base, workers);
    slots_ = layout.part<TaskSlot>(base, slots);
    functions_ = layout.part<FunctionPlace>(base, functions);
    entries_ = layout.part<std::atomic<std::uint64_t>>(base, std::size_t{BoardHeader::levels} * slots);
    named_entries_ = layout.part<std::atomic<std::uint64_t>>(base, std::size_t{workers} * named_capacity);
    completions_ = layout.part<std::atomic<std::uint64_t>>(base, std::size_t{workers} * slots);
}

// What is not written here is zero, which is what an empty slot, ring or table is.
TaskBoard::TaskBoard(std::uint32_t workers)
    : TaskBoard(SharedMemory::create("penstock-python-tasks", bytes(workers)), workers) {
    auto* const header = new (header_) BoardHeader;
    header->workers = workers;
    header->parent = static_cast<std::uint32_t>(getpid());
}

TaskBoard TaskBoard::adopt(int descriptor) {
    auto memory = SharedMemory::adopt(descriptor, sizeof(BoardHeader));
    const auto* const header = reinterpret_cast<const BoardHeader*>(memory.data());
    const auto workers = header->workers;
    if (header->magic != BoardHeader::expected_magic || workers == 0 || workers > slot_word::most_workers ||
        memory.size() < bytes(workers))
        throw Error(
            "this is no board of tasks that can be used here: start workers with the Penstock that the program uses");
    return TaskBoard(std::move(memory), workers);
}

}  // namespace penstock::python
