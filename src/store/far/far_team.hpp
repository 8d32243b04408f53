// A team over several nodes, as one of them sees it: which rank is where, what its own ranks have granted to others and
// have been granted, and the frames.
//
// Ranks of one node are threads of its agent and share memory as those of a team of threads do. Memory of a rank on
// another node is a FarMemory: what is stored there is gathered in a log for each node (StoreRecord), where stores side
// by side become one, and goes out when the log is long, or before the rank releases something. A log, and no copy of
// the region with a bit for each element: neighbours' elements are left alone just as well, and it takes no memory for
// what is not stored.
//
// What is promised: stores become visible, all together, to a rank that sees something that the producer released after
// them. To the owner of the memory by whatever the producer himself tells him: both go over one wire, whose frames are
// applied in order, by one thread at a time (the endpoint's turn), words by release stores; and the owner's wait
// acquires. To him through a third rank: a release that does not go to the node of the stores, or stays on its own
// node, is held back until that node has answered a fence, which it does when all that came before is applied. So what
// was stored is there before anybody else can know of it. Words that are set without a round trip count as stores.
//
// Happens-before. The producer's stores -> his log -> put() (the wire's lock) -> the frames in order -> memcpy by
// whoever has the turn -> the word's release store by him, or by the next who has the turn (the turn's lock) -> the
// acquire load of the owner, or the answer to a fence -> arrived (release) -> the producer's load (acquire) -> his next
// release.
//
// Threads. Frames are applied in the endpoint's turn, by its thread or by a rank that waits and looks. `lock_` is of
// the tables that ranks change too; nobody sends under it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/far/frames.hpp"
#include "store/team/exchange.hpp"
#include "store/team/team.hpp"
#include "wire/wire.hpp"

namespace penstock::team {

class FarRank;
class FarShadow;
class FarTeam;

/// One node of a team.
struct TeamNode {
    wire::Site site = 0;
    std::uint32_t generation = 0;
    std::string name{};  ///< "workers.1"
    int process = 0;     ///< of its agent
};

/// Who is where; the same on all nodes.
struct TeamPlan {
    std::uint32_t number = 0;
    int size = 0;
    std::vector<TeamNode> nodes{};

    /// Blocks: node i has the ranks from size * i / nodes on.
    int first_of(std::size_t node) const noexcept {
        return static_cast<int>(static_cast<std::size_t>(size) * node / nodes.size());
    }
    /// The node of a rank, by its place in `nodes`.
    std::size_t node_of(int rank) const noexcept;
};

/// Another node, as this one has it.
struct FarNode {
    wire::Site site = 0;
    std::uint32_t generation = 0;
    std::shared_ptr<wire::Wire> wire{};
    std::mutex lock{};                      ///< orders puts that count
    std::atomic<std::uint64_t> sent{0};     ///< bytes of the frames of stores and words; under the lock
    std::uint64_t asked = 0;                ///< of them, those that a fence asks for; under the lock
    std::atomic<std::uint64_t> arrived{0};  ///< of them, those that it has answered for
    std::atomic<bool> lost{false};
};

/// How a rank ended, for whoever called spmd.
struct RankEnd {
    int rank = -1;
    State state = State::finished;
    bool consequence = false;
    std::string text{};
    std::vector<std::byte> value{};  ///< what the program left: a result, or an exception
};

/// A part of some memory.
struct MemoryPart {
    std::uint64_t offset = 0, bytes = 0;
};
/// Which parts of memory of one kind `writer`, a rank of so many, may write. `bytes`: of the memory.
using PartsOfWriter = std::vector<MemoryPart> (*)(std::uint64_t bytes, int ranks, int writer);
/// From here on ranks of other nodes may write these parts of memory of that kind, and nothing else of it: what the
/// owner and others write there is not theirs. Of other kinds they may write everything.
void limit_writers(std::uint64_t kind, PartsOfWriter parts);

/// What the ranks of a node run.
class FarProgram {
  public:
    virtual ~FarProgram() = default;
    /// May throw. `value` goes to whoever called spmd.
    virtual void run(Rank me, std::vector<std::byte>& value) = 0;
    /// The caller does not want them to go on. Any thread.
    virtual void interrupt() {}

    /// Makes one of bytes that came from another machine.
    using Reader = std::unique_ptr<FarProgram> (*)(const std::string& name, std::span<const std::byte> bytes);
    /// For languages: from here on programs of this form are made so.
    static void read_programs(const std::string& form, Reader reader);
    /// Throws UsageError when there is none of this form.
    static std::unique_ptr<FarProgram> of(const std::string& form, const std::string& name,
                                          std::span<const std::byte> bytes);
};

/// Grants between the ranks of this node, and to and from others.
class NodeExchange final : public Exchange {
  public:
    explicit NodeExchange(FarTeam& team) : team_(team) {}

