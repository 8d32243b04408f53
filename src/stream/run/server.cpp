#include "stream/run/server.hpp"

#include "stream/run/run_core.hpp"

namespace penstock::streaming {
namespace {

using namespace std::chrono_literals;

// then the target looks at its lanes and deques again: mail for its other stations waits there
constexpr auto task = 30us;
// Where a station's firings take a microsecond and its mail keeps coming.
constexpr auto longest_stay = 10us;
// Then one of those for all in their turn, so that none waits for ever. While the thread has something left of what it
// has begun, others have a share of its time: as often as this makes of it, and after so long at the latest. Odd, or of
// two runs that take turns on a thread the same one would have all turns for others.
constexpr unsigned picks_of_own = 17;
constexpr auto longest_of_own = 1ms;
// What threads that helped have left, if any, comes first, but not twice running, and not more often than this, for it
// may lie in another core's cache.
constexpr auto between_left = 1ms;

std::uint64_t ticks_behind(std::chrono::nanoseconds time) noexcept { return Clock::ticks() + Clock::ticks_of(time); }

std::uint64_t end_of_task() noexcept { return ticks_behind(task); }

/// Of the thread: those who help begin again and again.
struct TurnsOfOthers {
    unsigned picks = 0;
    std::uint64_t began = 0;  ///< of the turn that lasts
    std::uint64_t own_until = 0, next_left = 0;
    bool left_last = false;

