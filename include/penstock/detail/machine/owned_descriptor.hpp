// A file descriptor that is closed unless it was taken on.
#pragma once

#include <unistd.h>

#include <utility>

namespace penstock {

class OwnedDescriptor {
  public:
    OwnedDescriptor() noexcept = default;
    explicit OwnedDescriptor(int number) noexcept : number_(number) {}
    ~OwnedDescriptor() { reset(); }
    OwnedDescriptor(OwnedDescriptor&& other) noexcept : number_(other.take()) {}
    OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
        if (this != &other) reset(other.take());
        return *this;
    }

    int get() const noexcept { return number_; }
    int take() noexcept { return std::exchange(number_, -1); }
    void reset(int number = -1) noexcept {
        if (number_ >= 0) close(number_);
        number_ = number;
    }
    explicit operator bool() const noexcept { return number_ >= 0; }

  private:
    int number_ = -1;
};

}  // namespace penstock
