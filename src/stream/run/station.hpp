// One copy of a filter in a run: what waits at its inputs, where its outputs lead, and when it may fire.
//
// A station is run by one thread at a time, and all that is in it belongs to whoever runs it. A placed station is run
// by its target's thread alone: mail from other threads comes through that target's lanes, mail from the thread itself
// as a plain call. Any other station has a mail box, and whoever finds the box at rest has it queued (mail.hpp). What
// is for other threads to see is atomic.
#pragma once

#include "penstock/filter.hpp"
#include "penstock/spread.hpp"
#include "penstock/stream_error.hpp"
#include "stream/buffers/buffer_ahead.hpp"
#include "stream/buffers/pool.hpp"
#include "stream/run/cuts.hpp"
#include "stream/run/filter_backend.hpp"
#include "stream/run/link.hpp"
#include "stream/run/ring_queue.hpp"

namespace penstock::streaming {

struct FarStation;
class RunCore;
class Server;
class Station;

/// A buffer at an input, and the link on which it takes room (null once that was removed, or where it takes none).
struct Waiting {
    Block* block = nullptr;
    Link* link = nullptr;
};

/// What each firing touches comes first, here and in what follows: a chain of filters that do little costs what its
/// lines do that have left the first-level cache when its turn comes again (`./bench hop`).
struct alignas(64) Inlet : Recycled<Inlet> {
    Station* station = nullptr;
    Block* hand = nullptr;  ///< handed over by the firing before this one
    std::atomic<std::uint64_t> read{0};
    RingQueue<Waiting> queue;
    InputPort* port = nullptr;
    std::atomic<std::uint64_t> waiting{0};  ///< queue.size(), for other threads
    std::uint32_t open_links = 0;
    std::uint32_t index = 0;
    bool connected = false;
    std::uint64_t next_in_order = 0;  ///< where order is restored
    bool ordered = false;
    std::vector<Waiting> early;  ///< where order is restored: arrived before their turn. A heap, the first in front
    void put_early(Waiting waiting) {
        early.push_back(waiting);
        std::ranges::push_heap(early, later);
    }
    Waiting take_first_of_early() noexcept {
        std::ranges::pop_heap(early, later);
        const Waiting first = early.back();
        early.pop_back();
        return first;
    }
    static bool later(const Waiting& a, const Waiting& b) noexcept { return a.block->order > b.block->order; }
    std::vector<Mail*> strays;  ///< overtook an older mail of their link on the way here
};

/// A stream as one source sees it: its sinks, and whose turn it is.
struct Branch {
    std::vector<Link*> links;
    Policy policy = Policy::demand_driven;
    std::function<std::uint64_t(const Tags&, std::span<const std::byte>)> key;
    bool unequal = false;     ///< its sinks may be on targets of several classes
    bool of_threads = false;  ///< they are copies of one filter, which each thread may run
    std::uint32_t turn = 0;
    std::uint64_t random = 0x9E3779B97F4A7C15u;
};

struct alignas(64) Outlet : Recycled<Outlet> {
    Station* station = nullptr;
    /// The only sink, which the same thread runs, and which may fire inside the writer's firing
    Link* fused = nullptr;
    /// The only sink, which needs no mail where the same thread runs it
    Link* near = nullptr;
    std::uint64_t next_order = 0;
    /// Of several copies that once were one: what they add to the numbers that they pass on, which are those of their
    /// writer, so that the order of the one goes on.
    std::uint64_t order_offset = 0;
    bool closed = false;
    bool closing = false;        ///< takes no more; the end follows when what is held back has gone
    bool order_matters = false;  ///< several copies write here, and their order is restored further down
    std::uint32_t written_in_firing = 0;
    RingQueue<Block*> pending;  ///< written, and no sink has room
    Pool* pool = nullptr;
    OutputPort* port = nullptr;
    std::vector<Branch> branches;
    std::uint32_t index = 0;
    Cuts cuts{};
    std::atomic<std::uint64_t> held_back{0};  ///< pending.size(), for other threads

