#include "penstock/detail/task/use_count.hpp"

#include <mutex>

#include "process/fork.hpp"

namespace penstock {
namespace {

constinit ProcessMutex mutex;
constinit Shared* let_go = nullptr;  // a list of those that tasks still use

}  // namespace

void LetGo::operator()(Shared* shared) const noexcept {
    if (shared == nullptr) return;
    if (shared->uses.quiet()) {
        delete shared;
    } else {
        const std::lock_guard lock(mutex);
        shared->next_ = let_go;
        let_go = shared;
    }
    sweep();
}

std::size_t LetGo::sweep() noexcept {
    Shared* quiet = nullptr;  // freed after the lock is: what they hold may be let go of in turn
    std::size_t others = 0;
    {
        const std::lock_guard lock(mutex);
        for (Shared** place = &let_go; *place != nullptr;) {
            Shared* const one = *place;
            if (!one->uses.quiet()) {
                place = &one->next_;
                ++others;
                continue;
            }
            *place = one->next_;
            one->next_ = quiet;
            quiet = one;
        }
    }
    while (quiet != nullptr) {
        Shared* const one = quiet;
        quiet = one->next_;
        delete one;
    }
    return others;
}

}  // namespace penstock
