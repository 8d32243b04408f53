#include "stream/run/run_core.hpp"

#include <thread>

#include "penstock/detail/machine/relax.hpp"
#include "stream/description/model.hpp"
#include "stream/far/far_run.hpp"

namespace penstock::streaming {

RunCore::RunCore(Machine& machine)
    : machine_(machine), cuts_(machine), poster_(machine), backend_(FilterBackend::make(*this, machine)) {
    if (const auto most = machine.options().buffer_bytes; most != 0)
        budgets_ = std::make_shared<Budgets>(machine.all_targets(), most);
    for (int target = 0; target < machine.targets(); ++target) slows_ = slows_ || machine.speed_of(target) != 1;
    if (backend_->targets_run_stations())
        for (int target = 0; target < machine.targets(); ++target)
            servers_.push_back(std::make_unique<Server>(*this, target));
    stacks_ = std::vector<ReadyStack>(servers_.size() + 1);
    marks_.resize(stacks_.size());
    for (std::size_t i = 0; i < std::max<std::size_t>(1, servers_.size()); ++i) idle_.enter();
}

void RunCore::slow_down(std::uint64_t begin) const noexcept {
    const double speed = machine_.speed_of(machine_.current_target());
    if (speed == 1) return;
    const auto until = begin + static_cast<std::uint64_t>(static_cast<double>(Clock::ticks() - begin) / speed);
    constexpr double worth_sleeping = 200'000;  // ns: a target that is slow takes no processor from those that are not
    const double left = Clock::nanoseconds(until - std::min(until, Clock::ticks()));
    if (left > worth_sleeping)
        std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(left - worth_sleeping / 2)));
    while (Clock::ticks() < until) relax();
}

RunCore::~RunCore() {
    backend_->close();  // its thread looks at what is destroyed before it
    stations.clear();
    links.clear();
}

int RunCore::most_copies(const FilterModel& filter) const noexcept {
    return filter.places != 0 ? filter.places : std::max(1, backend_->most_firing(filter));
}

int RunCore::copies(const FilterModel& filter) const noexcept {
    if (filter.options.copies != FilterOptions::automatic) return filter.options.copies;
    const int most = most_copies(filter);
    return filter.copies_now == 0 ? most : std::clamp(filter.copies_now, 1, most);
}

void RunCore::add_station(std::unique_ptr<Station> station) {
    const std::lock_guard lock(structure);
    stations.push_back(std::move(station));
    open_.fetch_add(1, std::memory_order_relaxed);
}

// ---- mail ----

void RunCore::try_to_post(Station& to, Mail* mail) { post(to, mail, Server::current == nullptr ? 1 : for_ever); }

void RunCore::post(Station& to, Mail* mail, int most_tries) {
    const Server* const here = Server::current;
    if (here != nullptr && &here->run() == this) return post_in_turn(to, mail, most_tries);
    const HelpersTurn turn(*this);  // with this mail the run may come to its end, which waits for this call then
    post_in_turn(to, mail, most_tries);
}

void RunCore::post_in_turn(Station& to, Mail* mail, int most_tries) {
    if (Server* const home = to.home()) {
        if (home == Server::current) [[likely]] {
            if (to.accept(mail)) home->enqueue(to);
        } else {
            send_to(*home, to, mail, most_tries);
        }
        return;
    }
    if (!to.box.post(mail)) return;
    if (to.external) [[unlikely]]
        return to.far != nullptr ? to.far->attend() : stir();
    Server* const here = Server::current;
    if (here == nullptr || &here->run() != this || !here->running()) put_ready(to);
    else if (mail->kind == MailKind::buffer) here->keep(to);
    else here->keep_behind(to);
}

void RunCore::send_to(Server& home, Station& to, Mail* mail, int most_tries) {
    const Server* const here = Server::current;
    if (here != nullptr && &here->run() == this && here->target() != Server::helper &&
        poster_.post(here->target(), home.target(), {&RunCore::deliver_at, &to, mail}))
        return;
    patiently([&] { machine_.on(home.target()).call<&RunCore::deliver>(&to, mail); }, most_tries);
}

void RunCore::deliver(Station* station, Mail* mail) {
    deliver_at(station, mail, station->run().machine_.current_target(), true);
}

void RunCore::deliver_at(void* to, void* what, int target, bool last) noexcept {
    Station& station = *static_cast<Station*>(to);
    auto* const mail = static_cast<Mail*>(what);
    RunCore& run = station.run();
    try {
        Server* const home = station.home();
        if (home == nullptr || home->target() != target) {  // it has moved
            const HelpersTurn turn(run);                    // as in post()
            return mail->kind == MailKind::visit ? run.send_turn(station) : run.post_in_turn(station, mail, for_ever);
        }
        const Server::Turn turn(*home);
        const auto here = home->here();
        if (!home->fire_at_once(station, mail, last) && station.accept(mail)) {
            if (station.moving) run.move_on(station, false);
            else home->enqueue(station);
        }
        home->drain();
    } catch (...) {
        run.broken(std::current_exception());
    }
}