    Outlet() = default;
    ~Outlet();
    /// Sends or holds back. Throws StreamFull.
    void write(Block* block);
    /// True when nothing is held back any more.
    bool flush();
    /// Buffers that were sent and come back: they are the first to be sent again. Dropped where nobody reads any more,
    /// or the run was stopped.
    void take_back(const std::vector<Block*>& blocks);
    bool has_reader() const noexcept;
    /// What is held back is dropped, and counted.
    void discard_pending();
    /// Sends the end of the stream. Nothing may be held back.
    void close();
    /// Takes no more from now on; the end follows when what is held back has gone.
    void close_when_empty();
    /// The same to one sink.
    void close_link(Link& link);

    void send_by(Link& link, Block* block);

  private:
    friend class Station;
    /// What is to become of a block in one stream.
    struct Choice {
        enum class Fate : std::uint8_t { send, broadcast, drop, wait } fate = Fate::wait;
        Link* link = nullptr;
        std::uint32_t next_turn = 0;
        bool stacked = false;  ///< what this makes ready, its thread takes the newest first
    };
    [[noreturn]] void refuse_closed(Block* block);
    [[noreturn]] void refuse_second(Block* block);
    void write_on(Block* block);
    bool put_near(Block* block);
    bool send(Block* block);
    void hold_back(Block* block);
    Choice choose(Branch& branch, const Block& block);
    Choice by_policy(Branch& branch, const Block& block);
    Choice to_most_idle(Branch& branch, const Block& block);
    std::size_t own_copy(const Branch& branch) const noexcept;
    Choice to_soonest(Branch& branch, const Block& block);
    Choice by_link(Link& link, const Block& block, Choice::Fate fate = Choice::Fate::send);
    void carry_out(Branch& branch, const Choice& choice, Block* block, bool shared);
    void skip();
};

using Inlets = std::vector<std::unique_ptr<Inlet>>;
using Outlets = std::vector<std::unique_ptr<Outlet>>;

/// Makes what stands behind the ports of a filter while it runs. `station`: null in a worker process.
void make_ends(const AnyFilter& filter, Station* station, Inlets& inlets, Outlets& outlets);

/// Mail that carries something to be done by the station itself, between firings.
struct Command : Mail {
    explicit Command(std::function<void(Station&)> what) : Mail{.kind = MailKind::command}, work(std::move(what)) {}

    std::function<void(Station&)> work;
    bool last = false;  ///< the station is not touched any more behind this
    std::exception_ptr failed{};
    std::atomic<bool> done{false};
    std::atomic<bool> sent{false};  ///< what is sent once
};

struct EventMail : Mail {
    EventMail(Event what, std::shared_ptr<const void> of)
        : Mail{.kind = MailKind::event}, event(std::move(what)), beat(std::move(of)) {}

    Event event;
    std::shared_ptr<const void> beat;  ///< of a timer: kept until the event was handled
};

/// What a station can do now.
enum class Doing : std::uint8_t {
    nothing,
    firing,
    waits_for_input,
    waits_for_output,
    waits_for_pool,
    waits_for_tasks,
    held,
    ended
};

class alignas(64) Station : public Recycled<Station> {
    // What each firing touches, in three lines.
    std::shared_ptr<AnyFilter> filter_;

  public:
    Inlets inlets;
    Outlets outlets;
    /// Of a filter that fires elsewhere; null: the filter itself is called
    std::unique_ptr<FilterProxy> proxy;
    Loop* loop = nullptr;
    std::unique_ptr<JobsHere> jobs_here;  ///< of a firing that goes on as tasks, where no target runs them
    std::atomic<std::uint64_t> firings{0};

  private:
    std::uint32_t taken_in_firing_ = 0;
    std::uint32_t until_sample_ = 1;
    std::uint32_t loop_tokens_ = 0;  ///< to be given back when what the firing wrote has gone
    std::uint8_t burst_ = 1;
    bool waits_plainly_ = false;  ///< for input, and for nothing else: it can fire as soon as there is some
    bool undisturbed_ = false;    ///< it did so when it got a buffer by hand, and nothing else has come since
    bool over_ = false;           ///< the filter said that it has ended
    bool timed_ = false;          ///< its firings last a microsecond: two looks at the clock
    /// So many firings in a row must last less than 16 us each before none is expected to last: at first; and behind
    /// one of 30 us, which may well be followed by others, though most are short.
    static constexpr std::uint8_t short_at_first = 4, short_again = 200;
    std::uint8_t until_short_ = short_at_first;
    bool only_sent_ = false;
    bool holds_back_ = false;  ///< one of its outputs may hold something back, or have to be closed
    bool special_ = false;     ///< more than calling the filter belongs to a firing (look_special)
    bool source_ = false;
    bool started_ = false;
    bool finished_ = false;  ///< finish() has been called
    bool ended_ = false;
    const bool bounded_pools_;

