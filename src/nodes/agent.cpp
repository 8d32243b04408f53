// An agent: one node of a cluster, as a process. It has parts of runs, and ends with the program that made the cluster.
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "machine/said_by.hpp"
#include "nodes/captured_output.hpp"
#include "nodes/cluster_state.hpp"
#include "nodes/cluster_team.hpp"
#include "nodes/invitation.hpp"
#include "nodes/part.hpp"
#include "nodes/snapshot.hpp"
#include "nodes/timeline.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "process/quiet_thread.hpp"

namespace penstock {
namespace nodes {
namespace {

using namespace std::chrono_literals;
using streaming::FarRun;
using streaming::RunState;

constexpr int program_lost = 3, not_wanted = 4;

/// A part of a run. Its thread makes it, runs it, and ends when the run is over everywhere.
struct AgentRun {
    std::uint32_t number = 0;
    Part part{};
    std::unique_ptr<RunState> state{};
    bool may_begin = false, released = false;
    std::thread thread{};
};

/// Ranks of a team. Its thread makes it, starts theirs, and ends when the team is over everywhere.
struct AgentTeam {
    std::uint32_t number = 0;
    std::shared_ptr<team::FarTeam> team{};
    std::unique_ptr<team::FarProgram> program{};
    bool may_begin = false, released = false, interrupted = false;
    std::vector<wire::Site> lost{};
    std::thread thread{};
};

class Agent final : public Site {
  public:
    Agent(const Invitation& invitation, const std::shared_ptr<CapturedOutput>& output)
        : Site(wire::EndpointOptions{.secret = invitation.secret,
                                     .run = invitation.run,
                                     .site = invitation.site,
                                     .generation = invitation.generation,
                                     .encrypted = invitation.encrypted,
                                     .patience = invitation.patience}),
          invitation_(invitation), output_(output) {}
    ~Agent() override { endpoint.close(); }

    /// Until the program ends it; an invitation, when it is to be another node.
    std::optional<std::string> serve() {
        wire::Address at{.local = invitation_.program.local, .host = {}, .port = 0};
        at.host = at.local ? "agent-" + std::to_string(invitation_.run) + "-" + std::to_string(invitation_.site) + "." +
                                 std::to_string(invitation_.generation)
                           : wire::own_host_towards(invitation_.program);
        at = endpoint.listen(at);
        endpoint.begin();
        program_ = endpoint.dial(0, 1, invitation_.program);
        char host[256] = "";
        (void)gethostname(host, sizeof host - 1);
        say(*program_, Control::present, {}, packed(Present{at.text(), host, getpid()}));
        if (output_ != nullptr)
            output_->send_to([to = program_](const std::string& line) {
                const auto bytes = bytes_of(line);
                say(*to, Control::log, {}, {bytes.begin(), bytes.end()});
            });
        std::unique_lock guard(lock_);
        changed_.wait(guard, [&] { return ended_ || next_; });
        guard.unlock();
        if (output_ != nullptr) output_->drain(), output_->send_to({});
        endpoint.drain(200ms);
        return next_;
    }
    /// Parts that still run are not waited for: nobody needs them any more.
    bool busy() {
        const std::lock_guard guard(lock_);
        return !parts_.empty() || !teams_.empty();
    }

