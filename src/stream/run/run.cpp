#include "penstock/run.hpp"

#include <cstdio>

#include "machine/said_by.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/machine.hpp"
#include "stream/edit/change.hpp"
#include "stream/far/far_run.hpp"
#include "stream/run/patiently.hpp"
#include "stream/run/station.hpp"

namespace penstock {

using streaming::Door;
using streaming::RunState;

namespace {

/// In a forked child there is nobody who runs filters, and what other threads had locked stays so: nothing of the run
/// is touched.
RunState& here(const std::unique_ptr<RunState>& state) {
    if (state == nullptr) throw UsageError("this Run holds nothing any more: it was moved to another one");
    state->core.require_here();
    return *state;
}

/// A run of a parent stays as it is.
void leave_behind(std::unique_ptr<RunState>& state) noexcept {
    if (state != nullptr && state->core.left_behind()) (void)state.release();
}

}  // namespace

Run Graph::start(Machine& machine, const RunOptions& options) {
    auto& described = model();
    Run run(RunState::make(machine, described, options));
    *described.running = true;
    run.state_->begin();
    return run;
}

Run::Run(std::unique_ptr<RunState> state) : state_(std::move(state)) {}
Run::Run(Run&& other) noexcept = default;
Run& Run::operator=(Run&& other) noexcept {
    leave_behind(state_);
    state_ = std::move(other.state_);
    return *this;
}
Run::~Run() { leave_behind(state_); }

void Run::finish() {
    auto& state = here(state_);
    auto& core = state.core;
    if (streaming::Server::current != nullptr)
        throw UsageError("a filter cannot wait for the end of a graph: Run::finish() is the program's");
    if (!state.finished) {
        std::vector<streaming::Station*> writers;  // the program's own ends stay as long as the run
        {
            const std::lock_guard lock(core.structure);
            for (auto* const station : state.wiring.program_ends)
                if (!station->outlets.empty() && !station->unborn) writers.push_back(station);
        }
        for (auto* const writer : writers) streaming::close_program_end(*writer);
        state.help_to_the_end(true);
    }
    core.throw_failure();
}

void Run::edit(const std::function<void(Edit&)>& describe) {
    if (streaming::Server::current != nullptr) return here(state_).edit_later(describe);
    here(state_).edit(describe);
}

void Run::close() { here(state_).core.close(); }

void Run::stop() {
    auto& state = here(state_);
    if (state.finished) return;
    // the filter that says it is in a firing itself
    if (streaming::Server::current != nullptr) return state.core.stop();
    state.stop();
}

void Run::send(const Event& event, const std::string& to) { here(state_).send_to_some(event, to); }

void Run::listen(std::function<bool(const Event&)> take) {
    auto& state = here(state_);
    const std::lock_guard lock(state.core.structure);
    state.listener = std::move(take);
}

void Run::send_after(std::chrono::nanoseconds delay, const Event& event, const std::string& to,
                     std::chrono::nanoseconds period) {
    here(state_).send_again(deadline_after(delay), event, to, period);
}

RunStatistics Run::statistics() const { return here(state_).statistics(); }

std::vector<NodeStatistics> Run::statistics_by_node() const { return here(state_).statistics_by_node(); }

GraphDescription Run::description() const { return here(state_).description(); }

std::string Run::name() const {
    const auto& door = here(state_).door;
    return door == nullptr ? std::string() : door->name();
}

void Run::save(const std::string& path) const {
    const auto seen = here(state_).seen();
    save_graph(path, seen.graph, &seen.figures);
}

std::string Run::drawing() const {
    const auto seen = here(state_).seen();
    return drawing_of(seen.graph, &seen.figures);
}

void Run::look_while_waiting(std::function<void()> look) { here(state_).core.look_while_waiting = std::move(look); }

bool Run::ended() const noexcept { return state_ == nullptr || state_->core.left_behind() || state_->core.all_ended(); }

std::string Run::report() const { return here(state_).core.report(); }

std::vector<LostBuffer> Run::lost() const { return here(state_).core.lost(); }

namespace streaming {

std::unique_ptr<RunState> RunState::make(Machine& machine, Model& described, const RunOptions& options,
                                         const std::function<void(RunState&)>& prepare) {
    (void)machine.initiator();  // not one that stayed behind in the parent of a fork
    if (*described.running) throw UsageError("this graph runs already; a second run needs a second graph");
    for (const auto& filter : described.filters)
        if (!filter.options.target_classes.empty() && !filter.options.targets.empty())
            throw GraphError({"filter '" + filter.name + "' names targets and classes of targets: say one of the two"});
    auto resolved = described;
    resolve_places(resolved, machine);
    if (auto problems = problems_of(resolved, machine.all_targets()); !problems.empty())
        throw GraphError(std::move(problems));
    for (auto& filter : resolved.filters) filter.changes.clear();
    for (auto& filter : described.filters)
        for (auto& [name, value] : std::exchange(filter.changes, {}))
            streaming::named(filter.first->settings, name)->set(value);
    auto state = std::make_unique<RunState>(machine, std::move(resolved));
    try {
        if (auto problems = state->core.backend().problems(state->model); !problems.empty())
            throw GraphError(std::move(problems));
        if (prepare) prepare(*state);
        state->door = Door::open(*state, options);
        note_settings(state->model);
        state->wiring.build(state->model);
        state->core.backend().begin();
        state->end_of_machine->enter(*state);
        // a copy could not be made, or the name is taken: nothing has begun, so there is nothing to be ended
    } catch (...) {
        state->finished = true;
        throw;
    }
    return state;
}

void RunState::begin() {
    wiring.begin();
    if (far == nullptr) {
        const std::lock_guard lock(editing);  // a filter may be having the graph edited already
        pressure.begin();
    }
    if (door != nullptr) door->serve();
}

void RunState::spread_over(Placement placement, std::uint32_t here, std::uint32_t number) {
    far = std::make_unique<FarRun>(*this, std::move(placement), here, number);
    core.far = wiring.far = far.get();
    if (here != 0) core.raise = [all = far.get()](const Event& event) { all->raise(event); };
}

RunState::RunState(Machine& machine, Model resolved)
    : model(std::move(resolved)), core(machine), wiring(core), end_of_machine(MachineEnd::of(machine)) {
    core.raise = [this](const Event& event) { send(event, ""); };
}

RunState::~RunState() {
    end_of_machine->leave(*this);
    while (!finished) {
        try {
            stop_for_good();
            core.throw_failure();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "penstock: a run was destroyed before finish(): %s\n", said_by(error));
        } catch (...) {
            std::fputs("penstock: a run was destroyed before finish(): an edit threw what is not a std::exception\n",
                       stderr);
        }
    }
    *model.running = false;
}

void RunState::stop() {
    core.stop();
    help_to_the_end(false);
}

void RunState::help_to_the_end(bool of_program, RunCore::Help help) {
    core.help_until(
        [this] {
            attend_program_ends();
            return core.all_ended();
        },
        "the end of a graph", of_program, of_program, help);
    settle();
}

/// Stopping asks for memory only where filters are placed; until there is some, they cannot be left alone.
void RunState::stop_for_good() {
    patiently([this] { stop(); }, for_ever);
}

void RunState::stop_for_end() noexcept {
    try {
        if (!finished) stop_for_good();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "penstock: a run that its machine's end stops: %s\n", said_by(error));
    }
    // threads that waited for the run may still look at the machine
    while (core.awaited()) waiting::yield();
}