void RunCore::move_on(Station& station, bool has_turn) {
    station.waking.store(true, std::memory_order_relaxed);
    station.moving = false;
    if (Server* const old = station.home()) old->forget(station);
    station.set_home(station.next_home);  // from here on it is another thread's
    if (has_turn) send_turn(station);
    post(station, &station.wake_mail);
}

void RunCore::send_turn(Station& station) {
    Server* const home = station.home();
    if (home == nullptr) {
        station.visited.store(false, std::memory_order_release);
        return put_ready(station);
    }
    station.visited.store(true, std::memory_order_relaxed);
    send_to(*home, station, &station.visit, for_ever);
}

bool RunCore::resume(Server& server) noexcept {
    if (!server.begin_resumption()) return true;
    try {
        machine_.on(server.target()).call<&RunCore::go_on>(&server);
    } catch (...) {  // no memory for a task
        server.end_resumption();
        return false;
    }
    return true;
}

void RunCore::go_on(Server* server) {
    const Server::Turn turn(*server);
    const auto here = server->here();
    server->end_resumption();
    server->drain();
}

void RunCore::do_at(Station& station, std::function<void(Station&)> work, bool last) {
    Command command(std::move(work));
    command.last = last;
    // Before anybody has the command, which lies here, or it is counted: what asks for memory.
    const std::function<bool()> done = [&, external = station.external] {
        if (external && !command.done.load(std::memory_order_acquire)) attend_program_end(station);
        return command.done.load(std::memory_order_acquire);
    };
    if (last) post(station, &command);
    else post_counted(station, command);
    std::exception_ptr thrown;
    while (!command.done.load(std::memory_order_acquire)) try {
            help_until(done, "an edit", false);
        } catch (...) {  // somebody still has the command
            thrown = std::current_exception();
        }
    if (thrown != nullptr) std::rethrow_exception(thrown);
    if (command.failed != nullptr) std::rethrow_exception(command.failed);
}

