// Requests of a run for memory that nobody could be told of: what is on its way then cannot be given back to anybody.
// So they are made again a moment later.
#pragma once

#include <chrono>
#include <limits>
#include <new>
#include <thread>

#include "penstock/error.hpp"

namespace penstock::streaming {

inline constexpr int for_ever = std::numeric_limits<int>::max();  // weeks

/// What `ask()` gives. Throws the last std::bad_alloc, SystemError (of a mapping) or QueueFull (of a machine that
/// refuses) after `most_tries`, a millisecond each.
template <class Ask>
auto patiently(Ask&& ask, int most_tries = 50) {
    for (int tries = 1; tries < most_tries; ++tries) {
        try {
            return ask();
        } catch (const std::bad_alloc&) {
        } catch (const SystemError&) {
        } catch (const QueueFull&) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return ask();
}

}  // namespace penstock::streaming