  private:
    void control(wire::Wire& from, Control what, const About& about, std::span<const std::byte> payload) override {
        if (from.site != 0) throw Error("a node says what only the program says");
        if (what == Control::team_lost || what == Control::fence) endpoint.read_out(about.site);
        std::unique_lock guard(lock_);
        switch (what) {
            case Control::peers:
                join(unpacked<Peers>(payload));
                break;
            case Control::part:
                start(parts_, "penstock part", about.run, payload);
                break;
            case Control::begin:
                if (auto* const run = found(parts_, about.run)) run->may_begin = true;
                break;
            case Control::release:
                if (auto* const run = found(parts_, about.run)) run->released = true;
                break;
            case Control::team:
                start(teams_, "penstock team", about.run, payload);
                break;
            case Control::team_begin:
                if (auto* const run = found(teams_, about.run)) run->may_begin = true;
                break;
            case Control::team_release:
                if (auto* const run = found(teams_, about.run)) {
                    run->released = true;
                    // Nobody answers a rank that still runs, behind an interruption.
                    if (const auto& team = run->team; team != nullptr)
                        for (const auto site : team->peers()) team->node_lost(site);
                }
                break;
            case Control::team_interrupt:
                if (auto* const run = found(teams_, about.run)) run->interrupted = true;
                break;
            case Control::team_lost:
                if (auto* const run = found(teams_, about.run)) {
                    run->lost.push_back(about.site);
                    if (run->team != nullptr) run->team->node_lost(about.site);
                }
                break;
            case Control::fence:
                endpoint.fence(about.site, about.generation);
                wires_.erase(about.site);
                for (const auto& [number, run] : runs) {
                    SeenOrders seen;
                    for (auto& each : run->lose(about.site)) seen.emplace_back(each.stream, std::move(each.orders));
                    say(*program_, Control::fenced, {.run = number, .site = about.site, .generation = about.generation},
                        packed(seen));
                }
                break;
            case Control::replaced:
                if (const auto run = runs.find(about.run); run != runs.end() && joins(*run->second, about.site)) {
                    const auto [deaths, all] = unpacked<Replaced>(payload);
                    std::vector<FarRun::Seen> seen;
                    for (const auto& [stream, orders] : all) seen.push_back({stream, orders});
                    run->second->set_wire(about.site, wire_to(about.site));
                    run->second->recover(about.site, seen, static_cast<int>(deaths));
                }
                break;
            case Control::ask_clock:
                say(*program_, Control::clock, {},
                    packed(ClockAnswer{unpacked<std::uint64_t>(payload), Clock::ticks()}));
                break;
            case Control::start_timeline:
                record(unpacked<std::uint64_t>(payload));
                break;
            case Control::stop_timeline:
                record(0);
                break;
            case Control::take_timeline: {
                const std::lock_guard of_machine(machine_lock_);
                say(*program_, Control::timeline, {},
                    packed(machine_ == nullptr ? TimelinePart{} : timeline_part_of(*machine_)));
                break;
            }
            case Control::ask_counters: {
                const std::lock_guard of_machine(machine_lock_);
                say(*program_, Control::counters, {},
                    packed(counters_of(machine_.get(), unpacked<std::uint64_t>(payload))));
                break;
            }
            case Control::become:
                next_ = unpacked<std::string>(payload);
                leaves_.store(true, std::memory_order_relaxed);
                break;
            case Control::end:
                ended_ = true;
                break;
            default:
                throw Error("the program says what only agents say");
        }
        changed_.notify_all();
    }

    /// Null: it is over.
    template <class Of>
    static Of* found(const std::map<std::uint32_t, std::unique_ptr<Of>>& all, std::uint32_t number) {
        const auto at = all.find(number);
        return at == all.end() ? nullptr : at->second.get();
    }
    /// Its life begins, on a thread of its own.
    template <class Of>
    void start(std::map<std::uint32_t, std::unique_ptr<Of>>& all, const char* thread, std::uint32_t number,
               std::span<const std::byte> payload) {
        auto& run = *all.emplace(number, std::make_unique<Of>()).first->second;
        run.number = number;
        run.thread = process::quiet_thread(
            thread, [this, &run, bytes = std::vector<std::byte>(payload.begin(), payload.end())] { live(run, bytes); });
        run.thread.detach();
    }

    void changed(wire::Wire& wire) noexcept override {
        const auto state = wire.state();
        // It is to be another node, and the program closes this one's wire.
        if (wire.site == 0 && leaves_.load(std::memory_order_relaxed)) return;
        if (wire.site == 0 && state == wire::Wire::State::lost) end_now(program_lost, "the program cannot be reached");
        if (wire.site == 0 && state == wire::Wire::State::refused)
            end_now(not_wanted, "the program has another agent for this node by now");
        if (wire.site != 0 && (state == wire::Wire::State::lost || state == wire::Wire::State::closed))
            for (const auto& [number, team] : teams) team->wire_lost(wire);
        if (wire.site != 0 && state == wire::Wire::State::lost && program_ != nullptr)
            say(*program_, Control::unreachable, {.site = wire.site, .generation = wire.generation});
    }
    [[noreturn]] void end_now(int code, const char* why) noexcept {
        if (output_ != nullptr) output_->send_to({});
        std::fprintf(stderr, "penstock agent %s: %s; it ends\n", invitation_.name.c_str(), why);
        if (output_ != nullptr) output_->drain();
        _exit(code);
    }

    void tick() noexcept override {
        try {
            const std::lock_guard guard(lock_);
            for (auto& [number, run] : parts_)
                if (run->state != nullptr && run->may_begin)
                    say(*program_, Control::figures, {.run = number}, packed(figures_of(*run->state)));
        } catch (...) {  // no memory: at the next time
        }
    }

    /// Do streams of the run join that node to this one?
    static bool joins(const FarRun& run, wire::Site site) {
        const auto peers = run.peers();
        return std::ranges::find(peers, site) != peers.end();
    }

    /// Under the lock.
    void join(const Peers& peers) {
        for (const auto& [site, generation, address] : peers) {
            auto& known = peers_[site];
            if (known.first < generation) known = {generation, address};
        }
    }

