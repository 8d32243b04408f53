// What one thread has to run of one run: a target's thread, or a thread that helps while it waits for the run.
//
// A target's server keeps the placed stations that have something to do; only its thread touches it. A station without
// a place is run next by the thread that made it ready, while its buffer is in the cache. What else became ready in the
// same firing waits in that thread's stack (ready_list.hpp): so a buffer goes through all filters on one thread, unless
// another thread has nothing to do.
//
// A station whose firings are long and that has more to read goes on behind all others of its kind, as sources do.
// Else a thread stays with the first filters of the graph while those behind them are in the stacks of others, all
// buffers are read before the first is written, and copies at the bottom of a stack keep their buffers to the end,
// when nobody can share them (`./bench scale`, tissue on 32 workers: 0.82 of the bound, and 0.96 so). Firings of 1 to
// 16 us are not long: what is common to all threads is touched behind each long one, and so the station's lines change
// processors, which costs more than it saves (docs/performance/2-vcpu-xeon.md).
#pragma once

#include "stream/run/ready_list.hpp"

namespace penstock::streaming {

class RunCore;

/// In one word: how many are at work now, in the lower half, and how often anybody has begun, in the upper half.
struct Turns {
    static constexpr std::uint64_t begin = (std::uint64_t{1} << 32) + 1, end = 1;
    static bool idle(std::uint64_t turns) noexcept { return static_cast<std::uint32_t>(turns) == 0; }
};

class Server {
  public:
    static constexpr int helper = -1;

    Server(RunCore& run, int target) noexcept : run_(run), target_(target) {}

    /// Of the calling thread, while it runs stations.
    static thread_local constinit Server* current;

    RunCore& run() const noexcept { return run_; }
    int target() const noexcept { return target_; }

    /// A placed station of this server may have something to do.
    void enqueue(Station& station) noexcept;
    /// It goes to another server.
    void forget(Station& station) noexcept;
    /// A station without a place got a buffer: it is this thread's, for now. The one before it is for all, if the
    /// firing under way may last: they would wait behind it unseen.
    void keep(Station& station) noexcept;
    /// It got something else: behind those that got buffers.
    void keep_behind(Station& station) noexcept;
    bool running() const noexcept { return running_; }
    /// The sink, a station of this server, will fire with this buffer when the firing under way has ended, before
    /// anything else: a fused stream. Not inside that firing: calls nested so deep outrun the processor's memory of
    /// return addresses (`./bench hop`: 50 ns a hop, not 15). False when something forbids it.
    bool hand_over(Link& link, Block* block) noexcept {
        if (handed_ != nullptr || !link.sink->expect_buffer()) return false;
        handed_by_ = &link;
        handed_ = block;
        return true;
    }
    /// The same with a sink without a place. It must be known to be short, or others could run both meanwhile.
    bool hand_over_anywhere(Link& link, Block* block) noexcept;
    /// False when there was none.
    bool run_handed_over() {
        if (handed_ == nullptr) return false;
        do handed_by_->sink->fire_with(*handed_by_, std::exchange(handed_, nullptr));
        while (handed_ != nullptr);
        return true;
    }
    /// Has a station of its own fire with mail that has just come, if it can at once. False when it must be accepted.
    bool fire_at_once(Station& station, Mail* mail, bool last);

    /// Runs what there is for this thread alone.
    void drain();
    /// Runs that and whatever else is ready in the run, until nothing is. False: it stopped because it was long enough.
    bool serve();
    /// Runs one station, if any is ready. For threads that help.
    bool help();

    /// Has `look` take in what comes from elsewhere. Of the stations that it makes ready this thread goes on with the
    /// newest.
    template <class Look>
    bool take_in(Look&& look) {
        running_ = true;
        const bool some = look();
        share_fresh();
        return some;
    }

    /// The firing under way goes on as jobs: they come before other firings, while what they read is in the cache.
    void note_jobs() noexcept { has_jobs_ = true; }
    /// Has a firing left jobs behind since the last such call?
    bool take_note_of_jobs() noexcept { return std::exchange(has_jobs_, false); }

    /// A task that was to serve the run has come inside the firing under way.
    void note_turned_away() noexcept { turned_away_ = true; }

    /// What help() has left over is for others.
    void hand_back();

    /// A task of this server is at work, or on its way, so the run must not end. Called by the server's own thread.
    void begin() noexcept {
        active_.store(active_.load(std::memory_order_relaxed) + Turns::begin, std::memory_order_relaxed);
    }
    void end() noexcept {
        active_.store(active_.load(std::memory_order_relaxed) - Turns::end, std::memory_order_release);
    }
    /// One task that goes on where the last one stopped is enough. False when there is one already.
    bool begin_resumption() noexcept { return !resuming_ && (begin(), resuming_ = true); }
    void end_resumption() noexcept { resuming_ = false, end(); }
    std::uint64_t turns() const noexcept { return active_.load(std::memory_order_acquire); }

    /// For the length of a task: it is at work.
    struct Turn {
        Server& server;
        explicit Turn(Server& of) noexcept : server(of) { server.begin(); }
        ~Turn() { server.end(); }
    };

    /// For the length of a task: the thread's server.
    [[nodiscard]] Exchanged<Server*> here() noexcept { return {current, this}; }

  private:
    enum class Sources : bool { own, all };
    Station* pick(Sources sources);
    Station* before_next(Station* station);
    void go_on_with(Station& source);
    void run_one(Station& station);
    void share_fresh();
    bool has_own() const noexcept { return !local_.empty() || unlisted_ != nullptr; }

    RunCore& run_;
    int target_;
    alignas(64) bool running_ = false;  // what is above is read by others
    bool may_last_ = false;             ///< the firing under way
    bool resuming_ = false;
    bool has_jobs_ = false;
    bool turned_away_ = false;
    RingQueue<Station*> local_;
    Station* next_ = nullptr;
    Station* unlisted_ = nullptr;  ///< those for which local_ could not grow
    Link* handed_by_ = nullptr;
    Block* handed_ = nullptr;
    ReadyList fresh_;  ///< became ready in the firing under way
    alignas(64) std::atomic<std::uint64_t> active_{0};
};

}  // namespace penstock::streaming
