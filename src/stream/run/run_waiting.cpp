// How threads wait for a run: they run its stations meanwhile, notice when nothing can go on, and can say who waits for
// what.
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "stream/far/far_run.hpp"
#include "stream/run/run_core.hpp"
#include "task/calls/helping.hpp"

namespace penstock::streaming {
namespace {

// What is waited for may come about without anybody saying so (mail arrives at another filter): looked for soon at
// first, then seldom.
constexpr std::chrono::nanoseconds first_look = std::chrono::microseconds(200);
constexpr std::chrono::nanoseconds look_interval = std::chrono::milliseconds(20);
constexpr auto between_looks = std::chrono::milliseconds(50);
// Jobs of this thread's firings, before another station has a turn. Long enough for all that a firing issues as a rule:
// a thread that goes on before its jobs have completed leaves what they read and write, and begins with something else.
constexpr auto longest_of_jobs = std::chrono::milliseconds(1);

/// The machine that has jobs of firings of this thread in its deque, as far as is known. Of the thread and not of one
/// wait: a wait may be over before they are, and the next one must not run other stations for ever instead.
thread_local constinit const Machine* has_own_jobs = nullptr;

/// In the order of Doing.
constexpr const char* texts_of_doing[] = {"has not begun",
                                          "fires",
                                          "waits for input",
                                          "waits for room in its output",
                                          "waits for a buffer of its own to come back",
                                          "waits for the tasks of its firing",
                                          "is held by an edit",
                                          "has ended"};
static_assert(std::size(texts_of_doing) == static_cast<std::size_t>(Doing::ended) + 1);

}  // namespace

/// How long nothing has moved.
struct RunCore::Look {
    std::uint64_t progress = 0;
    int quiet = 0;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

/// Whoever waits reads the wires himself, and fires what this makes ready: no other thread need be woken for a buffer
/// from another node. Who will be away for long, by the last time, leaves the wires to the endpoint's thread; and who
/// waits for nothing of his own, to a target that reads them.
struct RunCore::Lookout {
    RunCore& run;
    const Help help;
    const bool abroad = run.far != nullptr && run.far->look;
    const bool leaves = abroad && Clock::ticks() - run.looked_abroad_.load(std::memory_order_relaxed) > long_away;
    bool fires_long = false;

    ~Lookout() {
        if (!abroad) return;
        if (leaves) run.far->look_away();
        run.looked_abroad_.store(Clock::ticks(), std::memory_order_relaxed);
    }
    static inline const std::uint64_t long_away = Clock::ticks_of(std::chrono::microseconds(100));

    /// False: nothing has come for as long as it is worth to stay awake.
    bool look(const std::function<bool()>& over) {
        const auto until = Clock::ticks() + Clock::ticks_of(run.backend_->wait_policy().spin);
        const Reading reading(run, help == Help::own);
        do {
            if (help != Help::own && run.watched_.load(std::memory_order_relaxed)) return false;
            if (take_in(over) || over() || run.something_ready()) return true;
            waiting::yield();
        } while (Clock::ticks() < until);
        run.far->look_away();
        return false;
    }