    /// The endpoint's thread, under the lock. Nodes that no stream joins need not reach one another: a wire is made for
    /// the first run that needs it.
    std::shared_ptr<wire::Wire> wire_to(wire::Site site) {
        if (site == 0) return program_;
        const auto& [generation, address] = peers_[site];
        auto& known = wires_[site];
        if (known == nullptr || known->generation < generation)
            known = site < invitation_.site ? endpoint.dial(site, generation, wire::Address::of_text(address))
                                            : endpoint.expect(site, generation);
        return known;
    }

    Machine& machine() {
        const std::lock_guard guard(machine_lock_);
        if (machine_ == nullptr) {
            machine_ = made_machine();
            if (timeline_events_ != 0) machine_->start_timeline(timeline_events_);
        }
        return *machine_;
    }
    std::unique_ptr<Machine> made_machine() const {
        MachineOptions options;
        options.targets = invitation_.targets;
        options.isolation = invitation_.isolation;
        options.pin = invitation_.pinned;
        // Of several agents on one machine each takes processors of its own.
        if (options.pin && std::getenv("PENSTOCK_BUDGET") == nullptr) try {
                options.budget = "penstock-agents";
                return std::make_unique<Machine>(options);
            } catch (const SystemError&) {  // there is no place for its table
                options.budget.clear();
            }
        return std::make_unique<Machine>(options);
    }
    /// So many events a thread; 0: no more.
    void record(std::uint64_t events) {
        const std::lock_guard guard(machine_lock_);
        timeline_events_ = events;
        try {
            if (machine_ != nullptr && events != 0) machine_->start_timeline(events);
        } catch (const std::bad_alloc&) {
            std::fprintf(stderr,
                         "there is no memory for a timeline of %llu events a thread: nothing is recorded here\n",
                         static_cast<unsigned long long>(events));
        }
        if (machine_ != nullptr && events == 0) machine_->stop_timeline();
    }

    /// The life of a part, on its own thread.
    void live(AgentRun& run, const std::vector<std::byte>& bytes) noexcept {
        try {
            run.part = part_from(bytes, invitation_.site, Components::known());
            auto state = RunState::make(machine(), run.part.model, {}, [&](RunState& made) {
                made.spread_over(run.part.placement, invitation_.site, run.number);
            });
            state->far->look = [this] { return endpoint.look(); };
            state->far->look_away = [this] { endpoint.look_away(); };
            state->far->leaving = [this, far = state->far.get()] { leave(*far); };
            enter(*state->far);
            {
                const std::lock_guard guard(lock_);
                run.state = std::move(state);
            }
            endpoint.call([&] {
                const std::lock_guard guard(lock_);
                run.state->far->set_wire(0, program_);
                for (const auto site : run.state->far->peers()) run.state->far->set_wire(site, wire_to(site));
            });
            say(*program_, Control::ready, {.run = run.number});
        } catch (const std::exception& error) {
            const std::string text = said_by(error);
            const auto words = bytes_of(text);
            say(*program_, Control::refused, {.run = run.number}, {words.begin(), words.end()});
            await(run, &AgentRun::released);
            return forget(run);
        }
        if (!await(run, &AgentRun::may_begin)) {
            run.state->finished = true;  // it never began
            return forget(run);
        }
        run.state->begin();
        endpoint.call([&] { run.state->far->open(); });
        say(*program_, Control::over, {.run = run.number}, packed(to_the_end(*run.state)));
        await(run, &AgentRun::released);
        forget(run);
    }

    Over to_the_end(RunState& state) {
        Over over;
        auto& [text, filter, copy, firing, lost] = over;
        try {
            state.help_to_the_end(true, streaming::RunCore::Help::little);
            state.core.throw_failure();
        } catch (const FilterFailed& failure) {
            text = said_by(failure.cause());
            filter = failure.filter();
            copy = failure.copy();
            firing = failure.firing();
        } catch (const std::exception& error) {
            text = said_by(error);
        }
        try {
            if (!state.finished) state.stop_for_good();
        } catch (const std::exception&) {  // the first has been noted
        }
        for (const auto& each : state.core.lost())
            lost.emplace_back(each.filter, each.copy, each.firing, each.port, each.sequence, each.written);
        // What it has sent must have arrived before the program hears that it is over.
        while (!state.core.stopping() && !(state.far->idle() && wires_empty())) std::this_thread::sleep_for(1ms);
        say(*program_, Control::figures, {.run = state.far->number()}, packed(figures_of(state)));
        if (output_ != nullptr) output_->drain();  // before the program hears that it is over
        return over;
    }