  public:
    std::atomic<Doing> doing{Doing::nothing};
    std::atomic<bool> several_copies{false};  ///< written between its firings
    bool held = false;                        ///< neither fires nor sends
    bool stopping = false;
    /// A firing goes on as tasks (spread.cpp): from the first of them until tasks_done has arrived
    bool spreading = false;
    bool fuses = false;  ///< others fire behind each of its firings

  private:
    alignas(64) Mail* first_event_ = nullptr;  ///< of those that wait
    Mail** last_event_ = &first_event_;        ///< where the next one is to stand
    std::uint64_t first_order_ = 0;
    Tags first_tags_{};
    BufferAhead ahead_;
    std::uint64_t since_ = 0;  ///< tick at which what it does now began
    const bool measured_;      ///< each of its firings is: it has a class, or some target is slow
    const bool on_any_input_;

  public:
    Station(RunCore& run, std::uint64_t filter_id, std::string name, int copy, std::shared_ptr<AnyFilter> filter,
            const FilterKind& kind, const FilterOptions& options);
    ~Station();

  private:
    // Read by whoever sends to it, and hardly ever written.
    alignas(64) RunCore& run_;
    std::atomic<Server*> home_{nullptr};
    std::atomic<bool> reads_no_more_{false};
    /// How short its firings are
    enum class Length : std::uint8_t { unknown, brief, very_brief };
    std::atomic<Length> length_{Length::unknown};

  public:
    const bool external;        ///< the program's own end of a stream, or another node's filter: never fires
    FarStation* far = nullptr;  ///< of another node's
    bool tracked = false;       ///< another node may take the place of this one, and passes on the order of buffers

    RunCore& run() const noexcept { return run_; }
    const std::string& name() const noexcept { return name_; }
    int copy() const noexcept { return copy_; }
    std::uint64_t filter_id() const noexcept { return filter_id_; }
    AnyFilter& filter() const noexcept { return *filter_; }
    /// Has it ended, so that what is sent to it is lost? Any thread; writers to several copies ask.
    bool reads_no_more() const noexcept { return reads_no_more_.load(std::memory_order_relaxed); }
    /// Do its firings last less than sixteen microseconds? Any thread; writers to several copies ask this, too.
    bool brief() const noexcept { return length_.load(std::memory_order_relaxed) != Length::unknown; }
    /// Less than two?
    bool very_brief() const noexcept { return length_.load(std::memory_order_relaxed) == Length::very_brief; }
    void read_no_more() noexcept { reads_no_more_.store(true, std::memory_order_relaxed); }
    /// The server whose thread alone runs this station; null: any.
    Server* home() const noexcept { return home_.load(std::memory_order_acquire); }
    void set_home(Server* home) noexcept;

