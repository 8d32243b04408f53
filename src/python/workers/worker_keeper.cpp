#include "python/workers/worker_keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "penstock/error.hpp"
#include "src/process/quiet_thread.hpp"

namespace penstock::python {
namespace {

using Clock = std::chrono::steady_clock;

// Of one worker in a row. What ends it by a signal may come from outside and pass; an exit code comes again.
constexpr std::uint32_t most_failed_starts = 3, most_killed_starts = 50;
constexpr std::chrono::seconds stop_within{2};
constexpr int tick_ms = 2;  // while tasks have time limits or wait for slots

int event_descriptor() {
    const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) throw SystemError("cannot make an eventfd", errno);
    return descriptor;
}

std::uint64_t now_ns() noexcept { return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()); }

/// What posix_spawn is given; freed whatever happens.
struct Spawning {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    Spawning() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~Spawning() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    Spawning(const Spawning&) = delete;
    Spawning& operator=(const Spawning&) = delete;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

}  // namespace

WorkerKeeper::WorkerKeeper(TaskBoard& board, int heap, WorkerCommand command, Hooks hooks)
    : board_(board), heap_(heap), command_(std::move(command)), hooks_(std::move(hooks)), workers_(board.workers()) {
    wake_ = event_descriptor();
    notice_ = event_descriptor();
}

void WorkerKeeper::begin() {
    thread_ = process::quiet_thread("ps-keeper", [this] { keep(); });
}

void WorkerKeeper::end() {
    stopping_.store(true);
    wake();
    if (thread_.joinable()) thread_.join();
}

WorkerKeeper::~WorkerKeeper() {
    end();
    close(wake_);
    close(notice_);
}

void WorkerKeeper::wake() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(write(wake_, &one, sizeof one));
}

std::vector<int> WorkerKeeper::pids() const {
    const std::lock_guard lock(mutex_);
    std::vector<int> found;
    for (const Worker& worker : workers_) found.push_back(worker.pid);
    return found;
}

void WorkerKeeper::keep() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) start(w);
    while (!stopping_.load()) {
        std::vector<pollfd> watched{{wake_, POLLIN, 0}};
        for (const Worker& worker : workers_)
            watched.push_back({worker.watch, POLLIN, 0});  // poll() takes no notice of -1
        const bool more = hooks_.feed();
        const bool limits = enforce_limits();
        poll(watched.data(), watched.size(), more || limits ? tick_ms : -1);
        if (watched[0].revents != 0) {
            std::uint64_t count = 0;
            static_cast<void>(read(wake_, &count, sizeof count));
        }
        answer();
        for (std::uint32_t w = 0; w < workers_.size(); ++w)
            if (watched[w + 1].revents != 0 && workers_[w].pid != 0) reap(w);
    }
    stop();
}

/// From this thread, which lives as long as any worker: workers ask to be killed when the thread that started them
/// ends.
void WorkerKeeper::start(std::uint32_t w) {
    if (given_up_.load()) return;
    board_.worker(w).serving.store(0);
    auto arguments = command_.arguments;
    for (const int number : {board_.descriptor(), heap_, static_cast<int>(w), wake_, notice_, command_.processors[w],
                             static_cast<int>(getpid())})
        arguments.push_back(std::to_string(number));
    Spawning spawning;
    // A descriptor duplicated onto itself is left open in the new program.
    for (const int descriptor : {board_.descriptor(), heap_, wake_, notice_})
        posix_spawn_file_actions_adddup2(&spawning.actions, descriptor, descriptor);
    posix_spawn_file_actions_addopen(&spawning.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGPIPE, SIGTERM, SIGCHLD}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&spawning.attributes, &none);
    posix_spawnattr_setsigdefault(&spawning.attributes, &defaults);
    posix_spawnattr_setpgroup(&spawning.attributes, 0);  // Ctrl-C at the terminal is for the parent
    posix_spawnattr_setflags(&spawning.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    auto environment = command_.environment;
    const int failure = posix_spawn(&pid, arguments[0].c_str(), &spawning.actions, &spawning.attributes,
                                    pointers(arguments).data(), pointers(environment).data());
    if (failure != 0) {
        return give_up("cannot start a Python worker with " + arguments[0] + ": " + std::strerror(failure));
    }
    const std::lock_guard lock(mutex_);
    workers_[w].pid = pid;
    workers_[w].watch = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

void WorkerKeeper::reap(std::uint32_t w) {
    Death death{w, workers_[w].pid, {}, {}};
    int status = 0;
    if (waitpid(workers_[w].pid, &status, 0) == workers_[w].pid) {
        if (WIFSIGNALED(status)) death.signal = WTERMSIG(status);
        else death.exit_code = WEXITSTATUS(status);
    }
    {
        const std::lock_guard lock(mutex_);
        workers_[w].pid = 0;
        close(std::exchange(workers_[w].watch, -1));
    }
    const bool had_served = board_.worker(w).serving.load() != 0;
    workers_[w].failed_starts = had_served ? 0 : workers_[w].failed_starts + 1;
    auto& own = board_.worker(w);
    own.wanted.store(0);
    hooks_.died(death);
    own.limited.store(0);
    if (workers_[w].failed_starts < (death.signal ? most_killed_starts : most_failed_starts)) return start(w);
    give_up("Python workers end before they serve (the last one " +
            (death.signal ? "by signal " + std::to_string(*death.signal)
                          : "with exit code " + std::to_string(death.exit_code.value_or(-1))) +
            "); what they wrote to stderr says why");
}

/// Nobody serves any more from here on.
void WorkerKeeper::give_up(const std::string& why) {
    given_up_.store(true);
    for (Worker& worker : workers_) {
        if (worker.pid == 0) continue;
        kill(worker.pid, SIGKILL);
        waitpid(worker.pid, nullptr, 0);
        const std::lock_guard lock(mutex_);
        worker.pid = 0;
        close(std::exchange(worker.watch, -1));
    }
    hooks_.hopeless(why);
}

void WorkerKeeper::answer() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
        auto& own = board_.worker(w);
        const auto wanted = own.wanted.load(std::memory_order_acquire);
        if (wanted == 0) continue;
        own.granted.store(hooks_.room(w, wanted).place, std::memory_order_relaxed);
        own.wanted.store(0, std::memory_order_seq_cst);
        board_.header().grant.notify();
    }
}

bool WorkerKeeper::enforce_limits() {
    if (!hooks_.limits()) return false;
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
        auto& own = board_.worker(w);
        auto running = own.limited.load(std::memory_order_acquire);
        if (running == 0 || (running & 1) != 0 ||
            now_ns() - own.since.load(std::memory_order_relaxed) < own.limit.load(std::memory_order_relaxed))
            continue;
        // `since` may be that of the next task by now, but then this exchange fails.
        if (own.limited.compare_exchange_strong(running, running | 1)) kill(workers_[w].pid, SIGKILL);
    }
    return true;
}

void WorkerKeeper::stop() {
    board_.header().stop.store(1, std::memory_order_seq_cst);
    board_.header().work.notify();
    const auto deadline = Clock::now() + stop_within;
    for (Worker& worker : workers_) {
        if (worker.pid == 0) continue;
        pollfd watched{worker.watch, POLLIN, 0};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (poll(&watched, 1, static_cast<int>(std::max<long>(left, 0))) == 0) kill(worker.pid, SIGKILL);
        waitpid(worker.pid, nullptr, 0);
        const std::lock_guard lock(mutex_);
        worker.pid = 0;
        close(std::exchange(worker.watch, -1));
    }
}

}  // namespace penstock::python
