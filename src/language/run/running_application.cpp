// An application at work: a thread, made when the first event comes, takes the events for its managers, and changes the
// graph one event after the other.
#include <condition_variable>
#include <deque>

#include "language/plan/plan.hpp"
#include "language/xml/text.hpp"
#include "penstock/machine.hpp"
#include "process/fork.hpp"
#include "process/quiet_thread.hpp"

namespace penstock {
namespace language {
namespace {

/// `where`: a machine or a cluster.
template <class Where>
Run started(const Plan& plan, Graph& graph, Where& where, const RunOptions& options) {
    build(plan, plan.initial(), graph);
    return graph.start(where, options);
}

void put(Settings& settings, const std::pair<std::string, SettingValue>& given) {
    if (auto* const found = named(settings, given.first)) found->second = given.second;
    else settings.push_back(given);
}

}  // namespace

struct RunningApplication {
    template <class Where>
    RunningApplication(std::shared_ptr<const Plan> of, Where& where, const RunOptions& options)
        : plan(std::move(of)), on(plan->initial()), components(plan->components),
          run(started(*plan, graph, where, options)) {
        if (!plan->rules.empty()) run.listen([this](const Event& event) { return take(event); });
        // Without rules too: filters may wait for them.
        for (const auto& timer : plan->timers) run.send_after(timer.after, {timer.event, true}, "", timer.every);
    }
    ~RunningApplication() { end(); }
    RunningApplication(const RunningApplication&) = delete;
    RunningApplication& operator=(const RunningApplication&) = delete;

    void end() noexcept {
        run.listen({});
        std::thread last;  // of whoever comes first: several threads may wait for the end
        {
            const std::lock_guard guard(lock);
            ending = true;
            last = std::move(thread);
        }
        changed.notify_all();
        if (last.joinable()) last.join();
    }

    /// Whether a manager has a rule for it. Called by whoever sends, with the run's structure locked.
    bool take(const Event& event) {
        if (std::ranges::find(plan->rules, event.name, &PlanRule::event) == plan->rules.end()) return false;
        if (!std::ranges::any_of(plan->rules, [&](const PlanRule& rule) { return rule.is_obeyed_at(event); }))
            return true;
        {
            const std::lock_guard guard(lock);
            if (ending) return true;  // nothing is left that could be changed
            // Values that come faster than they can be set do not pile up.
            if (events.size() >= 1024 && overrides(event, events.back())) {
                events.back().value = event.value;
                return true;
            }
            // Only now: many applications end without an event, and a thread takes longer to make than a small one to
            // run.
            if (!thread.joinable()) thread = process::quiet_thread("penstock events", [this] { serve(); });
            // Those of a timer that is faster than the changes do not pile up.
            const bool of_timer = std::ranges::find(plan->timers, event.name, &PlanTimer::event) != plan->timers.end();
            if (events.size() < 1024 || !of_timer) {
                events.push_back(event);
                ++taken;
            }
        }
        changed.notify_all();
        return true;
    }

    /// Does it leave nothing of what the one before would do?
    bool overrides(const Event& event, const Event& before) const {
        return event.name == before.name && std::ranges::all_of(plan->rules, [&](const PlanRule& rule) {
                   if (rule.is_obeyed_at(event) != rule.is_obeyed_at(before)) return false;
                   return rule.kind == PlanRule::Kind::set || !rule.is_obeyed_at(event);
               });
    }

    void serve() {
        (void)unpin_this_thread();  // whoever sent the first event may be bound to a processor
        std::unique_lock guard(lock);
        while (true) {
            changed.wait(guard, [this] { return ending || !events.empty(); });
            if (ending) return;
            const auto event = std::move(events.front());
            events.pop_front();
            guard.unlock();
            std::exception_ptr failed;
            try {
                obey(event);
            } catch (const RunEnded&) {  // before it could be changed: nothing is left that could be
            } catch (...) {
                failed = std::current_exception();
            }
            guard.lock();
            ++done;
            if (failure == nullptr) failure = failed;
            changed.notify_all();
        }
    }

