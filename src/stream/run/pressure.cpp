#include "stream/run/pressure.hpp"

#include <time.h>

#include "stream/run/run_state.hpp"

namespace penstock::streaming {
namespace {

using std::chrono::steady_clock;

constexpr auto between_counts = std::chrono::milliseconds(5);
constexpr int share_of_looks = 100;  // of a processor, at most one part in so many goes to looking
constexpr int looks_a_view = 4;      // so that a filter changes every 20 ms at most
constexpr int least_patience = 2;
constexpr int most_patience = 64;
constexpr int quarters = 4;

/// The processor's, so that a thread that had to wait for one does not take its looks for long ones.
std::chrono::nanoseconds time_of_thread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

using Streams = std::span<const StreamModel* const>;

const InputOptions& options_of(const FilterModel& filter, const StreamModel& stream) {
    return filter.first->inputs[stream.input]->options();
}

/// Does a buffer at any input make it fire? Else each required input must have some.
bool fires_on_any(const FilterModel& filter, Streams into) {
    return filter.kind->on_any_input ||
           std::ranges::none_of(into, [&](const auto* stream) { return options_of(filter, *stream).required; });
}

/// Firings for which what was sent to it and not read yet is enough.
std::uint64_t firings_before(const Station& station, const Wiring& wiring, const FilterModel& filter, Streams into) {
    std::vector<std::uint64_t> waiting(station.inlets.size());
    for (const auto& inlet : station.inlets) waiting[inlet->index] = inlet->waiting.load(std::memory_order_relaxed);
    for (const auto* const stream : into)
        for (int from = 0; from < static_cast<int>(wiring.crews.at(stream->from).size()); ++from) {
            const Link& link = *wiring.links.at({stream->id, from, station.copy()});
            // before `announced`, which is never behind it
            const auto arrived = link.accepted.load(std::memory_order_acquire);
            waiting[stream->input] += link.announced.load(std::memory_order_relaxed) - arrived;
        }
    const bool any = fires_on_any(filter, into);
    std::uint64_t all = 0, least = ~std::uint64_t{0};
    for (const auto* const stream : into) {
        const auto& options = options_of(filter, *stream);
        const auto firings = waiting[stream->input] / std::max<std::size_t>(options.at_least, 1);
        if (options.required) least = std::min(least, firings);
    }
    for (const auto each : waiting) all += each;
    return any ? all : least;
}

/// Can a copy of it fire, without those who wrote to it, until nothing waits there any more?
bool works_off_alone(const FilterModel& filter, Streams into) {
    if (fires_on_any(filter, into)) return true;
    return std::ranges::all_of(into, [&](const auto* stream) {
        return stream->input == into[0]->input && options_of(filter, *stream).at_least <= 1;
    });
}

/// Are all that wait at a copy that goes handed over to others (Change::retire_one)?
bool hands_over(const Adjacency& adjacency, const FilterModel& filter, Streams into) {
    for (std::size_t i = 0; i < filter.first->outputs.size(); ++i)
        if (adjacency.order_matters(filter.id, i)) return false;
    return std::ranges::none_of(into, [&](const auto* stream) { return adjacency.shared(*stream); });
}

bool waits_for_room(const Station& station) {
    const auto doing = station.doing.load(std::memory_order_relaxed);
    return doing == Doing::waits_for_output || doing == Doing::waits_for_pool;
}

bool works(const Station& station) {
    const auto doing = station.doing.load(std::memory_order_relaxed);
    return doing == Doing::firing || doing == Doing::waits_for_tasks;
}

}  // namespace

/// Where it matters to nobody how many copies there are: not where keys, turns or all copies decide who gets a buffer.
/// So it is promised to nobody which buffers of several inputs meet in a firing. But a copy that goes must leave none
/// of them behind for which there is no other to meet.
bool Pressure::governs(const Adjacency& adjacency, const std::vector<std::size_t>& cycles,
                       const FilterModel& filter) const {
    if (filter.options.copies != FilterOptions::automatic || run_.core.machine().targets() == 0) return false;
    if (run_.core.most_copies(filter) == 1 || cycles[adjacency.model().position(filter.id)] != 0) return false;
    // in the program, beside worker processes: by threads that help, whose number nobody knows
    if (!run_.core.backend().targets_run_stations() && run_.wiring.crews.at(filter.id).front()->proxy == nullptr)
        return false;
    const auto into = adjacency.into(filter.id);
    const auto anybody = [](const StreamModel* stream) {
        return stream->options.policy == Policy::demand_driven || stream->options.policy == Policy::random;
    };
    return !into.empty() && std::ranges::all_of(into, anybody) &&
           (works_off_alone(filter, into) || hands_over(adjacency, filter, into));
}

void Pressure::begin() {
    std::map<std::uint64_t, Watched> watched;
    const auto automatic = [](const FilterModel& filter) { return filter.options.copies == FilterOptions::automatic; };
    if (std::ranges::none_of(run_.model.filters, automatic)) return watched_.clear();
    const Adjacency adjacency(run_.model);
    const auto cycles = cycles_of(adjacency);
    for (const auto& filter : run_.model.filters) {
        if (!governs(adjacency, cycles, filter)) continue;
        const auto before = watched_.find(filter.id);
        auto& now = watched.emplace(filter.id, Watched{.patience = least_patience}).first->second;
        if (before != watched_.end()) now = before->second;
        now.places = adjacency.targets_of(filter);
    }
    watched_ = std::move(watched);
    if (watched_.empty() || looking_) return;
    looking_ = true;
    clock_.at(steady_clock::now() + between_counts, [this] { look(); });
}

void Pressure::look() {
    const auto began = steady_clock::now();
    const auto spent = time_of_thread();
    auto next = began + between_counts;
    // else the program changes the graph now
    if (const std::unique_lock editing(run_.editing, std::try_to_lock); editing.owns_lock()) {
        std::vector<std::pair<std::uint64_t, int>> changes;
        const Busy all = busy();
        for (auto& [id, watched] : watched_) {
            const auto* const filter = run_.model.filter(id);
            if (filter == nullptr || watched.settled || !look_at(*filter, all, watched)) continue;
            if (watched.seen.looks < looks_a_view) continue;
            const int now = watched.seen.copies;
            if (const int copies = judge(watched, run_.core.most_copies(*filter)); copies != now)
                changes.emplace_back(id, copies);
            watched.seen = {};
        }
        next = std::max(next, began + (time_of_thread() - spent) * share_of_looks);
        for (const auto& [id, copies] : changes) change(id, copies);
        looking_ = !watched_.empty() && !run_.core.all_ended() && !run_.core.stopping();
        if (!looking_) return;
    }
    clock_.at(std::max(next, steady_clock::now()), [this] { look(); });
}

Pressure::Busy Pressure::busy() const {
    Busy busy{.targets = std::vector<bool>(static_cast<std::size_t>(run_.core.machine().all_targets()))};
    int on_threads = static_cast<int>(run_.core.ready_stations());
    for (const auto& station : run_.core.stations) {
        if (!works(*station)) continue;
        const bool in_worker = station->proxy != nullptr;
        const Server* const home = station->home();
        const int target = in_worker ? station->proxy->target() : home != nullptr ? home->target() : -1;
        const bool first = target >= 0 && !busy.targets[static_cast<std::size_t>(target)];
        if (first) busy.targets[static_cast<std::size_t>(target)] = true;
        busy.workers += in_worker && first;
        on_threads += !in_worker;
    }
    busy.free_threads = std::max(0, run_.core.threads() - on_threads);
    return busy;
}

/// Where its next copies would fire.
int Pressure::free_for(const FilterModel& filter, const std::vector<int>& places, const Busy& busy) const {
    const auto& crew = run_.wiring.crews.at(filter.id);
    const bool in_workers = crew.front()->proxy != nullptr;
    const int most = in_workers ? run_.core.most_copies(filter) : busy.free_threads;
    if (places.empty()) return in_workers ? std::max(0, most - busy.workers) : most;
    const auto next = std::span(places).subspan(std::min(crew.size(), places.size()));
    const auto idle = [&](int target) { return !busy.targets[static_cast<std::size_t>(target)]; };
    return std::min(most, static_cast<int>(std::ranges::count_if(next, idle)));
}

/// False when it is not to be changed now: it, or all that write to it, end.
bool Pressure::look_at(const FilterModel& filter, const Busy& all, Watched& watched) const {
    const auto& crew = run_.wiring.crews.at(filter.id);
    if (std::ranges::any_of(crew, [](const Station* each) { return each->ended(); })) return false;
    bool sources_wait = false, sources_live = false;
    std::vector<const StreamModel*> into;
    for (const auto& stream : run_.model.streams) {
        if (stream.to != filter.id) continue;
        into.push_back(&stream);
        for (const Station* const source : run_.wiring.crews.at(stream.from)) {
            sources_live = sources_live || !source->ended();
            sources_wait = sources_wait || waits_for_room(*source);
        }
    }
    if (!sources_live) return false;
    const int copies = static_cast<int>(crew.size());
    std::uint64_t firings = 0;
    int busy = 0;
    bool blocked = false;
    for (const Station* const station : crew) {
        const auto before = firings_before(*station, run_.wiring, filter, into);
        const bool waits = waits_for_room(*station);
        firings += before;
        blocked = blocked || waits;
        if (works(*station) || (before != 0 && !waits)) ++busy;
    }
    Seen& seen = watched.seen;
    if (seen.copies != copies) seen = {};
    seen.copies = copies;
    ++seen.looks;
    seen.busy += busy;
    seen.free += free_for(filter, watched.places, all);
    if (!blocked && busy == copies && (sources_wait || firings >= static_cast<std::uint64_t>(copies))) ++seen.pressed;
    return true;
}

int Pressure::judge(Watched& watched, int most) const {
    const Seen& seen = watched.seen;
    const int free = (seen.free + seen.looks / 2) / seen.looks;
    if (seen.pressed * 4 >= seen.looks * 3) {
        watched.calm = 0;
        if (free == 0 || seen.copies >= most) return seen.copies;
        if (std::exchange(watched.lost, false)) watched.patience = std::min(watched.patience * 2, most_patience);
        return std::min({most, seen.copies * 2, seen.copies + free});
    }
    // To spare: one copy, and a quarter of one more.
    const int busy = (seen.busy * quarters + seen.looks - 1) / seen.looks;
    const int spare = seen.copies * quarters - busy - 1;
    // Where all threads have something to do, copies that any of them may run wait for their turn, and stay with those.
    if (spare < quarters || (watched.places.empty() && free == 0)) {
        watched.calm = 0;
        return seen.copies;
    }
    watched.most_busy = watched.calm == 0 ? busy : std::max(watched.most_busy, busy);
    if (++watched.calm < watched.patience) return seen.copies;
    watched.calm = 0;
    watched.lost = true;
    const int all_spare = (seen.copies * quarters - watched.most_busy - 1) / quarters;
    return std::max(1, seen.copies - std::max(1, all_spare / 2));
}

void Pressure::change(std::uint64_t filter, int copies) {
    try {
        Model wished = run_.model;
        wished.filter(filter)->copies_now = copies;
        run_.change_to(wished);
    } catch (const RunEnded&) {  // it ends meanwhile
    } catch (...) {              // no more than a copy that could not be made is lost by this
        watched_.at(filter).settled = true;
    }
}

}  // namespace penstock::streaming
