#include "python/workers/worker_keeper.hpp"

#include <cerrno>

#include "process/quiet_thread.hpp"
#include "python/workers/worker_pool.hpp"

namespace penstock::python {
namespace {

// Of one worker in a row. What ends it by a signal may come from outside and pass; an exit code comes again.
constexpr std::uint32_t most_failed_starts = 3, most_killed_starts = 50;
constexpr std::chrono::seconds stop_within{2};
constexpr std::chrono::milliseconds tick{2};  // while tasks have time limits or wait for slots

OwnedDescriptor event_descriptor() {
    OwnedDescriptor made(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!made) throw SystemError("cannot make an eventfd", errno);
    return made;
}

}  // namespace

WorkerKeeper::WorkerKeeper(WorkerPool& pool, TaskBoard& board, int heap, WorkerCommand command)
    : pool_(pool), board_(board), heap_(heap), command_(std::move(command)), workers_(board.workers()),
      wake_(event_descriptor()), notice_(event_descriptor()) {}

void WorkerKeeper::begin() {
    thread_ = process::quiet_thread("ps-keeper", [this] { keep(); });
}

void WorkerKeeper::end() {
    stopping_.store(true);
    wake();
    if (thread_.joinable()) thread_.join();
}

std::vector<int> WorkerKeeper::pids() const {
    std::vector<int> found;
    for (const Worker& worker : workers_) found.push_back(worker.pid.load());
    return found;
}

void WorkerKeeper::keep() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) start(w);
    while (!stopping_.load()) {
        pollfd woken{wake_.get(), POLLIN, 0};
        const bool more = pool_.advance_waiting();
        const bool limits = enforce_limits();
        const auto deaths = children_.wait({&woken, 1}, more || limits ? tick : std::chrono::milliseconds{-1});
        if (woken.revents != 0) {
            eventfd_t count = 0;
            static_cast<void>(eventfd_read(wake_.get(), &count));
        }
        answer();
        if (abandoned_.load() && !given_up_.load()) give_up("Ctrl-C ended what this machine was doing");
        for (const auto& death : deaths)
            if (!given_up_.load()) bury(death);
    }
    board_.header().stop.store(1, std::memory_order_seq_cst);
    board_.header().work.notify();
    end_all(stop_within);
}

/// From this thread, which lives as long as any worker: workers ask to be killed when the thread that started them
/// ends.
void WorkerKeeper::start(std::uint32_t w) {
    if (given_up_.load()) return;
    board_.worker(w).serving.store(0);
    auto arguments = command_.arguments;
    for (const int number : {board_.descriptor(), heap_, static_cast<int>(w), wake_.get(), notice_.get(),
                             command_.processors[w], static_cast<int>(getpid())})
        arguments.push_back(std::to_string(number));
    const std::array kept{board_.descriptor(), heap_, wake_.get(), notice_.get()};
    const pid_t pid = children_.spawn(w, arguments, command_.environment, kept);
    if (pid < 0) return give_up("cannot start a Python worker with " + arguments[0] + ": " + std::strerror(errno));
    workers_[w].pid.store(pid);
}

void WorkerKeeper::bury(const process::Death& death) {
    auto& worker = workers_[death.tag];
    worker.pid.store(0);
    auto& own = board_.worker(death.tag);
    worker.failed_starts = own.serving.load() != 0 ? 0 : worker.failed_starts + 1;
    own.wanted.store(0);
    pool_.died(death);
    own.limited.store(0);
    if (worker.failed_starts < (death.signal ? most_killed_starts : most_failed_starts)) return start(death.tag);
    give_up("Python workers end before they serve (the last one " +
            (death.signal ? "by signal " + std::to_string(*death.signal)
                          : "with exit code " + std::to_string(death.exit_code.value_or(-1))) +
            "); what they wrote to stderr says why");
}

/// Nobody serves any more from here on.
void WorkerKeeper::give_up(const std::string& why) {
    given_up_.store(true);
    end_all({});
    pool_.hopeless(why);
}

void WorkerKeeper::end_all(std::chrono::milliseconds within) {
    children_.end_all(within);
    for (auto& worker : workers_) worker.pid.store(0);
}

void WorkerKeeper::answer() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
        auto& own = board_.worker(w);
        const auto wanted = own.wanted.load(std::memory_order_acquire);
        if (wanted == 0) continue;
        own.granted.store(pool_.room(w, wanted).place, std::memory_order_relaxed);
        own.wanted.store(0, std::memory_order_seq_cst);
        board_.header().grant.notify();
    }
}

bool WorkerKeeper::enforce_limits() {
    if (!pool_.limits()) return false;
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
        auto& own = board_.worker(w);
        auto running = own.limited.load(std::memory_order_acquire);
        if (running == 0 || (running & 1) != 0 ||
            now_ns() - own.since.load(std::memory_order_relaxed) < own.limit.load(std::memory_order_relaxed))
            continue;
        // `since` may be that of the next task by now, but then this exchange fails.
        if (own.limited.compare_exchange_strong(running, running | 1)) children_.kill(w);
    }
    return true;
}

}  // namespace penstock::python
