// A graph while it runs: its stations, the servers of the targets, the queue of stations that are ready and have no
// place, and how the run ends.
#pragma once

#include "machine/spin_lock.hpp"
#include "process/fork.hpp"
#include "stream/run/idle_count.hpp"
#include "stream/run/server.hpp"
#include "task/calls/posting.hpp"

namespace penstock::streaming {

class FarRun;

class RunCore {
  public:
    explicit RunCore(Machine& machine);
    ~RunCore();

    Machine& machine() const noexcept { return machine_; }
    const Cuts& cuts() const noexcept { return cuts_; }
    /// Null: there is no limit.
    const std::shared_ptr<Budgets>& budgets() const noexcept { return budgets_; }
    /// Has it targets that are slowed down?
    bool slows() const noexcept { return slows_; }
    /// What began at this tick lasts as long as it would on the target whose thread this is.
    void slow_down(std::uint64_t begin) const noexcept;
    /// Where the filters fire.
    FilterBackend& backend() const noexcept { return *backend_; }
    /// Copies that a filter whose number is automatic may have.
    int most_copies(const FilterModel& filter) const noexcept;
    /// Number of copies of a filter here.
    int copies(const FilterModel& filter) const noexcept;

    // ---- mail ----
    /// Hands `mail` to the station, wherever it is run. Any thread. For what is counted already, or on its way: where
    /// there is no memory for the task that brings it to a placed station, that is asked for again until there is.
    void post(Station& to, Mail* mail, int most_tries = for_ever);
    /// The same for what can be taken back: outside of firings it throws where it cannot be sent.
    void try_to_post(Station& to, Mail* mail);
    /// Has `work` done by the station, between its firings, and waits for that. Not inside a firing.
    /// `last`: the station has ended, nobody else sends to it, and it is not touched any more behind this.
    void do_at(Station& station, std::function<void(Station&)> work, bool last = false);
    /// The same for mail that is counted. Throws with nothing counted where it cannot be sent.
    void post_counted(Station& to, Mail& mail);
    /// Passes on the turn of a station whose box is not at rest: to its home, or to the queue.
    void send_turn(Station& station);
    /// Lets the station go to its next home. For whoever runs it. `has_turn`: because of its box.
    void move_on(Station& station, bool has_turn);

    // ---- ready stations without a place ----
    /// Is for all threads: was made ready by nobody who runs stations, or goes on after a long firing, or is a source.
    void put_ready(Station& station);
    /// Was made ready by the server.
    void put_ready(Server& server, Station& station);
    /// Somebody who was to look at what is ready could not.
    void alert_again() noexcept;
    /// The server's newest; where it has none, of those for all the deepest; or the one that waits longest elsewhere.
    Station* take_newest(Server& server);
    /// One of those that take_newest may leave waiting for ever: of what waits since the server's last such call.
    /// What has come since is mostly what a thread is about to go on with: taken from it, two threads would be in
    /// the middle of things at the end of the graph, and one would wait for the other. With `of_helpers`, first what
    /// a thread that helped has left: it may not come back.
    Station* take_in_turn(Server& server, bool of_helpers);
    /// Is there anything that the server has made ready?
    bool has_stacked(const Server& server) noexcept { return stack_of(server).size() != 0; }
    /// Stations that are ready and that nobody runs yet. Any thread.
    std::size_t ready_stations() const noexcept;
    /// Threads that could run stations now: the targets', and those that wait for the run.
    int threads();
    /// Some thread waits for something about this run.
    bool awaited();
    /// More of this server's stations wait than one task may run. False: another could not be had, and this one must go
    /// on.
    bool resume(Server& server) noexcept;
    bool something_ready() const noexcept { return ready_stations() != 0; }
    /// Wakes whoever waits for something about this run.
    void stir();
    /// For as long as a thread that is no target's, or a task of one that runs no stations, touches the run.
    struct HelpersTurn {
        RunCore& run;
        explicit HelpersTurn(RunCore& of) noexcept : run(of) {
            run.helpers_.fetch_add(Turns::begin, std::memory_order_relaxed);
        }
        ~HelpersTurn() { run.helpers_.fetch_sub(Turns::end, std::memory_order_release); }
        HelpersTurn(const HelpersTurn&) = delete;
        HelpersTurn& operator=(const HelpersTurn&) = delete;
    };

