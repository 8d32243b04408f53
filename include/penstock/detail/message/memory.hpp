// message layer: memory from which others copy by themselves, so that a long message takes one copy between processes
// too, as fast as memcpy goes (contract 10).
//
//     auto rows = post.allocate<double>(1'000'000);
//     fill(rows.elements());
//     post.send(1, rows);                             // rank 1 copies straight from here
//
// Memory of the process's own takes two copies that overlap, or one by the kernel, at a half or less of that speed
// (`./bench messages` prints all three).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace penstock {

namespace message {

class Segments;

/// Gives bytes of a segment back to their messenger, for later use.
struct GiveBack {
    std::shared_ptr<Segments> segments;
    void operator()(std::byte* data) const noexcept;
};
using SegmentPart = std::unique_ptr<std::byte, GiveBack>;

}  // namespace message

/// `size()` elements in memory that the peers of one messenger can map. Made by Messenger::allocate. Moved, not copied;
/// used by its rank's own thread. A range: send, recv and their like take it as it is.
///
/// Messages from here are read by their receivers until they are complete, as from any other memory.
template <class T>
class MessageMemory {
  public:
    static_assert(std::is_trivially_copyable_v<T>, "what is sent is copied byte by byte");

    MessageMemory() noexcept = default;

    T* data() const noexcept { return reinterpret_cast<T*>(part_.get()); }
    std::size_t size() const noexcept { return part_ ? size_ : 0; }  ///< elements
    bool empty() const noexcept { return size() == 0; }
    T* begin() const noexcept { return data(); }
    T* end() const noexcept { return data() + size(); }
    T& operator[](std::size_t index) const noexcept { return data()[index]; }
    std::span<T> elements() const noexcept { return {data(), size()}; }

  private:
    friend class Messenger;
    MessageMemory(message::SegmentPart part, std::size_t size) noexcept : part_(std::move(part)), size_(size) {}

    message::SegmentPart part_;
    std::size_t size_ = 0;
};

}  // namespace penstock
