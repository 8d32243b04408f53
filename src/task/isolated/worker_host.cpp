#include "task/isolated/worker_host.hpp"

#include <sys/eventfd.h>

#include <cstring>
#include <new>

#include "penstock/detail/task/entry.hpp"
#include "process/nursery.hpp"
#include "process/quiet_thread.hpp"
#include "task/calls/core.hpp"

namespace penstock {
namespace {

std::string describe(const WorkerDied::Facts& facts) {
    std::string text = "the worker process of target " + std::to_string(facts.target) + " (process " +
                       std::to_string(facts.pid) + ") ";
    if (facts.time_limit)
        text += "was ended because the task took longer than its limit of " +
                std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(*facts.time_limit).count()) +
                " ms";
    else if (facts.signal) {
        const char* const name = sigabbrev_np(*facts.signal);
        text += "was ended by signal " + std::to_string(*facts.signal) + " (SIG" + (name == nullptr ? "?" : name) + ")";
        if (*facts.signal == SIGKILL) text += ", sent by somebody, or by the system when memory was short";
    } else {
        text += "exited with code " + std::to_string(facts.exit_code.value_or(-1));
    }
    if (facts.core_dumped) text += " and left a core dump";
    text += " inside " + facts.task;
    if (!facts.argument_bytes.empty()) {
        text += ", whose arguments have";
        for (std::size_t i = 0; i < facts.argument_bytes.size(); ++i)
            text += (i == 0 ? " " : ", ") + std::to_string(facts.argument_bytes[i]);
        text += " bytes";
    }
    if (!facts.output.empty()) text += "; the last that it wrote to stderr:\n" + facts.output;
    return text;
}

}  // namespace

WorkerDied::WorkerDied(Facts facts) : Error(describe(facts)), facts_(std::move(facts)) {}

RemoteException::RemoteException(std::string type, const std::string& what)
    : Error(type + ": " + what), type_(std::move(type)) {}

CannotCarryOver::CannotCarryOver(std::string task, int argument, const std::string& why)
    : UsageError("task " + task + (argument == 0 ? std::string() : ", argument " + std::to_string(argument)) +
                 " cannot be carried over to a worker process: " + why),
      task_(std::move(task)), argument_(argument) {}

namespace isolated {
namespace {

constexpr std::size_t control_addresses = std::size_t{1} << 34;
constexpr auto longest_start = std::chrono::seconds(10);
}  // namespace

WorkerHost::WorkerHost(Core& core, const std::vector<int>& processors)
    : OffloadBackend(core, true), control_(SharedHeap::create(control_addresses)), clocks_(processors.size()) {
    const auto limit = core.options().time_limit;
    if (limit.count() != 0 && (limit < std::chrono::milliseconds(1) || limit > longest_limit))
        throw UsageError("MachineOptions::time_limit must be from 1 ms to 27 minutes, or 0 for none");
    if (limit.count() != 0) expect_limit(limit);
    board_ = new (control_->allocate(sizeof(Board))) Board;
    board_->seats = static_cast<std::uint32_t>(processors.size());
    auto* const seats = reinterpret_cast<TargetSeat*>(control_->allocate(processors.size() * sizeof(TargetSeat)));
    for (std::size_t i = 0; i < processors.size(); ++i)
        new (&seats[i]) TargetSeat{}, seats[i].processor = processors[i];
    board_->seat = seats_ = seats;
    board_->wait_policy = core.wait_policy();
    board_->local_store = core.local_store_bytes();
    board_->memory_limit = core.options().worker_memory;
    board_->all_timed = limit.count() != 0;
    // Who sleeps is seen by its bell: a count that processes share would be wrong after a death.
    core.board().idle_targets.store(1, std::memory_order_relaxed);
}

WorkerHost::~WorkerHost() { stop(); }

void WorkerHost::start() {
    for (std::uint32_t t = 0; t < board_->seats; ++t) core_.target(static_cast<int>(t)).always_sleeps_idle();
    waiting::accept_barriers();
    kicked_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!kicked_) throw SystemError("cannot make a descriptor for the supervisor of worker processes", errno);
    keeper_ = process::start_early(&keep_workers);
    Setup setup;
    setup.heaps = {Setup::Window{control_->base(), control_->size()}, Setup::Window{heap_->base(), heap_->size()}};
    setup.board = board_;
    const int descriptors[] = {control_->descriptor(), heap_->descriptor(), STDOUT_FILENO};
    if (!tell(keeper_.get(), setup, descriptors))
        throw SystemError("cannot reach the keeper of worker processes", errno);
    const timeval limit{.tv_sec = longest_start.count(), .tv_usec = 0};
    setsockopt(keeper_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (const auto length = isolated::hear(keeper_.get(), hello_); length != sizeof hello_)
        throw SystemError(
            "the keeper of worker processes does not answer; the process that launch() started may have ended",
            length < 0 ? errno : ECHILD);
    if (hello_.error != 0) throw SystemError("the keeper of worker processes cannot map the shared heap", hello_.error);
    side_.entries = hello_.entries;
    for (std::uint32_t s = 0; s < board_->seats; ++s) ask_for_worker(static_cast<int>(s));
    ask_for_worker(-1);
    thread_ = process::quiet_thread("penstock/watch", [this] { supervise(); });
}

void WorkerHost::stop() noexcept {
    if (!thread_.joinable()) return;
    stopping_.store(true, std::memory_order_release);
    board_->stopping.store(1, std::memory_order_release);
    for (std::uint32_t s = 0; s < clocks_.size(); ++s) wake_at(seats_[s].bell);
    kick();
    thread_.join();
    keeper_.reset();  // it ends whoever is left
}

void WorkerHost::kick() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!write(kicked_.get(), &one, sizeof one));
}

