// Where a buffer goes: the policies of a stream with several sinks, what happens when there is no room, how a capacity
// that is automatic follows the waiting at both ends, and the sending itself.
#include "stream/run/run_core.hpp"

namespace penstock::streaming {
namespace {

// of a capacity that is automatic
constexpr std::uint32_t turns_to_grow = 8;
constexpr std::uint32_t longest_patience = 4096;

std::uint64_t scramble(std::uint64_t key) noexcept {
    key ^= key >> 33;
    key *= 0xFF51AFD7ED558CCDu;
    key ^= key >> 33;
    return key;
}

std::uint64_t next_random(std::uint64_t& state) noexcept {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

}  // namespace

/// When the sink has run dry between two times that its producer had no room, both wait for one another in turn: room
/// for more buffers makes the turns longer. When it has not for many times, the sink sets the pace: a long queue only
/// takes the place of other data in the cache.
void Link::had_no_room() noexcept {
    const auto now = capacity.load(std::memory_order_relaxed);
    const auto bytes = sent_bytes - seen_taken_bytes;
    const auto dry = sink->ran_dry.load(std::memory_order_relaxed);
    if (std::exchange(seen_dry, dry) != dry) {
        full_in_a_row = 0;
        if (sent - seen_taken < now || now >= most_capacity || bytes * 2 > many_bytes) return;
        if (++turns < turns_to_grow) return;
        turns = 0;
        if (std::exchange(shrunk, false)) patience = std::min(patience * 2, longest_patience);
        capacity.store(std::min(now * 2, most_capacity), std::memory_order_relaxed);
        return;
    }
    turns = 0;
    if (bytes <= many_bytes || now <= least_capacity || ++full_in_a_row < patience) return;
    full_in_a_row = 0;
    shrunk = true;
    capacity.store(std::max(now / 2, least_capacity), std::memory_order_relaxed);
}

Outlet::~Outlet() {
    while (!pending.empty()) give_back(pending.pop());
    if (pool != nullptr) pool->close();
}

void Outlet::write(Block* block) {
    if (closed || closing) [[unlikely]]
        refuse_closed(block);
    if (order_matters && ++written_in_firing > 1) [[unlikely]]
        refuse_second(block);
    station->label(*this, *block);
    if (fused != nullptr && fused->local && pending.empty() && !station->spreading &&
        Server::current->hand_over(*fused, block)) [[likely]]
        return;
    write_on(block);
}

/// Nobody fires right behind this firing with the buffer.
[[gnu::noinline]] void Outlet::write_on(Block* block) {
    bool sent = false;
    if (pending.empty() && !station->spreading) {
        if (near != nullptr && near->local && put_near(block)) return;
        if (fused != nullptr && !fused->local && Server::current->hand_over_anywhere(*fused, block)) return;
        try {
            sent = !station->held && send(block);
        } catch (...) {
            give_back(block);
            throw;
        }
    }
    if (!sent) hold_back(block);
}

[[gnu::noinline]] void Outlet::refuse_closed(Block* block) {
    give_back(block);
    throw UsageError("filter '" + station->name() + "' writes to its output '" + port->name() +
                     "' after it has closed it");
}

[[gnu::noinline]] void Outlet::refuse_second(Block* block) {
    give_back(block);
    throw UsageError("filter '" + station->name() + "' writes two buffers to '" + port->name() +
                     "' in one firing, but runs in several copies "
                     "whose order is restored further down: write one buffer in a firing, or run one copy");
}

/// Into the queue of the only sink, where the same thread runs that one too. It leaves what sending, posting, accepting
/// and arriving would leave (station_mail.cpp). False: the buffer goes the long way, where something forbids the short
/// one.
bool Outlet::put_near(Block* block) {
    Link& link = *near;
    Station& sink = *link.sink;
    Inlet& inlet = *link.to;
    const auto number = link.sent;
    if (!link.has_room(block->bytes) || number != link.accepted.load(std::memory_order_relaxed) ||
        link.when_full.load(std::memory_order_relaxed) == WhenStreamFull::drop_oldest || inlet.queue.full() ||
        sink.ended_ || station->held) [[unlikely]]
        return false;
    const auto bytes = block->bytes;
    link.sent = number + 1;
    link.sent_bytes += bytes;
    link.announced.store(number + 1, std::memory_order_relaxed);
    link.accepted.store(number + 1, std::memory_order_release);
    tally(link.buffers_through);
    tally(link.bytes_through, bytes);
    inlet.queue.push({block, &link});
    inlet.waiting.store(inlet.queue.size(), std::memory_order_relaxed);
    sink.disturb();
    if (!sink.queued) Server::current->enqueue(sink);
    return true;
}

void Outlet::hold_back(Block* block) {
    pending.push(block);
    station->hold_back();
    held_back.store(pending.size(), std::memory_order_relaxed);
}

bool Outlet::flush() {
    while (!pending.empty()) {
        if (!send(pending.front())) return false;
        (void)pending.pop();
        held_back.store(pending.size(), std::memory_order_relaxed);
    }
    if (closing) close();
    return true;
}

void Outlet::close_when_empty() {
    closing = true;
    station->hold_back();
    if (pending.empty() && !station->spreading) close();
}

/// The firing wrote nothing here, but its turn in the order must not be waited for.
void Outlet::skip() {
    Pool* const from = station->spreading ? nullptr : pool;  // a worker may be given blocks of the pool just now
    Block* const block = patiently([&] { return make_block(from, 0); });
    block->kind = MailKind::skip;
    station->label(*this, *block);
    if (station->spreading || !pending.empty() || !send(block)) hold_back(block);
}

bool Outlet::send(Block* block) {
    if (branches.size() == 1) [[likely]] {
        const Choice choice = choose(branches[0], *block);
        if (choice.fate == Choice::Fate::wait) return false;
        carry_out(branches[0], choice, block, false);
        return true;
    }
    // Several streams begin here: all of them get the buffer, or none yet.
    std::vector<Choice> choices;
    patiently([&] { choices.reserve(branches.size()); });
    for (auto& branch : branches) {
        choices.push_back(choose(branch, *block));
        if (choices.back().fate == Choice::Fate::wait) return false;
    }
    // The readers fire in the order in which the program connected them, as in the serial program. Of those that this
    // thread makes ready and that have no place it goes on with the newest, so they get the buffer the last first.
    const bool runs = Server::current != nullptr;
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const auto& links = branches[i].links;
        choices[i].stacked = runs && !links.empty() && links[0]->sink->home() == nullptr;
        if (!choices[i].stacked) carry_out(branches[i], choices[i], block, true);
    }
    for (std::size_t i = branches.size(); i-- > 0;)
        if (choices[i].stacked) carry_out(branches[i], choices[i], block, true);
    give_back(block);
    return true;
}

/// `shared`: others get the block too, so that it stays the caller's.
void Outlet::carry_out(Branch& branch, const Choice& choice, Block* block, bool shared) {
    branch.turn = choice.next_turn;
    switch (choice.fate) {
        case Choice::Fate::wait:
            return;
        case Choice::Fate::drop:
            ++choice.link->dropped;
            if (!shared) give_back(block);
            return;
        case Choice::Fate::send:
            send_by(*choice.link, shared ? share(block, *pool) : block);
            return;
        case Choice::Fate::broadcast:
            for (Link* link : branch.links) {
                if (link->when_full.load(std::memory_order_relaxed) == WhenStreamFull::drop_newest &&
                    !link->has_room(block->bytes))
                    ++link->dropped;
                else send_by(*link, share(block, *pool));
            }
            if (!shared) give_back(block);
            return;
    }
}

Outlet::Choice Outlet::choose(Branch& branch, const Block& block) {
    if (branch.links.size() == 1) [[likely]]
        return by_link(*branch.links[0], block);
    if (branch.links.empty()) return {Choice::Fate::broadcast};  // nobody reads: dropped by giving it to nobody
    return by_policy(branch, block);
}

Outlet::Choice Outlet::by_policy(Branch& branch, const Block& block) {
    const auto sinks = static_cast<std::uint32_t>(branch.links.size());
    switch (branch.policy) {
        case Policy::round_robin: {
            if (branch.turn >= sinks) branch.turn = 0;
            Choice choice = by_link(*branch.links[branch.turn], block);
            choice.next_turn = branch.turn + 1;
            return choice;
        }
        case Policy::random: {
            if (branch.turn >= sinks) branch.turn = static_cast<std::uint32_t>(next_random(branch.random) % sinks);
            Choice choice = by_link(*branch.links[branch.turn], block);
            choice.next_turn = ~0u;  // drawn once for each buffer, however often it is tried
            return choice;
        }
        case Policy::by_key:
        case Policy::chosen: {
            const auto key = branch.key ? branch.key(block.tags, {block.data, block.bytes}) : block.tags.user[0];
            if (branch.policy == Policy::chosen && key >= sinks)
                throw UsageError("the function of stream '" + station->name() + "." + port->name() + "' chose sink " +
                                 std::to_string(key) + " of " + std::to_string(sinks));
            return by_link(*branch.links[branch.policy == Policy::chosen ? key : scramble(key) % sinks], block);
        }
        case Policy::broadcast: {
            for (Link* link : branch.links)
                if (by_link(*link, block).fate == Choice::Fate::wait) return {};
            return {Choice::Fate::broadcast};
        }
        case Policy::demand_driven:
            break;
    }
    return branch.unequal ? to_soonest(branch, block) : to_most_idle(branch, block);
}

/// The sink that would be done with the buffer first, by what its firings have cost so far: it may have to be awaited
/// although a slower one is free. One of which nothing is known gets a buffer when it has none.
Outlet::Choice Outlet::to_soonest(Branch& branch, const Block& block) {
    const auto sinks = static_cast<std::uint32_t>(branch.links.size());
    if (branch.turn >= sinks) branch.turn = 0;
    Link* best = nullptr;
    std::uint32_t best_at = 0;
    double best_end = 0;
    for (std::uint32_t i = 0; i < sinks; ++i) {
        const auto at = (branch.turn + i) % sinks;
        Link* const link = branch.links[at];
        if (link->sink->reads_no_more()) continue;
        link->refresh();
        const auto cost = static_cast<double>(link->sink->cost.load(std::memory_order_relaxed));
        const auto before = static_cast<double>(link->outstanding()) + (link->sink->fires() ? 0.5 : 0);
        if (cost == 0 && before != 0) continue;
        const double end = (before + 1) * cost;
        if (best == nullptr || end < best_end) best = link, best_at = at, best_end = end;
    }
    if (best == nullptr) return to_most_idle(branch, block);
    Choice choice = by_link(*best, block);
    choice.next_turn = best_at + 1;
    return choice;
}

/// Of copies that each thread may run, the place of the one whose memory is in this thread's cache: the writer goes
/// from thread to thread, and each keeps what it writes. Behind the last where that says nothing.
std::size_t Outlet::own_copy(const Branch& branch) const noexcept {
    const Server* const here = Server::current;
    const auto sinks = branch.links.size();
    if (!branch.of_threads || here == nullptr || station->several_copies || station->home() != nullptr) return sinks;
    // Where buffers are dropped the turn goes round, or one of them would lose all.
    if (branch.links.front()->when_full.load(std::memory_order_relaxed) != WhenStreamFull::wait) return sinks;
    return static_cast<std::size_t>(here->target() - Server::helper) % sinks;
}

/// The sink with the fewest buffers before it, and in it; but of copies whose firings are brief, as their writer's are,
/// the thread's own one as long as it has room. Of equals: of copies, the thread's own, or the one of the same number,
/// whose memory is warm where this one's is; else the one whose turn it is. One that has ended is always free, and is
/// left to its rest while there are others.
Outlet::Choice Outlet::to_most_idle(Branch& branch, const Block& block) {
    const auto sinks = static_cast<std::uint32_t>(branch.links.size());
    if (station->several_copies) branch.turn = static_cast<std::uint32_t>(station->copy());
    if (branch.turn >= sinks) branch.turn %= sinks;
    if (const auto own = own_copy(branch); own < sinks) {
        branch.turn = static_cast<std::uint32_t>(own);
        Link* const link = branch.links[own];
        const Station& sink = *link->sink;
        // A firing that may last is not waited for by what it wrote first.
        if (sink.brief() && !station->may_last() && !sink.fires() && !sink.reads_no_more() && sink.home() == nullptr &&
            link->has_room(block.bytes))
            return {Choice::Fate::send, link, branch.turn};
    }
    Link* reader = nullptr;  // the first that has not ended
    std::uint32_t reader_at = 0;
    Link* best = nullptr;
    std::uint32_t best_at = 0;
    std::uint64_t fewest = 0;
    for (std::uint32_t i = 0; i < sinks; ++i) {
        const auto at = (branch.turn + i) % sinks;
        Link* const link = branch.links[at];
        if (link->sink->reads_no_more()) continue;
        if (reader == nullptr) reader = link, reader_at = at;
        if (link->outstanding() != 0) link->refresh();
        if (!link->has_room(block.bytes)) continue;
        // What it fires with is no longer before it. But then another thread has it, and this one, which would go on
        // with the buffer, could not.
        const auto before = 2 * link->outstanding() + (link->sink->fires() ? 1 : 0);
        if (best == nullptr || before < fewest) best = link, best_at = at, fewest = before;
        if (fewest == 0) break;
    }
    if (best != nullptr) return {Choice::Fate::send, best, best_at + 1};
    if (reader == nullptr) return by_link(*branch.links[branch.turn], block);
    if (reader->when_full.load(std::memory_order_relaxed) != WhenStreamFull::wait) {
        Choice choice = by_link(*reader, block);
        choice.next_turn = reader_at + 1;  // or one of them would lose all that is dropped
        return choice;
    }
    for (std::uint32_t i = 0; i < sinks; ++i) {
        Link* const link = branch.links[i];
        if (!link->sink->reads_no_more() && link->starve(block.bytes)) return {Choice::Fate::send, link, i + 1};
    }
    return {};
}

Outlet::Choice Outlet::by_link(Link& link, const Block& block, Choice::Fate fate) {
    if (link.has_room(block.bytes)) [[likely]]
        return {fate, &link};
    const auto when_full = link.when_full.load(std::memory_order_relaxed);
    if (when_full == WhenStreamFull::wait) return link.starve(block.bytes) ? Choice{fate, &link} : Choice{};
    if (when_full == WhenStreamFull::drop_oldest) return {fate, &link};  // the sink sees that there are too many
    if (when_full == WhenStreamFull::drop_newest) return {Choice::Fate::drop, &link};
    throw StreamFull("stream '" + station->name() + "." + port->name() +
                     "' is full: " + std::to_string(link.capacity.load(std::memory_order_relaxed)) +
                     " buffers wait at '" + link.to->station->name() + "." + link.to->port->name() + "'");
}

void Outlet::send_by(Link& link, Block* block) {
    block->from = &link;
    block->number = link.sent++;
    link.sent_bytes += block->bytes;
    link.announced.store(link.sent, std::memory_order_relaxed);
    if (link.loop != nullptr) [[unlikely]] {
        link.loop->used.store(true, std::memory_order_relaxed);
        link.loop->tokens.fetch_add(1, std::memory_order_relaxed);
    }
    station->run().post(*link.sink, block);
}

void Outlet::take_back(const std::vector<Block*>& blocks) {
    pending.reserve(pending.size() + blocks.size());  // from here on nothing asks for memory
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) pending.push_front(*block);
    station->hold_back();
    held_back.store(pending.size(), std::memory_order_relaxed);
    if (closed || !has_reader()) discard_pending();
}

void Outlet::discard_pending() {
    while (!pending.empty()) {
        Block* const block = pending.pop();
        if (block->kind == MailKind::buffer) tally(station->dropped);
        give_back(block);
    }
    held_back.store(0, std::memory_order_relaxed);
}

void Outlet::close() {
    if (std::exchange(closed, true)) return;
    for (auto& branch : branches)
        for (Link* link : branch.links) close_link(*link);
}

void Outlet::close_link(Link& link) {
    if (std::exchange(link.closed, true)) return;
    link.closing.number = link.sent++;
    link.announced.store(link.sent, std::memory_order_relaxed);
    station->run().post(*link.to->station, &link.closing);
}

}  // namespace penstock::streaming
