// When a station may fire, its firings, and its end.
#include "stream/run/station.hpp"

#include "penstock/spread.hpp"
#include "stream/run/run_core.hpp"

namespace penstock::streaming {
namespace {

constexpr std::uint32_t firings_a_sample = 64;
constexpr std::chrono::nanoseconds longest_row{10'000}, long_firing{16'000}, very_long_firing{30'000};

constexpr double ns(std::chrono::nanoseconds time) { return static_cast<double>(time.count()); }

}  // namespace

void make_ends(const AnyFilter& filter, Station* station, Inlets& inlets, Outlets& outlets) {
    const auto make = [station](const auto& ports, auto& ends, auto end_of) {
        for (auto* const port : ports) {
            auto& end = *ends.emplace_back(
                std::make_unique<typename std::remove_reference_t<decltype(ends)>::value_type::element_type>());
            end.station = station;
            end.port = port;
            end.index = static_cast<std::uint32_t>(ends.size() - 1);
            port->*end_of = &end;
        }
    };
    make(filter.inputs, inlets, &InputPort::inlet);
    make(filter.outputs, outlets, &OutputPort::outlet);
}

Station::Station(RunCore& run, std::uint64_t filter_id, std::string name, int copy, std::shared_ptr<AnyFilter> filter,
                 const FilterKind& kind, const FilterOptions& options)
    : filter_(std::move(filter)), bounded_pools_(options.pool != 0 || (run.budgets() != nullptr && !kind.external)),
      ahead_(run.machine().options().prefetch), measured_(!options.target_classes.empty() || run.slows()),
      on_any_input_(kind.on_any_input), run_(run), external(kind.external), has_class(!options.target_classes.empty()),
      on_failure(options.on_failure), born(Clock::ticks()), name_(std::move(name)), copy_(copy), filter_id_(filter_id),
      event_names_(options.events) {
    try {
        make_ends(*filter_, this, inlets, outlets);
        for (auto& outlet : outlets) {
            outlet->pool =
                new Pool(*this, options.pool, run_.backend().block_memory(), kind.external ? nullptr : run_.budgets());
            outlet->cuts = run.cuts();
        }
    } catch (...) {
        leave_ports();
        throw;
    }
    for (Spread* const spread : filter_->spreads) {
        spread->station_ = this;
        if (!run.backend().abilities.issue_tasks && jobs_here == nullptr) jobs_here = std::make_unique<JobsHere>();
        spread->run_here(jobs_here.get());  // also null: the run before may have been another machine's
    }
    for (EventPort* const output : filter_->event_outputs) output->station = this;
    source_ = inlets.empty();
    look_special();
}

void Station::leave_ports() noexcept {
    for (auto& inlet : inlets)
        if (inlet->port != nullptr) inlet->port->inlet = nullptr;
    for (auto& outlet : outlets)
        if (outlet->port != nullptr) outlet->port->outlet = nullptr;
    for (EventPort* const output : filter_->event_outputs) output->station = nullptr;
}

Station::~Station() {
    proxy = nullptr;
    leave_ports();
    for (auto& inlet : inlets) {
        while (!inlet->queue.empty()) give_back(inlet->queue.pop().block);
        for (auto& waiting : inlet->early) give_back(waiting.block);
    }
    while (first_event_ != nullptr) delete static_cast<EventMail*>(std::exchange(first_event_, first_event_->next));
}

void Station::set_home(Server* home) noexcept {
    moved = moved || started_;
    queued = false;
    home_.store(home, std::memory_order_release);
    for (auto& outlet : outlets) {
        outlet->pool->set_home(home);
        outlet->pool->set_target(home == nullptr ? -1 : home->target());
    }
}

bool Station::work(int most) {
    // How long firings are is known of a few: what they make ready must not wait for a row of long ones.
    const bool looks = most > 1 && home() == nullptr;
    const std::uint64_t begin = looks ? Clock::ticks() : 0;
    for (int turn = 1; turn <= most; ++turn) {
        if (!step()) return false;
        run_handed_over();
        if (looks && turn % 2 != 0 && Clock::ticks() - begin > Clock::ticks_of(longest_row)) break;
    }
    if (source_ || inputs_ready()) {
        since_ = 0;  // it waits for its turn from here on
        return true;
    }
    // Else it would be made ready for others, to find that there is nothing to do: its lines would cross for that.
    if (!step()) return false;
    run_handed_over();  // its end or an event may have written
    return true;
}

/// The firings of those to whom it handed its buffers do not count as its own.
void Station::run_handed_over() {
    if (Server::current != nullptr && Server::current->run_handed_over()) since_ = 0;
}

/// What is to be done next. False when that is nothing, or the end.
bool Station::step() {
    const auto waits = [this](Doing what) {
        turn_to(what);
        return false;
    };
    only_sent_ = false;
    if (ended_) return waits(Doing::ended);
    if (spreading) [[unlikely]]
        return waits(Doing::waits_for_tasks);
    if (stopping) [[unlikely]]
        return end(), false;
    if (held) return waits(Doing::held);  // nor does it send what it holds back
    if (!started_) [[unlikely]]
        return start(), true;
    if (holds_back_) {
        if (!send_held_back()) return waits(Doing::waits_for_output);
        if (fires_long()) {  // whoever reads it comes before the next long firing
            turn_to(Doing::waits_for_input);
            return only_sent_ = true;
        }
    }
    if (loop_tokens_ != 0) [[unlikely]]
        leave_loop();
    if (first_event_ != nullptr) [[unlikely]]
        return handle_event(), true;
    if (finished_) return end(), false;
    if (over_) [[unlikely]]
        return end_of_inputs(), true;
    if (bounded_pools_) [[unlikely]]
        for (auto& outlet : outlets)
            if (outlet->pool->exhausted()) return waits(Doing::waits_for_pool);
    // a source ends when it has closed all its outputs
    const auto outputs_open = [this] {
        return outlets.empty() || std::ranges::any_of(outlets, [](const auto& outlet) { return !outlet->closed; });
    };
    if (source_ ? outputs_open() : inputs_ready()) return fire(), true;
    if (source_ || inputs_over()) [[unlikely]] {
        if (!source_ && run_.stopping()) return end(), false;  // before it was told: its writer may have failed
        return end_of_inputs(), true;
    }
    waits_plainly_ = !holds_back_;
    tally(ran_dry);
    return waits(Doing::waits_for_input);
}

/// All outputs, whichever has no room: their streams may lead to one reader, which waits for a buffer of each.
bool Station::send_held_back() {
    bool all_sent = true;
    for (auto& outlet : outlets)
        if (!outlet->pending.empty() || outlet->closing) all_sent = flush(*outlet) && all_sent;
    holds_back_ = std::ranges::any_of(
        outlets, [](const auto& outlet) { return !outlet->pending.empty() || (outlet->closing && !outlet->closed); });
    return all_sent;
}

bool Station::flush(Outlet& outlet) {
    try {
        return outlet.flush();
    } catch (...) {  // a stream's own function threw, or the stream is full and says fail
        give_back(outlet.pending.pop());
        outlet.held_back.store(outlet.pending.size(), std::memory_order_relaxed);
        tally(dropped);
        fail(std::current_exception());
        return outlet.pending.empty();
    }
}

bool Station::inputs_ready() const noexcept {
    const auto enough = [](const Inlet& inlet) {
        const auto there = inlet.queue.size();
        return there != 0 && (there >= inlet.port->options().at_least || inlet.open_links == 0);
    };
    if (inlets.size() == 1) [[likely]]
        return enough(*inlets[0]);
    bool any = false, all = true, required = false;
    for (const auto& inlet : inlets) {
        if (!inlet->connected) continue;
        const bool ready = enough(*inlet);
        any = any || ready;
        if (inlet->port->options().required) required = true, all = all && ready;
    }
    return on_any_input_ || !required ? any : all;
}

bool Station::inputs_over() const noexcept {
    bool any_open = false, required_over = false;
    for (const auto& inlet : inlets) {
        if (!inlet->connected) continue;
        const bool over = inlet->open_links == 0 && inlet->queue.empty();
        any_open = any_open || !over;
        required_over = required_over || (over && inlet->port->options().required);
    }
    return !any_open || (!on_any_input_ && required_over);
}

bool Station::gives_way() noexcept {
    if (!fuses) return false;
    constexpr int most_in_a_row = 4;  // a sink may have other sources, which never run dry
    const bool behind = std::ranges::any_of(outlets, [](const auto& outlet) {
        return outlet->fused != nullptr && outlet->fused->local && outlet->fused->sink->queued;
    });
    gave_way_ = behind ? gave_way_ + 1 : 0;
    return behind && gave_way_ % most_in_a_row != 0;
}

/// A firing as most are: the filter is called, and no clock looks at it.
[[gnu::always_inline]] inline void Station::fire() {
    turn_to(Doing::firing);
    if (special_ || --until_sample_ == 0 || ahead_.timing()) [[unlikely]]
        return fire_watched();
    fire_filter();
    tally(firings);
}

[[gnu::noinline]] void Station::fire_watched() {
    if (proxy != nullptr) {
        if (has_class) sent_at = Clock::ticks();
        return proxy->send(FilterCall::fire);
    }
    if (special_) --until_sample_;
    const std::uint64_t begin = until_sample_ == 0 ? Clock::ticks() : 0;
    const bool timing = ahead_.timing();
    if (timing) ahead_.begin();
    fire_filter();
    if (timing) ahead_.end();
    if (measured_ && run_.slows()) run_.slow_down(begin);
    if (begin != 0) sample_end(begin);
    tally(firings);
    if (special_) leave_special_firing();
}

[[gnu::always_inline]] inline void Station::fire_filter() {
    taken_in_firing_ = 0;
    try {
        over_ = !filter_->fire();
        if (special_ && jobs_here != nullptr) [[unlikely]]
            jobs_here->run();
        if (taken_in_firing_ == 0 && !source_ && !over_) [[unlikely]]
            refuse_idle_firing();
    } catch (...) {
        firing_failed(std::current_exception());
    }
}

void Station::leave_special_firing() {
    if (several_copies && !spreading) pass_on_order();
    if (loop != nullptr) loop_tokens_ += taken_in_firing_;
    if (spreading) {
        disturb();
        leave_task();
    } else if (loop_tokens_ != 0) {
        leave_loop();
    }
}

[[gnu::noinline]] void Station::refuse_idle_firing() const {
    throw UsageError("filter '" + name_ +
                     "' fired because buffers wait at its inputs, and read none of them: it would fire for ever");
}

[[gnu::noinline]] void Station::firing_failed(std::exception_ptr cause) {
    disturb();
    if (jobs_here != nullptr) jobs_here->clear();
    if (spreading) note_task_failure(std::move(cause));  // once, when its jobs have completed
    else fail(std::move(cause));
    if (taken_in_firing_ == 0) drop_one_of_each();
}

/// Fires with a buffer that is in no queue. True when it waits for the next one, and for nothing else.
[[gnu::always_inline]] inline bool Station::fire_by_hand(Link& link, Block* block,
                                                         std::atomic<std::uint64_t>& counter) {
    Inlet& inlet = *link.to;
    inlet.hand = block;
    tally(counter);
    tally(link.bytes_through, block->bytes);
    fire();
    if (inlet.hand != nullptr) [[unlikely]]  // it threw before it read
        drop({std::exchange(inlet.hand, nullptr), nullptr});
    if (over_ || !undisturbed_) [[unlikely]]
        return false;
    turn_to(Doing::waits_for_input);
    return waits_plainly_ = true;
}

bool Station::fires_at_once(const Mail& mail) const noexcept {
    if (!waits_plainly_ || mail.kind != MailKind::buffer || inlets.size() != 1) return false;
    const Inlet& inlet = *inlets[0];
    return inlet.port->options().at_least <= 1 && !inlet.ordered && inlet.strays.empty() &&
           mail.number == static_cast<const Link*>(mail.from)->accepted.load(std::memory_order_relaxed) &&
           proxy == nullptr && loop == nullptr && !several_copies && !bounded_pools_ && !moving && !stopping && !ended_;
}

void Station::fire_at_once(Link& link, Block* block, bool last) {
    (void)expect_buffer();
    link.accepted.store(block->number + 1, std::memory_order_release);
    credit(&link, block->bytes);
    tally(link.posted);
    if (!fire_by_hand(link, block, link.buffers_through)) home()->enqueue(*this);
    else if (last) tally(ran_dry);
}

void Station::fire_with(Link& link, Block* block) {
    const bool plain = fire_by_hand(link, block, link.right_behind);
    if (link.local) {
        if (!plain) home()->enqueue(*this);
    } else if (!plain || !rest()) {  // once at rest it may be another thread's
        Server::current->keep(*this);
    }
}

/// How long it did what it did until now.
void Station::add_up_time() {
    const auto now = Clock::ticks();
    const auto before = doing.load(std::memory_order_relaxed);
    if (since_ != 0) tally(ticks_in_[static_cast<std::size_t>(before)], now - since_);
    const bool was_long = before == Doing::firing && since_ != 0 && now - since_ >= Clock::ticks_of(very_long_firing);
    if (was_long) until_short_ = short_again;
    since_ = now;
    if (was_long || run_.machine().timeline_recorded()) [[unlikely]]
        until_sample_ = 1;
}

void Station::note_ready() { tally(ticks_ready, Clock::ticks() - std::exchange(ready_at, 0)); }

/// What was read stays in the cycle until what was written has gone: else a cycle would end while its last buffer is
/// held back.
void Station::leave_loop() {
    for (const auto& outlet : outlets)
        if (!outlet->pending.empty()) return;
    run_.leave_loop(*loop, std::exchange(loop_tokens_, 0));
}

/// A firing of one of several copies that wrote nothing still has its turn in the order.
void Station::pass_on_order() {
    for (auto& outlet : outlets)
        if (outlet->order_matters) [[unlikely]] {
            if (outlet->written_in_firing == 0 && !outlet->closed && taken_in_firing_ != 0) outlet->skip();
            outlet->written_in_firing = 0;
        }
}

/// A firing that failed before it read anything would be repeated with the same buffers for ever.
void Station::drop_one_of_each() {
    for (auto& inlet : inlets)
        if (inlet->hand == nullptr && !inlet->queue.empty()) {
            drop(inlet->queue.pop());
            inlet->waiting.store(inlet->queue.size(), std::memory_order_relaxed);
        }
}

/// The mean of the last eight or so: what a filter does may change.
void Station::note_cost(std::uint64_t ticks) noexcept {
    const auto before = cost.load(std::memory_order_relaxed);
    cost.store(before == 0 ? ticks : before - before / 8 + ticks / 8, std::memory_order_relaxed);
}

void Station::note_length(double nanoseconds) noexcept {
    timed_ = nanoseconds >= 1'000;
    if (nanoseconds >= ns(very_long_firing)) until_short_ = short_again;
    else if (nanoseconds >= ns(long_firing)) until_short_ = std::max(until_short_, short_at_first);
    else if (until_short_ != 0) --until_short_;
    const auto length = nanoseconds < 2'000                                  ? Length::very_brief
                        : until_short_ == 0 && nanoseconds < ns(long_firing) ? Length::brief
                                                                             : Length::unknown;
    if (length_.load(std::memory_order_relaxed) != length) length_.store(length, std::memory_order_relaxed);
    if (!timed_) since_ = 0;
}

void Station::sample_end(std::uint64_t begin) {
    const auto end = Clock::ticks();
    if (has_class) [[unlikely]]
        note_cost(end - begin);
    const bool recorded = run_.machine().timeline_recorded();
    // A timeline that is switched on sees firings of a microsecond or more at once, those of shorter filters from their
    // next sample on.
    if (recorded) {
        if (timeline_id_ == 0) timeline_id_ = run_.machine().timeline_id(name_);
        run_.machine().record({.begin = begin, .end = end, .id = timeline_id_, .kind = trace::EventKind::firing});
    }
    const double took = Clock::nanoseconds(end - begin);
    note_length(took);
    until_sample_ = recorded || measured_ || fires_long() ? 1 : firings_a_sample;
    // A station without a place goes from thread to thread, with all its lines: it stays longer, for as many buffers as
    // a stream takes to begin with. But where somebody takes long to read them, one firing is enough: who gets which
    // buffer would be settled early, and where one filter reads them, it and this one would leave no turn to others.
    const auto quick_readers = [](const auto& outlet) {
        return std::ranges::all_of(outlet->branches, [](const Branch& branch) {
            const bool copies = branch.of_threads && branch.links.size() > 1;
            return std::ranges::all_of(branch.links, [copies](const Link* link) {
                const Station& sink = *link->sink;
                return (copies ? sink.brief() : sink.very_brief()) || sink.home() != nullptr || sink.external;
            });
        });
    };
    if (home() != nullptr) burst_ = static_cast<std::uint8_t>(std::clamp(2'000 / std::max(took, 1.0), 1.0, 16.0));
    else burst_ = !timed_ && std::ranges::all_of(outlets, quick_readers) ? 8 : 1;
    tally(service_ticks, end - begin);
    tally(sampled);
}

void Station::fail(std::exception_ptr cause, std::uint64_t firing, Loss loss) {
    tally(failures);
    stopping = stopping || on_failure == OnFailure::stop;
    run_.failed(*this, firing, std::move(cause), std::move(loss));
}

/// Has the filter called for something other than a firing.
void Station::call_filter(FilterCall what, const Event* event) {
    if (proxy != nullptr) return proxy->send(what, event);
    taken_in_firing_ = 0;
    try {
        call(*filter_, what, event);
        if (jobs_here != nullptr) jobs_here->run();
    } catch (...) {
        fail(std::current_exception());
    }
}

void Station::send_event(const EventPort& output, SettingValue value) {
    bool named = false;
    for (const auto& [port, event] : event_names_) {
        if (port != output.name()) continue;
        named = true;
        if (!event.empty()) run_.raise({event, value});
    }
    if (!named) run_.raise({output.name(), std::move(value)});
}

void Station::handle_event() {
    const std::unique_ptr<EventMail> mail(static_cast<EventMail*>(first_event_));
    first_event_ = mail->next;
    if (first_event_ == nullptr) last_event_ = &first_event_;
    call_filter(FilterCall::event, &mail->event);
}

void Station::start() {
    started_ = true;
    call_filter(FilterCall::start);
    if (proxy == nullptr && loop != nullptr) loop_tokens_ += 1 + taken_in_firing_, leave_loop();
}

void Station::end_of_inputs() {
    finished_ = true;
    if (proxy == nullptr)  // what came after the last buffer would have no place in the order
        for (auto& outlet : outlets) outlet->written_in_firing = 1;
    call_filter(FilterCall::finish);
}

void Station::begin_to_pass_order(std::uint64_t next_of_writer) {
    const auto& queue = inlets.front()->queue;
    const auto first = queue.empty() ? next_of_writer : queue.front().block->order;
    for (auto& outlet : outlets) {
        outlet->order_offset = outlet->next_order - first;
        outlet->written_in_firing = 0;
    }
    several_copies.store(true, std::memory_order_relaxed);
    look_special();
}

void Station::never_begin() {
    waking.store(false, std::memory_order_relaxed);
    retired.store(true, std::memory_order_relaxed);
    if (home() == nullptr) box.begin_at_rest();
    ended_ = true;
    run_.station_ended(*this);
}

void Station::end_reader() {
    if (ended_ || std::exchange(over_, true)) return;  // a stop may have come with the last of its links
    run_.station_ended(*this);
}

void Station::end() {
    if (std::exchange(ended_, true)) return;
    read_no_more();
    if (proxy != nullptr) proxy->retire();
    discard_waiting();
    for (auto& outlet : outlets) {
        outlet->discard_pending();
        outlet->close();
        // an edit may take the station apart while readers on this thread still have blocks of it
        outlet->pool->set_home(nullptr);
    }
    if (loop_tokens_ != 0) [[unlikely]]
        leave_loop();
    run_.station_ended(*this);
}

}  // namespace penstock::streaming
