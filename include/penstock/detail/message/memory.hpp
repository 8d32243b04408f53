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

/// Bytes of a segment, which goes back to its messenger for later use when the owner lets go of them.
class SegmentPart {
  public:
    SegmentPart() noexcept = default;
    SegmentPart(std::shared_ptr<Segments> segments, std::byte* data, std::size_t bytes) noexcept
        : segments_(std::move(segments)), data_(data), bytes_(bytes) {}
    ~SegmentPart() { release(); }
    SegmentPart(SegmentPart&& other) noexcept
        : segments_(std::move(other.segments_)), data_(std::exchange(other.data_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    SegmentPart& operator=(SegmentPart&& other) noexcept {
        if (this != &other) {
            release();
            segments_ = std::move(other.segments_);
            data_ = std::exchange(other.data_, nullptr);
            bytes_ = std::exchange(other.bytes_, 0);
        }
        return *this;
    }
    std::byte* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    void release() noexcept;

    std::shared_ptr<Segments> segments_;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

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

    T* data() const noexcept { return reinterpret_cast<T*>(part_.data()); }
    std::size_t size() const noexcept { return part_.bytes() / sizeof(T); }  ///< elements
    bool empty() const noexcept { return size() == 0; }
    T* begin() const noexcept { return data(); }
    T* end() const noexcept { return data() + size(); }
    T& operator[](std::size_t index) const noexcept { return data()[index]; }
    std::span<T> elements() const noexcept { return {data(), size()}; }

  private:
    friend class Messenger;
    explicit MessageMemory(message::SegmentPart part) noexcept : part_(std::move(part)) {}

    message::SegmentPart part_;
};

}  // namespace penstock
