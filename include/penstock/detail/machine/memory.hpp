// Memory by the page: near one node for this process (LocalMemory), or shared with other processes (SharedMemory).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// What memory is to be made of. Huge pages (2 MiB on x86) are a wish: where the kernel has none to give, or the memory
/// is smaller than one, ordinary ones do; huge_bytes() tells what was got.
enum class Pages { ordinary, huge };

/// Bytes that stay mapped for as long as it lives. Moved, not copied.
class Mapping {
  public:
    Mapping() noexcept = default;
    /// Takes over what is mapped from `data`, the beginning of a page, on.
    Mapping(std::byte* data, std::size_t size) noexcept : data_(data), size_(size) {}
    ~Mapping();
    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Mapping& operator=(Mapping&& other) noexcept {
        Mapping taken(std::move(other));
        std::swap(data_, taken.data_);
        std::swap(size_, taken.size_);
        return *this;
    }

    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

    /// Bytes that this process has mapped by huge pages now, as the kernel counts them. Whoever adopted shared memory
    /// gets there page by page as it uses it. Reads /proc: about a millisecond.
    std::size_t huge_bytes() const;

  private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Zeroed, page-aligned memory of this process, present from the start (no page faults later) and near one NUMA node.
/// From the size of a huge page on it is aligned to one and asks for them. Moved, not copied; freed at destruction.
class LocalMemory : public Mapping {
  public:
    /// The node of the processor that constructs (first touch).
    static constexpr int nearest_node = -1;

    LocalMemory() noexcept = default;

    /// `bytes` of memory; none for 0. `node` is the operating system's number: a wish that a full or forbidden node
    /// does not grant (see `node()`). Throws SystemError (ENOMEM) when there is not that much memory, UsageError for a
    /// negative node other than `nearest_node`. Costs a page fault for each page.
    explicit LocalMemory(std::size_t bytes, int node = nearest_node);

    /// The node that the memory is bound to, or `nearest_node` where it is only first-touched.
    int node() const noexcept { return node_; }

    /// Whether the kernel took the wish for huge pages (it may still give small ones).
    bool asks_for_huge_pages() const noexcept { return huge_; }

  private:
    int node_ = nearest_node;
    bool huge_ = false;
};

/// What was received as shared memory is not what was promised: too small, or its size could change under us.
class InvalidSharedMemory : public Error {
  public:
    InvalidSharedMemory(const std::string& what, std::size_t expected, std::size_t actual);
    std::size_t expected() const noexcept { return expected_; }  ///< bytes that the caller asked for; 0 for any
    std::size_t actual() const noexcept { return actual_; }      ///< bytes that the descriptor has

  private:
    std::size_t expected_;
    std::size_t actual_;
};

/// Memory that processes share: a memfd that is allocated for real at creation, so that a lack of memory is an error
/// there and not a SIGBUS later, and sealed against shrinking and growing (contract 18). Moved, not copied; unmapped
/// and its descriptor closed at destruction; the memory itself lives as long as any process has it.
class SharedMemory : public Mapping {
  public:
    enum class Access { read_write, read_only };

    SharedMemory() noexcept = default;

    /// New zeroed memory of `bytes` > 0, near the processor that makes it. `name` is for /proc/PID/maps only, cut after
    /// 200 bytes. With huge pages it costs about 0.2 ms more for each MiB. Throws SystemError when memory or
    /// descriptors are short, UsageError for 0 bytes.
    static SharedMemory create(std::string_view name, std::size_t bytes, Pages pages = Pages::ordinary);

    /// Maps memory from a descriptor that another process sent. Takes the descriptor over in every case: it is closed
    /// on failure too. `bytes` is what the memory must be at least (0: any size). Throws InvalidSharedMemory when it is
    /// smaller, empty or not sealed against changes of size; SystemError when it cannot be mapped (EPERM: it is frozen,
    /// ask for `read_only`).
    static SharedMemory adopt(int descriptor, std::size_t bytes = 0, Access access = Access::read_write);

    /// The descriptor, to be sent to other processes; stays owned by this object.
    int descriptor() const noexcept { return descriptor_.get(); }

    /// From now on nobody can map the memory for writing or add seals; who has it mapped for writing keeps that.
    /// Throws SystemError where the kernel cannot do it (before Linux 5.1).
    void freeze();
    bool frozen() const noexcept;

  private:
    SharedMemory(OwnedDescriptor descriptor, std::size_t bytes, Access access);

    OwnedDescriptor descriptor_;
};

}  // namespace penstock
