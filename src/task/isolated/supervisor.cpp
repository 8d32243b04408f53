// The supervisor of a machine's worker processes: hears of their failures, forwards what they write to stderr, ends
// those whose task takes too long, and buries the dead: fails the task that a dead worker ran and no other, and gives
// its seat to a spare.
//
// It trusts nothing that a worker could have written over (contract 19): indices are looked up, counts are compared,
// and where they make no sense the machine gives up its workers with a typed error for everything that is unfinished.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "machine/said_by.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/entry.hpp"
#include "task/calls/core.hpp"
#include "task/isolated/worker_host.hpp"

namespace penstock::isolated {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::size_t kept_output = 2048;
constexpr auto longest_stop = std::chrono::seconds(2);

/// Text that a worker wrote, which need not end.
template <std::size_t n>
std::string text_of(const std::array<char, n>& text) {
    return std::string(text.data(), strnlen(text.data(), n));
}

nanoseconds limit_of(std::uint32_t flags) noexcept {
    return nanoseconds(static_cast<std::int64_t>(flags >> limit_shift) * limit_unit);
}

}  // namespace

void WorkerHost::supervise() noexcept {
    auto stop_until = steady_clock::time_point::max();
    for (;;) {
        if (stopping_.load(std::memory_order_acquire)) {
            if (stop_until == steady_clock::time_point::max()) stop_until = steady_clock::now() + longest_stop;
            const bool serving =
                std::any_of(workers_.begin(), workers_.end(), [](const auto& one) { return one.second->seat >= 0; });
            if (!serving || lost() || steady_clock::now() > stop_until) break;
        }
        try {
            look();
        } catch (const std::exception& error) {
            give_up(said_by(error));
        }
    }
    for (auto& [id, worker] : workers_) read_output(*worker);
    workers_.clear();
}

int WorkerHost::look_again_in() const noexcept {
    if (stopping_.load(std::memory_order_acquire)) return 10;
    const auto shortest = shortest_limit_.load(std::memory_order_relaxed);
    const auto longest = missing_.empty() ? patience.count() / 2 : between_hires.count();
    if (shortest == 0) return static_cast<int>(longest);
    return static_cast<int>(std::clamp<std::int64_t>(shortest / 8 / 1'000'000, 1, longest));
}

void WorkerHost::look() {
    std::vector<pollfd> ends{{kicked_.get(), POLLIN, 0}, {lost() ? -1 : keeper_.get(), POLLIN, 0}};
    std::vector<std::uint32_t> ids;
    for (const auto& [id, worker] : workers_) {
        ids.push_back(id);
        ends.push_back({worker->socket.get(), static_cast<short>(worker->seat >= 0 ? POLLIN : 0), 0});
        ends.push_back({worker->output.get(), POLLIN, 0});
    }
    if (poll(ends.data(), ends.size(), look_again_in()) < 0 && errno != EINTR)
        throw SystemError("cannot wait for worker processes", errno);
    if (ends[0].revents != 0) {
        std::uint64_t count = 0;
        static_cast<void>(!read(kicked_.get(), &count, sizeof count));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto found = workers_.find(ids[i]);
        if (ends[3 + 2 * i].revents != 0) read_output(*found->second);
        if ((ends[2 + 2 * i].revents & POLLIN) != 0) hear(*found->second);
    }
    if (ends[1].revents != 0) read_news();
    watch_clock();
    watch_progress();
    if (!missing_.empty() && !lost() && steady_clock::now() >= next_hire_) hire();
}

// ---- workers come ----

/// Gives this seat to a spare, whose place is then the one that is missing.
void WorkerHost::replace(int seat) {
    for (auto& [id, spare] : workers_) {
        if (seat < 0 || spare->seat >= 0) continue;
        take_seat(*spare, seat);
        seat = -1;
    }
    missing_.push_back(seat);
}

/// Asks for the workers that are missing. What cannot be had now is asked for again later, as long as there are others.
void WorkerHost::hire() {
    while (!missing_.empty()) {
        try {
            ask_for_worker(missing_.front());
        } catch (const SystemError&) {
            if (workers_.empty()) throw;
            next_hire_ = steady_clock::now() + between_hires;
            return;
        }
        missing_.pop_front();
    }
}

