// A run over several nodes, as one of them sees it: the copies of filters that other nodes run, and the mail to them
// and from them.
//
// Nodes are cut at the mail. Each node describes the whole graph to itself and makes stations for all copies; those
// that run elsewhere are far stations here: they never fire, and what is posted to them goes out as frames. So the
// writer's policies, room, order and closing are those of any link. At the writer a far sink's credit comes as a frame
// and moves Link::taken. At the reader the far source's station gets the word that there is room again, as a source
// would, and sends a credit. Links and stations have the same numbers on all nodes, because all build the same model.
// How much room the writer has is in window.hpp.
//
// When a node dies (far_loss.cpp). Filters whose `on_node_loss` is not `stop` are tracked: their writers keep each
// buffer until what came of it has arrived where the node sends it. The order of buffers is their name: a tracked
// filter passes it on and writes one buffer a firing, or a skip. Who reads from tracked filters notes the orders that
// have come, so a result that comes twice is dropped. Another node takes the dead one's place: the readers say which
// orders have come, and the writers send the others again.
//
// Threads. Whoever posts to a far station that is at rest attends it, as it would be put into a queue otherwise; frames
// come in in the endpoint's turn. What both change is under the far station's lock.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>

#include "stream/far/frames.hpp"
#include "stream/far/orders.hpp"
#include "stream/far/window.hpp"
#include "stream/run/run_core.hpp"
#include "wire/wire.hpp"

namespace penstock::streaming {

struct Model;
struct RunState;
struct StreamModel;
class FarRun;
struct FarStation;

/// Where the copies of filters run: sites, by filter and copy. What is not named runs at site 0, in the program.
struct Placement {
    std::map<std::uint64_t, std::vector<wire::Site>> sites{};

    wire::Site of(std::uint64_t filter, int copy) const {
        const auto found = sites.find(filter);
        return found == sites.end() ? 0 : found->second[static_cast<std::size_t>(copy) % found->second.size()];
    }
};

/// A buffer that was sent to a tracked filter, until what came of it has arrived.
struct KeptBlock {
    Block* block = nullptr;
    bool under_way = false;  ///< a wire has it
    bool done = false;
    bool given = false;  ///< to the node that is there now
    int deaths = 0;      ///< of nodes that had it in hand
};

/// A link of which one end is on another node.
struct FarLink {
    Link* link = nullptr;
    std::uint32_t number = 0;
    FarStation* station = nullptr;  ///< the far end
    bool out = false;               ///< the writer is here
    bool tracked = false;           ///< the sink (out), or the source, is tracked
    // at the writer
    std::uint64_t in_flight = 0;  ///< frames that have not arrived
    std::uint64_t posted = 0;     ///< buffers and skips so far
    /// What the credits of the node that is there now are counted from
    std::uint64_t base = 0, base_bytes = 0;
    std::uint64_t posted_bytes = 0;
    Window window{};
    bool closed = false;  ///< by the writer
    bool waits = false;   ///< another link's oldest buffer, which a node has died on, is tried first
    std::map<std::uint64_t, KeptBlock> kept{};
    RingQueue<Block*> held{};  ///< that drops its oldest, and the wire is behind
    // at the reader
    std::uint64_t told = 0, told_bytes = 0;
    std::uint64_t arrived = 0, arrived_bytes = 0;    ///< buffers and skips from all nodes that were there
    std::uint64_t repeated = 0, repeated_bytes = 0;  ///< of them, those that had come before
    std::uint64_t earlier = 0, earlier_bytes = 0;    ///< of them, those of nodes that have died
};

/// A copy of a filter that another node runs.
struct FarStation {
    FarRun& run;
    Station* station = nullptr;
    wire::Site site = 0;
    std::uint32_t number = 0;
    std::recursive_mutex lock{};
    std::shared_ptr<wire::Wire> wire{};  ///< null while another node is looked for
    std::vector<FarLink*> into{}, out_of{};
    std::uint32_t open = 0;  ///< links out of it that have not closed
    bool ended = false;      ///< its node says so: it reads no more
    bool over = false;       ///< and here nothing more comes of it