void WorkerHost::expect_limit(std::chrono::nanoseconds limit) noexcept {
    auto shortest = shortest_limit_.load(std::memory_order_relaxed);
    while (shortest == 0 || limit.count() < shortest)
        if (shortest_limit_.compare_exchange_weak(shortest, limit.count(), std::memory_order_relaxed)) {
            if (kicked_) kick();
            return;
        }
}

void WorkerHost::require(Ability ability) const {
    if (ability == Ability::dependences)
        throw CannotCarryOver("that comes after others", 0,
                              "dependences are kept by thread targets only; wait for the tasks that it comes after, or "
                              "use thread targets");
    if (ability == Ability::loops)
        throw CannotCarryOver(
            "for_each", 0,
            "its body lies in the program's own memory; cut the range into calls, or use thread targets");
}

/// At a bell that workers ring.
Waiter WorkerHost::waiter(int target) {
    Doorbell& bell = target >= 0 ? seats_[target].bell : *new (control_->allocate(sizeof(Doorbell))) Doorbell;
    return Waiter(core_.wait_policy(), bell);
}

std::uint32_t WorkerHost::accept(const CallOptions& asked, std::uint32_t entry) {
    if (asked.then || asked.notification != Notification::polled || asked.deadline.count() != 0 ||
        asked.priority != Priority::normal)
        throw CannotCarryOver(std::string(entry_of(entry).name), 0,
                              "call-backs, notification, deadlines and priorities are kept by thread targets only; "
                              "poll or wait for its handle");
    const auto limit = asked.time_limit;
    if (limit.count() == 0) return 0;
    if (limit < std::chrono::milliseconds(1) || limit > longest_limit)
        throw UsageError("CallOptions::time_limit must be from 1 ms to 27 minutes, or 0 for the machine's");
    expect_limit(limit);
    return static_cast<std::uint32_t>(limit.count() / limit_unit) << limit_shift;
}

SharedRing& WorkerHost::make_ring(Ring& ring, Initiation initiation) {
    const auto array = [&]<class T>(T*& at) {
        at = reinterpret_cast<T*>(control_->allocate(ring.capacity() * sizeof(T)));
        std::uninitialized_default_construct_n(at, ring.capacity());
    };
    auto* const shared = new (control_->allocate(sizeof(SharedRing))) SharedRing;
    RingFacts facts{.lane = ring.kind() == Ring::Kind::lane,
                    .only_target = ring.only_target(),
                    .capacity = ring.capacity(),
                    .owner_bell = &ring.owner_bell(),
                    .initiation = initiation};
    array(facts.slots);
    array(facts.extensions);
    if (!facts.lane) array(facts.done);
    const std::lock_guard lock(mutex_);
    // give_up() says that all is lost before it takes the lock, so a ring is either refused here or found there.
    if (lost()) throw WorkersLost("this machine has lost its workers; make a new one");
    if (rings_.size() == Board::most_rings)
        throw SystemError(
            "this machine has as many lanes and deques as its workers can look at; let fewer threads issue tasks",
            ENOSPC);
    facts.index = static_cast<std::uint32_t>(rings_.size());
    static_cast<RingFacts&>(*shared) = facts;
    rings_.push_back({facts, &ring, shared});
    board_->rings[facts.index] = shared;
    board_->ring_count.store(facts.index + 1, std::memory_order_release);
    return *shared;
}

std::uint64_t WorkerHost::executed() const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t s = 0; s < clocks_.size(); ++s) sum += seats_[s].counters.tasks.value_acquire();
    return sum;
}

bool WorkerHost::has_image(std::uintptr_t base) const noexcept {
    return std::find(hello_.bases.begin(), hello_.bases.begin() + hello_.images, base) !=
           hello_.bases.begin() + hello_.images;
}

}  // namespace isolated
}  // namespace penstock