void WorkerHost::ask_for_worker(int seat) {
    int sockets[2];
    int output[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        throw SystemError("cannot make a worker's socket", errno);
    const OwnedDescriptor theirs(sockets[1]);
    auto worker = std::make_unique<Worker>();
    worker->socket.reset(sockets[0]);
    if (pipe2(output, O_CLOEXEC) != 0) throw SystemError("cannot make a pipe for a worker's output", errno);
    worker->output.reset(output[0]);
    const OwnedDescriptor their_output(output[1]);
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    worker->id = next_id_++;
    if (seat >= 0) take_seat(*worker, seat);
    const int descriptors[] = {theirs.get(), their_output.get()};
    if (!command(Command::fork, worker->id, descriptors))
        throw SystemError("cannot reach the keeper of worker processes", errno);
    workers_.emplace(worker->id, std::move(worker));
}

void WorkerHost::take_seat(Worker& worker, int seat) noexcept {
    worker.seat = seat;
    tell(worker.socket.get(), static_cast<std::uint32_t>(seat));
}

// ---- what workers and their keeper say ----

void WorkerHost::read_news() {
    for (;;) {
        News news;
        const auto length = isolated::hear(keeper_.get(), news, MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (length != sizeof news) {
            if (stopping_.load()) return;
            throw Error("the keeper of this machine's worker processes has ended, and they with it");
        }
        const auto found = workers_.find(news.worker);
        if (found == workers_.end()) continue;
        if (news.kind == News::refused) {
            const int seat = found->second->seat;
            workers_.erase(found);
            replace(seat);
            next_hire_ = steady_clock::now() + between_hires;
            if (workers_.empty()) throw SystemError("cannot start another worker process", news.error);
        }
        if (news.kind == News::ended) {
            const auto worker = std::move(found->second);
            workers_.erase(found);
            bury(*worker, news.death);
        }
    }
}

void WorkerHost::hear(Worker& worker) {
    std::uint32_t kind = 0;
    if (isolated::hear(worker.socket.get(), kind, MSG_DONTWAIT) != sizeof kind || worker.seat < 0) return;
    if (kind == Report::nothing_to_do) {
        worker.has_nothing = true;
        return;
    }
    TargetSeat& seat = seats_[worker.seat];
    Ring* const ring = known(seat.running.ring.load(std::memory_order_acquire)).ring;
    const auto number = seat.running.number.load(std::memory_order_relaxed);
    Answer answer = Answer::go_on;
    if (ring == nullptr) throw Error("a worker speaks of a task that does not exist");
    if (kind == Report::failed) {
        const auto& report = seat.report;
        auto cause = std::make_exception_ptr(RemoteException(text_of(report.type), text_of(report.text)));
        const auto step = seat.running.step.load(std::memory_order_relaxed);
        ring->fail({number, ring->task_name(number, step), worker.seat, std::move(cause), false});
    } else if (ring->cancels() && ring->take_cancellation(number)) {
        const auto task = ring->task_name(number);
        auto cause = std::make_exception_ptr(TaskCancelled("task " + task + " was cancelled before it started"));
        ring->fail({number, task, worker.seat, std::move(cause), true});
        answer = Answer::skip;
    }
    tell(worker.socket.get(), answer);
}

void WorkerHost::read_output(Worker& worker) noexcept {
    std::array<char, 4096> text;
    for (;;) {
        const auto length = read(worker.output.get(), text.data(), text.size());
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) {
            if (length == 0) worker.output.reset();
            return;
        }
        for (ssize_t at = 0; at < length;) {
            const auto written = write(STDERR_FILENO, text.data() + at, static_cast<std::size_t>(length - at));
            if (written < 0 && errno != EINTR) break;
            if (written > 0) at += written;
        }
        worker.last_lines.append(text.data(), static_cast<std::size_t>(length));
        if (worker.last_lines.size() > 2 * kept_output)
            worker.last_lines.erase(0, worker.last_lines.size() - kept_output);
    }
}

void WorkerHost::watch_clock() {
    if (shortest_limit_.load(std::memory_order_relaxed) == 0) return;
    const auto now = steady_clock::now();
    for (auto& [id, worker] : workers_) {
        if (worker->seat < 0 || worker->ended_for_time) continue;
        auto& running = seats_[worker->seat].running;
        auto& clock = clocks_[static_cast<std::size_t>(worker->seat)];
        const bool on = running.on.load(std::memory_order_acquire) != 0;
        const auto ordinal = running.ordinal.load(std::memory_order_relaxed);
        if (!on || ordinal != clock.ordinal || clock.since == steady_clock::time_point{}) {
            clock = {on ? ordinal : 0, now};
            continue;
        }
        const auto own = limit_of(running.flags.load(std::memory_order_relaxed));
        const auto limit = own.count() != 0 ? own : core_.options().time_limit;
        if (limit.count() == 0 || now - clock.since < limit) continue;
        auto mark = 2 * ordinal;
        // it has just returned
        if (!running.timed.compare_exchange_strong(mark, mark + 1, std::memory_order_acq_rel)) continue;
        worker->ended_for_time = true;
        worker->limit = limit;
        command(Command::kill, worker->id);
    }
}

/// Tasks wait, none ends, and every worker has looked at everything since it was asked and found nothing: somebody has
/// written over the memory in which the tasks lie. A worker that is in a task, or has not begun, does not answer.
void WorkerHost::watch_progress() {
    if (lost() || stopping_.load(std::memory_order_relaxed)) return;
    const auto now = steady_clock::now();
    const auto [executed, called, waits] = core_.progress();
    if (executed > called)
        throw Error(
            "more tasks have ended than were called: a worker has written over the memory that it shares with the "
            "program");
    const bool over = executed == called && executed == executed_;
    if (!over || !waits) {
        waits_in_vain_ = 0;
        waits_since_ = now;
        // by looks too, or a process that was stopped for long would seem to have waited
    } else if (now - waits_since_ >= patience / 2) {
        ++waits_in_vain_;
        waits_since_ = now;
    }
    if (waits_in_vain_ == most_waits_in_vain)
        throw Error(
            "a thread waits although all tasks have ended: a worker has written over the memory that it shares with "
            "the program");
    if (executed == called || executed != executed_ || !missing_.empty()) {
        executed_ = executed;
        executed_since_ = now;
        asking_ = false;
        return;
    }
    if (!asking_) {
        if (now - executed_since_ < patience) return;
        asking_ = true;
        ++question_;
        for (auto& [id, worker] : workers_) {
            worker->has_nothing = false;
            if (worker->seat < 0) continue;
            seats_[worker->seat].question.store(question_, std::memory_order_release);
            wake_at(seats_[worker->seat].bell);
        }
        return;
    }
    const auto knows_of_none = [](const auto& one) { return one.second->seat < 0 || one.second->has_nothing; };
    if (std::all_of(workers_.begin(), workers_.end(), knows_of_none))
        throw Error(
            std::to_string(called - executed) +
            " task(s) wait that no worker finds: a worker has written over the memory that it shares with the program");
}

// ---- the dead ----

void WorkerHost::bury(Worker& worker, const process::Death& death) {
    read_output(worker);
    asking_ = false;
    if (lost()) return;
    // Workers that get something done may die as often as they like.
    if (const auto done = executed(); done != executed_at_death_) {
        executed_at_death_ = done;
        idle_deaths_ = 0;
    }
    if (worker.seat >= 0) {
        if (stopping_.load() && death.exit_code && seats_[worker.seat].running.on.load() == 0) return;
        settle(worker, death);
        if (idle_deaths_ > most_idle_deaths) throw Error("the workers of this machine end without having run a task");
    } else if (++idle_deaths_ > most_idle_deaths) {
        throw Error("the workers of this machine end before they have a task");
    }
    if (lost()) return;
    replace(worker.seat);
    hire();
}

/// Leaves the seat as if its worker had just completed what it ran, with what else it had claimed for the next worker.
void WorkerHost::settle(Worker& worker, const process::Death& death) {
    if (!sound()) throw Error("a worker has written over the memory that workers share with the program");
    TargetSeat& seat = seats_[worker.seat];
    const auto me = static_cast<std::uint32_t>(worker.seat) + 1;
    if (seat.running.on.load(std::memory_order_acquire) != 0) {
        idle_deaths_ = 0;
        const auto index = seat.running.ring.load(std::memory_order_relaxed);
        const auto number = seat.running.number.load(std::memory_order_relaxed);
        const auto ordinal = seat.running.ordinal.load(std::memory_order_relaxed);
        const auto executed = seat.counters.tasks.value_acquire();
        const auto ring = known(index);
        if (ring.ring == nullptr || number == 0 || (ordinal != executed && ordinal != executed + 1))
            throw Error(
                "what a dead worker was doing makes no sense: it has written over the memory that it shares with the "
                "program");
        if (!ring.complete(number)) {
            fail_running(worker, *ring.ring, number, death);
            ring.complete_for_the_dead(number);
        }
        seat.running.step.store(0, std::memory_order_relaxed);
        seat.counters.tasks.add_release(ordinal - executed);
        seat.running.on.store(0, std::memory_order_release);
    } else {
        ++idle_deaths_;
    }
    const auto count = ring_count();
    for (std::uint32_t i = 0; i < count; ++i)
        if (const auto ring = known(i); !ring.lane) settle_claim_of_the_dead(ring.shared->claims, seat.claim, me, i);
    if (seat.claim.state.load() == ClaimNote<>::intended) seat.claim.state.store(ClaimNote<>::none);
    if (seat.claim.state.load() == ClaimNote<>::owned) {
        const auto index = seat.claim.ring.load();
        auto first = seat.claim.first.load();
        const auto end = seat.claim.end.load();
        const auto ring = known(index);
        if (ring.ring == nullptr || ring.lane || first == 0 || end < first || end - first > 64)
            throw Error(
                "what a dead worker had claimed makes no sense: it has written over the memory that it shares with the "
                "program");
        while (first < end && ring.complete(first)) ++first;
        seat.claim.first.store(first);
    }
    seat.running.timed.store(0);
    if (seat.counters.idle_ticks.running()) seat.counters.idle_ticks.end(Clock::ticks());
    seat.bell.parked.store(0);
    clocks_[static_cast<std::size_t>(worker.seat)] = {};
    // Whoever sleeps may have been about to be woken by the dead.
    for (std::uint32_t i = 0; i < count; ++i) penstock::wake_at(*known(i).owner_bell);
}

void WorkerHost::fail_running(Worker& worker, Ring& ring, std::uint64_t number, const process::Death& death) {
    WorkerDied::Facts facts;
    facts.task = ring.task_name(number, seats_[worker.seat].running.step.load(std::memory_order_relaxed));
    facts.target = worker.seat;
    facts.pid = death.pid;
    facts.signal = death.signal;
    facts.core_dumped = death.core_dumped;
    facts.exit_code = death.exit_code;
    if (worker.ended_for_time) facts.time_limit = worker.limit;
    facts.argument_bytes = ring.argument_bytes(number);
    const auto& lines = worker.last_lines;
    facts.output = lines.substr(lines.size() > kept_output ? lines.size() - kept_output : 0);
    ring.fail({number, facts.task, worker.seat, std::make_exception_ptr(WorkerDied(facts)), false});
}

bool WorkerHost::KnownRing::complete(std::uint64_t number) const noexcept {
    if (!lane) return done_of(number).load(std::memory_order_acquire) >= number;
    if (shared->credits.completed.load(std::memory_order_acquire) >= number) return true;
    for (std::uint32_t slot = 0; slot < capacity; ++slot)
        if (slots[slot].done.load(std::memory_order_acquire) >= number) return true;
    return false;
}

void WorkerHost::KnownRing::complete_for_the_dead(std::uint64_t number) const noexcept {
    if (!lane) return done_of(number).store(number, std::memory_order_release);
    for (std::uint32_t slot = 0; slot < capacity; ++slot) {
        const auto sequence = slots[slot].sequence.load(std::memory_order_acquire);
        if (sequence >> 1 != number) continue;
        if ((sequence & 1) != 0) slots[slot].done.store(number, std::memory_order_release);
        else shared->credits.completed.store(number, std::memory_order_release);
        return;
    }
}

/// What has this index, or nothing where no ring has it.
WorkerHost::KnownRing WorkerHost::known(std::uint32_t index) const {
    const std::lock_guard lock(mutex_);
    return index < rings_.size() ? rings_[index] : KnownRing{};
}

std::uint32_t WorkerHost::ring_count() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(rings_.size());
}