    /// For whoever has its turn.
    void attend();
    /// What is known of it here, as a line; empty where no stream joins it to this node.
    std::string text();
};

class FarRun final : wire::Keeper {
  public:
    FarRun(RunState& state, Placement placement, wire::Site here, std::uint32_t number);
    ~FarRun();

    // ---- while the run is made ----
    bool here(std::uint64_t filter, int copy) const { return placement_.of(filter, copy) == here_; }
    std::unique_ptr<Station> make_station(const FilterModel& filter, int copy);
    /// A station that this node runs. `number`: as on all nodes.
    void know(Station& station, std::uint32_t number);
    /// A link, or null where this node has neither end. In the order in which all nodes make them.
    void know(const StreamModel& stream, Link* link);
    /// Buffers that a link between nodes may hold beyond its capacity, to begin with
    static constexpr std::uint64_t least_window = 8;
    /// What else may wait at a sink, beside the stream's capacity, and how that grows.
    static void widen(Link& link);
    /// What of the model cannot be cut so, in words.
    static std::vector<std::string> problems(const Model& model, const Placement& placement);
    /// What an edit may not change while the graph runs: filters of other nodes, and streams between nodes.
    std::vector<std::string> edit_problems(const Model& old, const Model& wished) const;
    std::vector<wire::Site> peers() const;
    void set_wire(wire::Site site, std::shared_ptr<wire::Wire> wire);
    /// From here on frames are taken in. The endpoint's thread.
    void open();
    /// All stations have ended: what still comes is for nobody. When this returns, nothing is posted any more.
    void shut();

    // ---- whoever has the endpoint's turn. All throw Error for what breaks a rule ----
    std::byte* room(wire::Wire& wire, const wire::FrameHead& head);
    void arrived(wire::Wire& wire, const wire::FrameHead& head);
    void abandoned(wire::Wire& wire) noexcept;
    /// Where the payload that is just arriving goes is somebody else's from now on.
    void give_incoming(wire::Site from, Block*& block, std::vector<std::byte>& bytes) noexcept {
        block = std::exchange(incoming_[from], nullptr);
        bytes = std::move(incoming_bytes_[from]);
    }

    // ---- what the run says ----
    /// A station of this node has ended.
    void station_ended(Station& station) noexcept;
    /// Adds what other nodes have said of themselves.
    std::function<void(RunStatistics&)> add_figures{};
    /// What each of them has said.
    std::function<std::vector<NodeStatistics>()> figures_of_nodes{};
    /// Takes in what waits at the wires, in the thread of a caller who waits himself. True: something has come.
    std::function<bool()> look{};
    /// Its caller will not look for a while.
    std::function<void()> look_away{};
    /// Can any thread take it in?
    static bool quick(const wire::FrameHead& head) noexcept;
    /// The run goes: its cluster forgets it. Before it is destroyed.
    std::function<void()> leaving{};
    /// From the program to all nodes.
    void tell(FarKind what) noexcept;
    /// An event of a filter of this node, to all that handle it: the program knows who.
    void raise(const Event& event);
    /// Nothing that was sent is under way any more.
    bool idle();
    /// Its wires forget it. The endpoint's thread; before it is destroyed.
    void leave();

    // ---- a node has died (far_loss.cpp) ----
    struct Seen {
        std::uint64_t stream;
        Orders::Intervals orders;
    };
    /// Its wire is closed; nothing more comes from it. What has come by tracked filters of it so far.
    std::vector<Seen> lose(wire::Site site);
    /// Another has taken its place. Sends again what it needs, or drops it and notes its name.
    void recover(wire::Site site, const std::vector<Seen>& seen, int most_deaths);
    /// The station of a copy of a filter that another node runs; null where there is none.
    Station* station_of(const std::string& filter, int copy) const;