    // ---- for whoever runs it ----
    /// Its proxy, its cycle or the number of its copies has changed.
    void look_special() noexcept {
        special_ =
            proxy != nullptr || loop != nullptr || jobs_here != nullptr || several_copies || !filter_->spreads.empty();
    }
    /// False when the station must not be touched any more.
    bool accept(Mail* mail);
    void accept_box();
    /// The same until the box is at rest. Not for stations that are run because of their box.
    void empty_box();
    /// Does what can be done, up to `most` firings. True when there is more to do at once.
    bool work(int most);
    /// Did the last step of work() only send what was held back?
    bool only_sent() const noexcept { return only_sent_; }
    /// Could it fire at once if a buffer came? Then it will: the caller comes with one.
    bool expect_buffer() noexcept { return undisturbed_ = std::exchange(waits_plainly_, false); }
    /// Fires with the buffer that it was told to expect.
    void fire_with(Link& link, Block* block);
    /// From one copy to several in front of a restored order: from the next buffer on it passes its writer's numbers
    /// on, with these offsets. `next_of_writer`: the number of the next buffer that its writer sends.
    void begin_to_pass_order(std::uint64_t next_of_writer);
    /// Has it a home and nothing to do but to fire with this mail, which has just come?
    bool fires_at_once(const Mail& mail) const noexcept;
    /// Does so: the buffer never stands in the queue of its input. `last`: no other waits behind it.
    void fire_at_once(Link& link, Block* block, bool last);
    /// The station has nothing to do now; false: mail has come meanwhile. Only for stations without a home.
    bool rest() noexcept { return box.rest(); }
    void fail(std::exception_ptr cause) { fail(std::move(cause), firings.load(std::memory_order_relaxed)); }
    void fail(std::exception_ptr cause, std::uint64_t firing, Loss loss = {});
    /// Drops what waits and closes its outputs.
    void end();
    /// Counts as ended: the run could not be begun as a whole.
    void never_begin();
    /// The program's own reading end: nothing more will come. What waits can still be read. Once; behind the first
    /// call, or end(), nothing.
    void end_reader();
    bool over() const noexcept { return over_; }
    bool is_source() const noexcept { return source_; }
    void discard_waiting();
    /// What waits at its inputs takes no room in the streams any more.
    void free_room();
    /// Number of buffers at the port of this name; 0 where there is none.
    std::size_t waiting_at(const std::string& port) const noexcept;
    /// Gets a buffer that waited at the port of this name of a filter whose place it takes. False when it reads no more
    /// there.
    bool inherit(const std::string& port, Block* block);
    /// Gets a buffer back that waited here.
    void take_back(Inlet& inlet, Waiting waiting);
    /// A buffer that came by the link takes no room in it any more.
    void credit(Link* link, std::uint64_t bytes);
    /// One link less leads here.
    void close_input(Inlet& inlet);
    /// Ticks that were spent so, over all times that were measured.
    std::uint64_t ticks_spent(Doing what) const noexcept {
        return ticks_in_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
    }
    bool timed() const noexcept { return timed_; }
    /// May its firings last a microsecond or more? For whoever runs it. Then what they make ready is for all at once:
    /// it may even be what the firing waits for.
    bool may_last() const noexcept { return !is_short(); }
    /// May they last 16 us or more? Else it is run by the thread that made it ready: to hand it to another moves twenty
    /// cache lines, 2 us where a line takes 0.2.
    bool fires_long() const noexcept { return until_short_ != 0; }
    /// Are they known to last less than a microsecond?
    bool is_short() const noexcept { return !timed_ && sampled.load(std::memory_order_relaxed) != 0; }
    void note_ready();
    std::uint64_t ready_at = 0;                 ///< tick at which it was made ready; whoever has its turn
    std::atomic<std::uint64_t> ticks_ready{0};  ///< between being ready and being run
    /// A source gives no more: it ends when what it has written has gone.
    void end_source() noexcept { over_ = over_ || source_; }
    /// Has nothing of what was sent to it still to be handled? For reports.
    bool ended() const noexcept { return doing.load(std::memory_order_acquire) == Doing::ended; }
    /// Is it in the middle of a firing? Any thread.
    bool fires() const noexcept {
        const auto now = doing.load(std::memory_order_relaxed);
        return now == Doing::firing || now == Doing::waits_for_tasks;
    }
    /// Any thread: is one of the two on its way?
    bool awaited() const noexcept {
        return visited.load(std::memory_order_acquire) || waking.load(std::memory_order_acquire);
    }
    /// Firings in a row: two microseconds of them; where it has no place eight, if they and those of its readers are
    /// brief.
    int burst() const noexcept { return fires_long() ? 1 : fuses ? std::min<int>(burst_, 2) : burst_; }
    /// Others would fire behind it if they had not fallen behind: they come first, until nothing waits between them and
    /// it can hand over again.
    bool gives_way() noexcept;