    bool comes(bool has_begun) noexcept {
        const auto now = Clock::ticks();
        if (has_begun && now < own_until) return false;
        began = now;
        return true;
    }
    void end() noexcept {
        const auto lasted = Clock::ticks() - std::exchange(began, 0);
        own_until = std::min(ticks_behind(longest_of_own), Clock::ticks() + (picks_of_own - 1) * lasted);
    }
    bool of_those_left() noexcept {
        if (left_last || began < next_left) return left_last = false;
        next_left = ticks_behind(between_left);
        return left_last = true;
    }
};
thread_local constinit TurnsOfOthers others;

}  // namespace

thread_local constinit Server* Server::current = nullptr;

void Server::enqueue(Station& station) noexcept {
    if (station.queued) return;
    station.queued = true;
    try {
        local_.push(&station);
    } catch (const std::bad_alloc&) {
        station.next_unlisted = std::exchange(unlisted_, &station);
    }
}

void Server::forget(Station& station) noexcept {
    for (Station** at = &unlisted_; *at != nullptr; at = &(*at)->next_unlisted)
        if (*at == &station) {
            *at = station.next_unlisted;
            return;
        }
}

void Server::keep(Station& station) noexcept {
    if (may_last_ && !fresh_.empty()) run_.put_ready(*this, *fresh_.take_newest());
    fresh_.push_newest(station);
}

void Server::keep_behind(Station& station) noexcept {
    if (may_last_) run_.put_ready(*this, station);
    else fresh_.push_oldest(station);
}

/// Takes the turn of the sink, if that waits for a buffer and for nothing else.
bool Server::hand_over_anywhere(Link& link, Block* block) noexcept {
    constexpr std::uint32_t long_ago = 64;  // the sink was long: not asked again before so many buffers
    if (handed_ != nullptr) return false;
    if (link.until_claim != 0) [[unlikely]]
        return --link.until_claim, false;
    Station& sink = *link.sink;
    if (!sink.box.claim()) return false;
    if (sink.home() != nullptr) [[unlikely]] {  // an edit moves it, while a copy that retires still writes to it
        if (!sink.rest()) run_.send_turn(sink);
        return false;
    }
    const bool may_fuse = link.side_by_side ? !sink.fires_long() : sink.is_short();
    if (may_fuse && sink.expect_buffer()) {
        handed_by_ = &link;
        handed_ = block;
        return true;
    }
    if (sink.timed() && !may_fuse) link.until_claim = long_ago;
    if (!sink.rest()) keep(sink);
    return false;
}

bool Server::fire_at_once(Station& station, Mail* mail, bool last) {
    if (running_ || !station.fires_at_once(*mail)) return false;
    running_ = true;
    may_last_ = station.may_last();
    station.fire_at_once(*static_cast<Link*>(mail->from), static_cast<Block*>(mail), last);
    run_handed_over();
    share_fresh();
    return true;
}

/// A firing has ended. Of what it made ready this thread goes on with the newest; the others are for all.
void Server::share_fresh() {
    running_ = may_last_ = false;
    if (!fresh_.empty()) {
        if (next_ == nullptr) next_ = fresh_.take_newest();
        while (Station* const fresh = fresh_.take_oldest()) run_.put_ready(*this, *fresh);
    }
    if (std::exchange(turned_away_, false)) [[unlikely]]
        run_.alert_again();
}

/// A source goes on behind all others that are ready. Where there are none it is this thread's next: among those that
/// wait for any thread it would go to and fro between the threads, and its buffers with it.
void Server::go_on_with(Station& source) {
    if (next_ == nullptr && fresh_.empty() && !has_own() && !run_.something_ready()) next_ = &source;
    else run_.put_ready(source);
}

/// Comes before `next_`, which is for all if this may last: nothing that is ready waits behind a long firing unseen.
Station* Server::before_next(Station* station) {
    if (next_ != nullptr && station->may_last()) run_.put_ready(*this, *std::exchange(next_, nullptr));
    return station;
}

Station* Server::pick(Sources sources) {
    if (sources == Sources::all) {
        if (others.began != 0) [[unlikely]]
            others.end();
        if (++others.picks % picks_of_own == 0 &&
            others.comes(!has_own() && (next_ != nullptr || run_.has_stacked(*this))))
            if (Station* const station = run_.take_in_turn(*this, others.of_those_left())) return before_next(station);
    }
    while (!local_.empty()) {
        Station* const station = local_.pop();
        if (station->home() == this) return before_next(station);  // else it has moved since
    }
    if (unlisted_ != nullptr) [[unlikely]]
        return before_next(std::exchange(unlisted_, unlisted_->next_unlisted));
    if (next_ != nullptr) return std::exchange(next_, nullptr);
    return sources == Sources::all ? run_.take_newest(*this) : nullptr;
}

void Server::run_one(Station& station) {
    Server* const home = station.home();
    running_ = true;
    if (home == this) [[likely]] {
        station.queued = false;
        may_last_ = station.may_last();
        if (station.gives_way() || station.work(station.burst())) enqueue(station);
    } else if (home != nullptr) {
        run_.send_turn(station);  // it got a place while it was in a queue, or had mail in its box then
    } else {
        bool more = false;
        bool moved = false;
        station.ran_on = target_;
        if (station.timed() && station.ready_at != 0) station.note_ready();
        const auto fired = station.firings.load(std::memory_order_relaxed);
        const auto until = station.timed() ? ticks_behind(longest_stay) : 0;
        do {
            station.accept_box();
            moved = station.moving;
            may_last_ = station.may_last();
            more = !moved && station.work(station.burst());
            if (more || moved || station.rest()) break;
            // What came during a long firing, or one that has made something ready that nobody sees yet, is no reason
            // to stay: something deeper may be ready.
            more = (station.fires_long() || (until != 0 && (!fresh_.empty() || Clock::ticks() > until))) &&
                   station.firings.load(std::memory_order_relaxed) != fired;
        } while (!more);
        if (moved) run_.move_on(station, true);
        else if (more && station.only_sent()) run_.put_ready(*this, station);  // right behind those who read it
        else if (more && station.is_source()) go_on_with(station);
        else if (more && station.fires_long()) run_.put_ready(station);  // see server.hpp
        else if (more) fresh_.push_oldest(station);
    }
    share_fresh();
}

void Server::drain() {
    if (running_) return;  // the loop below this call will come to it
    // Mostly there is one station, and then nothing: the clock need not be read for that.
    if (Station* const station = pick(Sources::own)) run_one(*station);
    if (!has_own() && next_ == nullptr) return;
    do {
        const auto end = end_of_task();
        do {
            Station* const station = pick(Sources::own);
            if (station == nullptr) return;
            run_one(*station);
        } while (Clock::ticks() < end);
        hand_back();
    } while (has_own() && !run_.resume(*this));
}

bool Server::serve() {
    const auto end = end_of_task();
    has_jobs_ = false;
    do {
        Station* const station = pick(Sources::all);
        if (station == nullptr) return true;
        run_one(*station);
    } while (Clock::ticks() < end && !has_jobs_);  // the task that goes on here is issued behind them
    hand_back();
    while (has_own() && !run_.resume(*this))
        if (Station* const station = pick(Sources::own)) run_one(*station);
    return false;
}

void Server::hand_back() {
    Station* const station = std::exchange(next_, nullptr);
    if (station != nullptr) run_.put_ready(*this, *station);
}

bool Server::help() {
    Station* const station = pick(Sources::all);
    if (station == nullptr) return false;
    run_one(*station);
    return true;
}

}  // namespace penstock::streaming
