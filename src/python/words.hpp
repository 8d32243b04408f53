// The arguments of one call, checked and turned into the words of its plan.
#pragma once

#include "python/calls/array_argument.hpp"
#include "python/calls/body.hpp"

namespace penstock::python {

/// An argument whose words are known later.
struct LaterArgument {
    const Slot* slot;
    const StandIn* stand_in;
    Access access;
    int number;  ///< counted from 1
};

/// The words of a call. Up to `inline_words` without an allocation.
class Words {
  public:
    /// Checks arguments against the body's signature and against one another (contract 7, 8, 9). Throws ArgumentError.
    Words(const Body& body, const nb::args& arguments, Takes takes = Takes::memory);
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;

    const CallPlan& plan() const noexcept { return *plan_; }
    const std::uint64_t* data() const noexcept { return words_; }
    /// Number of words, with the function's.
    std::size_t count() const noexcept { return plan_->counts().total() + 1; }
    /// Those that something stands in for. Sizes that are known are among the words already.
    const std::vector<LaterArgument>& later() const noexcept { return later_; }

  private:
    static constexpr std::size_t inline_words = 24;

    void place_array(const Slot& slot, const ArrayArgument& array, int number);
    void place_stand_in(const Slot& slot, const ArrayArgument& array, int number);
    void place_scalar(const Slot& slot, nb::handle value, int number);
    [[noreturn]] void refuse(int number, const std::string& what) const;

    const CallPlan* plan_;
    std::uint64_t* words_ = inline_;
    std::uint64_t inline_[inline_words];
    std::vector<std::uint64_t> long_;
    Takes takes_;
    std::vector<LaterArgument> later_;
};

/// A number as the word in which a parameter of this type is passed. Throws ArgumentError.
std::uint64_t scalar_word(const std::string& task, Element element, nb::handle value, int number);

/// Rows, columns, and the distance of rows in elements, as a strided argument is passed. Throws ArgumentError.
struct RowsOf {
    std::size_t rows, columns;
    std::ptrdiff_t pitch;
};
RowsOf rows_of(const std::string& task, const ArrayArgument& array, int number);

/// Throws ArgumentError where what one argument writes is reached by another (contract 9). Null for what is no array.
void check_overlap(const std::string& name, const std::vector<const ArrayArgument*>& arrays);

}  // namespace penstock::python
