#include "stream/station.hpp"

#include <algorithm>
#include <utility>

#include "penstock/clock.hpp"
#include "penstock/spread.hpp"
#include "penstock/stream_error.hpp"
#include "stream/run_core.hpp"
#include "stream/server.hpp"

namespace penstock::streaming {
namespace {

constexpr std::uint32_t firings_a_sample = 64;

void count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

Station::Station(RunCore& run, std::uint64_t filter_id, std::string name, int copy, std::shared_ptr<AnyFilter> filter, bool on_any_input,
                 const FilterOptions& options)
    : on_failure(options.on_failure), run_(run), filter_(std::move(filter)), on_any_input_(on_any_input),
      bounded_pools_(options.pool != 0), name_(std::move(name)), copy_(copy),
      filter_id_(filter_id) {
    visit.kind = MailKind::visit;
    nudge.kind = MailKind::nudge;
    stop_mail.kind = MailKind::errand;
    stop_mail.work = [](Station& station) { station.stopping = true; };
    for (InputPort* port : filter_->inputs) {
        auto& inlet = *inlets.emplace_back(std::make_unique<Inlet>());
        inlet.station = this;
        inlet.port = port;
        inlet.index = static_cast<std::uint32_t>(inlets.size() - 1);
        port->inlet = &inlet;
    }
    for (OutputPort* port : filter_->outputs) {
        auto& outlet = *outlets.emplace_back(std::make_unique<Outlet>());
        outlet.station = this;
        outlet.port = port;
        outlet.index = static_cast<std::uint32_t>(outlets.size() - 1);
        outlet.pool = new Pool(*this, options.pool);
        port->outlet = &outlet;
    }
    for (Spread* const spread : filter_->spreads) spread->station_ = this;
    tasks_done.kind = MailKind::tasks;
    source_ = inlets.empty();
}

Station::~Station() {
    for (auto& inlet : inlets) {
        inlet->port->inlet = nullptr;
        while (!inlet->queue.empty()) give_back(inlet->queue.pop().block);
        for (auto& waiting : inlet->early) give_back(waiting.block);
    }
    for (auto& outlet : outlets) outlet->port->outlet = nullptr;
    for (EventMail* event : events_) delete event;
}

void Station::set_home(Server* home) noexcept {
    moved = moved || started_;
    queued = false;
    home_.store(home, std::memory_order_release);
    for (auto& outlet : outlets) outlet->pool->set_home(home);
}

// ---- mail ----

bool Station::accept(Mail* mail) {
    waits_plainly_ = false;
    switch (mail->kind) {
        case MailKind::buffer:
        case MailKind::skip:
        case MailKind::close: accept_in_turn(*static_cast<Link*>(mail->from), mail); break;
        case MailKind::poke: accept_poke(mail); break;
        case MailKind::event:
            events_.push_back(static_cast<EventMail*>(mail));
            count(handled);
            break;
        case MailKind::errand: {
            auto* const errand = static_cast<Errand*>(mail);
            RunCore& run = run_;
            const bool last = errand->last;
            errand->work(*this);
            if (!last) count(handled);
            errand->done.store(true, std::memory_order_release);
            run.stir();
            return !last;
        }
        case MailKind::tasks: complete_spread(); break;
        case MailKind::nudge: nudged.store(false, std::memory_order_release); break;
        case MailKind::visit:
            visited.store(false, std::memory_order_release);
            empty_box();
            break;
    }
    return true;
}

/// Mail of one link is taken in by its numbers: a lane that was full may have let a younger one overtake.
void Station::accept_in_turn(Link& link, Mail* mail) {
    auto& strays = link.to->strays;
    if (mail->number != link.accepted.load(std::memory_order_relaxed)) [[unlikely]] {
        strays.push_back(mail);
        return;
    }
    arrive(link, mail);
    while (!strays.empty()) [[unlikely]] {
        const auto next = std::find_if(strays.begin(), strays.end(), [&](const Mail* stray) {
            return stray->from == &link && stray->number == link.accepted.load(std::memory_order_relaxed);
        });
        if (next == strays.end()) break;
        Mail* const stray = *next;
        strays.erase(next);
        arrive(link, stray);
    }
}

/// There is room again at a sink, or a block has come back to a pool.
void Station::accept_poke(const Mail* mail) {
    if (mail->from != nullptr) return static_cast<Link*>(mail->from)->starvation.arrived();
    for (auto& outlet : outlets)
        if (mail == &outlet->pool->poke()) return outlet->pool->poked();
}

void Station::accept_box() {
    for (Mail* mail = box.take_all(); mail != nullptr;) {
        Mail* const next = mail->next;
        accept(mail);
        mail = next;
    }
}

void Station::empty_box() {
    do accept_box();
    while (!box.at_rest() && !box.rest());
}

void Station::arrive(Link& link, Mail* mail) {
    link.accepted.store(mail->number + 1, std::memory_order_release);
    Inlet& inlet = *link.to;
    if (mail->kind == MailKind::close) {
        --inlet.open_links;
        if (inlet.ordered && inlet.open_links == 0) [[unlikely]] stop_ordering(inlet);
        if (link.loop != nullptr && !link.feedback && link.enters_loop) run_.leave_loop(*link.loop, 1);
        return;
    }
    const Waiting waiting{static_cast<Block*>(mail), &link};
    count(link.buffers_through);
    count(link.bytes_through, waiting.block->bytes);
    if (ended_) return drop(inlet, waiting);
    if (inlet.ordered) [[unlikely]] return put_in_order(inlet, waiting);
    if (mail->kind == MailKind::skip) [[unlikely]] return pass_skip(inlet, waiting);
    enqueue(inlet, waiting);
}

void Station::enqueue(Inlet& inlet, Waiting waiting) {
    inlet.queue.push(waiting);
    inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
    if (waiting.link != nullptr && waiting.link->when_full.load(std::memory_order_relaxed) == WhenStreamFull::drop_oldest && inlet.queue.size() > waiting.link->queue_limit.load(std::memory_order_relaxed)) [[unlikely]] {
        ++waiting.link->displaced;
        drop(inlet, inlet.queue.pop());
        inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
    }
}

/// Buffers enter the queue by their numbers in the order; those that are early wait beside it.
void Station::put_in_order(Inlet& inlet, Waiting waiting) {
    if (waiting.block->order != inlet.next_in_order) {
        // What is early takes no room: the buffer that is missed may stand behind others of the same producer's, or of one further up.
        credit(inlet, waiting.link, waiting.block->bytes);
        waiting.link = nullptr;
    }
    inlet.early.push_back(waiting);
    for (;;) {
        const auto next = std::find_if(inlet.early.begin(), inlet.early.end(),
                                       [&](const Waiting& each) { return each.block->order == inlet.next_in_order; });
        if (next == inlet.early.end()) return;
        const Waiting turn = *next;
        inlet.early.erase(next);
        ++inlet.next_in_order;
        if (turn.block->kind == MailKind::skip) release(inlet, turn);
        else enqueue(inlet, turn);
    }
}

/// No more will come: the turns that are missing never will (a copy ended by itself, or lost what it held).
void Station::stop_ordering(Inlet& inlet) {
    std::sort(inlet.early.begin(), inlet.early.end(), [](const Waiting& a, const Waiting& b) { return a.block->order < b.block->order; });
    for (const Waiting& each : std::exchange(inlet.early, {})) {
        inlet.next_in_order = each.block->order + 1;
        if (each.block->kind == MailKind::skip) release(inlet, each);
        else enqueue(inlet, each);
    }
}

/// Nothing was written in this turn: those further down who restore the order must know.
void Station::pass_skip(Inlet& inlet, Waiting waiting) {
    first_order_ = waiting.block->order;
    release(inlet, waiting);
    if (!several_copies) return;
    for (auto& outlet : outlets)
        if (outlet->order_matters && !outlet->closed) outlet->skip();
}

/// The buffer has left the queue and was read, or never will be.
void Station::release(Inlet& inlet, Waiting waiting) {
    const auto bytes = waiting.block->bytes;
    give_back(waiting.block);
    credit(inlet, waiting.link, bytes);
    if (loop != nullptr) run_.leave_loop(*loop, 1);
}

void Station::credit(Inlet&, Link* link, std::uint64_t bytes) {
    if (link != nullptr && link->take(bytes)) run_.post(*link->from->station, &link->poke);
}

void Station::drop(Inlet& inlet, Waiting waiting) {
    if (waiting.block->kind == MailKind::buffer) count(dropped);
    if (several_copies) pass_skip(inlet, waiting);  // its turn in the order must not be waited for
    else release(inlet, waiting);
}

Block* Station::take(Inlet& inlet) {
    if (inlet.hand != nullptr) {
        Block* const block = std::exchange(inlet.hand, nullptr);
        note_taken(inlet, *block);
        return block;
    }
    if (inlet.queue.empty()) return nullptr;
    const Waiting waiting = inlet.queue.pop();
    inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
    Block* const block = waiting.block;
    note_taken(inlet, *block);
    credit(inlet, waiting.link, block->bytes);
    if (!inlet.queue.empty()) prefetch_read(inlet.queue.front().block);
    return block;
}

void Station::note_taken(Inlet& inlet, const Block& block) {
    count(inlet.read);
    count(inlet.read_bytes, block.bytes);
    if (taken_in_firing_++ != 0) return;
    first_tags_ = block.tags;
    first_order_ = block.order;
}

void Station::label(Outlet& outlet, Block& block) {
    const auto number = outlet.next_order++;
    block.written = number;
    block.order = several_copies ? first_order_ : number;
    if (block.tagged) return;
    if (taken_in_firing_ != 0) block.tags = first_tags_;
    else block.tags.sequence = number;
}

// ---- firing ----

bool Station::work(int most) {
    for (int turn = 0; turn < most; ++turn) {
        switch (next()) {
            case Next::nothing: return false;
            case Next::start: start(); break;
            case Next::event: handle_event(); break;
            case Next::fire: fire(); break;
            case Next::finish: end_of_inputs(); break;
            case Next::close: end(); return false;
        }
        if (Server::current != nullptr) Server::current->run_handed_over();
    }
    return true;
}

Station::Next Station::next() {
    const auto waits = [this](Doing what) {
        turn_to(what);
        return Next::nothing;
    };
    if (ended_) return waits(Doing::ended);
    if (spreading) [[unlikely]] return waits(Doing::waits_for_tasks);
    if (stopping) [[unlikely]] return Next::close;
    if (held) return waits(Doing::held);  // nor does it send what it holds back
    if (!started_) [[unlikely]] return Next::start;
    for (auto& outlet : outlets)
        if ((!outlet->pending.empty() || outlet->closing) && !flush(*outlet)) return waits(Doing::waits_for_output);
    if (!events_.empty()) [[unlikely]] return Next::event;
    if (finished_) return Next::close;
    if (over_) [[unlikely]] return Next::finish;
    if (bounded_pools_) [[unlikely]]
        for (auto& outlet : outlets)
            if (outlet->pool->exhausted()) return waits(Doing::waits_for_pool);
    if (source_) {
        if (!outlets.empty() && std::all_of(outlets.begin(), outlets.end(), [](auto& outlet) { return outlet->closed; })) return Next::finish;
        return Next::fire;
    }
    if (inputs_ready()) return Next::fire;
    if (inputs_over()) return Next::finish;
    waits_plainly_ = true;
    return waits(Doing::waits_for_input);
}

bool Station::flush(Outlet& outlet) {
    try {
        return outlet.flush();
    } catch (...) {  // a stream's own function threw, or the stream is full and says fail
        give_back(outlet.pending.pop());
        outlet.held_back.store(outlet.pending.size(), std::memory_order_relaxed);
        count(dropped);
        fail(std::current_exception());
        return outlet.pending.empty();
    }
}

bool Station::inputs_ready() const noexcept {
    const auto enough = [](const Inlet& inlet) {
        const auto there = inlet.queue.size();
        return there != 0 && (there >= inlet.port->options().at_least || inlet.open_links == 0);
    };
    if (inlets.size() == 1) [[likely]] return enough(*inlets[0]);
    bool any = false;
    bool all = true;
    bool required = false;
    for (const auto& inlet : inlets) {
        if (!inlet->connected) continue;
        const bool ready = enough(*inlet);
        any = any || ready;
        if (inlet->port->options().required) required = true, all = all && ready;
    }
    return on_any_input_ || !required ? any : all;
}

bool Station::inputs_over() const noexcept {
    bool any_open = false;
    bool required_over = false;
    for (const auto& inlet : inlets) {
        if (!inlet->connected) continue;
        const bool over = inlet->open_links == 0 && inlet->queue.empty();
        any_open = any_open || !over;
        if (over && inlet->port->options().required) required_over = true;
    }
    return !any_open || (!on_any_input_ && required_over);
}

void Station::fire_with(Link& link, Block* block) {
    Inlet& inlet = *link.to;
    inlet.hand = block;
    count(link.buffers_through);
    count(link.bytes_through, block->bytes);
    fire();
    if (inlet.hand != nullptr) [[unlikely]] {  // it threw before it read
        count(dropped);
        give_back(std::exchange(inlet.hand, nullptr));
    }
    bool plain = !over_ && !stopping && !held && events_.empty() && !spreading && inlet.queue.empty();
    for (const auto& outlet : outlets) plain = plain && outlet->pending.empty() && !outlet->closing;
    if (plain) waits_plainly_ = true;
    else home_.load(std::memory_order_relaxed)->enqueue(*this);
}

/// What it does from now on; how long it did what it did before is added up.
void Station::turn_to(Doing what) {
    if (timed_) {
        const auto now = Clock::ticks();
        if (since_ != 0) count(ticks_in_[static_cast<std::size_t>(doing.load(std::memory_order_relaxed))], now - since_);
        since_ = now;
    }
    doing.store(what, std::memory_order_release);  // who sees that it has ended sees the filter's last state
}

void Station::note_ready() { count(ticks_ready, Clock::ticks() - std::exchange(ready_at, 0)); }

void Station::fire() {
    turn_to(Doing::firing);
    const std::uint64_t begin = --until_sample_ == 0 ? Clock::ticks() : 0;
    taken_in_firing_ = 0;
    bool failed = false;
    try {
        over_ = !filter_->fire();
        if (taken_in_firing_ == 0 && !source_ && !over_) [[unlikely]]
            throw UsageError("filter '" + name_ + "' fired because buffers wait at its inputs, and read none of them: it would fire for ever");
    } catch (...) {
        failed = true;
        fail(std::current_exception());
    }
    if (begin != 0) [[unlikely]] sample_end(begin);
    count(firings);
    if (failed && taken_in_firing_ == 0) [[unlikely]] drop_one_of_each();
    if (several_copies) [[unlikely]] pass_on_order();
    if (spreading) [[unlikely]] loop_tokens_ = taken_in_firing_, leave_task();
    else if (loop != nullptr && taken_in_firing_ != 0) [[unlikely]] run_.leave_loop(*loop, taken_in_firing_);
}

/// A firing of one of several copies that wrote nothing still has its turn in the order.
void Station::pass_on_order() {
    for (auto& outlet : outlets)
        if (outlet->order_matters) [[unlikely]] {
            if (outlet->written_in_firing == 0 && !outlet->closed && taken_in_firing_ != 0) outlet->skip();
            outlet->written_in_firing = 0;
        }
}

void Station::discard_waiting() {
    for (auto& inlet : inlets) {
        while (!inlet->queue.empty()) drop(*inlet, inlet->queue.pop());
        for (const auto& waiting : std::exchange(inlet->early, {})) drop(*inlet, waiting);
        inlet->waiting.store(0, std::memory_order_relaxed);
    }
}

void Station::free_room() {
    for (auto& inlet : inlets)
        for (std::size_t i = 0; i < inlet->queue.size(); ++i)
            credit(*inlet, std::exchange(inlet->queue[i].link, nullptr), inlet->queue[i].block->bytes);
}

void Station::inherit(Inlet& inlet, Block* block) {
    if (block->kind == MailKind::skip) return give_back(block);
    inlet.queue.push({block, nullptr});
    inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
}

/// A firing that failed before it read anything would be repeated with the same buffers for ever.
void Station::drop_one_of_each() {
    for (auto& inlet : inlets)
        if (!inlet->queue.empty()) {
            drop(*inlet, inlet->queue.pop());
            inlet->waiting.store(inlet->queue.size(), std::memory_order_relaxed);
        }
}

void Station::sample_end(std::uint64_t begin) {
    const auto end = Clock::ticks();
    until_sample_ = firings_a_sample;
    constexpr double burst_ns = 2'000;
    timed_ = Clock::nanoseconds(end - begin) >= 1'000;
    if (!timed_) since_ = 0;
    burst_ = std::clamp(static_cast<int>(burst_ns / std::max(Clock::nanoseconds(end - begin), 1.0)), 1, 16);
    count(service_ticks, end - begin);
    count(sampled);
}

void Station::fail(std::exception_ptr cause) {
    count(failures);
    run_.failed(*this, firings.load(std::memory_order_relaxed), std::move(cause));
}

void Station::handle_event() {
    const std::unique_ptr<EventMail> mail(events_.front());
    events_.pop_front();
    taken_in_firing_ = 0;
    try {
        filter_->handle(mail->event);
    } catch (...) {
        fail(std::current_exception());
    }
}

void Station::start() {
    started_ = true;
    taken_in_firing_ = 0;
    try {
        filter_->start();
    } catch (...) {
        fail(std::current_exception());
    }
    if (loop != nullptr) run_.leave_loop(*loop, 1 + taken_in_firing_);
}

void Station::end_of_inputs() {
    finished_ = true;
    taken_in_firing_ = 0;
    for (auto& outlet : outlets) outlet->written_in_firing = 1;  // what came after the last buffer would have no place in the order
    try {
        filter_->finish();
    } catch (...) {
        fail(std::current_exception());
    }
}

void Station::end_reader() {
    over_ = true;
    doing.store(Doing::ended, std::memory_order_release);  // who sees this sees the filter's last state
    run_.station_ended(*this);
}

void Station::end() {
    if (std::exchange(ended_, true)) return;
    discard_waiting();
    for (auto& outlet : outlets) {
        while (!outlet->pending.empty()) {
            give_back(outlet->pending.pop());
            count(dropped);
        }
        outlet->held_back.store(0, std::memory_order_relaxed);
        outlet->close();
    }
    doing.store(Doing::ended, std::memory_order_release);  // who sees this sees the filter's last state
    run_.station_ended(*this);
}

}  // namespace penstock::streaming
