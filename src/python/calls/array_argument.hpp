// In(x), Out(x), InOut(x): memory of a Python object, with its tag. Exported once, held until the tag dies.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "penstock/argument.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/detail/task/footprint.hpp"
#include "python/calls/element.hpp"
#include "python/calls/stand_in.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// What Python's three tags have in common. Not copied: it holds the export of a buffer.
class ArrayArgument {
  public:
    static constexpr std::size_t most_dimensions = 8;

    /// Exports the memory of `object` by the buffer protocol, or else by DLPack. Throws ArgumentError when it has
    /// neither, is not in the memory of this computer's processors, holds Python objects, or is read-only and tagged
    /// out or inout.
    ArrayArgument(nb::handle object, Access access);
    ~ArrayArgument();
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
    Footprint footprint() const;
    /// The memory of an argument that is contiguous, or of one or two dimensions with contiguous rows.
    ArgumentBlock block() const;

  private:
    void read_buffer();
    bool read_dlpack();
    void describe(const void* data, std::size_t dimensions, bool read_only);
    void check_memory();
    [[noreturn]] void refuse(const std::string& what) const;

    nb::object object_;
    Py_buffer buffer_{};
    bool has_buffer_ = false;
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

struct InArgument : ArrayArgument {
    explicit InArgument(nb::handle object) : ArrayArgument(object, Access::in) {}
};
struct OutArgument : ArrayArgument {
    explicit OutArgument(nb::handle object) : ArrayArgument(object, Access::out) {}
};
struct InOutArgument : ArrayArgument {
    explicit InOutArgument(nb::handle object) : ArrayArgument(object, Access::inout) {}
};

void bind_arguments(nb::module_& module);

/// The tag behind a Python object, or null when it is none. A pointer comparison for each class.
const ArrayArgument* array_argument(nb::handle object) noexcept;

}  // namespace penstock::python
