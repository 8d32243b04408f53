#include "task/waiting/notices.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/error.hpp"

namespace penstock {

Notices::~Notices() {
    if (const int open = descriptor_.load(std::memory_order_relaxed); open >= 0) ::close(open);
}

std::uint32_t Notices::add(const CallOptions& options, std::uint32_t entry, bool interrupts) {
    std::uint32_t index = 0;
    if (free_.empty()) {
        collect();
        arm();  // the descriptor's signal has been read
    }
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
    } else {
        index = used_;
        if (index / chunk_size >= chunks_.size())
            throw QueueFull(
                "this thread has four million calls with call-backs, deadlines or notifications outstanding; wait for "
                "some");
        auto& chunk = chunks_[index / chunk_size];
        if (chunk == nullptr) {
            free_.reserve((index / chunk_size + 1) * chunk_size);
            taken_.reserve((index / chunk_size + 1) * chunk_size);
            due_.reserve((index / chunk_size + 1) * chunk_size);
            chunk = std::make_unique<Chunk>();
        }
        ++used_;
    }
    Notice& notice = (*this)[index];
    notice.interrupts = interrupts;
    notice.entry = entry;
    notice.deadline = 0;
    if (options.deadline.count() > 0) notice.deadline = Clock::ticks() + Clock::ticks_of(options.deadline);
    notice.then = options.then;
    notice.handle = {};
    ++outstanding_;
    return index;
}

void Notices::remove(std::uint32_t index) noexcept {
    (*this)[index].then = nullptr;
    free_.push_back(index);
    --outstanding_;
}

std::size_t Notices::collect() noexcept {
    if (const int open = descriptor_.load(std::memory_order_relaxed); open >= 0) {
        std::uint64_t count = 0;
        static_cast<void>(!::read(open, &count, sizeof count));
    }
    // The newest comes first, and behind it stands what completed before.
    taken_.clear();
    for (auto index = mailbox_.take(); index != 0; index = (*this)[index].link.load(std::memory_order_relaxed))
        taken_.push_back(index);
    std::size_t with_callback = 0;
    for (const auto index : taken_) {
        if ((*this)[index].then) taken_[with_callback++] = index;
        else remove(index);
    }
    due_.insert(due_.begin(), taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(with_callback));
    return taken_.size();
}

std::uint32_t Notices::next_due() noexcept {
    if (due_.empty()) return 0;
    const auto index = due_.back();
    due_.pop_back();
    return index;
}

std::size_t Notices::run_due(trace::InitiatorCounters& counters) {
    const auto completed = collect();
    for (auto due = due_.size(); due != 0; --due) {
        const auto index = next_due();
        const auto then = std::move((*this)[index].then);
        const Handle handle = (*this)[index].handle;
        remove(index);
        counters.callbacks.add();
        try {
            then(handle);
        } catch (...) {
            keep_failure(std::current_exception());
        }
    }
    arm();
    return completed;
}

bool Notices::forget() noexcept {
    collect();
    while (const auto index = next_due()) remove(index);
    failures_.clear();
    arm();
    return outstanding_ == 0;
}

int Notices::descriptor() {
    int open = descriptor_.load(std::memory_order_relaxed);
    if (open < 0) {
        open = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (open < 0) throw SystemError("cannot make an eventfd for notifications", errno);
        descriptor_.store(open, std::memory_order_release);
        arm();
    }
    return open;
}

void Notices::arm() noexcept {
    if (descriptor_.load(std::memory_order_relaxed) >= 0 && (!mailbox_.arm() || !due_.empty())) signal();
}

void Notices::sleep(std::chrono::milliseconds longest) {
    pollfd wanted{descriptor(), POLLIN, 0};
    arm();
    ::poll(&wanted, 1, static_cast<int>(longest.count()));
}

void Notices::signal() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(descriptor_.load(std::memory_order_acquire), &one, sizeof one));
}

void Notices::completed(std::uint32_t index) noexcept {
    Notice& notice = (*this)[index];
    const bool interrupts = notice.interrupts;  // once posted, the notice is the initiator's again
    mailbox_.post(index, notice.link);
    if (interrupts && mailbox_.must_signal()) signal();
}

void Notices::throw_failures() {
    if (failures_.empty()) return;
    const auto failures = std::exchange(failures_, {});
    throw CallbackFailed(failures.front(), failures.size() - 1);
}

}  // namespace penstock
