// The second half of an edit: filters that are taken out end, what waited at them goes where it belongs, and the others
// go on.

#include "stream/edit/change.hpp"

namespace penstock::streaming {

Change::~Change() {
    const auto drop = [this](const Station& at, Block* block) {
        if (block == nullptr) return;
        try {
            const std::lock_guard lock(core_.structure);
            if (block->kind == MailKind::buffer) ++state_.earlier.filters[at.filter_id()].figures.dropped;
        } catch (const std::bad_alloc&) {  // then it is not counted
        }
        give_back(block);
    };
    for (const auto& [writer, block] : returned_) drop(*writer->station, block);
    for (const auto& [inlet, waiting] : orphans_)
        for (const auto& each : waiting) drop(*inlet->station, each.block);
}

void Change::retire() {
    for (const auto& [station, removal] : retiring_) retire_one(*station, removal);
}

void Change::retire_one(Station& station, Removal removal) {
    core_.do_at(station, [&](Station& old) {
        for (auto& inlet : old.inlets)
            for (Link* const link : old_links_)
                if (link->to == inlet.get() && sources_.contains(link->from->station) && !link->closed)
                    old.close_input(*inlet);
        // Where an order is restored, a buffer that was handed back could wait behind younger ones for ever.
        const bool ordered = std::ranges::any_of(old.outlets, [](const auto& outlet) { return outlet->order_matters; });
        if (removal == Removal::hand_over && !ordered && !shares_buffers(old)) take_waiting(old);
        if (removal == Removal::discard) old.discard_waiting();
        old.end_source();
        if (old.external && !old.outlets.empty()) old.outlets[0]->close_when_empty();
        old.held = !orphans_.empty();  // or it would end before it is known whether anybody reads them
    });
    if (orphans_.empty()) return;
    give_to_heirs(station);
    core_.do_at(station, [&](Station& old) {
        for (auto& [inlet, waiting] : orphans_)
            for (auto& each : waiting) {
                old.take_back(*inlet, each);
                each.block = nullptr;
            }
        old.held = false;
    });
    orphans_.clear();
}

/// Do others get the same buffers as this one? Then a buffer that was handed back would reach them twice.
bool Change::shares_buffers(const Station& station) const {
    return std::ranges::any_of(old_links_, [&](const Link* link) {
        return link->to->station == &station && old_adjacency_.shared(*old_.stream(link->stream));
    });
}

/// What is still to come to it (from others that retire) may not overtake what waits, so then that stays.
void Change::take_waiting(Station& station) {
    for (auto& inlet : station.inlets) {
        const auto most = inlet->queue.size();
        std::vector<Waiting> staying, orphans;
        staying.reserve(most);
        orphans.reserve(most);
        orphans_.reserve(station.inlets.size());
        returned_.reserve(returned_.size() + most + inlet->early.size());  // from here on nothing asks for memory
        while (!inlet->queue.empty()) {
            const Waiting waiting = inlet->queue.pop();
            if (Outlet* const writer = writer_of(*inlet, waiting)) hand_back(*inlet, waiting, *writer);
            else if (inlet->open_links == 0) orphans.push_back(waiting);
            else staying.push_back(waiting);
        }
        for (const auto& waiting : staying) inlet->queue.push(waiting);
        std::erase_if(inlet->early, [&](const Waiting& waiting) {
            Outlet* const writer = writer_of(*inlet, waiting);
            if (writer != nullptr) hand_back(*inlet, waiting, *writer);
            return writer != nullptr;
        });
        std::ranges::make_heap(inlet->early, Inlet::later);
        inlet->waiting.store(inlet->queue.size(), std::memory_order_relaxed);
        if (!orphans.empty()) orphans_.push_back({inlet.get(), std::move(orphans)});
    }
}

/// It will arrive once more, and be counted then.
void Change::hand_back(const Inlet& inlet, const Waiting& waiting, Outlet& writer) {
    returned_.push_back({&writer, waiting.block});
    Link* counted = waiting.link;
    for (Link* const link : old_links_)
        if (counted == nullptr && link->to == &inlet && link->from == &writer) counted = link;
    if (counted == nullptr) return;
    constexpr auto minus_one = ~std::uint64_t{0};
    tally(counted->buffers_through, minus_one);
    if (!counted->local) tally(counted->posted, minus_one);
    tally(counted->bytes_through, ~waiting.block->bytes + 1);
}

/// Who sends a buffer again: whoever wrote it, or else somebody who writes to the same input. Null where all of them
/// have ended.
Outlet* Change::writer_of(const Inlet& inlet, const Waiting& waiting) const {
    if (waiting.link != nullptr && senders_.contains(waiting.link->from)) return waiting.link->from;
    for (Link* const link : old_links_)
        if (link->to == &inlet && senders_.contains(link->from)) return link->from;
    return nullptr;
}

/// Copies of its successor, which have not begun, or its own filter's other copies, which may end at any time. None
/// where keys say who reads what and there are several.
std::vector<Station*> Change::heirs_of(const Station& retired) const {
    auto filter = retired.filter_id();
    for (const auto& removal : wished_.removals)
        if (removal.filter == filter && removal.successor != 0) filter = removal.successor;
    const auto crew = wiring_.crews.find(filter);
    if (crew == wiring_.crews.end()) return {};
    const auto streams = old_adjacency_.into(retired.filter_id());
    const bool by_key = std::ranges::any_of(streams, [](const StreamModel* stream) {
        return stream->options.policy == Policy::by_key || stream->options.policy == Policy::chosen;
    });
    return by_key && crew->second.size() != 1 ? std::vector<Station*>{} : crew->second;
}

/// Each gets an equal part of them, or none when it reads no more. Buffers of several inputs stay together: the n-th of
/// each goes to the same heir. Before that an heir gets what it lacks itself: of an input at which it has fewer than at
/// another.
void Change::give_to_heirs(const Station& retired) {
    const auto heirs = heirs_of(retired);
    if (heirs.empty()) return;
    const auto is_heir = [&](const Station* station) { return std::ranges::find(heirs, station) != heirs.end(); };
    for (const auto& [name, link] : wiring_.links)
        if (is_heir(link->to->station) && link->from->station->ended()) wait_for_arrivals(*link);
    // Those that are meant for it, by input and number, and that it takes.
    const auto give = [this](Station& heir, const auto& is_meant) {
        for (std::size_t i = 0; i < orphans_.size(); ++i) {
            auto& [inlet, waiting] = orphans_[i];
            for (std::size_t n = 0; n < waiting.size(); ++n)
                if (Block*& block = waiting[n].block; block != nullptr && is_meant(i, n))
                    if (heir.inherit(inlet->port->name(), block)) block = nullptr;
        }
    };
    const auto none_left = [this] {
        for (auto& [inlet, waiting] : orphans_)
            std::erase_if(waiting, [](const Waiting& each) { return each.block == nullptr; });
        return std::ranges::all_of(orphans_, [](const Orphans& each) { return each.waiting.empty(); });
    };
    for (Station* const heir : heirs) {
        core_.do_at(*heir, [&](Station& each) {
            std::vector<std::size_t> there;
            for (const auto& [inlet, waiting] : orphans_) there.push_back(each.waiting_at(inlet->port->name()));
            give(each, [&, most = std::ranges::max(there)](auto i, auto n) { return n < most - there[i]; });
        });
        if (none_left()) return;
    }
    auto& dealt = dealt_[retired.filter_id()];
    const auto first = dealt;
    for (const auto& [inlet, waiting] : orphans_) dealt = std::max(dealt, first + waiting.size());
    for (std::size_t turn = 0; turn < heirs.size(); ++turn)
        core_.do_at(*heirs[turn], [&](Station& each) {
            give(each, [&](auto, auto n) { return (first + n) % heirs.size() == turn; });
        });
    for (Station* const heir : heirs) {
        if (none_left()) return;
        core_.do_at(*heir, [&](Station& each) { give(each, [](auto, auto) { return true; }); });
    }
    (void)none_left();
}

void Change::give_back_to(Station& source) {
    for (const auto& outlet : source.outlets) {
        std::vector<Block*> blocks;
        for (const auto& [writer, block] : returned_)
            if (writer == outlet.get()) blocks.push_back(block);
        if (blocks.empty()) continue;
        std::ranges::stable_sort(blocks, [](const Block* a, const Block* b) { return a->written < b->written; });
        core_.do_at(source, [&](Station&) {
            outlet->take_back(blocks);
            std::erase_if(returned_, [&](const Returned& returned) { return returned.writer == outlet.get(); });
        });
    }
}

// A writer to a filter of one copy goes on when that has written its last, so that nothing is overtaken; not later,
// because what retires may have to get rid of its last buffers by way of those that were held. Several copies overtake
// one another anyway.
void Change::go_on() {
    std::set<Station*> held = sources_;
    std::set<Station*> waiting(fresh_.begin(), fresh_.end());
    const auto ready_to_write = [&](Station* source) {
        const bool sinks_begun = std::ranges::none_of(new_links_, [&](const Link* link) {
            return link->from->station == source && waiting.contains(link->to->station);
        });
        return sinks_begun && std::ranges::all_of(old_links_, [&](const Link* link) {
                   const Station* const sink = link->to->station;
                   return link->from->station != source || !retires(sink) || sink->several_copies || sink->ended();
               });
    };
    const auto ready_to_begin = [&](const Station* station) {
        const auto removal = removal_before(*station);
        return removal == nullptr || std::ranges::all_of(retiring_, [&](const auto& each) {
                   return each.first->filter_id() != removal->filter || each.first->ended();
               });
    };
    const auto over = [&] {
        return held.empty() && waiting.empty() &&
               std::ranges::all_of(retiring_, [](const auto& each) { return each.first->ended(); });
    };
    for (;;) {
        std::erase_if(waiting, [&](Station* fresh) { return ready_to_begin(fresh) && (begin(*fresh), true); });
        std::erase_if(held, [&](Station* source) { return ready_to_write(source) && (release(*source), true); });
        if (over()) break;
        core_.help_until(
            [&] {
                state_.make_way();
                return std::ranges::any_of(held, ready_to_write) || std::ranges::any_of(waiting, ready_to_begin) ||
                       over();
            },
            "an edit", false);
    }
    for (Link* const link : old_links_)
        if (!sources_.contains(link->from->station)) wait_for_mail_of(*link);
}

const RemovalModel* Change::removal_before(const Station& fresh) const {
    for (const auto& removal : wished_.removals)
        if (removal.successor == fresh.filter_id()) return &removal;
    return nullptr;
}

void Change::begin(Station& fresh) {
    if (const auto* const removal = removal_before(fresh)) {
        // What the predecessor wrote last has arrived before its successor writes.
        for (Link* const link : old_links_)
            if (link->from->station->filter_id() == removal->filter) wait_for_mail_of(*link);
        if (removal->take_over && fresh.copy() == 0) {
            try {
                removal->take_over();
            } catch (...) {
                failure_ = std::current_exception();  // the edit is made all the same
            }
        }
    }
    if (fresh.proxy != nullptr) fresh.proxy->begin_with_state_of_program();
    {
        const std::lock_guard lock(core_.structure);
        fresh.unborn = false;  // from here on stop() reaches it
    }
    core_.do_at(fresh, [this](Station& each) {
        each.held = false;
        each.stopping = each.stopping || core_.stopping();
        if (core_.closing()) each.end_source();
    });
}

void Change::release(Station& source) {
    for (Link* const link : old_links_)
        if (link->from->station == &source && retires(link->to->station) && !link->to->station->several_copies)
            for (Link* const next : old_links_)
                if (next->from->station == link->to->station) wait_for_mail_of(*next);
    give_back_to(source);
    core_.do_at(source, [](Station& each) { each.held = false; });
}

/// Takes apart what retired, where nobody can touch it any more; the rest stays until the run ends.
void Change::forget() {
    std::set<const Link*> links;
    for (Link* const link : old_links_) {
        link->starvation.give_up();
        if (!link->starvation.told_already()) links.insert(link);
    }
    {
        const std::lock_guard lock(core_.structure);
        // so that nothing throws while they are erased
        for (const Link* const link : links) state_.earlier.streams.try_emplace(link->stream);
        std::erase_if(core_.links, [&](const auto& link) {
            if (!links.contains(link.get())) return false;
            state_.earlier.streams[link->stream].add(*link);
            return true;
        });
        for (const auto& [station, removal] : retiring_) {
            state_.earlier.filters[station->filter_id()].add(*station);
            station->retired.store(true, std::memory_order_relaxed);
        }
    }
    std::set<const Station*> stations;
    for (const auto& [station, removal] : retiring_)
        if (can_be_reclaimed(*station)) stations.insert(station);
    const std::lock_guard lock(core_.structure);
    std::erase_if(wiring_.program_ends, [&](const Station* station) { return stations.contains(station); });
    std::erase_if(core_.stations, [&](const auto& station) { return stations.contains(station.get()); });
}

bool Change::can_be_reclaimed(Station& station) {
    for (const auto& link : core_.links)
        if (link->from->station == &station || link->to->station == &station) return false;
    for (auto& outlet : station.outlets) {
        outlet->pool->starvation().give_up();
        if (outlet->pool->starvation().told_already()) return false;
    }
    if (station.external || station.moved || station.awaited() || station.posted.load() != station.handled.load())
        return false;
    if (station.home() == nullptr) return station.box.at_rest();
    bool idle = false;
    core_.do_at(station, [&idle](Station& each) { idle = !each.queued; }, true);
    return idle;
}

bool Change::retires(const Station* station) const {
    return std::ranges::any_of(retiring_, [station](const auto& each) { return each.first == station; });
}
bool Change::is_fresh(const Station* station) const { return std::ranges::find(fresh_, station) != fresh_.end(); }

}  // namespace penstock::streaming