    // ---- what stations say ----
    void station_ended(Station& station) noexcept;
    /// On any thread: a node's report comes in while another thread may have the station's turn here.
    void failed(const Station& station, std::uint64_t firing, std::exception_ptr cause, Loss loss = {});
    void leave_loop(Loop& loop, std::int64_t tokens);

    // ---- waiting ----
    /// What a thread does for the run while it waits.
    enum class Help {
        all,    ///< runs stations, and reads the wires unless a target does
        own,    ///< the same for something that only this thread takes: reads the wires though a target could
        little  ///< where targets run stations: nothing but what ends the run
    };
    /// Runs stations until `over()`, which is asked often. `what`: for the report. Throws StreamStalled when nothing
    /// can go on any more. `looks`: calls look_while_waiting, which may throw.
    void help_until(const std::function<bool()>& over, const char* what, bool report_stall, bool looks = false,
                    Help help = Help::all);
    std::function<void()> look_while_waiting;
    /// Sends an event of a filter's to all that handle it.
    std::function<void(const Event&)> raise;
    bool all_ended() const noexcept { return open_.load(std::memory_order_acquire) == 0; }
    struct LetEnd {
        void operator()(RunCore* run) const noexcept;
    };
    using KeptOpen = std::unique_ptr<RunCore, LetEnd>;
    /// Keeps the run from ending as long as there is what it returns. Null when it has ended.
    KeptOpen keep_open() noexcept;
    /// Everybody ends without firing again.
    void stop();
    /// All sources end after the firing that they are in, and those that come later at once. Does not wait.
    void close();
    bool closing() const noexcept { return closing_.load(std::memory_order_acquire); }
    /// No mail is on its way, nobody fires, and no thread is at work for this run.
    bool settled();
    /// Throws FilterFailed for the first that failed, once.
    void throw_failure();
    /// Buffers that were lost with what carried out a firing.
    void note_lost(const std::vector<LostBuffer>& lost);
    std::vector<LostBuffer> lost();
    bool stopping() const noexcept { return stopping_.load(std::memory_order_acquire); }
    /// The program may still write into the graph.
    bool program_writes();
    /// What every filter does, a line each.
    std::string report();
    /// Grows with all that is done.
    std::uint64_t progress();

    /// An edit that was made later, on behalf of a filter, failed.
    void failed_later(std::exception_ptr cause);
    /// Something of the run could not be done: it is stopped as a whole by whoever waits for it.
    void broken(std::exception_ptr cause);

    FarRun* far = nullptr;  ///< of a run over several nodes
    /// The stations; locked by `structure`.
    std::vector<std::unique_ptr<Station>> stations;
    std::vector<std::unique_ptr<Link>> links;
    std::vector<std::unique_ptr<Loop>> loops;
    std::recursive_mutex structure;
    /// Held while the sinks of a station's outputs change, and by whoever reports them. Nothing is sent meanwhile.
    std::mutex picture;
    void add_station(std::unique_ptr<Station> station);
    /// Null for any target (below 0), and where targets run no stations.
    Server* server_of(int target) const noexcept {
        return target < 0 || servers_.empty() ? nullptr : servers_[static_cast<std::size_t>(target)].get();
    }

    /// Has a target deliver mail to a station that is placed there.
    void send_to(Server& home, Station& to, Mail* mail, int most_tries);
    /// The task that brings a placed station its mail.
    static void deliver(Station* station, Mail* mail);
    static void serve(RunCore* run);
    static void watch(RunCore* run);
    static void go_on(Server* server);

    /// Throws MachineGone in a forked child.
    void require_here() const { origin_.require("this run"); }
    bool left_behind() const noexcept { return origin_.left_behind(); }

