// The errors that Penstock throws: types with facts in them, and a message that says what to do next.
#pragma once

#include <stdexcept>
#include <string>

namespace penstock {

/// Base of everything that Penstock throws.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The caller broke a rule of the interface (misuse that is refused where it is written).
class UsageError : public Error {
  public:
    using Error::Error;
};

/// The operating system refused something that Penstock needs (memory, a thread, a descriptor).
class SystemError : public Error {
  public:
    SystemError(const std::string& what, int number);
    int number() const noexcept { return number_; }

  private:
    int number_;
};

}  // namespace penstock
