// task layer: the tasks that read a block since it was last written. The first few lie in the block's own lines: where
// they lay on the heap, each task that writes touched a line more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

class Ring;

/// A dependent task as its issuer remembers it: where it is kept, and its number there.
struct TaskReference {
    Ring* ring = nullptr;
    std::uint64_t number = 0;
};

class ReaderList {
  public:
    static constexpr std::uint32_t near_readers = 8;

    std::uint32_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    void push(const TaskReference& reader) {
        if (count_ < near_readers) [[likely]]
            near_[count_] = reader;
        else more_.push_back(reader);
        ++count_;
    }
    void clear() noexcept {
        if (count_ > near_readers) more_.clear();
        count_ = 0;
    }
    template <class Visit>
    void each(Visit&& visit) const {
        const auto near = std::min(count_, near_readers);
        for (std::uint32_t i = 0; i < near; ++i) visit(near_[i]);
        for (std::uint32_t i = near; i < count_; ++i) visit(more_[i - near_readers]);
    }
    template <class Condition>
    void erase_if(Condition&& condition) {
        const ReaderList all = *this;
        clear();
        all.each([&](const TaskReference& reader) {
            if (!condition(reader)) push(reader);
        });
    }

  private:
    std::uint32_t count_ = 0;
    std::array<TaskReference, near_readers> near_{};
    std::vector<TaskReference> more_;
};

}  // namespace penstock
