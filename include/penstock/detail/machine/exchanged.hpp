#pragma once

#include <utility>

namespace penstock {

/// For as long as it lives, something has another value.
template <class T>
class Exchanged {
  public:
    Exchanged(T& place, T value) noexcept : place_(place), outer_(std::exchange(place, std::move(value))) {}
    ~Exchanged() { place_ = std::move(outer_); }
    Exchanged(const Exchanged&) = delete;
    Exchanged& operator=(const Exchanged&) = delete;

  private:
    T& place_;
    T outer_;
};

}  // namespace penstock