void RunState::at_program_ends(void (*act)(Station&)) {
    if (!wiring.any_program_end.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(core.structure, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (auto* const station : wiring.program_ends) act(*station);
}

void RunState::edit(const std::function<void(Edit&)>& describe) {
    const std::lock_guard lock(editing);
    Edit edit(std::make_unique<Model>(model));
    describe(edit);
    resolve_places(edit.model(), core.machine());
    note_settings(edit.model());
    const auto kept_open = keep_open();  // behind the pressure, too: the machine may end as soon as the run has
    change_to(edit.model());
    if (far == nullptr) pressure.begin();
}

RunCore::KeptOpen RunState::keep_open() {
    if (auto kept_open = core.keep_open()) return kept_open;
    throw RunEnded("the graph has ended: there is nothing to edit any more");
}

void RunState::change_to(const Model& wished) {
    const auto kept_open = keep_open();
    auto problems = problems_of(wished, core.machine().all_targets());
    Change change(*this, wished);
    if (problems.empty()) problems = change.problems();
    if (problems.empty() && far != nullptr) problems = far->edit_problems(model, wished);
    if (problems.empty()) problems = core.backend().problems(wished, &model);
    if (!problems.empty()) throw GraphError(std::move(problems));
    try {
        change.make();
    } catch (const std::bad_alloc&) {  // somewhere on the way: a graph that is half changed is stopped as a whole
        {
            const std::lock_guard lock(core.structure);
            for (const auto& station : core.stations) station->unborn = false;
        }
        core.failed_later(std::current_exception());
        core.stop();
        throw;
    }
}

int RunState::send(const Event& event, const std::string& to, const std::shared_ptr<const void>& beat) {
    const std::lock_guard lock(core.structure);
    int reached = to.empty() && listener && listener(event) ? 1 : 0;
    for (const auto& station : core.stations) {
        const bool meant = to.empty() || station->name() == to || (to.back() == '/' && station->name().starts_with(to));
        if (!meant || !station->filter().handles_events() || station->retired.load(std::memory_order_relaxed)) continue;
        auto mail = std::make_unique<EventMail>(event, beat);
        core.post_counted(*station, *mail);
        (void)mail.release();
        ++reached;
    }
    return reached;
}

int RunState::send_to_some(const Event& event, const std::string& to) {
    if (core.all_ended()) throw RunEnded("the graph has ended: no event can be sent any more");
    if (const int reached = send(event, to); reached != 0) return reached;
    if (core.all_ended()) throw RunEnded("the graph has ended meanwhile: no event can be sent any more");
    throw UsageError("event '" + event.name +
                     "' reaches nobody: " + (to.empty() ? "no filter" : "no filter '" + to + "'") + " has on_event()");
}

void RunState::send_again(std::chrono::steady_clock::time_point when, Event event, std::string to,
                          std::chrono::nanoseconds period, std::weak_ptr<const void> before) {
    timer.at(when,
             [this, when, event = std::move(event), to = std::move(to), period, before = std::move(before)]() mutable {
                 if (core.all_ended()) return;
                 try {
                     if (before.expired()) {
                         const std::shared_ptr<const void> beat = std::make_shared<char>();
                         before = beat;
                         send(event, to, beat);
                     }
                     if (period.count() <= 0) return;
                     const auto missed = std::max((std::chrono::steady_clock::now() - when) / period, std::int64_t{0});
                     send_again(deadline_after(period, when + missed * period), event, to, period, before);
                 } catch (...) {
                     core.failed_later(std::current_exception());
                 }
             });
}

void RunState::edit_later(std::function<void(Edit&)> describe) {
    timer.at({}, [this, describe = std::move(describe)] {
        try {
            edit(describe);
        } catch (const RunEnded&) {  // before it could be made: nothing is left that it could change
        } catch (...) {
            core.failed_later(std::current_exception());
        }
    });
}

GraphDescription RunState::description() {
    const std::lock_guard lock(core.structure);
    return description_of(model);
}

void RunState::settle() {
    const std::lock_guard lock(settling);  // several threads may have waited for the end
    if (finished) return;
    timer.stop();
    pressure.stop();
    if (door != nullptr) door->close();
    if (far != nullptr) far->shut();
    for (const auto& link : core.links) link->starvation.give_up();
    for (const auto& station : core.stations)
        for (const auto& outlet : station->outlets) outlet->pool->starvation().give_up();
    core.help_until(
        [&] {
            attend_program_ends();
            return core.settled();
        },
        "the last mail of a graph", false);
    core.backend().close();
    ended = std::chrono::steady_clock::now();
    finished = true;
}

}  // namespace streaming
}  // namespace penstock