    bool try_send(const Member& member, const RankMemory& memory, int to) override;
    std::optional<Letter> collect(const Member& member, int owner, const std::string& name) override;
    RankMemory open(Letter letter, int owner, const std::string& name) override;
    /// A grant from another node has come.
    void arrived(int owner, int to, const std::string& name, Letter letter);
    void close();

  private:
    std::shared_ptr<Mapping> allocate(std::string_view, std::size_t bytes, Pages) override {
        return std::make_shared<LocalMemory>(bytes);
    }

    FarTeam& team_;
    std::mutex mutex_;
    Letters<std::tuple<int, int, std::string>> letters_;  ///< by receiver, owner, name
};

class FarTeam : public std::enable_shared_from_this<FarTeam> {
  public:
    /// What the ranks of a node wait with, and for how long.
    struct Options {
        std::chrono::nanoseconds accept_within{};
        bool pin = true;
        std::function<bool()> look{};  ///< takes in what waits at the wires, in a rank's thread
        std::function<void()> look_away{};
    };
    FarTeam(TeamPlan plan, wire::Site here, Options options);
    ~FarTeam();

    const TeamPlan plan;
    const std::size_t here;  ///< this node's place in it

    // ---- while it is made ----
    std::vector<wire::Site> peers() const;
    void set_wire(wire::Site site, std::shared_ptr<wire::Wire> wire);

    /// Runs the program in all ranks of this node, and tells of each end as it comes.
    void run(FarProgram& program, const std::function<void(RankEnd)>& ended);
    /// It is over on all nodes: what still comes is for nobody. In the endpoint's turn.
    void close();

    // ---- any thread ----
    /// That node's ranks are dead from here on, and what still comes from there is nobody's.
    void node_lost(wire::Site site) noexcept;
    /// The same, where the team uses that wire.
    void wire_lost(const wire::Wire& wire) noexcept;

    // ---- whoever has the endpoint's turn. All throw Error for what breaks a rule ----
    std::byte* room(wire::Wire& wire, const wire::FrameHead& head);
    void arrived(wire::Wire& wire, const wire::FrameHead& head);
    void abandoned(wire::Wire& wire) noexcept { incoming_[wire.site] = {}; }

  private:
    friend class FarRank;
    friend class FarShadow;
    friend class NodeExchange;

    /// Memory of a rank of this node that others hold.
    struct Granted {
        std::shared_ptr<Mapping> memory;
        std::size_t bytes = 0;
        int owner = -1;
        MemoryNote* note = nullptr;
        std::map<int, int> holders{};  ///< ranks of other nodes, and how often it was granted to each
        /// What each of them may write, where not everything; never changed, for it is read without a lock.
        std::shared_ptr<const std::map<int, std::vector<MemoryPart>>> parts{};
    };
    /// A question whose answer is on its way.
    struct Asked {
        std::atomic<bool> there{false};
        Changed answer{};
        int rank = -1;
        const FarNode* of = nullptr;  ///< that is to answer
    };
    /// The payload that a wire brings.
    struct Incoming {
        std::shared_ptr<Mapping> into{};  ///< where it goes at once
        std::vector<std::byte> bytes{};
    };

    Seat* seats() const noexcept { return reinterpret_cast<Seat*>(control_.data()); }
    FarNode& node(std::size_t place) const noexcept { return *nodes_[place]; }
    FarNode* node_at(const wire::Wire& wire) const noexcept;
    /// The node of a rank, by its place in the plan.
    std::size_t place_of(int rank) const noexcept { return places_[static_cast<std::size_t>(rank)]; }
    bool is_here(int rank) const noexcept { return place_of(rank) == here; }
    void wake_all() const noexcept;
    void end_rank(int rank, State state) noexcept;

    template <class Head>
    void put(FarNode& to, FarFrame kind, const Head& head, std::vector<std::byte> payload = {}) const {
        if (to.lost.load(std::memory_order_acquire)) return;
        to.wire->put(frame_of(kind, head), std::move(payload));
    }
    /// The same, counted for fences. Returns the count behind it.
    template <class Head>
    std::uint64_t put_counted(FarNode& to, FarFrame kind, const Head& head, std::vector<std::byte> payload = {}) const {
        const std::lock_guard guard(to.lock);
        const auto count = to.sent.load(std::memory_order_relaxed) + payload.size() + sizeof(wire::FrameHead);
        put(to, kind, head, std::move(payload));
        to.sent.store(count, std::memory_order_release);
        return count;
    }
    void ask_fence(FarNode& to, std::uint64_t count) const;
    static bool has_arrived(const FarNode& node, std::uint64_t count) noexcept {
        return node.arrived.load(std::memory_order_acquire) >= count || node.lost.load(std::memory_order_acquire);
    }

