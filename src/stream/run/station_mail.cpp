// What comes to a station and waits at its inputs: taking mail in, queues and their order, credits, and what a firing
// reads.

#include "stream/run/run_core.hpp"

namespace penstock::streaming {

bool Station::accept(Mail* mail) {
    disturb();
    switch (mail->kind) {
        case MailKind::buffer:
        case MailKind::skip:
        case MailKind::close:
            accept_in_turn(*static_cast<Link*>(mail->from), mail);
            break;
        case MailKind::room:  // there is room again at a sink, or a block has come back to a pool
            if (mail->from != nullptr) static_cast<Link*>(mail->from)->starvation.arrived();
            else
                for (auto& outlet : outlets)
                    if (mail == &outlet->pool->room_mail()) outlet->pool->starvation().arrived();
            break;
        case MailKind::event:
            mail->next = nullptr;
            *std::exchange(last_event_, &mail->next) = mail;
            count_handled();
            break;
        case MailKind::command: {
            auto* const command = static_cast<Command*>(mail);
            if (proxy != nullptr && spreading) [[unlikely]] {  // commands are done between firings
                postponed_.push_back(command);
                break;
            }
            const bool last = command->last;
            carry_out(command);
            return !last;
        }
        case MailKind::tasks:
            if (proxy != nullptr) complete_job();
            else complete_spread();
            break;
        case MailKind::wake:
            waking.store(false, std::memory_order_release);
            run_.stir();  // an edit waits for its arrival
            break;
        case MailKind::visit:
            visited.store(false, std::memory_order_release);
            run_.stir();
            empty_box();
            break;
    }
    return true;
}

void Station::carry_out(Command* command) {
    RunCore& run = run_;
    const bool last = command->last;
    try {
        command->work(*this);
    } catch (...) {
        command->failed = std::current_exception();
    }
    if (!last) count_handled();
    command->done.store(true, std::memory_order_release);
    run.stir();
}

/// Mail of one link is taken in by its numbers: a lane that was full may have let a younger one overtake.
void Station::accept_in_turn(Link& link, Mail* mail) {
    auto& strays = link.to->strays;
    if (mail->number != link.accepted.load(std::memory_order_relaxed)) [[unlikely]] {
        patiently([&] { strays.push_back(mail); });
        return;
    }
    arrive(link, mail);
    while (!strays.empty()) [[unlikely]] {
        const auto next = std::ranges::find_if(strays, [&](const Mail* stray) {
            return stray->from == &link && stray->number == link.accepted.load(std::memory_order_relaxed);
        });
        if (next == strays.end()) break;
        Mail* const stray = *next;
        strays.erase(next);
        arrive(link, stray);
    }
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
        close_input(inlet);
        if (link.loop != nullptr && !link.feedback && link.enters_loop) run_.leave_loop(*link.loop, 1);
        return;
    }
    const Waiting waiting{static_cast<Block*>(mail), &link};
    tally(link.buffers_through);
    if (!link.local) tally(link.posted);
    tally(link.bytes_through, waiting.block->bytes);
    if (ended_) return drop(waiting);
    if (inlet.ordered) [[unlikely]]
        return put_in_order(inlet, waiting);
    if (mail->kind == MailKind::skip) [[unlikely]]
        return pass_skip(waiting);
    enqueue(inlet, waiting);
}

void Station::close_input(Inlet& inlet) {
    if (--inlet.open_links == 0 && inlet.ordered) [[unlikely]]
        stop_ordering(inlet);
}

void Station::enqueue(Inlet& inlet, Waiting waiting) {
    try {
        inlet.queue.push(waiting);
    } catch (const std::bad_alloc&) {  // no room and no memory: the run fails of it
        drop(waiting);
        return fail(std::current_exception());
    }
    inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
    if (waiting.link != nullptr &&
        waiting.link->when_full.load(std::memory_order_relaxed) == WhenStreamFull::drop_oldest &&
        inlet.queue.size() > waiting.link->queue_limit.load(std::memory_order_relaxed)) [[unlikely]] {
        ++waiting.link->displaced;
        drop(inlet.queue.pop());
        inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
    }
}

