#include "penstock/rank.hpp"

#include <chrono>
#include <thread>

#include "store/team/exchange.hpp"
#include "store/team/team.hpp"

namespace penstock {
namespace {

std::string number(int value) { return std::to_string(value); }

constexpr const char* death_advice =
    "; what it had published stays, nothing more will come: give up, or go on without it";

std::string describe_death(int rank, int pid, std::optional<int> exit_code, std::optional<int> signal) {
    std::string text = "rank " + number(rank) + ", process " + number(pid) + ", has died";
    if (signal) text += " of signal " + number(*signal);
    if (exit_code) text += " with exit code " + number(*exit_code) + " before the end of its function";
    return text + death_advice;
}

void check_name(std::string_view name) {
    if (name.empty() || name.size() > team::longest_name)
        throw UsageError("the name of shared memory has 1 to " + std::to_string(team::longest_name) + " bytes, but '" +
                         std::string(name.substr(0, 80)) + "' has " + std::to_string(name.size()));
}

}  // namespace

std::string_view name(Substrate substrate) noexcept {
    switch (substrate) {
        case Substrate::threads:
            return "threads";
        case Substrate::processes:
            return "processes";
        default:
            return "nodes";
    }
}

RankDied::RankDied(int rank, int pid, std::optional<int> exit_code, std::optional<int> signal)
    : RankLost(rank, describe_death(rank, pid, exit_code, signal)), pid_(pid), exit_code_(exit_code), signal_(signal) {}

RankDied::RankDied(int rank, int pid, std::string node, const std::string& how)
    : RankLost(rank, "rank " + number(rank) + " on node '" + node + "', process " + number(pid) + ", has died" +
                         (how.empty() ? "" : ": " + how) + death_advice),
      pid_(pid), node_(std::move(node)) {}

RankLeft::RankLeft(int rank, bool failed)
    : RankLost(rank, "rank " + number(rank) +
                         (failed ? " failed by an exception" : " has come to the end of its function") +
                         " while this rank still waits for it; " +
                         (failed ? "spmd reports the exception to its caller" : "let all ranks take the same steps")),
      failed_(failed) {}

GrantMissing::GrantMissing(int owner, std::string name, std::chrono::nanoseconds waited)
    : Error("rank " + number(owner) + " and the rank that it grants '" + name + "' did not come together for " +
            std::to_string(waited.count() / 1'000'000) +
            " ms; check that one grants and the other accepts this name, or allow more time"),
      owner_(owner), name_(std::move(name)), waited_(waited) {}

NotOverNodes::NotOverNodes(std::string what)
    : UsageError(
          what +
          " needs ranks that share memory, but this team is spread over several nodes of a cluster; use regions, "
          "flags, counters, barriers and messages, or a team on one node (SpmdOptions::nodes)"),
      what_(std::move(what)) {}

InvalidGrant::InvalidGrant(int owner, std::string name, const std::string& what)
    : Error("the memory '" + name + "' that rank " + number(owner) + " granted cannot be used: " + what), owner_(owner),
      name_(std::move(name)) {}

namespace team {

RankDied rank_died(int rank, int pid, int exit_code, int signal) {
    return {rank, pid, exit_code < 0 ? std::nullopt : std::optional<int>(exit_code),
            signal == 0 ? std::nullopt : std::optional<int>(signal)};
}

void register_fence(Seat& seat) noexcept {
    seat.fenced.store(waiting::accept_barriers() ? 1 : 0, std::memory_order_relaxed);
}

bool fence_all(const Member& member) noexcept {
    if (member.substrate != Substrate::processes) return waiting::process_wide_barrier();
    for (int rank = 0; rank < member.size; ++rank) {
        const Seat& seat = member.seats[rank];
        if (seat.state.load(std::memory_order_acquire) == State::running &&
            seat.fenced.load(std::memory_order_relaxed) != 1)
            return false;
    }
    return waiting::barrier_over_processes();
}

Rank on_one_node(Rank me, const char* what) {
    if (me.far() != nullptr) throw NotOverNodes(what);
    return me;
}

}  // namespace team

// ---- memory ----

std::uint64_t RankMemory::kind() const noexcept { return note_->kind; }

std::string RankMemory::description() const {
    const auto length = note_->described;  // once: others may write there
    if (length > team::MemoryNote::longest_description)
        throw InvalidGrant(owner_, name_, "its description is longer than there is room for");
    return {note_->description, length};
}

RankMemory Rank::make(std::string_view name, std::size_t bytes, std::uint64_t kind, std::string_view description,
                      Pages pages) const {
    check_name(name);
    if (bytes == 0)
        throw UsageError("memory '" + std::string(name) + "' of 0 bytes cannot be shared; ask for at least 1");
    if (description.size() > team::MemoryNote::longest_description)
        throw UsageError("the description of memory '" + std::string(name) + "' has " +
                         std::to_string(description.size()) + " bytes, but there is room for " +
                         std::to_string(team::MemoryNote::longest_description));
    auto memory = member_->exchange->make(*member_, name, bytes, kind, pages);
    memory.note_->described =
        static_cast<std::uint32_t>(description.copy(memory.note_->description, description.size()));
    return memory;
}

void Rank::grant(RankMemory& memory, int to) const {
    check(to);
    if (!memory) throw UsageError("there is no memory to grant: it was never made, or moved away");
    if (memory.owner_ != index())
        throw UsageError("rank " + number(index()) + " cannot grant '" + memory.name_ + "', which rank " +
                         number(memory.owner_) + " owns");
    if (memory.frozen_)
        throw UsageError("'" + memory.name_ +
                         "' is frozen, so its grants are final; make new memory to grant to others");
    auto& granted = memory.note_->granted[to / 64];
    const auto bit = std::uint64_t{1} << to % 64;
    if ((granted.load(std::memory_order_relaxed) & bit) != 0)
        throw UsageError("'" + memory.name_ + "' was granted to rank " + number(to) + " before; once is enough");
    wait(
        [&] {
            if (member_->exchange->try_send(*member_, memory, to)) return true;
            member_->exchange->take_in(*member_);  // two ranks with full boxes must not wait for each other
            return false;
        },
        Awaited::rank(to));
    granted.store(granted.load(std::memory_order_relaxed) | bit, std::memory_order_relaxed);
    wake(to);
}

void Rank::freeze(RankMemory& memory, std::chrono::nanoseconds within) const {
    if (!memory || memory.owner_ != index())
        throw UsageError("only the owner freezes memory, and only while it has it");
    if (memory.frozen_) return;
    if (within.count() == 0) within = member_->accept_within;
    const auto& note = *memory.note_;
    const bool all = wait_until(
        [&] {
            for (int rank = 0; rank < size(); ++rank) {
                const auto bit = std::uint64_t{1} << rank % 64;
                if ((note.granted[rank / 64].load(std::memory_order_relaxed) & bit) != 0 &&
                    (note.accepted[rank / 64].load(std::memory_order_acquire) & bit) == 0 && !gone(rank))
                    return false;
            }
            return true;
        },
        [] { return -1; }, deadline_after(within));
    if (!all) throw GrantMissing(index(), memory.name_, within);
    if (substrate() == Substrate::processes) static_cast<SharedMemory&>(*memory.memory_).freeze();
    memory.frozen_ = true;
}

RankMemory Rank::accept(int owner, std::string_view name, std::uint64_t kind, std::chrono::nanoseconds within,
                        std::uint64_t mask) const {
    check(owner);
    if (elsewhere(owner)) throw NotOverNodes("memory '" + std::string(name) + "' that is mapped as it is");
    return accept_anywhere(owner, name, kind, within, mask);
}

RankMemory Rank::accept_anywhere(int owner, std::string_view name, std::uint64_t kind, std::chrono::nanoseconds within,
                                 std::uint64_t mask) const {
    check(owner);
    check_name(name);
    if (within.count() == 0) within = member_->accept_within;
    const std::string key(name);
    std::optional<team::Letter> letter;
    if (!wait_for([&] { return (letter = member_->exchange->collect(*member_, owner, key)).has_value(); },
                  Awaited::rank(owner), within))
        throw GrantMissing(owner, key, within);
    if ((letter->kind & mask) != (kind & mask))
        throw InvalidGrant(owner, key, "it holds another kind of thing than is asked for; let both name one type");
    auto memory = member_->exchange->open(std::move(*letter), owner, key);
    memory.note_->accepted[index() / 64].fetch_or(std::uint64_t{1} << index() % 64, std::memory_order_release);
    wake(owner);
    return memory;
}

std::vector<RankMemory> Rank::exchange(std::string_view name, std::size_t bytes, std::uint64_t kind) const {
    if (member_->far != nullptr) throw NotOverNodes("memory '" + std::string(name) + "' that all ranks map");
    std::vector<RankMemory> all(static_cast<std::size_t>(size()));
    auto& own = all[static_cast<std::size_t>(index())];
    own = make(name, bytes, kind);
    // Each begins behind itself, so that not everybody sends to rank 0 first.
    for (int step = 1; step < size(); ++step) grant(own, (index() + step) % size());
    for (int step = 1; step < size(); ++step) {
        const int owner = (index() + step) % size();
        auto& memory = all[static_cast<std::size_t>(owner)];
        memory = accept(owner, name, kind);
        if (memory.size() != bytes)
            throw InvalidGrant(owner, std::string(name),
                               "it has " + std::to_string(memory.size()) + " bytes where all have " +
                                   std::to_string(bytes) + "; let all ranks give the same size");
    }
    return all;
}

// ---- the others ----

void Rank::throw_no_such_rank(int rank) const {
    throw UsageError("there is no rank " + number(rank) + " in a team of " + number(size()));
}

void Rank::throw_lost(int rank) const {
    const auto& seat = member_->seats[rank];
    auto state = state_of(rank);
    // Another rank may have said so in a barrier before this node was told: then it is told within moments how.
    constexpr auto longest = std::chrono::seconds(1);
    for (const auto begin = std::chrono::steady_clock::now();
         state < team::State::finished && std::chrono::steady_clock::now() - begin < longest; state = state_of(rank))
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (state == team::State::finished || state == team::State::failed)
        throw RankLeft(rank, state == team::State::failed);
    if (elsewhere(rank)) throw RankDied(rank, seat.identity.pid, member_->far->node_of(rank), "its node is lost");
    throw team::rank_died(rank, seat.identity.pid, seat.exit_code.load(std::memory_order_relaxed),
                          seat.signal.load(std::memory_order_relaxed));
}

int Rank::lost(Awaited awaited) const {
    if (awaited.value_ >= 0) return gone(awaited.value_) && awaited.value_ != index() ? awaited.value_ : -1;
    int left = 0;
    int last = -1;
    for (int rank = 0; rank < size(); ++rank) {
        if (rank == index()) continue;
        const auto state = state_of(rank);
        if (state < team::State::finished) continue;
        if (awaited.value_ == Awaited::all || state != team::State::finished) return rank;
        ++left;
        last = rank;
    }
    if (size() == 1)
        throw WouldDeadlock("rank 0 is alone in its team and waits for what only another rank could bring");
    return left == size() - 1 ? last : -1;
}

std::chrono::nanoseconds Rank::sleep_limit(bool fenced, std::chrono::steady_clock::time_point deadline) noexcept {
    // Bounded in any case, and short where a wake-up may be missed.
    const std::chrono::nanoseconds longest = std::chrono::milliseconds{fenced ? 20 : 1};
    const std::chrono::nanoseconds left = deadline - std::chrono::steady_clock::now();
    return std::clamp(left, std::chrono::nanoseconds{0}, longest);
}

}  // namespace penstock