    /// The life of a team's ranks here, on its own thread.
    void live(AgentTeam& run, const std::vector<std::byte>& bytes) noexcept {
        std::shared_ptr<team::FarTeam> made;
        try {
            const auto [plan, options, recipe] = team_from(run.number, bytes);
            made = std::make_shared<team::FarTeam>(plan, invitation_.site,
                                                   team::FarTeam::Options{
                                                       .accept_within = options.accept_within,
                                                       .pin = options.pin && invitation_.pinned,
                                                       .look = [this] { return endpoint.look(); },
                                                       .look_away = [this] { endpoint.look_away(); },
                                                   });
            endpoint.call([&] {
                const std::lock_guard guard(lock_);
                for (const auto site : made->peers()) made->set_wire(site, wire_to(site));
                run.team = made;
                for (const auto site : run.lost) made->node_lost(site);
                teams[run.number] = made;
            });
            auto program = program_of(recipe);  // behind the wires: it may take long, and others dial meanwhile
            {
                const std::lock_guard guard(lock_);
                run.program = std::move(program);
            }
            say(*program_, Control::team_ready, {.run = run.number});
        } catch (const std::exception& error) {
            const std::string text = said_by(error);
            const auto words = bytes_of(text);
            say(*program_, Control::team_refused, {.run = run.number}, {words.begin(), words.end()});
            await(run, &AgentTeam::released);
            if (made != nullptr) Site::leave(*made);
            made = nullptr;
            return forget(run);
        }
        if (await(run, &AgentTeam::may_begin)) {
            std::thread interrupter = process::quiet_thread("penstock team", [&] {
                if (await(run, &AgentTeam::interrupted)) run.program->interrupt();
            });
            made->run(*run.program, [&](const team::RankEnd& end) {
                if (output_ != nullptr) std::fflush(nullptr), output_->drain();
                say(*program_, Control::rank_ended, {.run = run.number}, packed(ended(end)));
            });
            await(run, &AgentTeam::released);
            interrupter.join();
        }
        Site::leave(*made);
        made = nullptr;
        forget(run);
    }

    bool wires_empty() {
        const std::lock_guard guard(lock_);
        return std::ranges::all_of(
            wires_, [](const auto& each) { return each.second == nullptr || each.second->under_way() == 0; });
    }

    /// False: it is over meanwhile.
    template <class Of>
    bool await(Of& run, bool Of::* what) {
        std::unique_lock guard(lock_);
        changed_.wait(guard, [&] { return run.*what || run.released; });
        return run.*what;
    }
    void forget(AgentTeam& run) noexcept {
        run.program = nullptr;
        std::shared_ptr<team::FarTeam> team;  // goes behind the lock
        const std::lock_guard guard(lock_);
        team = std::move(run.team);
        teams_.erase(run.number);
    }
    /// The agent is busy until the last of it has gone, which needs the endpoint and the machine.
    void forget(AgentRun& run) noexcept {
        std::unique_ptr<RunState> state;
        {
            const std::lock_guard guard(lock_);
            state = std::move(run.state);
        }
        state = nullptr;
        run.part = {};
        const std::lock_guard guard(lock_);
        parts_.erase(run.number);
    }

    const Invitation invitation_;
    const std::shared_ptr<CapturedOutput> output_;
    std::shared_ptr<wire::Wire> program_;
    std::mutex machine_lock_;
    std::unique_ptr<Machine> machine_;
    std::uint64_t timeline_events_ = 0;

    std::mutex lock_;  ///< of what follows
    std::condition_variable changed_;
    std::map<wire::Site, std::pair<std::uint32_t, std::string>> peers_;  ///< generation and address
    std::map<wire::Site, std::shared_ptr<wire::Wire>> wires_;
    std::map<std::uint32_t, std::unique_ptr<AgentRun>> parts_;
    std::map<std::uint32_t, std::unique_ptr<AgentTeam>> teams_;
    std::optional<std::string> next_;
    bool ended_ = false;
    std::atomic<bool> leaves_{false};  ///< `next_` is there
};

std::atomic<bool> own_agent{false};

}  // namespace

bool is_own_agent() noexcept { return own_agent.load(std::memory_order_relaxed); }

}  // namespace nodes

void become_agent() {
    nodes::own_agent.store(true, std::memory_order_relaxed);
    const char* const given = std::getenv(nodes::invitation_variable);
    if (given == nullptr) return;
    const std::string invitation = given;
    unsetenv(nodes::invitation_variable);
    int code = 1;
    try {
        code = run_agent(invitation);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "penstock agent: %s\n", said_by(error));
    }
    std::exit(code);
}

int run_agent(const std::string& invitation) {
    unsetenv("PENSTOCK_NAME");  // the program's own
    const auto output = nodes::CapturedOutput::begin();
    std::optional<std::string> next = invitation;
    while (next) {
        nodes::Agent agent(nodes::Invitation::of_text(*next), output);
        next = agent.serve();
        if (!next && agent.busy()) {
            output->end();
            _exit(0);
        }
    }
    output->end();
    return 0;
}

}  // namespace penstock