RunCore::KeptOpen RunCore::keep_open() noexcept {
    auto open = open_.load(std::memory_order_relaxed);
    while (open != 0)
        if (open_.compare_exchange_weak(open, open + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
            kept_open_.fetch_add(1, std::memory_order_acq_rel);
            return KeptOpen(this);
        }
    return nullptr;
}
void RunCore::LetEnd::operator()(RunCore* run) const noexcept {
    run->kept_open_.fetch_sub(1, std::memory_order_acq_rel);
    if (run->open_.fetch_sub(1, std::memory_order_acq_rel) == 1) run->stir();
}

// ---- ready stations ----

void RunCore::note_ready(Station& station) const noexcept {
    if (station.timed()) station.ready_at = Clock::ticks();
}

void RunCore::put_ready(Station& station) {
    note_ready(station);
    for_all_.put(&ReadyByDepth::push, station);
    if (idle_.any()) alert();
}

void RunCore::put_ready(Server& server, Station& station) {
    note_ready(station);
    stack_of(server).put(&ReadyList::push_newest, station);
    if (idle_.any()) alert();
}

void RunCore::alert_again() noexcept {
    if (something_ready() && idle_.any()) alert();
}

void RunCore::alert() noexcept {
    bool more_servers = false;
    {
        const std::lock_guard lock(lock_);
        if (serving_ < static_cast<int>(servers_.size())) {
            ++serving_, ++served_, more_servers = true;
            idle_.leave();
        }
        ring_waiting(false);
        if (waiting_ == nullptr && servers_.empty()) [[unlikely]]
            backend_->wake();
    }
    if (!more_servers) return;
    try {
        machine_.call<&RunCore::serve>(this);
    } catch (...) {  // no memory for a task: a thread that waits for the run runs the station, or the next server
        const std::lock_guard lock(lock_);
        --serving_;
        idle_.enter();
    }
}

void RunCore::ring_waiting(bool all) noexcept {
    for (const auto* each = waiting_; each != nullptr; each = each->next)
        if (all || each->helps) wake_at(*each->bell);
}

Station* RunCore::take_newest(Server& server) {
    ReadyStack& own = stack_of(server);
    if (Station* const station = own.take(&ReadyList::take_newest)) return station;
    if (Station* const station = for_all_.take(&ReadyByDepth::take_deepest, server.target())) return station;
    const auto first = static_cast<std::size_t>(&own - stacks_.data());
    for (std::size_t next = 1; next < stacks_.size(); ++next)
        if (Station* const station = stacks_[(first + next) % stacks_.size()].take(&ReadyList::take_oldest))
            return station;
    return nullptr;
}

Station* RunCore::take_in_turn(Server& server, bool of_helpers) {
    Marks& marks = marks_[number_of(server.target())];
    if (of_helpers)
        if (Station* const station = stack_of(Server::helper).take_left(&ReadyList::take_oldest_of, marks.of_helpers))
            return station;
    if (Station* const station = for_all_.take_left(&ReadyByDepth::take_in_turn, marks.for_all)) return station;
    return stack_of(server).take_left(&ReadyList::take_oldest_of, marks.own);
}

std::size_t RunCore::ready_stations() const noexcept {
    std::size_t sum = for_all_.size();
    for (const auto& stack : stacks_) sum += stack.size();
    return sum;
}

int RunCore::threads() {
    const std::lock_guard lock(lock_);
    int waiting = 0;
    for (const auto* each = waiting_; each != nullptr; each = each->next) waiting += each->helps;
    return machine_.targets() + waiting;
}

bool RunCore::awaited() {
    const std::lock_guard lock(lock_);
    return waiting_ != nullptr;
}

void RunCore::serve(RunCore* run) {
    const int target = run->machine_.current_target();
    Server stand_in(*run, Server::helper);
    Server& server = target >= 0 ? *run->servers_[static_cast<std::size_t>(target)] : stand_in;
    if (server.running()) return run->serve_later(server);
    const auto here = server.here();
    for (;;) {
        if (!server.serve()) {
            try {
                run->machine_.call<&RunCore::serve>(run);  // in its turn among other tasks
                return;
            } catch (...) {  // no memory for that: on with it here
                continue;
            }
        }
        if (target >= 0 && run->begin_watch()) return watch(run);
        if (run->rest()) return;
    }
}

/// The task runs inside a firing of the server that it would serve: the filter helps while it waits, or there was no
/// room for the task. When the firing has ended, the server has somebody look again.
void RunCore::serve_later(Server& server) noexcept {
    server.note_turned_away();
    const std::lock_guard lock(lock_);
    idle_.enter();
    --serving_;
}

/// Nothing is ready for a task that serves. False: something is, after all.
bool RunCore::rest() noexcept {
    const std::lock_guard lock(lock_);
    idle_.enter();
    if (!something_ready()) {
        --serving_;
        return true;
    }
    idle_.leave();
    return false;
}

void RunCore::stir() {
    const std::lock_guard lock(lock_);
    ring_waiting(true);
}

// ---- what stations say ----

void RunCore::station_ended(Station& station) noexcept {
    station.doing.store(Doing::ended, std::memory_order_release);  // whoever sees this sees the filter's last state
    if (far != nullptr) far->station_ended(station);
    open_.fetch_sub(1, std::memory_order_acq_rel);
    stir();  // an edit may wait for this one alone
}

void RunCore::failed(const Station& station, std::uint64_t firing, std::exception_ptr cause, Loss loss) {
    {
        const std::lock_guard lock(failure_lock_);
        if (++failures_ == 1) {
            failure_ = std::move(cause);
            loss_ = std::move(loss);
            try {
                failed_filter_ = station.name();
            } catch (const std::bad_alloc&) {  // then without
            }
            failed_copy_ = station.copy();
            failed_firing_ = firing;
        }
    }
    if (station.on_failure == OnFailure::stop) {
        stopping_.store(true, std::memory_order_release);
        stir();
    }
}

void RunCore::throw_failure() {
    const std::lock_guard lock(failure_lock_);
    if (failure_ == nullptr) {
        if (later_failure_ != nullptr) std::rethrow_exception(std::exchange(later_failure_, nullptr));
        return;
    }
    throw FilterFailed(failed_filter_, failed_copy_, failed_firing_, std::exchange(failure_, nullptr), failures_ - 1,
                       std::move(loss_));
}

void RunCore::failed_later(std::exception_ptr cause) {
    const std::lock_guard lock(failure_lock_);
    if (later_failure_ == nullptr) later_failure_ = std::move(cause);
}

void RunCore::note_lost(const std::vector<LostBuffer>& lost) {
    const std::lock_guard lock(failure_lock_);
    lost_.insert(lost_.end(), lost.begin(), lost.end());
}

std::vector<LostBuffer> RunCore::lost() {
    const std::lock_guard lock(failure_lock_);
    return lost_;
}

void RunCore::broken(std::exception_ptr cause) {
    failed_later(std::move(cause));
    stopping_.store(true, std::memory_order_release);
    stir();
}

void RunCore::leave_loop(Loop& loop, std::int64_t tokens) {
    if (loop.tokens.fetch_sub(tokens, std::memory_order_acq_rel) != tokens) return;
    if (!loop.used.load(std::memory_order_relaxed) || loop.ended.exchange(true)) return;
    for (auto& end : loop.ends) {
        try {
            post_counted(*static_cast<Station*>(end->from), *end);
        } catch (...) {
            broken(std::current_exception());
        }
    }
}

}  // namespace penstock::streaming
