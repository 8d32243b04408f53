// Arguments and results of Python bodies as bytes: small values by hand, arrays by where they lie, the rest by pickle.
//
// Both ends are the same build, so the bytes need no description. A value is one letter and what belongs to it.
#pragma once

#include "python/calls/array_argument.hpp"
#include "python/calls/task_board.hpp"

namespace penstock::python {

/// Bytes that grow; the first few hundred without an allocation.
class ByteWriter {
  public:
    ByteWriter() = default;
    ByteWriter(const ByteWriter&) = delete;
    ByteWriter& operator=(const ByteWriter&) = delete;

    template <class T>
    void put(const T& value) {
        put_bytes(&value, sizeof value);
    }
    void put_bytes(const void* bytes, std::size_t count) {
        if (size_ + count > capacity_) [[unlikely]]
            grow(count);
        std::memcpy(data_ + size_, bytes, count);
        size_ += count;
    }
    void put_text(std::string_view text) {
        put(static_cast<std::uint64_t>(text.size()));
        put_bytes(text.data(), text.size());
    }
    const std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

  private:
    void grow(std::size_t count);

    std::byte inline_[512];
    std::byte* data_ = inline_;
    std::size_t size_ = 0;
    std::size_t capacity_ = sizeof inline_;
    std::vector<std::byte> long_;
};

/// Bytes that are read from front to back. Throws Error when they end early.
class ByteReader {
  public:
    ByteReader(const std::byte* data, std::size_t size) noexcept : at_(data), end_(data + size) {}

    template <class T>
    T get() {
        T value;
        std::memcpy(&value, bytes(sizeof value), sizeof value);
        return value;
    }
    const std::byte* bytes(std::size_t count) {
        if (static_cast<std::size_t>(end_ - at_) < count) short_of_bytes();
        const auto* const place = at_;
        at_ += count;
        return place;
    }
    std::string_view text() {
        const auto size = get<std::uint64_t>();
        return {reinterpret_cast<const char*>(bytes(size)), size};
    }
    /// The last bytes of all, which are not read again.
    const std::byte* tail(std::size_t count) {
        if (static_cast<std::size_t>(end_ - at_) < count) short_of_bytes();
        return end_ -= count;
    }

  private:
    [[noreturn]] static void short_of_bytes();

    const std::byte* at_;
    const std::byte* end_;
};

/// What arrays inside a value that is pickled have their elements in. It travels beside the bytes, by one of these
/// ways:
enum class BufferWay : std::uint8_t {
    here,       ///< few bytes, which follow
    place,      ///< in the machine's heap, and the task's own: the body may write to it
    read_only,  ///< in the machine's heap, where the caller has it
    tail        ///< behind the message, see tail_bytes()
};

/// Tells where it has put a buffer of more than `most_here` bytes: writes a BufferWay, the size, and the place if there
/// is one. `holder` keeps the memory.
using PutBuffer = std::function<void(ByteWriter& writer, const std::byte* data, std::size_t size, nb::object holder)>;

inline constexpr std::size_t most_here = std::size_t{16} << 10;
/// What a buffer takes in the tail of a message: the last buffer ends where the message does.
constexpr std::size_t tail_bytes(std::size_t size) noexcept { return (size + 63) / 64 * 64; }

/// Anything but a tagged array. Raises what pickling raises.
void write_value(ByteWriter& writer, nb::handle value, const PutBuffer& put = {});
/// An array whose elements lie at `place`; contiguous unless it is used in place.
void write_array(ByteWriter& writer, const ArrayArgument& array, HeapPlace place, bool contiguous);

/// Copies an array's elements into contiguous memory, and back.
void gather(const ArrayArgument& array, std::byte* contiguous) noexcept;
void scatter(const std::byte* contiguous, const ArrayArgument& array) noexcept;

/// Makes the array that these bytes describe, in a worker.
using ViewArray = std::function<nb::object(std::string_view description)>;

/// Makes an object that has this memory of the heap as its buffer, in a worker.
using HeapBuffer = std::function<nb::object(HeapPlace place, std::size_t size, bool writable)>;

/// Where a value's arrays come from: those of a task from the heap, those of a result from the end of the message.
struct ArraySources {
    ViewArray view{};
    HeapBuffer buffer{};
};

/// Reads one value or array. Throws Error, raises what unpickling raises.
nb::object read_value(ByteReader& reader, const ArraySources& sources = {});

/// What an array's bytes say.
struct ArrayDescription {
    HeapPlace place = 0;
    Element element;
    std::size_t item_bytes = 0;
    bool writable = false;
    std::string_view pickled_type;  ///< of elements that have no name
    std::vector<std::size_t> extents;
    std::vector<std::ptrdiff_t> strides;

    /// `description`: what view() is given. Throws Error.
    explicit ArrayDescription(std::string_view description);
    /// Lowest and highest byte that it reaches, counted from its place.
    std::pair<std::ptrdiff_t, std::ptrdiff_t> reach() const noexcept;
};

/// Pickled by value where it must be, see penstock/interpreters.py. What is in `buffers` afterwards belongs to it.
nb::bytes pickled(nb::handle value, nb::handle buffers = nb::none());
nb::object unpickled(const void* bytes, std::size_t size);

}  // namespace penstock::python
