#include "python/language/running.hpp"

#include <utility>

namespace penstock::python {

Ending::Ending(ApplicationRun& run)
    : thread_([this, &run] {
          std::exception_ptr failure;
          try {
              run.finish();
          } catch (...) {
              failure = std::current_exception();
          }
          const std::lock_guard guard(lock_);
          failure_ = std::move(failure);
          over_ = true;
          ended_.notify_all();
      }) {}

Ending::~Ending() { thread_.join(); }

bool Ending::wait_for(std::chrono::nanoseconds patience) {
    origin_.require("this application");
    std::unique_lock guard(lock_);
    if (!ended_.wait_for(guard, patience, [this] { return over_; })) return false;
    if (auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
    return true;
}

}  // namespace penstock::python
