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

/// Buffers that were sent to it and not read yet.
std::uint64_t queue_of(const Station& station, const Wiring& wiring, const Model& model) {
    std::uint64_t waiting = 0;
    for (const auto& inlet : station.inlets) waiting += inlet->waiting.load(std::memory_order_relaxed);
    for (const auto& stream : model.streams) {
        if (stream.to != station.filter_id()) continue;
        for (int from = 0; from < static_cast<int>(wiring.crews.at(stream.from).size()); ++from) {
            const Link& link = *wiring.links.at({stream.id, from, station.copy()});
            // before `announced`, which is never behind it
            const auto arrived = link.accepted.load(std::memory_order_acquire);
            waiting += link.announced.load(std::memory_order_relaxed) - arrived;
        }
    }
    return waiting;
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

/// Where it matters to nobody how many copies there are: not where keys, turns or all copies decide who gets a buffer,
/// nor where a firing needs buffers of several streams that belong together.
bool Pressure::governs(const Adjacency& adjacency, const std::vector<std::size_t>& cycles,
                       const FilterModel& filter) const {
    if (filter.options.copies != FilterOptions::automatic || run_.core.machine().targets() == 0) return false;
    if (!run_.core.backend().abilities.lose_copies) return false;
    if (adjacency.place(filter, 0) >= 0) return false;
    if (cycles[adjacency.model().position(filter.id)] != 0) return false;
    const auto into = adjacency.into(filter.id);
    return into.size() == 1 &&
           (into[0]->options.policy == Policy::demand_driven || into[0]->options.policy == Policy::random);
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
        watched.emplace(filter.id, before != watched_.end() ? before->second : Watched{.patience = least_patience});
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
        for (auto& [id, watched] : watched_) {
            const auto* const filter = run_.model.filter(id);
            if (filter == nullptr || watched.settled || !look_at(*filter, watched.seen)) continue;
            if (watched.seen.looks < looks_a_view) continue;
            const int now = watched.seen.copies;
            if (const int copies = judge(watched); copies != now) changes.emplace_back(id, copies);
            watched.seen = {};
        }
        next = std::max(next, began + (time_of_thread() - spent) * share_of_looks);
        for (const auto& [id, copies] : changes) change(id, copies);
        looking_ = !watched_.empty() && !run_.core.all_ended() && !run_.core.stopping();
        if (!looking_) return;
    }
    clock_.at(std::max(next, steady_clock::now()), [this] { look(); });
}

/// False when it is not to be changed now: it, or a filter that writes to it, ends.
bool Pressure::look_at(const FilterModel& filter, Seen& seen) const {
    const auto& crew = run_.wiring.crews.at(filter.id);
    if (std::ranges::any_of(crew, [](const Station* each) { return each->ended(); })) return false;
    bool sources_wait = false;
    for (const auto& stream : run_.model.streams) {
        if (stream.to != filter.id) continue;
        for (const Station* const source : run_.wiring.crews.at(stream.from)) {
            if (source->ended()) return false;
            sources_wait = sources_wait || waits_for_room(*source);
        }
    }
    const int copies = static_cast<int>(crew.size());
    std::uint64_t waiting = 0;
    int busy = 0;
    bool blocked = false;
    for (const Station* const station : crew) {
        const auto queue = queue_of(*station, run_.wiring, run_.model);
        const bool waits = waits_for_room(*station);
        waiting += queue;
        blocked = blocked || waits;
        if (works(*station) || (queue != 0 && !waits)) ++busy;
    }
    const auto firing = std::ranges::count_if(run_.core.stations, [](const auto& each) { return works(*each); });
    const auto taken = static_cast<int>(firing) + static_cast<int>(run_.core.ready_stations());
    if (seen.copies != copies) seen = {};
    seen.copies = copies;
    ++seen.looks;
    seen.busy += busy;
    seen.free += std::max(0, run_.core.threads() - taken);
    if (!blocked && busy == copies && (sources_wait || waiting >= static_cast<std::uint64_t>(copies))) ++seen.pressed;
    return true;
}

int Pressure::judge(Watched& watched) const {
    const Seen& seen = watched.seen;
    const int most = run_.core.machine().targets() + 1;
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
    if (spare < quarters) {
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
