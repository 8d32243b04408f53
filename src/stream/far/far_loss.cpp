// A node has died, and another takes its place. Step by step, as the cluster has it done on all nodes that live:
//
//   1. The wires to the dead node are closed, on all nodes, and that generation of it is kept out. Nothing of it comes
//      any more: lose().
//   2. Each node says which orders of the dead node's filters have come to it. All of them together are those whose
//      results have been delivered.
//   3. The new node is ready, and there are wires to it. Each writer sends again what is not among them, in its order,
//      and the closings: recover(). What a filter loses (`OnNodeLoss::lose`) becomes a skip.
#include "stream/far/far_run.hpp"
#include "stream/run/run_state.hpp"

namespace penstock::streaming {

std::vector<FarRun::Seen> FarRun::lose(wire::Site site) {
    std::vector<Seen> all;
    for (const auto& far : far_stations_) {
        if (far->site != site) continue;
        const std::lock_guard guard(far->lock);
        far->wire = nullptr;
        for (FarLink* const link : far->out_of) {
            link->earlier = link->arrived;
            link->earlier_bytes = link->arrived_bytes;
            link->told = 0;
        }
        for (FarLink* const link : far->out_of) {
            const auto stream = link->link->stream;
            if (!link->tracked || std::ranges::find(all, stream, &Seen::stream) != all.end()) continue;
            const std::lock_guard of_seen(lock_);
            all.push_back({stream, seen_[stream].all()});
        }
    }
    return all;
}

std::uint64_t FarRun::held_for(wire::Site site) const {
    std::uint64_t all = 0;
    for (const auto& far : far_stations_) {
        if (far->site != site) continue;
        const std::lock_guard guard(far->lock);
        for (const FarLink* const link : far->into)
            all += link->tracked
                       ? link->kept.size()
                       : link->posted - std::min(link->posted, link->link->taken.load(std::memory_order_relaxed));
    }
    return all;
}

void FarRun::recover(wire::Site site, const std::vector<Seen>& seen, int most_deaths) {
    std::map<std::uint64_t, Orders> come;
    for (const auto& each : seen) come[each.stream].add(each.orders);
    std::vector<LostBuffer> lost;
    bool suspects = false;
    for (const auto& far : far_stations_) {
        if (far->site != site) continue;
        const std::lock_guard guard(far->lock);
        const auto& options = state_.model.filter(far->station->filter_id())->options;
        const auto out = std::ranges::find(state_.model.streams, far->station->filter_id(), &StreamModel::from);
        const Orders* const delivered = out == state_.model.streams.end() ? nullptr : &come[out->id];
        for (FarLink* const link : far->into) {
            std::uint64_t bytes = 0;
            while (link->tracked && !link->held.empty()) (void)link->held.pop();  // they are kept too
            for (auto& [order, kept] : std::exchange(link->kept, {})) {
                if (delivered != nullptr && delivered->contains(order)) give_back(kept.block);
                else link->kept[order] = kept, bytes += kept.block->bytes;
            }
            link->base = link->posted - link->kept.size();
            link->base_bytes = link->posted_bytes - bytes;
            link->window = {};
            bool first = true;
            link->waits = suspects;
            for (auto& [order, kept] : link->kept) {
                // What it had in hand, and may have died of: the oldest. It is tried alone, before that of the next
                // link.
                if (std::exchange(first, false)) {
                    if (kept.given) ++kept.deaths;
                    suspects = suspects || kept.deaths != 0;
                }
                kept.given = false;
                Block& block = *kept.block;
                if (block.kind == MailKind::buffer &&
                    (options.on_node_loss == OnNodeLoss::lose || kept.deaths >= most_deaths)) {
                    lost.push_back({far->station->name(), far->station->copy(), 0, link->link->to->port->name(),
                                    block.tags.sequence, block.written});
                    tally(far->station->lost);
                    link->base_bytes += block.bytes;
                    block.kind = MailKind::skip;
                    block.bytes = 0;
                    kept.deaths = 0;
                    if (!link->waits) suspects = false;
                }
            }
            // Those that are sent again take their room again.
            link->link->taken_bytes.store(link->base_bytes, std::memory_order_relaxed);
            link->link->taken.store(link->base, std::memory_order_seq_cst);
            if (!link->waits) give_all(*link);
            if (link->link->starvation.must_tell()) core_.post(*link->link->from->station, &link->link->room_mail);
        }
        if (far->wire != nullptr) far->wire->flush();
    }
    say_ended();
    say_again(site);
    core_.note_lost(lost);
    if (here_ != 0 || !core_.stopping()) return;
    // It was stopped while there was no node to be told.
    const auto new_one = std::ranges::find(far_stations_, site, [](const auto& far) { return far->site; });
    if (new_one != far_stations_.end()) put(**new_one, FarKind::stop, RunHead{number_}, true);
}

std::vector<std::string> FarRun::edit_problems(const Model& old, const Model& wished) const {
    std::vector<std::string> problems;
    const auto of_others = [&](const FilterModel& filter) {
        return !filter.options.nodes.empty() || placement_.sites.contains(filter.id);
    };
    const auto cut = [&](const Model& model, const StreamModel& stream) {
        return of_others(*model.filter(stream.from)) || of_others(*model.filter(stream.to));
    };
    const auto name = [](const Model& model, const StreamModel& stream) {
        return "the stream from '" + model.filter(stream.from)->name + "' to '" + model.filter(stream.to)->name +
               "' joins nodes, and cannot be changed while the graph runs";
    };
    for (const auto& filter : old.filters) {
        const auto* const now = wished.filter(filter.id);
        const bool changed = now == nullptr || !now->changes.empty() || now->options != filter.options;
        const bool joined = std::ranges::any_of(old.streams, [&](const StreamModel& stream) {
            return (stream.from == filter.id || stream.to == filter.id) && cut(old, stream);
        });
        if (changed && of_others(filter))
            problems.push_back("filter '" + filter.name + "' runs on other nodes, and cannot be changed while it runs");
        else if (joined && (now == nullptr || now->options.copies != filter.options.copies))
            problems.push_back("filter '" + filter.name +
                               "' is joined to other nodes, and its copies cannot be changed while it runs");
    }
    for (const auto& filter : wished.filters)
        if (old.filter(filter.id) == nullptr && of_others(filter))
            problems.push_back("filter '" + filter.name +
                               "' is for other nodes, and those get none while the graph runs");
    for (const auto& stream : old.streams) {
        const auto* const now = wished.stream(stream.id);
        if (cut(old, stream) && (now == nullptr || !same(now->options, stream.options)))
            problems.push_back(name(old, stream));
    }
    for (const auto& stream : wished.streams)
        if (old.stream(stream.id) == nullptr && cut(wished, stream)) problems.push_back(name(wished, stream));
    return problems;
}

std::vector<std::string> FarRun::problems(const Model& model, const Placement& placement) {
    std::vector<std::string> problems;
    const Adjacency adjacency(model);
    const auto cycles = cycles_of(adjacency);
    const auto sites_of = [&](std::uint64_t filter) {
        const auto found = placement.sites.find(filter);
        return found == placement.sites.end() ? std::vector<wire::Site>{0} : found->second;
    };
    const auto meet = [&](std::uint64_t one, std::uint64_t other) {
        const auto of_one = sites_of(one), of_other = sites_of(other);
        return std::ranges::any_of(
            of_one, [&](wire::Site site) { return std::ranges::find(of_other, site) != of_other.end(); });
    };
    for (const auto& stream : model.streams) {
        const auto& from = *model.filter(stream.from);
        const auto& to = *model.filter(stream.to);
        const auto wrong = [&](const std::string& what) {
            problems.push_back("the stream from '" + from.name + "' to '" + to.name + "' " + what);
        };
        const bool whole = sites_of(stream.from) == sites_of(stream.to) && sites_of(stream.from).size() == 1;
        if (whole) continue;
        if (cycles[model.position(stream.from)] != 0 &&
            cycles[model.position(stream.from)] == cycles[model.position(stream.to)])
            wrong("closes a cycle over several nodes, which is not possible yet: let one node run the cycle");
        if (stream.options.key && sites_of(stream.from) != std::vector<wire::Site>{0})
            wrong(
                "has a key that is a function of the program, and its writer runs on other nodes: let the writer set "
                "the tag user[0], and leave the key out");
    }
    for (const auto& filter : model.filters) {
        if (!filter.options.tracked()) continue;
        const auto wrong = [&](const std::string& what) {
            problems.push_back("filter '" + filter.name + "' is to outlive the loss of its node, but " + what);
        };
        const auto into = adjacency.into(filter.id), out_of = adjacency.out_of(filter.id);
        if (!placement.sites.contains(filter.id)) wrong("the program runs it");
        if (!filter.kind->may_be_copied) wrong("it does not say that it may be copied");
        if (filter.options.copies == 1) wrong("it has one copy: say copies = 2 or more");
        if (filter.first->has_state()) wrong("it has a state()");
        if (into.size() != 1 || out_of.size() != 1)
            wrong("it has " + std::to_string(into.size()) + " streams in and " + std::to_string(out_of.size()) +
                  " out, and must have one of each");
        else if (out_of[0]->options.policy == Policy::broadcast || into[0]->options.policy == Policy::broadcast)
            wrong("one of its streams is a broadcast");
        else if (filter.first->inputs[into[0]->input]->options().at_least != 1)
            wrong("it waits for several buffers before it fires");
        for (const auto* const stream : into)
            if (meet(stream->from, filter.id))
                wrong("'" + model.filter(stream->from)->name + "' runs on the same nodes");
        for (const auto* const stream : out_of)
            if (meet(stream->to, filter.id)) wrong("'" + model.filter(stream->to)->name + "' runs on the same nodes");
    }
    return problems;
}

}  // namespace penstock::streaming
