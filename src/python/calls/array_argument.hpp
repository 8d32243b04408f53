// In(x), Out(x), InOut(x): memory of a Python object, with its tag, exported once, held until the tag dies. And what a
// tag may hold in the place of memory: resident data, and the parameters and local blocks of a chain.
#pragma once

#include <nanobind/ndarray.h>

#include "penstock/detail/task/chain_argument.hpp"
#include "penstock/detail/task/resident_argument.hpp"
#include "python/binding.hpp"
#include "python/calls/element.hpp"

namespace penstock::python {

/// What may stand in the place of memory and numbers: nothing in most calls, resident data in plain ones, a chain's own
/// in its steps.
enum class Takes : std::uint8_t { memory, residents, chains };

/// What all of them have in common.
struct StandIn {
    Element element;
    Takes taken_by;                   ///< which calls know what it stands for
    const char* no_memory;            ///< what all others are told
    const char* only_read = nullptr;  ///< what Out and InOut are told
    std::size_t count = 0;            ///< elements, 0 where the issue gives them
    std::size_t rows = 0;             ///< the same as rows and columns
    std::size_t columns = 0;
    chain::Location place{};  ///< of a chain's own
};

/// Values that each target fetches once: machine.resident(array).
struct ResidentData : StandIn {
    std::shared_ptr<resident::State> state;
};

/// An array parameter or a local block of a chain.
struct ChainArray : StandIn {};
/// A scalar parameter of a chain. Its place has the number of the parameter.
struct ChainScalar : StandIn {};

/// What Python's three tags have in common. Not copied: it holds the export of a buffer.
class ArrayArgument {
  public:
    static constexpr std::size_t most_dimensions = 8;

    /// Exports the memory of `object` by the buffer protocol, or else by DLPack, or else as NumPy sees it without a
    /// copy (`__array_interface__`, pandas' columns). Throws ArgumentError when it has none of these, is not in the
    /// memory of this computer's processors, holds Python objects, or is read-only and tagged out or inout.
    ArrayArgument(nb::handle object, Access access);
    ArrayArgument(const ArrayArgument&) = delete;
    ArrayArgument& operator=(const ArrayArgument&) = delete;

    Access access() const noexcept { return access_; }
    std::string_view tag() const noexcept;
    nb::object object() const { return object_; }

    std::uintptr_t base() const noexcept { return base_; }
    Element element() const noexcept { return element_; }
    std::size_t item_bytes() const noexcept { return item_bytes_; }
    std::size_t count() const noexcept { return count_; }  ///< elements
    std::size_t dimensions() const noexcept { return dimensions_; }
    std::size_t extent(std::size_t d) const noexcept { return extents_[d]; }
    std::ptrdiff_t stride(std::size_t d) const noexcept { return strides_[d]; }  ///< in bytes
    bool contiguous() const noexcept { return contiguous_; }
    /// What a task must not be given (null, misaligned, beyond the address space); null when nothing is wrong.
    const char* wrong() const noexcept { return wrong_; }
    /// What was given in the place of memory, or null. wrong() says then that it is no memory.
    const StandIn* stand_in() const noexcept { return stand_in_; }
    const Bounds& bounds() const noexcept { return bounds_; }
    /// Of one that is contiguous.
    std::span<std::byte> bytes() const noexcept { return {reinterpret_cast<std::byte*>(base_), count_ * item_bytes_}; }
    Footprint footprint() const;
    /// The memory of an argument that is contiguous, or of one or two dimensions with contiguous rows.
    ArgumentBlock block() const;

  private:
    bool read_stand_in();
    void read_buffer(nb::handle object);
    bool read_dlpack();
    bool read_as_numpy();
    void describe(const void* data, std::size_t dimensions, bool read_only);
    void check_memory();
    [[noreturn]] void refuse(const std::string& what) const;

    nb::object object_;
    ExportedBuffer buffer_;
    nb::ndarray<nb::ro> dlpack_;
    Access access_;
    bool contiguous_ = true;
    Element element_;
    std::uintptr_t base_ = 0;
    std::size_t item_bytes_ = 1;
    std::size_t count_ = 1;
    std::size_t dimensions_ = 0;
    std::array<std::size_t, most_dimensions> extents_{};
    std::array<std::ptrdiff_t, most_dimensions> strides_{};
    Bounds bounds_;
    const char* wrong_ = nullptr;
    const StandIn* stand_in_ = nullptr;
};

template <Access tagged>
struct TaggedArray : ArrayArgument {
    explicit TaggedArray(nb::handle object) : ArrayArgument(object, tagged) {}
};
using InArgument = TaggedArray<Access::in>;
using OutArgument = TaggedArray<Access::out>;
using InOutArgument = TaggedArray<Access::inout>;

/// A NumPy array over memory that `owner` keeps, with elements of this type in this shape.
template <class Owner>
nb::object array_of_bytes(std::byte* data, std::size_t bytes, const nb::object& type, const nb::object& shape,
                          Owner owner) {
    const nb::capsule kept(new Owner(std::move(owner)), [](void* held) noexcept { delete static_cast<Owner*>(held); });
    const nb::object flat = nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {bytes}, kept));
    return flat.attr("view")(type).attr("reshape")(shape);
}

void bind_arguments(nb::module_& module);

/// The tag behind a Python object, or null when it is none. A pointer comparison for each class.
const ArrayArgument* array_argument(nb::handle object) noexcept;

}  // namespace penstock::python