    alignas(64) MailBox<> box;
    // A box that is not at rest has one turn, which is somewhere: in a queue of ready stations, with a thread that runs
    // the station, or, when the station has got a home meanwhile, on its way there as a visit.
    alignas(64) Mail visit{.kind = MailKind::visit};
    std::atomic<bool> visited{false};        ///< it is on its way
    Mail wake_mail{.kind = MailKind::wake};  ///< for the first time, and at a new home
    std::atomic<bool> waking{false};
    Command stop_mail{[](Station& station) { station.stopping = true; }};  ///< "end without firing again"
    Command close_mail{[](Station& station) { station.end_source(); }};    ///< "end, if you are a source"
    bool queued = false;                                                   ///< home's thread: in its list
    std::atomic<bool> retired{false};  ///< taken out by an edit: gets no more events
    bool unborn = false;               ///< an edit still wires it (under the run's `structure`)
    bool moving = false;               ///< goes to next_home as soon as whoever runs it lets go of it
    bool moved = false;                ///< old homes may still have it in their lists
    Server* next_home = nullptr;
    Station *older = nullptr, *newer = nullptr;  ///< in the list of ready stations that it is in
    // of a station without a place; for whoever has its turn, or the lock of the list that it is in
    static constexpr int nobody = -2;
    int ran_on = nobody;  ///< target, or Server::helper
    bool ran_elsewhere(int target) const noexcept { return ran_on != target && ran_on != nobody; }
    unsigned passed_over = 0;             ///< since it was put into the list
    std::uint64_t put_as = 0;             ///< so many had been put there before, and this one
    std::atomic<std::uint32_t> depth{0};  ///< streams from a source to here, by the longest way without feedback
    Station* next_unlisted = nullptr;     ///< home's thread: behind it among those for which its list had no room
    /// It runs on targets of certain classes, and how long its firings last decides what it gets.
    const bool has_class;
    std::uint64_t sent_at = 0;  ///< tick at which its proxy sent a firing
    OnFailure on_failure = OnFailure::stop;