  private:
    struct Look;
    /// Of a target's server, or of all threads that help.
    using ReadyStack = Shared<ReadyList>;
    static std::size_t number_of(int target) noexcept { return static_cast<std::size_t>(target - Server::helper); }
    ReadyStack& stack_of(int target) noexcept { return stacks_[number_of(target)]; }
    ReadyStack& stack_of(const Server& server) noexcept { return stack_of(server.target()); }
    void note_ready(Station& station) const noexcept;
    /// Somebody who has nothing to do shall look at the stacks.
    void alert() noexcept;
    void ring_waiting(bool all) noexcept;
    bool nothing_on_its_way() const;
    std::optional<std::uint64_t> turns_while_idle();
    void look_for_stall(Look& look);
    bool note_jobs(Server& server) noexcept;
    struct Lookout;
    bool begin_watch() noexcept;
    bool go_on_watching(Server& server);
    bool rest() noexcept;
    void serve_later(Server& server) noexcept;
    void post_once(Station& to, Command& command);
    void post_in_turn(Station& to, Mail* mail, int most_tries);

    static void deliver_at(void* station, void* mail, int target, bool last) noexcept;

    Origin origin_;
    bool slows_ = false;
    Machine& machine_;
    Cuts cuts_;
    std::shared_ptr<Budgets> budgets_;
    Poster poster_;
    std::unique_ptr<FilterBackend> backend_;
    std::vector<std::unique_ptr<Server>> servers_;  ///< of targets that run stations
    // Stations without a place that are ready. Those for all: what lies deepest in the graph comes first, so nothing
    // new begins while a thread could go on with what is under way, and few buffers wait.
    Shared<ReadyByDepth> for_all_;
    std::vector<ReadyStack> stacks_;  ///< what helpers have made ready, and each server
    /// Of helpers, and each server: what it has seen in the lists when it last looked for what is left there.
    struct alignas(64) Marks {
        std::uint64_t for_all = 0, own = 0, of_helpers = 0;
    };
    std::vector<Marks> marks_;
    /// Targets without a task of serve(), and helpers that wait. One at least where no target runs stations: then
    /// whoever waits may be unknown here.
    alignas(128) IdleCount<> idle_;
    struct Idle {
        IdleCount<>& count;
        explicit Idle(IdleCount<>& of) noexcept : count(of) { count.enter(); }
        ~Idle() { count.leave(); }
    };
    std::atomic<std::int64_t> open_{0};  ///< stations that have not ended, and who keeps it open
    std::atomic<int> kept_open_{0};      ///< the latter: they are at work, if nobody else is
    std::atomic<bool> stopping_{false}, closing_{false};

    alignas(128) SpinLock lock_;
    int serving_ = 0;           ///< tasks of serve() that have been issued and have not ended
    std::uint64_t served_ = 0;  ///< such tasks so far
    /// A thread that waits for the run and helps. Lies on that thread's stack, so that waiting needs no memory.
    struct WaitingThread {
        Doorbell* bell;
        WaitingThread* next;
        bool helps;
    };
    WaitingThread* waiting_ = nullptr;
    std::atomic<std::uint64_t> looked_abroad_{0};  ///< the tick at which a thread that waited went on
    std::atomic<bool> watched_{false};             ///< a target reads the wires
    std::atomic<int> reading_{0};                  ///< threads that read them for what only they take
    // of the target that reads them
    std::uint64_t watch_until_ = 0;
    bool fired_long_ = false;
    /// Turns of threads that run stations while they wait, and of others that send mail: it must not end under them
    std::atomic<std::uint64_t> helpers_{0};

    alignas(128) std::mutex failure_lock_;
    std::exception_ptr failure_;
    std::string failed_filter_;
    int failed_copy_ = 0;
    std::uint64_t failed_firing_ = 0;
    std::uint64_t failures_ = 0;
    Loss loss_;
    std::vector<LostBuffer> lost_;
    std::exception_ptr later_failure_;
};

/// A thread that runs a run's stations while it waits for something, for the length of a turn.
class Helping {
  public:
    explicit Helping(RunCore& run) noexcept : turn_(run), server(run, Server::helper), here_(server.here()) {}

  private:
    RunCore::HelpersTurn turn_;  // begins first and ends last

  public:
    Server server;

  private:
    Exchanged<Server*> here_;
};

}  // namespace penstock::streaming