/// Does the shared memory still say what the program wrote there?
bool WorkerHost::sound() {
    const std::lock_guard lock(mutex_);
    if (board_->magic != Board::right_magic || board_->seats != clocks_.size() || board_->seat != seats_) return false;
    if (board_->ring_count.load() != rings_.size()) return false;
    for (std::size_t i = 0; i < rings_.size(); ++i) {
        const RingFacts& known = rings_[i];
        if (board_->rings[i] != rings_[i].shared || *rings_[i].shared != known) return false;
    }
    return true;
}

/// Until all workers that were told to end have done so: nobody else holds the other ends of their sockets. Not for
/// ever, because a process that they have forked may hold them too.
void WorkerHost::wait_for_ends() noexcept {
    const auto until = steady_clock::now() + longest_stop;
    for (const auto& [id, worker] : workers_)
        for (bool ended = false; !ended && steady_clock::now() < until;) {
            pollfd end{worker->socket.get(), 0, 0};
            ended = poll(&end, 1, 100) > 0;
        }
}

/// Ends all workers and fails everything that is unfinished, so that nobody waits for ever.
void WorkerHost::give_up(std::string_view why) noexcept {
    if (lost()) return;
    try {
        side_.lost.store(true, std::memory_order_release);
        for (const auto& [id, worker] : workers_) command(Command::kill, id);
        wait_for_ends();
        workers_.clear();
        missing_.clear();
        try {
            lost_ = std::make_exception_ptr(
                WorkersLost(std::string(why) + "; all unfinished tasks of this machine have failed, make a new one"));
        } catch (const std::bad_alloc&) {  // then with the one that was made beforehand
        }
        const std::lock_guard lock(mutex_);
        for (const auto& each : rings_) each.ring->give_up(lost_, each.shared->credits, each.slots, each.done);
        given_up_.store(true, std::memory_order_release);
    } catch (...) {
        std::terminate();  // a mutex that cannot be had: waits would never end
    }
}

}  // namespace penstock::isolated