  private:
    /// Targets leave the wires to it meanwhile.
    struct Reading {
        std::atomic<int>* const count;
        Reading(RunCore& of, bool reads) noexcept : count(reads ? &of.reading_ : nullptr) {
            if (count != nullptr) count->fetch_add(1, std::memory_order_relaxed);
        }
        ~Reading() {
            if (count != nullptr) count->fetch_sub(1, std::memory_order_relaxed);
        }
        Reading(const Reading&) = delete;
        Reading& operator=(const Reading&) = delete;
    };
    bool take_in(const std::function<bool()>& over) {
        Helping helping(run);
        if (!helping.server.take_in(run.far->look)) return false;
        if (!over()) {
            if (fires_long) run.far->look_away();
            const auto began = Clock::ticks();
            helping.server.help();
            run.note_jobs(helping.server);
            fires_long = Clock::ticks() - began > long_away;
        }
        helping.server.hand_back();
        return true;
    }
};

// A target whose stations have nothing to do reads the wires, too, for as long as threads spin before they sleep, and
// runs what this makes ready: one thread for both, where a thread that reads would have to wake the target for each
// burst. One at a time: who has set watched_. It does so in short tasks, each of which issues the next, so that what
// else the target has to do comes in its turn. It counts as serving, so the run does not end under it.

bool RunCore::begin_watch() noexcept {
    if (far == nullptr || !far->look || reading_.load(std::memory_order_relaxed) != 0 || all_ended() || stopping())
        return false;
    if (watched_.exchange(true, std::memory_order_acquire)) return false;
    watch_until_ = Clock::ticks() + Clock::ticks_of(backend_->wait_policy().spin);
    return true;
}

void RunCore::watch(RunCore* run) {
    const int target = run->machine_.current_target();
    if (target >= 0) {
        Server& server = *run->servers_[static_cast<std::size_t>(target)];
        const auto here = server.here();
        while (run->go_on_watching(server)) try {
                return (void)run->machine_.call<&RunCore::watch>(run);  // in its turn among other tasks
            } catch (...) {                                             // no memory for that: on with it here
            }
    }
    if (run->reading_.load(std::memory_order_relaxed) == 0) run->far->look_away();
    run->watched_.store(false, std::memory_order_release);
    if (!run->rest()) serve(run);
}

/// False: nothing has come for as long as it is worth to stay awake, or somebody else reads.
bool RunCore::go_on_watching(Server& server) {
    constexpr int looks_of_a_task = 4;
    for (int looks = 0; looks < looks_of_a_task; ++looks) {
        if (all_ended() || stopping() || reading_.load(std::memory_order_relaxed) != 0) return false;
        if (!server.take_in(far->look) && !something_ready()) {
            if (Clock::ticks() > watch_until_) return false;
            waiting::yield();
            continue;
        }
        if (fired_long_) far->look_away();
        const auto began = Clock::ticks();
        (void)server.serve();
        const auto now = Clock::ticks();
        fired_long_ = now - began > Lookout::long_away;
        watch_until_ = now + Clock::ticks_of(backend_->wait_policy().spin);
    }
    return true;
}

/// Behind each firing of a thread that helps. True when it has jobs of its own.
bool RunCore::note_jobs(Server& server) noexcept {
    if (server.take_note_of_jobs()) has_own_jobs = &machine_;
    return has_own_jobs == &machine_;
}

void RunCore::help_until(const std::function<bool()>& over, const char* what, bool report_stall, bool looks,
                         Help help) {
    const bool helps = help != Help::little || servers_.empty();
    const waiting::Brief brief;  // one for all waits between two firings, which may be short
    Doorbell own_bell;
    struct Waits : WaitingThread {
        RunCore& run;
        Waits(RunCore& of, Doorbell& own, bool helps_run)
            : WaitingThread{&of.backend_->begin_help(own), nullptr, helps_run}, run(of) {
            const std::lock_guard lock(run.lock_);
            next = std::exchange(run.waiting_, this);
        }
        ~Waits() {
            {
                const std::lock_guard lock(run.lock_);
                WaitingThread** at = &run.waiting_;
                while (*at != this) at = &(*at)->next;
                *at = next;
            }
            run.backend_->end_help(*bell);
        }
        Waits(const Waits&) = delete;
        Waits& operator=(const Waits&) = delete;
    } waits{*this, own_bell, helps};
    Waiter waiter(backend_->wait_policy(), *waits.bell);
    Look look;
    Lookout lookout{*this, help};
    bool told_to_stop = false;
    auto interval = first_look;
    looks = looks && look_while_waiting;
    const auto ticks_between_looks = looks ? Clock::ticks_of(between_looks) : 0;
    auto next_look = looks ? Clock::ticks() + ticks_between_looks : 0;
    const auto must_look = [&] {
        return over() || (stopping() && !told_to_stop) || (looks && Clock::ticks() >= next_look);
    };
    while (!over()) {
        if (looks && Clock::ticks() >= next_look) {
            look_while_waiting();
            next_look = Clock::ticks() + ticks_between_looks;
        }
        if (stopping() && !std::exchange(told_to_stop, true)) stop();
        bool ran = false, jobs_first = false;
        backend_->poll();
        if (helps) {
            Helping helping(*this);
            while (helping.server.help()) {
                ran = true;
                jobs_first = note_jobs(helping.server);
                if (jobs_first || must_look()) break;
            }
            helping.server.hand_back();
        }
        // Without a turn of its own: it moves nothing of the run, and the end of a job is mail like others.
        if (helps && (jobs_first || !ran) && backend_->abilities.issue_tasks) {
            const auto until = jobs_first ? Clock::ticks() + Clock::ticks_of(longest_of_jobs) : 0;
            bool more = true;
            do {
                more = help_with_jobs(machine_, jobs_first ? JobsOf::this_thread : JobsOf::anybody);
                ran = ran || more;
            } while (more && Clock::ticks() < until && !must_look());
            if (!more && has_own_jobs == &machine_) has_own_jobs = nullptr;
        }
        if (ran) {
            interval = first_look;
            continue;
        }
        if (helps && lookout.abroad) {
            if (lookout.look(over)) {
                interval = first_look;
                continue;
            }
            waiter.spin_for({});
        }
        std::optional<Idle> idle;
        if (helps) idle.emplace(idle_);
        const bool something = waiter.wait_for(
            [&] {
                return over() || (stopping() && !told_to_stop) || backend_->has_news() ||
                       (helps && (something_ready() || (backend_->abilities.issue_tasks && jobs_wait(machine_))));
            },
            backend_->look_again(interval), {what, 0});
        if (!something && report_stall && interval == look_interval) look_for_stall(look);
        interval = std::min(2 * interval, look_interval);
    }
}

std::uint64_t RunCore::progress() {
    const std::lock_guard lock(structure);
    std::uint64_t sum = 0;
    for (const auto& station : stations) {
        sum += station->firings.load(std::memory_order_relaxed) + station->handled.load(std::memory_order_relaxed);
        for (const auto& inlet : station->inlets) sum += inlet->read.load(std::memory_order_relaxed);
    }
    for (const auto& link : links) sum += link->accepted.load(std::memory_order_relaxed);
    return sum;
}

void RunCore::look_for_stall(Look& look) {
    const std::lock_guard lock(structure);
    const auto now = progress();
    const auto time = std::chrono::steady_clock::now();
    if (now != look.progress) {
        look.progress = now;
        look.quiet = 0;
        look.since = time;
        return;
    }
    const auto longest = machine_.options().watchdog;
    const bool too_long = longest.count() != 0 && time - look.since > longest;
    // What has not moved by now never will, unless the program itself writes or reads.
    if (far != nullptr || kept_open_.load(std::memory_order_acquire) != 0 || !settled()) look.quiet = 0;
    else ++look.quiet;
    if (look.quiet < 3 && !too_long) return;
    throw StreamStalled(std::string(too_long ? "nothing has moved for as long as the machine's watchdog allows:\n"
                                             : "the graph cannot go on:\n") +
                        report());
}

// Mail may move behind the back of a scan: from a station that has not been looked at to one that has. So the scan
// counts only when no thread was at work for the run during all of it: then it sees the state of one moment.
//
// Whoever moves anything of the run has a turn, which is counted when it begins and goes on until what was moved lies
// where the scan finds it: a helper, a target's server, or a task that serves the queue of ready stations, which is
// counted when a station is put there. Whoever sends mail from elsewhere (a task of a firing, the program, a backend)
// has a turn while it does, for behind the mail it touches the run. If the scan reads anything that was written in
// a turn, it reads a release by an acquire, or a value that says by itself that something is on its way. In the first
// case the beginning of that turn happens before the second look at the turns, which finds it counted. If it reads
// nothing of the kind, it is as if that turn had not begun.
bool RunCore::settled() {
    const std::lock_guard structure_lock(structure);
    const auto turns = turns_while_idle();
    return turns && nothing_on_its_way() && turns_while_idle() == turns;
}

/// Turns so far; nothing while somebody has one.
std::optional<std::uint64_t> RunCore::turns_while_idle() {
    std::uint64_t sum = 0;
    {
        const std::lock_guard lock(lock_);
        if (serving_ != 0) return std::nullopt;
        sum += served_;
    }
    bool idle = true;
    const auto add_pushed = [&](auto& list) {
        const auto pushed = list.pushed_while_empty();
        idle = idle && pushed;
        sum += pushed.value_or(0);
    };
    add_pushed(for_all_);
    for (auto& stack : stacks_) add_pushed(stack);
    const auto add = [&](std::uint64_t turns) {
        idle = idle && Turns::idle(turns);
        sum += turns >> 32;
    };
    for (const auto& server : servers_) add(server->turns());
    add(helpers_.load(std::memory_order_acquire));
    return idle ? std::optional(sum) : std::nullopt;
}

bool RunCore::nothing_on_its_way() const {
    for (const auto& link : links) {
        if (link->accepted.load(std::memory_order_acquire) != link->announced.load(std::memory_order_acquire))
            return false;
        if (link->starvation.told_already()) return false;
    }
    for (const auto& station : stations) {
        const auto doing = station->doing.load(std::memory_order_acquire);
        if (doing == Doing::firing || doing == Doing::waits_for_tasks || doing == Doing::held) return false;
        if (station->handled.load(std::memory_order_acquire) != station->posted.load(std::memory_order_acquire))
            return false;
        if (!station->external && station->home() == nullptr && !station->box.at_rest()) return false;
        if (station->awaited()) return false;
        for (const auto& outlet : station->outlets)
            if (outlet->pool->starvation().told_already()) return false;
    }
    return true;
}

/// Where it cannot be sent it can be sent again.
void RunCore::post_counted(Station& to, Mail& mail) {
    to.posted.fetch_add(1, std::memory_order_relaxed);
    try {
        try_to_post(to, &mail);
    } catch (...) {
        to.posted.fetch_sub(1, std::memory_order_relaxed);
        throw;
    }
}

/// To a station that an edit has made and that none has taken out.
void RunCore::post_once(Station& to, Command& command) {
    if (to.unborn || to.retired.load(std::memory_order_relaxed) || command.sent.load()) return;
    post_counted(to, command);
    command.sent.store(true);
}

void RunCore::stop() {
    stopping_.store(true, std::memory_order_release);
    if (far != nullptr) far->tell(FarKind::stop);
    const std::lock_guard lock(structure);
    for (const auto& station : stations) post_once(*station, station->stop_mail);
}

void RunCore::close() {
    const std::lock_guard lock(structure);
    const auto kept_open = keep_open();
    if (kept_open == nullptr) return;
    closing_.store(true, std::memory_order_release);
    if (far != nullptr) far->tell(FarKind::close_all);
    for (const auto& station : stations)
        if (!station->external) post_once(*station, station->close_mail);
}

bool RunCore::program_writes() {
    const std::lock_guard lock(structure);
    return std::ranges::any_of(stations, [](const auto& station) {
        return station->external && station->far == nullptr && !station->outlets.empty() && !station->ended();
    });
}

std::string RunCore::report() {
    const std::lock_guard lock(structure);
    const std::lock_guard picture_lock(picture);
    std::ostringstream text;
    for (const auto& station : stations) {
        const auto doing = station->doing.load(std::memory_order_relaxed);
        if (station->far != nullptr) {
            text << station->far->text();
            continue;
        }
        if (station->external && doing != Doing::ended) {
            std::size_t unread = 0;
            for (const auto& inlet : station->inlets) unread += inlet->waiting.load(std::memory_order_relaxed);
            text << "  '" << station->name() << "' is the program's own end"
                 << (unread != 0 ? ", which has not read what waits there: read to the end, or stop the run" : "")
                 << '\n';
            continue;
        }
        text << "  '" << station->name() << "'";
        if (station->several_copies) text << " copy " << station->copy();
        text << ' ' << texts_of_doing[static_cast<std::size_t>(doing)];
        const char* separator = ": ";
        if (doing == Doing::waits_for_input)
            for (const auto& inlet : station->inlets) {
                text << separator << inlet->waiting.load(std::memory_order_relaxed) << " wait at '"
                     << inlet->port->name() << "'";
                separator = ", ";
            }
        if (doing == Doing::waits_for_output)
            for (const auto& outlet : station->outlets) {
                const auto held_back = outlet->held_back.load(std::memory_order_relaxed);
                if (held_back == 0) continue;
                text << separator << held_back << " held back at '" << outlet->port->name() << "', read by";
                for (const auto& branch : outlet->branches)
                    for (const Link* link : branch.links)
                        text << " '" << link->to->station->name() << '.' << link->to->port->name() << "'";
                separator = ", ";
            }
        text << '\n';
    }
    return text.str();
}

}  // namespace penstock::streaming
