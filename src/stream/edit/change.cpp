#include "stream/edit/change.hpp"

namespace penstock::streaming {

namespace {

bool several(const Model& model, std::uint64_t filter) { return model.filter(filter)->options.copies != 1; }

}  // namespace

std::vector<std::string> Change::problems() {
    std::vector<std::string> problems;
    const auto old_cycles = cycles_of(old_adjacency_), cycles = cycles_of(adjacency_);
    const auto in_old_cycle = [&](std::uint64_t filter) { return old_cycles[old_.position(filter)] != 0; };
    for (const auto& stream : wished_.streams) {
        const bool fresh = old_.stream(stream.id) == nullptr;
        if (fresh && cycles[wished_.position(stream.to)] != 0)
            problems.push_back("a stream into a cycle cannot be added while the graph runs");
        const auto crew = wiring_.crews.find(stream.to);
        if (fresh && !wished_.ended_may_read && crew != wiring_.crews.end() &&
            std::ranges::any_of(crew->second, [](Station* each) { return each->ended(); }))
            problems.push_back("filter '" + wished_.filter(stream.to)->name + "' has ended already and reads no more");
    }
    check_order(problems);
    for (const auto& stream : old_.streams)
        if (wished_.stream(stream.id) == nullptr && in_old_cycle(stream.to))
            problems.push_back("a stream into a cycle cannot be taken away while the graph runs");
    for (const auto& filter : old_.filters) {
        const auto* const now = wished_.filter(filter.id);
        if (now == nullptr) continue;
        bool ordered = false;
        for (std::size_t i = 0; i < filter.first->outputs.size(); ++i)
            ordered = ordered || old_adjacency_.order_matters(filter.id, i) || adjacency_.order_matters(filter.id, i);
        if (ordered && several(old_, filter.id) && !several(wished_, filter.id))
            problems.push_back(
                "filter '" + filter.name +
                "' cannot go back from several copies to one while their order is restored further down");
        if (begins_to_pass_order(*now) && !may_begin_to_pass_order(*now))
            problems.push_back(
                "filter '" + filter.name +
                "' cannot go from one copy to several: their order is restored further down, and it has "
                "several writers, or one in several copies, whose numbers do not say in which order they "
                "were read");
        if (filter.kind->external && now->options.copies != 1)
            problems.push_back("'" + filter.name + "' is the program's own end and has one copy");
        if (core_.copies(*now) != core_.copies(filter) && in_old_cycle(filter.id))
            problems.push_back("filter '" + filter.name + "' in a cycle cannot change its copies");
    }
    return problems;
}

/// A new filter numbers from 0, and a new sink expects 0: neither may meet one that has been counting. Filters between
/// them of which there are several copies pass the numbers on, so that those may be replaced.
void Change::check_order(std::vector<std::string>& problems) const {
    enum class Is { old, between, fresh };
    const auto kind_of = [&](std::uint64_t filter) {
        if (old_.filter(filter) != nullptr) return Is::old;
        const bool replaces =
            std::ranges::any_of(wished_.removals, [&](const auto& each) { return each.successor == filter; });
        return replaces && several(wished_, filter) ? Is::between : Is::fresh;
    };
    // The buffers of a stream are numbered for those who restore an order: from the last filter of one copy on.
    const auto passing = adjacency_.passing_order_on(true);
    for (const auto& stream : wished_.streams) {
        if (old_.stream(stream.id) != nullptr) continue;
        const auto from = kind_of(stream.from), to = kind_of(stream.to);
        const auto readers = old_adjacency_.into(stream.to);
        const bool was_ordered = std::ranges::any_of(
            readers, [&](const StreamModel* each) { return each->input == stream.input && each->options.ordered; });
        const bool fits = (from == Is::fresh && to == Is::fresh) || (from == Is::between && to != Is::fresh) ||
                          (from == Is::old && to == Is::between);
        if (stream.options.ordered || passing[wished_.position(stream.to)] ? fits : !was_ordered) continue;
        problems.push_back(
            "the stream from '" + wished_.filter(stream.from)->name + "' to '" + wished_.filter(stream.to)->name +
            "' is part of an order that is restored, whose beginning and end cannot change while the graph runs");
    }
}

bool Change::begins_to_pass_order(const FilterModel& filter) const {
    if (old_.filter(filter.id) == nullptr || several(old_, filter.id) || !several(wished_, filter.id)) return false;
    for (std::size_t i = 0; i < filter.first->outputs.size(); ++i)
        if (adjacency_.order_matters(filter.id, i)) return true;
    return false;
}

bool Change::may_begin_to_pass_order(const FilterModel& filter) const {
    const auto now = adjacency_.into(filter.id), before = old_adjacency_.into(filter.id);
    if (filter.first->inputs.size() != 1 || now.size() != 1 || before.size() != 1 || now[0]->id != before[0]->id)
        return false;
    return !several(old_, now[0]->from) && !several(wished_, now[0]->from) && !now[0]->options.feedback &&
           now[0]->options.when_full == WhenStreamFull::wait;
}

/// While the writers are held: nothing comes between the numbers that are looked at.
void Change::pass_order() {
    for (const auto& filter : wished_.filters) {
        if (!begins_to_pass_order(filter)) continue;
        const auto& stream = *adjacency_.into(filter.id)[0];
        const Outlet& writer = *wiring_.crews.at(stream.from).front()->outlets[stream.output];
        const auto next = writer.pending.empty() ? writer.next_order : writer.pending.front()->order;
        auto& crew = wiring_.crews.at(filter.id);
        core_.do_at(*crew.front(), [&](Station& station) {
            station.begin_to_pass_order(next);
            for (std::size_t i = 0; i < station.outlets.size(); ++i)
                station.outlets[i]->order_matters = adjacency_.order_matters(filter.id, i);
        });
        for (Station* const copy : std::span(crew).subspan(1))  // which have not begun; the first fires already
            for (std::size_t i = 0; i < copy->outlets.size(); ++i)
                copy->outlets[i]->order_offset = crew.front()->outlets[i]->order_offset;
    }
}

void Change::make() {
    make_stations();
    wiring_.set_depths(adjacency_);
    make_links();
    find_touched();
    hold();
    pass_order();
    join();
    empty_old_links();
    move();
    apply_settings();
    retire();
    go_on();
    {
        const std::lock_guard lock(core_.structure);
        state_.model = wished_;
        state_.model.removals.clear();
        state_.model.ended_may_read = false;
    }
    forget();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
}

// ---- make ----

void Change::make_stations() {
    // Filters are constructed first: when one throws, nothing has changed.
    std::vector<std::unique_ptr<Station>> made;
    for (const auto& filter : wished_.filters) {
        const auto crew = wiring_.crews.find(filter.id);
        for (int copy = crew == wiring_.crews.end() ? 0 : static_cast<int>(crew->second.size());
             copy < core_.copies(filter); ++copy) {
            auto station = wiring_.make_station(adjacency_, filter, copy);
            station->box.begin_at_rest();
            station->held = true;
            station->unborn = true;
            made.push_back(std::move(station));
        }
    }
    for (const auto& filter : wished_.filters) {
        auto& crew = wiring_.crews[filter.id];
        while (static_cast<int>(crew.size()) > core_.copies(filter)) {
            retiring_.emplace_back(crew.back(), Removal::hand_over);
            crew.pop_back();
        }
        for (Station* const station : crew) {
            const int target = station->external ? -1 : adjacency_.place(filter, station->copy());
            if (station->proxy != nullptr) {
                if (target >= 0 && target != station->proxy->target()) relocations_.emplace_back(station, target);
                continue;
            }
            Server* const home = core_.server_of(target);
            if (station->home() != home) moves_.emplace_back(station, home);
        }
    }
    for (auto& station : made) {
        Station& kept = wiring_.keep(std::move(station));  // first: nobody may know of one that is not kept
        wiring_.crews[kept.filter_id()].push_back(&kept);
        fresh_.push_back(&kept);
    }
    for (const auto& removal : wished_.removals) {
        const auto crew = wiring_.crews.find(removal.filter);
        if (crew == wiring_.crews.end()) continue;
        for (Station* const station : crew->second) retiring_.emplace_back(station, removal.removal);
        wiring_.crews.erase(crew);
    }
}

void Change::make_links() {
    const std::lock_guard lock(core_.structure);
    std::set<LinkName> wanted;
    for (const auto& stream : wished_.streams)
        for (int from = 0; from < static_cast<int>(wiring_.crews.at(stream.from).size()); ++from)
            for (int to = 0; to < static_cast<int>(wiring_.crews.at(stream.to).size()); ++to) {
                const LinkName name{stream.id, from, to};
                wanted.insert(name);
                if (wiring_.links.contains(name)) continue;
                Link* const link = core_.links.emplace_back(wiring_.make_link(wished_, stream, from, to)).get();
                new_links_.push_back(link);
                wiring_.links.emplace(name, link);
            }
    std::erase_if(wiring_.links, [&](const auto& entry) {
        if (wanted.contains(entry.first)) return false;
        old_links_.push_back(entry.second);
        return true;
    });
}

void Change::find_touched() {
    const auto touch = [&](Station* station) {
        if (!is_fresh(station) && !retires(station)) sources_.insert(station);
    };
    for (Link* const link : new_links_) touch(link->from->station);
    for (Link* const link : old_links_) touch(link->from->station);
    for (const auto& [station, home] : moves_) {
        touch(station);
        for (const auto& [name, link] : wiring_.links)
            if (link->to->station == station) touch(link->from->station);
    }
    for (const auto& stream : wished_.streams)
        if (const auto* const before = old_.stream(stream.id);
            before != nullptr && !same(before->options, stream.options))
            for (Station* const station : wiring_.crews.at(stream.from)) touch(station);
}

// ---- hold, join, empty ----

void Change::hold() {
    for (Station* const station : sources_)
        core_.do_at(*station, [this](Station& each) {
            each.held = true;           // so it closes nothing any more, unless the run is stopped
            if (each.external) return;  // it sends within the program's calls, and nobody knows when the next one comes
            for (const auto& outlet : each.outlets)
                if (!outlet->closed) senders_.insert(outlet.get());
        });
}

void Change::join() {
    for (Station* const station : fresh_)
        for (auto& inlet : station->inlets) inlet->open_links = 0;
    for (Link* const link : new_links_) {
        Inlet* const inlet = link->to;
        const auto open = [inlet](Station&) {
            ++inlet->open_links;
            inlet->connected = true;
        };
        if (is_fresh(inlet->station)) open(*inlet->station);
        else core_.do_at(*inlet->station, open);
    }
    const auto rewire = [this](Station& station) {
        const auto& filter = *wished_.filter(station.filter_id());
        station.several_copies.store(filter.options.copies != 1, std::memory_order_relaxed);
        station.look_special();
        for (const auto* const stream : adjacency_.out_of(station.filter_id()))
            for (int to = 0; to < static_cast<int>(wiring_.crews.at(stream->to).size()); ++to)
                wiring_.set_capacity(wished_, *stream, *wiring_.links.at({stream->id, station.copy(), to}));
        for (std::size_t i = 0; i < station.outlets.size(); ++i)
            station.outlets[i]->order_matters = adjacency_.order_matters(filter.id, i);
        wiring_.set_branches(adjacency_, station.filter_id(), station);
        for (auto& outlet : station.outlets) {
            if (!outlet->has_reader()) outlet->discard_pending();
            // else it has ended meanwhile, or closed this output: the new sinks must know
            if (!outlet->closed) continue;
            for (auto& branch : outlet->branches)
                for (Link* const link : branch.links) outlet->close_link(*link);
        }
    };
    for (Station* const station : fresh_) rewire(*station);  // before the sources, whose ends already reach them
    for (Station* const station : sources_) core_.do_at(*station, rewire);
    part_pairs();
}

/// Copies that stay where others of theirs have come or gone: not each thread has one any more.
void Change::part_pairs() {
    const auto in_pairs = [](const auto& outlet) { return outlet->fused != nullptr && outlet->fused->side_by_side; };
    for (const auto& filter : wished_.filters) {
        const auto* const before = old_.filter(filter.id);
        if (before == nullptr || core_.copies(*before) == core_.copies(filter)) continue;
        for (Station* const station : wiring_.crews.at(filter.id))
            if (!is_fresh(station) && !sources_.contains(station) && std::ranges::any_of(station->outlets, in_pairs))
                core_.do_at(*station, [&](Station& each) {
                    for (auto& outlet : each.outlets)
                        if (in_pairs(outlet)) outlet->fused->side_by_side = false;
                });
    }
}

/// By a link that its source does not write to any more.
void Change::wait_for_arrivals(Link& link) {
    core_.help_until(
        [&] {
            state_.make_way();
            return link.accepted.load(std::memory_order_acquire) == link.announced.load(std::memory_order_acquire);
        },
        "an edit", false);
}

void Change::wait_for_mail_of(Link& link) {
    if (!arrived_.insert(&link).second) return;
    wait_for_arrivals(link);
    if (!retires(link.to->station)) core_.do_at(*link.to->station, [this, &link](Station&) { stop_using(link); });
}

void Change::empty_old_links() {
    for (Link* const link : old_links_)
        // else its source retires, and closes it then
        if (sources_.contains(link->from->station)) wait_for_mail_of(*link);
}

/// At its sink, which stays: what has come by the link waits on as if it had come by none.
void Change::stop_using(Link& link) {
    Inlet& inlet = *link.to;
    for (std::size_t i = 0; i < inlet.queue.size(); ++i)
        if (inlet.queue[i].link == &link) inlet.queue[i].link = nullptr;
    for (auto& waiting : inlet.early)
        if (waiting.link == &link) waiting.link = nullptr;
    if (!link.closed) inlet.station->close_input(inlet);
    inlet.connected = inlet.connected && inlet.open_links != 0;
}

// ---- move ----

void Change::move() {
    const auto moved = [this](const Station* station) {
        return std::ranges::any_of(moves_, [&](const auto& each) { return each.first == station; });
    };
    // Also of links that go: their readers may be elsewhere from now on.
    const auto set_local = [&](bool allowed) {
        auto links = old_links_;
        for (const auto& [name, link] : wiring_.links) links.push_back(link);
        for (Link* const link : links) {
            const Station &from = *link->from->station, &to = *link->to->station;
            if (!moved(&from) && !moved(&to)) continue;
            const bool local = allowed && from.home() != nullptr && from.home() == to.home();
            // Where it changes one thread runs both ends; where it does not the writer may be reading it.
            core_.do_at(*link->to->station, [link, local](Station&) {
                if (link->local != local) link->local = local;
            });
        }
    };
    for (const auto& [station, target] : relocations_)
        core_.do_at(*station, [target = target](Station& each) { each.proxy->move_to(target); });
    if (moves_.empty()) return;
    for (const auto& [station, home] : moves_)
        for (const auto& [name, link] : wiring_.links)
            if (link->from->station == station || link->to->station == station)
                core_.do_at(*link->from->station, [link = link](Station&) { link->from->fused = nullptr; });
    set_local(false);
    for (const auto& [station, home] : moves_) {
        core_.do_at(*station, [home = home](Station& each) {
            each.next_home = home;
            each.moving = true;
        });
        core_.help_until([station = station, home = home] { return station->home() == home && !station->awaited(); },
                         "an edit", false);
    }
    set_local(true);
    for (Station* const source : sources_)
        core_.do_at(*source, [this](Station& each) { wiring_.set_branches(adjacency_, each.filter_id(), each); });
}

void Change::apply_settings() {
    for (auto& filter : wished_.filters)
        for (const auto& [name, value] : std::exchange(filter.changes, {}))
            for (Station* const station : wiring_.crews.at(filter.id)) {
                const auto set = [&name = name, &value = value](Station& each) {
                    named(each.filter().settings, name)->set(value);
                };
                if (is_fresh(station)) set(*station);
                else core_.do_at(*station, set);
            }
}

}  // namespace penstock::streaming
