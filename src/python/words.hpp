// The arguments of one call, checked and turned into the words of its plan.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "array_argument.hpp"
#include "body.hpp"

namespace penstock::python {

/// The words of a call. Up to `inline_words` without an allocation.
class Words {
  public:
    /// Checks arguments against the body's signature and against one another (contract 7, 8, 9). Throws ArgumentError.
    Words(const Body& body, const nb::args& arguments);
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;

    const Plan& plan() const noexcept { return *plan_; }
    const std::uint64_t* data() const noexcept { return words_; }

  private:
    static constexpr std::size_t inline_words = 24;

    void place_array(const Slot& slot, const ArrayArgument& array, int number);
    void place_scalar(const Slot& slot, nb::handle value, int number);
    [[noreturn]] void refuse(int number, const std::string& what) const;

    const Plan* plan_;
    std::uint64_t* words_ = inline_;
    std::uint64_t inline_[inline_words];
    std::vector<std::uint64_t> long_;
};

/// Throws ArgumentError where what one argument writes is reached by another (contract 9). Null for what is no array.
void check_overlap(const std::string& name, const std::vector<const ArrayArgument*>& arrays);

}  // namespace penstock::python