    void obey(const Event& event) {
        const auto before = on;  // only this thread writes it
        auto after = before;
        auto next = components;
        std::vector<std::size_t> replaced;
        std::vector<std::pair<std::size_t, std::pair<std::string, SettingValue>>> set;
        for (const auto& rule : plan->rules) {
            if (!rule.is_obeyed_at(event)) continue;
            if (rule.switches()) {
                after[rule.option] =
                    rule.kind == PlanRule::Kind::toggle ? !after[rule.option] : rule.kind == PlanRule::Kind::enable;
            } else if (rule.kind == PlanRule::Kind::set) {
                auto given = rule.settings.front();
                if (!rule.formula.empty()) given.second = plan->calculated(rule, event.value);
                put(next[rule.component].settings, given);
                set.emplace_back(rule.component, std::move(given));
            } else {
                next[rule.component].of = rule.of;
                next[rule.component].settings = rule.settings;
                replaced.push_back(rule.component);
            }
        }
        if (after == before && replaced.empty() && set.empty()) return;  // all is as it was
        run.edit([&](Edit& edit) {
            edit.allow_ended_readers();  // the event may have come as the application ends
            const auto was = [&](const Conditions& conditions) { return holds(conditions, before); };
            const auto is = [&](const Conditions& conditions) { return holds(conditions, after); };
            for (const auto& stream : plan->streams) {
                const bool ends_stay =
                    is(components[stream.source].conditions) && is(components[stream.sink].conditions);
                if (was(stream.conditions) && !is(stream.conditions) && ends_stay)
                    edit.disconnect(stream.from, stream.to);
            }
            for (const auto& component : next)
                if (was(component.conditions) && !is(component.conditions)) edit.remove(component.name);
            for (const auto number : replaced) {
                const auto& component = next[number];
                if (!was(component.conditions) || !is(component.conditions)) continue;
                edit.replace_kind(component.name, Removal::hand_over, component.of->kind);
                for (const auto& [setting, value] : component.settings) edit.set(component.name, setting, value);
            }
            for (const auto& component : next)
                if (!was(component.conditions) && is(component.conditions)) add(component, edit);
            for (const auto& [number, given] : set) {
                const auto& component = next[number];
                const bool fresh = std::ranges::find(replaced, number) != replaced.end();
                if (was(component.conditions) && is(component.conditions) && !fresh)
                    edit.set(component.name, given.first, given.second);
            }
            for (const auto& stream : plan->streams)
                if (!was(stream.conditions) && is(stream.conditions))
                    edit.connect(stream.from, stream.to, stream.options);
        });
        components = std::move(next);
        const std::lock_guard guard(lock);
        on = after;
    }

    const Origin origin{};
    const std::shared_ptr<const Plan> plan;
    std::mutex lock;  ///< of what follows
    std::condition_variable changed;
    std::deque<Event> events;
    std::uint64_t taken = 0, done = 0;  ///< events that were put there
    bool ending = false;
    std::vector<bool> on;
    std::exception_ptr failure;

    // The thread's own: components as they are now, with the settings and classes that events gave them.
    std::vector<PlanComponent> components;
    Graph graph;
    Run run;
    std::thread thread;
};

}  // namespace language

ApplicationRun::ApplicationRun(std::unique_ptr<language::RunningApplication> state) : state_(std::move(state)) {}
ApplicationRun::ApplicationRun(ApplicationRun&&) noexcept = default;
ApplicationRun::~ApplicationRun() {
    if (state_ != nullptr && state_->origin.left_behind()) (void)state_.release();
}

ApplicationRun Application::start(Machine& machine, const RunOptions& options) const {
    return ApplicationRun(std::make_unique<language::RunningApplication>(plan_, machine, options));
}

ApplicationRun Application::start(Cluster& cluster, const RunOptions& options) const {
    return ApplicationRun(std::make_unique<language::RunningApplication>(plan_, cluster, options));
}

Run& ApplicationRun::run() noexcept { return state_->run; }

void ApplicationRun::finish() {
    state_->run.finish();
    state_->end();
    const std::lock_guard guard(state_->lock);
    if (state_->failure != nullptr) std::rethrow_exception(std::exchange(state_->failure, nullptr));
}

void ApplicationRun::send(const Event& event) { state_->run.send(event); }

void ApplicationRun::settle() {
    state_->origin.require("this application");
    std::unique_lock guard(state_->lock);
    state_->changed.wait(guard, [this, until = state_->taken] { return state_->ending || state_->done >= until; });
}

bool ApplicationRun::is_on(const std::string& option) const {
    state_->origin.require("this application");
    const auto& options = state_->plan->options;
    if (const auto* const found = language::named(options, option)) {
        const std::lock_guard guard(state_->lock);
        return state_->on[static_cast<std::size_t>(found - options.data())];
    }
    throw UsageError("the application has no option '" + option + "'");
}

}  // namespace penstock