    /// The number of this memory, for one more holder.
    std::uint32_t hold(const std::shared_ptr<Mapping>& memory, std::size_t bytes, std::uint64_t kind, int owner,
                       MemoryNote* note, int to);
    /// To a rank of that node. Throws Error.
    Granted granted(std::uint32_t memory, const FarNode& to);
    /// Throws Error where no rank of that node may write there.
    void check_place(const Granted& memory, const FarNode& from, std::uint64_t offset, std::uint64_t bytes) const;
    void apply_stores(const FarNode& from, std::span<const std::byte> records);
    void apply_copy(const FarNode& from, const CopyHead& head, std::uint64_t bytes);
    Changed apply_change(const FarNode& from, const ChangeHead& head);
    void take_grant(FarNode& from, const GrantHead& head, std::span<const std::byte> payload);

    const Options options_;
    std::vector<std::size_t> places_;  ///< of the ranks' nodes
    LocalMemory control_;
    std::vector<std::unique_ptr<FarNode>> nodes_;  ///< as in the plan; of this one nothing is used
    std::map<int, std::shared_ptr<FarRank>> ranks_;
    NodeExchange exchange_;

    std::mutex lock_;  ///< of what follows
    std::map<std::uint32_t, Granted> granted_;
    std::map<const std::byte*, std::uint32_t> numbers_;  ///< of them, by where they lie
    std::uint32_t next_memory_ = 1;
    std::map<std::tuple<std::size_t, std::uint32_t, int>, std::weak_ptr<FarShadow>>
        shadows_;  ///< by node, number, holder
    std::map<std::uint64_t, std::shared_ptr<Asked>> asked_;
    std::uint64_t next_question_ = 1;

    // Of whoever has the endpoint's turn.
    std::map<wire::Site, Incoming> incoming_;
    bool closed_ = false;
};

/// One rank of this node.
class FarRank final : public Far, public std::enable_shared_from_this<FarRank> {
  public:
    FarRank(FarTeam& team, int rank) : team_(team), rank_(rank), logs_(team.plan.nodes.size()) {}

    Member member{};

    bool elsewhere(int rank) const noexcept override { return !team_.is_here(rank); }
    std::string node_of(int rank) const override { return team_.plan.nodes[team_.place_of(rank)].name; }
    void release(int to) override;
    void copy_back(const std::byte* memory, std::size_t offset, int to) override;
    bool look() noexcept override { return team_.options_.look && team_.options_.look(); }
    void look_away() noexcept override {
        if (team_.options_.look_away) team_.options_.look_away();
    }

    void store(std::size_t node, std::uint32_t memory, std::size_t offset, const std::byte* from, std::size_t bytes);
    /// What was stored there is on its way. Returns up to where it counts.
    std::uint64_t put_log(std::size_t node);
    void publish(std::size_t node, std::uint32_t memory, std::size_t offset, std::uint64_t value);
    Changed change(int owner, std::uint32_t memory, WordChange what, std::uint64_t value, std::uint64_t expected);

  private:
    friend class FarShadow;
    /// What was stored on a node and has not gone out.
    struct Log {
        std::vector<std::byte> bytes{};
        std::size_t last = 0;     ///< where the last record begins
        std::uint64_t count = 0;  ///< up to where what this rank has sent there counts
    };
    void put_log(std::size_t node, Log& log);
    void wait_for_room(FarNode& node);
    Rank me() { return Rank(member); }

    FarTeam& team_;
    const int rank_;
    std::mutex lock_;  ///< of what follows; a rank may store from several threads
    std::vector<Log> logs_;
};

/// Memory of a rank on another node, as a rank of this one has it.
class FarShadow final : public FarMemory {
  public:
    /// Of memory `number` of a rank of that node, of which `bytes` are the owner's; then comes the note, `whole` in
    /// all. Throws SystemError.
    FarShadow(std::shared_ptr<FarTeam> team, std::shared_ptr<FarRank> rank, std::size_t node, std::uint32_t number,
              int owner, std::size_t bytes, std::size_t whole);
    ~FarShadow() override;

    void store(std::size_t offset, const void* from, std::size_t bytes) override {
        rank_->store(node_, number_, offset, static_cast<const std::byte*>(from), bytes);
    }
    void publish(std::size_t offset, std::uint64_t value) override { rank_->publish(node_, number_, offset, value); }
    Changed change(WordChange what, std::uint64_t value, std::uint64_t expected) override {
        return rank_->change(owner_, number_, what, value, expected);
    }
    void copy(std::size_t offset, std::size_t bytes, std::size_t word, std::size_t word_bytes) override;
    void accepted() const;
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    const std::shared_ptr<FarTeam> team_;
    const std::shared_ptr<FarRank> rank_;
    const std::size_t node_;
    const std::uint32_t number_;
    const int owner_;
    const std::size_t bytes_;
};

}  // namespace penstock::team