    /// Buffers that were sent there, and of which nobody knows that they were dealt with.
    std::uint64_t held_for(wire::Site site) const;
    std::uint32_t number() const noexcept { return number_; }
    wire::Site site() const noexcept { return here_; }
    const Placement& placement() const noexcept { return placement_; }
    /// Frames that this run has sent, and that came; for who looks whether anything moves.
    std::uint64_t frames_sent() const noexcept { return frames_sent_.load(std::memory_order_acquire); }
    std::uint64_t frames_come() const noexcept { return frames_come_.load(std::memory_order_acquire); }
    std::uint64_t repeated() const noexcept { return repeated_.load(std::memory_order_relaxed); }

  private:
    friend struct FarStation;
    struct Early {
        wire::FrameHead head;
        wire::Site from;
        Block* block;
        std::vector<std::byte> payload;
    };

    void let_go(void* what, bool arrived) noexcept override;
    FarLink& link_of(const Link& link) { return *by_link_.at(&link); }
    FarLink& link_numbered(std::uint32_t number, wire::Site from, bool out);
    /// To its node, if there is one. `flush`: at once.
    template <class Head>
    void put(FarStation& to, FarKind kind, const Head& head, bool flush = false) {
        const std::lock_guard guard(to.lock);
        if (to.wire == nullptr) return;
        frames_sent_.fetch_add(1, std::memory_order_release);
        to.wire->put(wire::FrameHead::of(streaming::number(kind), head));
        if (flush) to.wire->flush();
    }
    void put_event(wire::Wire& to, std::uint32_t station, const Event& event);
    void link_closed(FarLink& link);
    std::uint32_t number_of(const Station& station) const;

    // at the writer
    void take(FarStation& station, Mail* mail);
    void stop(FarStation& station);
    void send(FarLink& link, Block* block);
    void put_block(FarLink& link, Block* block);
    void put_close(FarLink& link);
    void forget(FarLink& link, Block* block);
    void drop(FarLink& link, Block* block);
    void take_credit(FarLink& link, const CreditHead& head);
    void give_credit(FarLink& link, std::uint64_t taken, std::uint64_t bytes);
    /// True: it was one that a node had died on.
    bool take_done(FarLink& link, std::uint64_t order);
    void give_all(FarLink& link);
    void let_others_go_on(FarStation& station);
    void take_ended(FarStation& station);
    void end_if_over(FarStation& station);
    // at the reader
    void deliver(const wire::FrameHead& head, wire::Site from, Block* block, const std::vector<std::byte>& payload);
    void deliver_block(FarLink& link, const DataHead& head, Block* block);
    void credit(FarLink& link);
    void take_close(FarLink& link);
    // at a tracked filter's node
    void note_entry(FarLink& link, std::uint64_t order);
    void note_exit(Station& station, std::uint64_t order);
    void say_ended();
    void say_again(wire::Site site);

    RunState& state_;
    RunCore& core_;
    const Placement placement_;
    const wire::Site here_;
    const std::uint32_t number_;
    std::vector<std::unique_ptr<FarStation>> far_stations_;
    std::vector<Station*> stations_;               ///< by number; null for far ones
    std::vector<FarStation*> far_numbered_;        ///< by number; null for those of this node
    std::vector<std::unique_ptr<FarLink>> links_;  ///< by number; null for those with neither end here, or both
    std::unordered_map<const Link*, FarLink*> by_link_;

    std::mutex lock_;                       ///< of what follows
    std::shared_ptr<wire::Wire> program_;   ///< null in the program
    std::map<std::uint64_t, Orders> seen_;  ///< by stream, of those out of tracked filters
    std::unordered_map<const Station*, std::unordered_map<std::uint64_t, FarLink*>> entered_;
    std::vector<Station*> ended_;  ///< whose last frames are under way
    std::vector<Station*> told_;   ///< that have ended, and whoever is joined to them knows
    std::atomic<bool> some_ended_{false};

    std::mutex delivering_;  ///< of the two
    bool open_ = false, shut_ = false;

    // Of whoever has the endpoint's turn.
    std::map<wire::Site, Block*> incoming_;
    std::map<wire::Site, std::vector<std::byte>> incoming_bytes_;
    std::vector<Early> early_;

    std::atomic<bool> stopped_{false}, told_stop_{false};
    std::atomic<std::uint64_t> frames_sent_{0}, frames_come_{0}, repeated_{0};
};

}  // namespace penstock::streaming