    // ---- for any thread ----
    /// Ticks that a firing takes there, as measured; 0: not yet. Where it has a class.
    std::atomic<std::uint64_t> cost{0};
    const std::uint64_t born;  ///< tick
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::uint64_t> dropped{0};        ///< buffers that nobody read
    std::atomic<std::uint64_t> service_ticks{0};  ///< of sampled firings
    std::atomic<std::uint64_t> sampled{0};
    std::atomic<std::uint64_t> ran_dry{0};  ///< times that it could do nothing for want of input
    std::atomic<std::uint64_t> handled{0};  ///< mail
    /// Behind all that was done because of it.
    void count_handled() noexcept {
        handled.store(handled.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    std::atomic<std::uint64_t> posted{0};  ///< commands and events that were sent to it
    std::recursive_mutex program;          ///< the program's own end: which of its threads acts as the station

    // ---- a firing that goes on as tasks (spread.cpp) ----
    std::atomic<std::uint32_t> tasks_left{0};  ///< the firing itself counts as one until it returns
    Mail tasks_done{.kind = MailKind::tasks};  ///< sent once for each such firing, by whoever was the last
    std::vector<std::shared_ptr<void>> kept;   ///< until then
    std::function<void()> second_half;         ///< is called then, and may go on with other tasks
    std::mutex task_failure_lock;
    std::exception_ptr task_failure;       ///< of the first task that threw
    std::atomic<bool> job_dropped{false};  ///< one was not run
    void leave_task();
    void note_task_failure(std::exception_ptr cause);

    // ---- a filter that fires elsewhere ----
    std::atomic<std::uint64_t> lost{0};        ///< buffers that went with what carried out its firing
    std::atomic<std::uint64_t> made_again{0};  ///< times that the filter's object did
    /// Names a buffer that went so.
    LostBuffer lost_buffer(const Inlet& inlet, const Block& block) const;

    // ---- for the ports, during a firing ----
    Block* take(Inlet& inlet) { return inlet.hand == nullptr ? take_from_queue(inlet) : take_from_hand(inlet); }
    Block* take_from_hand(Inlet& inlet) {
        Block* const block = std::exchange(inlet.hand, nullptr);
        note_taken(inlet, *block);
        return block;
    }
    void note_taken(Inlet& inlet, const Block& block) {
        tally(inlet.read);
        if (taken_in_firing_++ != 0) return;
        first_tags_ = block.tags;
        first_order_ = block.order;
    }
    /// Numbers what is written, and gives it the tags of what was read first where it has none.
    void label(Outlet& outlet, Block& block) {
        const auto number = outlet.next_order++;
        block.written = number;
        block.order = several_copies ? first_order_ + outlet.order_offset : number;
        if (block.tagged) return;
        if (taken_in_firing_ != 0) block.tags = first_tags_;
        else block.tags.sequence = number;
    }
    bool has_bounded_pools() const noexcept { return bounded_pools_; }
    /// Under the name that the filter's options give to this output.
    void send_event(const EventPort& output, SettingValue value);

  private:
    friend struct Outlet;
    void leave_ports() noexcept;
    Inlet* inlet_of(const std::string& port) const noexcept;
    bool step();
    void run_handed_over();
    bool inputs_ready() const noexcept;
    bool inputs_over() const noexcept;
    Block* take_from_queue(Inlet& inlet);
    void fire();
    void fire_watched();
    void fire_filter();
    void leave_special_firing();
    [[noreturn]] void refuse_idle_firing() const;
    void firing_failed(std::exception_ptr cause);
    bool fire_by_hand(Link& link, Block* block, std::atomic<std::uint64_t>& counter);
    bool send_held_back();
    /// There is something to be seen to.
    void disturb() noexcept { waits_plainly_ = undisturbed_ = false; }
    void hold_back() noexcept {
        holds_back_ = true;
        disturb();
    }
    void start();
    /// What it does from now on.
    void turn_to(Doing what) {
        if (timed_) [[unlikely]]
            add_up_time();
        doing.store(what, std::memory_order_release);  // whoever sees that it has ended sees the filter's last state
    }
    void add_up_time();
    void complete_spread();
    void go_on();
    void leave_loop();
    void complete_job();
    void carry_out(Command* command);
    void call_filter(FilterCall what, const Event* event = nullptr);
    void handle_event();
    void end_of_inputs();
    void accept_in_turn(Link& link, Mail* mail);
    void arrive(Link& link, Mail* mail);
    void enqueue(Inlet& inlet, Waiting waiting);
    void put_in_order(Inlet& inlet, Waiting waiting);
    void stop_ordering(Inlet& inlet);
    void pass_skip(Waiting waiting);
    void release(Waiting waiting);
    void drop(Waiting waiting);
    void drop_one_of_each();
    void pass_on_order();
    bool flush(Outlet& outlet);
    void sample_end(std::uint64_t begin);
    void note_length(double nanoseconds) noexcept;
    void note_cost(std::uint64_t ticks) noexcept;

    std::array<std::atomic<std::uint64_t>, 8> ticks_in_{};
    std::uint32_t timeline_id_ = 0;    ///< of the filter's name, once a firing was recorded
    int gave_way_ = 0;                 ///< in a row
    std::vector<Command*> postponed_;  ///< came while the filter fired elsewhere
    std::string name_;
    int copy_;
    std::uint64_t filter_id_;
    const std::vector<std::pair<std::string, std::string>> event_names_;
};

// ---- the program's own ends of streams (program_end.cpp) ----
// Stations that never fire. Whichever thread of the program acts as one holds its lock.

/// Takes in what was sent to it, and ends it if nothing more can come. Does nothing while another thread acts as it.
void attend_program_end(Station& station);
/// The same, and gives their room back to the writers of what waits there.
void make_way_at(Station& station);
/// Closes a writing end, when what was written has gone.
void close_program_end(Station& station);

/// A cycle of filters: the buffers in it, the links into it that are still open, and its filters that have not begun.
/// At zero its feedback ends, if there ever was anything in it: a cycle that nobody starts is reported (StreamStalled).
struct Loop {
    std::atomic<std::int64_t> tokens{0};
    std::atomic<bool> used{false};  ///< it is entered from outside, or a buffer was in it
    std::atomic<bool> ended{false};
    std::vector<std::unique_ptr<Command>> ends{};  ///< to the sources of the feedback, whose links it is to close
};

}  // namespace penstock::streaming