/// Buffers enter the queue by their numbers in the order; those that are early wait beside it.
void Station::put_in_order(Inlet& inlet, Waiting waiting) {
    const auto has_turn = [&](const Waiting& each) { return each.block->order <= inlet.next_in_order; };
    const auto let_in = [&](const Waiting& turn) {
        inlet.next_in_order = std::max(inlet.next_in_order, turn.block->order + 1);
        if (turn.block->kind == MailKind::skip) release(turn);
        else enqueue(inlet, turn);
    };
    if (has_turn(waiting)) {
        let_in(waiting);
        while (!inlet.early.empty() && has_turn(inlet.early.front())) let_in(inlet.take_first_of_early());
        return;
    }
    // What is early takes no room: the buffer that is missed may stand behind others of the same producer's, or of
    // one further up.
    credit(waiting.link, waiting.block->bytes);
    waiting.link = nullptr;
    try {
        inlet.put_early(waiting);
    } catch (const std::bad_alloc&) {
        release(waiting);
        fail(std::current_exception());
    }
}

/// No more will come: the turns that are missing never will (a copy ended by itself, or lost what it held).
void Station::stop_ordering(Inlet& inlet) {
    std::ranges::sort(inlet.early, [](const Waiting& a, const Waiting& b) { return a.block->order < b.block->order; });
    for (const Waiting& each : std::exchange(inlet.early, {})) {
        inlet.next_in_order = each.block->order + 1;
        if (each.block->kind == MailKind::skip) release(each);
        else enqueue(inlet, each);
    }
}

/// Nothing was written in this turn: those further down who restore the order must know.
void Station::pass_skip(Waiting waiting) {
    first_order_ = waiting.block->order;
    release(waiting);
    if (!several_copies) return;
    for (auto& outlet : outlets)
        if (outlet->order_matters && !outlet->closed) outlet->skip();
}

/// The buffer has left the queue and was read, or never will be.
void Station::release(Waiting waiting) {
    const auto bytes = waiting.block->bytes;
    give_back(waiting.block);
    credit(waiting.link, bytes);
    if (loop != nullptr) run_.leave_loop(*loop, 1);
}

void Station::credit(Link* link, std::uint64_t bytes) {
    if (link != nullptr && link->take(bytes)) run_.post(*link->from->station, &link->room_mail);
}

void Station::drop(Waiting waiting) {
    if (waiting.block->kind == MailKind::buffer) tally(dropped);
    if (several_copies) pass_skip(waiting);  // its turn in the order must not be waited for
    else release(waiting);
}

Block* Station::take_from_queue(Inlet& inlet) {
    if (inlet.queue.empty()) return nullptr;
    const Waiting waiting = inlet.queue.pop();
    inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
    Block* const block = waiting.block;
    note_taken(inlet, *block);
    credit(waiting.link, block->bytes);
    if (!inlet.queue.empty()) ahead_.took(*block, *inlet.queue.front().block);
    return block;
}

void Station::discard_waiting() {
    for (auto& inlet : inlets) {
        while (!inlet->queue.empty()) drop(inlet->queue.pop());
        for (const auto& waiting : std::exchange(inlet->early, {})) drop(waiting);
        inlet->waiting.store(0, std::memory_order_relaxed);
    }
}

void Station::free_room() {
    for (auto& inlet : inlets)
        for (std::size_t i = 0; i < inlet->queue.size(); ++i)
            credit(std::exchange(inlet->queue[i].link, nullptr), inlet->queue[i].block->bytes);
}

Inlet* Station::inlet_of(const std::string& port) const noexcept {
    const auto inlet = std::ranges::find_if(inlets, [&](const auto& each) { return each->port->name() == port; });
    return inlet == inlets.end() ? nullptr : inlet->get();
}

std::size_t Station::waiting_at(const std::string& port) const noexcept {
    const Inlet* const inlet = inlet_of(port);
    return inlet == nullptr ? 0 : inlet->queue.size();
}

bool Station::inherit(const std::string& port, Block* block) {
    Inlet* const inlet = inlet_of(port);
    if (ended_ || finished_ || over_ || stopping || inlet == nullptr) return false;
    if (block->kind == MailKind::skip) give_back(block);
    else take_back(*inlet, {block, nullptr});
    return true;
}

void Station::take_back(Inlet& inlet, Waiting waiting) {
    if (ended_) return drop(waiting);  // the run was stopped meanwhile
    inlet.queue.push(waiting);
    inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
}

}  // namespace penstock::streaming
