// Memory for the books of a run. What is on its way when a request is refused cannot be given back to anybody, so the request is made again
// a moment later; only where there is none for long is it refused for good.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace penstock::streaming {

/// What `ask()` gives. Throws std::bad_alloc after about 50 ms.
template <class Ask>
auto patiently(Ask&& ask) {
    constexpr int most_tries = 50;
    for (int tries = 1; tries < most_tries; ++tries) {
        try {
            return ask();
        } catch (const std::bad_alloc&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return ask();
}

}  // namespace penstock::streaming
