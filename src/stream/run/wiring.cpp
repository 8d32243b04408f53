#include "stream/far/far_run.hpp"
#include "stream/run/run_state.hpp"

namespace penstock::streaming {
namespace {

constexpr std::size_t automatic_capacity = 8;  // to begin with
constexpr std::size_t most_automatic_capacity = 64;
constexpr std::uint64_t scrambled_start = 0xBF58476D1CE4E5B9u;

}  // namespace

std::unique_ptr<Station> Wiring::make_station(const Adjacency& adjacency, const FilterModel& filter, int copy) const {
    auto held = copy == 0 ? filter.first : std::shared_ptr<AnyFilter>(filter.kind->make());
    if (copy != 0)
        for (std::size_t i = 0; i < held->settings.size(); ++i)
            held->settings[i]->set(filter.first->settings[i]->value());
    auto station =
        std::make_unique<Station>(run_, filter.id, filter.name, copy, std::move(held), *filter.kind, filter.options);
    station->several_copies = filter.options.copies != 1;
    station->tracked = filter.options.tracked();
    const int target = adjacency.place(filter, copy);
    station->proxy = run_.backend().proxy_for(*station, filter, target);
    station->look_special();
    if (!station->external && station->proxy == nullptr) station->set_home(run_.server_of(target));
    else
        for (const auto& outlet : station->outlets) outlet->pool->set_target(target);
    for (std::size_t i = 0; i < station->outlets.size(); ++i)
        station->outlets[i]->order_matters = adjacency.order_matters(filter.id, i);
    for (const auto* const stream : adjacency.into(filter.id)) {
        Inlet& inlet = *station->inlets[stream->input];
        inlet.connected = true;
        inlet.ordered = inlet.ordered || stream->options.ordered;
    }
    return station;
}

std::unique_ptr<Link> Wiring::make_link(const Model& model, const StreamModel& stream, int source_copy,
                                        int sink_copy) const {
    auto link = std::make_unique<Link>();
    Station& source = *crews.at(stream.from)[static_cast<std::size_t>(source_copy)];
    Station& sink = *crews.at(stream.to)[static_cast<std::size_t>(sink_copy)];
    link->from = source.outlets[stream.output].get();
    link->to = sink.inlets[stream.input].get();
    link->sink = &sink;
    link->stream = stream.id;
    link->feedback = stream.options.feedback;
    link->local = source.home() != nullptr && source.home() == sink.home();
    set_capacity(model, stream, *link);
    return link;
}

void Wiring::set_capacity(const Model& model, const StreamModel& stream, Link& link) const {
    const auto sources = static_cast<std::size_t>(run_.copies(*model.filter(stream.from)));
    const auto& options = stream.options;
    // A sink that fires with several buffers must be able to get them by one link: the others may have nothing.
    const auto least =
        std::max<std::size_t>(model.filter(stream.to)->first->inputs[stream.input]->options().at_least, 1);
    const auto capacity = std::max(options.capacity != 0 ? options.capacity : automatic_capacity, least);
    link.capacity.store(std::max(capacity / sources, least), std::memory_order_relaxed);
    link.capacity_bytes = options.capacity_bytes != 0 ? std::max<std::size_t>(options.capacity_bytes / sources, 1) : 0;
    link.free_of_bytes = least;
    if (options.capacity_bytes == 0 && options.capacity == 0) {
        link.capacity_bytes = std::max<std::size_t>(local_store_bytes_ / sources, 1);
        link.free_of_bytes = std::max<std::size_t>(least, 2);
    }
    link.most_capacity = 0;
    if (options.capacity == 0 && options.when_full == WhenStreamFull::wait) {
        link.most_capacity = std::max(most_automatic_capacity / sources, least);
        link.least_capacity = std::max<std::size_t>(least, 2);
        link.many_bytes = (options.capacity_bytes != 0 ? options.capacity_bytes : local_store_bytes_) / sources / 4;
    }
    link.when_full.store(options.when_full, std::memory_order_relaxed);
    link.queue_limit.store(capacity, std::memory_order_relaxed);
}

/// The one link of an outlet to a sink that, run by the same thread, can take its buffers without mail; else null.
static Link* only_sink(const Outlet& outlet) {
    if (outlet.branches.size() != 1 || outlet.branches[0].links.size() != 1) return nullptr;
    Link* const link = outlet.branches[0].links[0];
    return link->loop == nullptr && !link->to->ordered ? link : nullptr;
}

/// The link of an outlet whose sink has no other input, may be run by the same thread and may be fused; else null.
/// Of as many copies as there are of the writer, it is that to the one of the same number, which is as free as its
/// writer: one writer alone would keep all that it writes to itself. (Where the writer's copies change later, those
/// that stay are not held for this: they go on as they did, with firings of less than a microsecond.)
Link* Wiring::sink_to_fuse(const Adjacency& adjacency, const Outlet& outlet) const {
    if (outlet.branches.size() != 1 || outlet.branches[0].links.empty()) return nullptr;
    const Branch& branch = outlet.branches[0];
    const Station& source = *outlet.station;
    const bool in_pairs = branch.links.size() > 1;
    if (in_pairs && (branch.policy != Policy::demand_driven || branch.unequal ||
                     branch.links.size() != crews.at(source.filter_id()).size()))
        return nullptr;
    Link* const link = branch.links[in_pairs ? static_cast<std::size_t>(source.copy()) % branch.links.size() : 0];
    const Station& sink = *link->to->station;
    const bool anywhere = source.home() == nullptr && sink.home() == nullptr && !source.external && !sink.external &&
                          run_.backend().abilities.fuse;
    if (!((link->local && !in_pairs) || anywhere) || link->loop != nullptr || link->to->ordered ||
        sink.inlets.size() != 1 || link->to->port->options().at_least != 1)
        return nullptr;
    if (outlet.station->has_bounded_pools() || sink.has_bounded_pools()) return nullptr;
    const auto streams = adjacency.out_of(source.filter_id());
    const auto allows = [&](const StreamModel* stream) {
        return stream->output != outlet.index || stream->options.fuse;
    };
    if (!std::ranges::all_of(streams, allows)) return nullptr;
    const auto as_asked_for = [&](const Station& station) {
        return adjacency.model().filter(station.filter_id())->options.copies != FilterOptions::automatic;
    };
    link->side_by_side = in_pairs && static_cast<int>(branch.links.size()) > run_.machine().targets() &&
                         as_asked_for(source) && as_asked_for(sink);
    return link;
}

/// Do copies of this filter fire on whichever thread has buffers for them, one buffer of one writer at a time?
static bool goes_with_threads(const Station& copy) {
    return copy.home() == nullptr && copy.proxy == nullptr && !copy.external && copy.inlets.size() == 1 &&
           copy.filter().spreads.empty();
}

void Wiring::set_branches(const Adjacency& adjacency, std::uint64_t filter, Station& station) const {
    station.fuses = false;
    const std::lock_guard lock(run_.picture);
    for (auto& outlet : station.outlets) {
        std::vector<Branch> branches;
        std::map<std::string_view, std::size_t> numbers;  // of streams that have a name
        for (const auto* const stream : adjacency.out_of(filter)) {
            if (stream->output != outlet->index) continue;
            const std::string_view name = stream->options.name;
            const auto number = name.empty() ? branches.size() : numbers.emplace(name, branches.size()).first->second;
            Branch& branch = number == branches.size() ? branches.emplace_back() : branches[number];
            branch.policy = stream->options.policy;
            branch.turn =
                static_cast<std::uint32_t>(adjacency.rank(*stream)) + static_cast<std::uint32_t>(station.copy());
            if (stream->options.key) branch.key = stream->options.key;
            branch.unequal = branch.unequal || crews.at(stream->to).front()->has_class;
            branch.of_threads = branch.links.empty() && goes_with_threads(*crews.at(stream->to).front());
            for (int copy = 0; copy < static_cast<int>(crews.at(stream->to).size()); ++copy)
                branch.links.push_back(links.at({stream->id, station.copy(), copy}));
        }
        outlet->branches.clear();
        for (auto& branch : branches) {
            branch.random += scrambled_start * static_cast<std::uint64_t>(station.copy() + 1);
            // Writers to the same sinks begin with different ones: many that write little would all write to the first.
            // Not where they take turns by rule: there two of them may bring the same sink what belongs together.
            if (branch.policy != Policy::demand_driven || branch.links.empty()) branch.turn = 0;
            else branch.turn %= static_cast<std::uint32_t>(branch.links.size());
            outlet->branches.push_back(std::move(branch));
        }
        outlet->fused = sink_to_fuse(adjacency, *outlet);
        outlet->near = only_sink(*outlet);
        station.fuses = station.fuses || outlet->fused != nullptr;
    }
}

void Wiring::build(const Model& model) {
    const Adjacency adjacency(model);
    std::uint32_t number = 0;
    for (const auto& filter : model.filters)
        for (int copy = 0; copy < run_.copies(filter); ++copy) {
            const bool here = far == nullptr || far->here(filter.id, copy);
            Station& station = keep(here ? make_station(adjacency, filter, copy) : far->make_station(filter, copy));
            crews[filter.id].push_back(&station);
            if (far != nullptr) far->know(station, number++);
        }
    for (const auto& stream : model.streams) {
        const auto sources = static_cast<int>(crews[stream.from].size()),
                   sinks = static_cast<int>(crews[stream.to].size());
        for (int from = 0; from < sources; ++from)
            for (int to = 0; to < sinks; ++to) {
                const auto far_at = [&](std::uint64_t filter, int copy) {
                    return crews[filter][static_cast<std::size_t>(copy)]->far != nullptr;
                };
                if (far_at(stream.from, from) && far_at(stream.to, to)) {
                    far->know(stream, nullptr);
                    continue;
                }
                auto link = make_link(model, stream, from, to);
                if (far != nullptr) far->know(stream, link.get());
                ++link->to->open_links;
                links.emplace_hint(links.end(), std::tuple{stream.id, from, to}, link.get());  // by rising number
                run_.links.push_back(std::move(link));
            }
    }
    set_depths(adjacency);
    build_loops(adjacency);
    for (const auto& [filter, crew] : crews)
        for (Station* const station : crew)
            if (station->far == nullptr) set_branches(adjacency, filter, *station);
}

Station& Wiring::keep(std::unique_ptr<Station> station) {
    Station& kept = *station;
    const std::lock_guard lock(run_.structure);
    const bool of_program = kept.external && kept.far == nullptr;
    if (of_program) program_ends.reserve(program_ends.size() + 1);
    run_.add_station(std::move(station));
    if (of_program) program_ends.push_back(&kept), any_program_end = true;
    return kept;
}

void Wiring::set_depths(const Adjacency& adjacency) const {
    const auto depths = depths_of(adjacency);
    const auto& filters = adjacency.model().filters;
    for (std::size_t i = 0; i < filters.size(); ++i)
        for (Station* const station : crews.at(filters[i].id))
            station->depth.store(depths[i], std::memory_order_relaxed);
}

void Wiring::build_loops(const Adjacency& adjacency) {
    const auto cycles = cycles_of(adjacency);
    std::map<std::size_t, Loop*> loops;
    for (const auto& [filter, crew] : crews) {
        const auto cycle = cycles[adjacency.model().position(filter)];
        if (cycle == 0) continue;
        Loop*& loop = loops[cycle];
        if (loop == nullptr) loop = run_.loops.emplace_back(std::make_unique<Loop>()).get();
        for (Station* const station : crew) {
            station->loop = loop;
            station->look_special();
            loop->tokens.fetch_add(1, std::memory_order_relaxed);  // until it has begun
        }
    }
    for (const auto& owned : run_.links) {
        Link* const link = owned.get();
        Loop* const loop = link->loop = link->sink->loop;
        if (loop == nullptr) continue;
        link->enters_loop = link->from->station->loop != loop;
        if (link->enters_loop) {
            loop->used.store(true, std::memory_order_relaxed);
            loop->tokens.fetch_add(1, std::memory_order_relaxed);
        }
        if (!link->feedback) continue;
        auto& end =
            *loop->ends.emplace_back(std::make_unique<Command>([link](Station&) { link->from->close_link(*link); }));
        end.from = link->from->station;
    }
}

void Wiring::begin(Station& station) const {
    if (station.external) return;
    if (station.home() != nullptr) {
        station.waking.store(true, std::memory_order_relaxed);
        run_.try_to_post(station, &station.wake_mail);
    } else {
        run_.put_ready(station);
    }
}

void Wiring::begin() {
    for (const auto& [filter, crew] : crews)
        for (Station* const station : crew)
            if (station->far == nullptr && (station->external || station->home() != nullptr))
                station->box.begin_at_rest();
    // The last first: then each waits for its input when the one before it writes, and a chain fuses from its first
    // buffer on.
    std::exception_ptr why;
    for (auto crew = crews.rbegin(); crew != crews.rend(); ++crew)
        for (Station* const station : crew->second) try {
                if (why != nullptr) station->never_begin();
                else begin(*station);
                // a placed one, for lack of memory: none of the rest begins, and those that have are stopped with the
                // run
            } catch (...) {
                why = std::current_exception();
                station->never_begin();
            }
    if (why != nullptr) std::rethrow_exception(why);
}

}  // namespace penstock::streaming
