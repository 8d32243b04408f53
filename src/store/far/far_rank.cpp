// What a rank stores and releases on other nodes.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "store/far/far_team.hpp"

namespace penstock::team {
namespace {

/// A log that is so long goes out.
constexpr std::size_t long_log = std::size_t{64} << 10;
/// So many bytes side by side go out by themselves, and are read from the socket to where they belong.
constexpr std::size_t long_span = std::size_t{32} << 10;
constexpr std::size_t longest_span = std::size_t{1} << 20;
/// Of so many bytes under way a fence is asked for, so that it is known when they have arrived; and so many are under
/// way at most, or a slow wire would fill the memory.
constexpr std::uint64_t bytes_a_fence = std::uint64_t{4} << 20;
constexpr std::uint64_t most_under_way = std::uint64_t{32} << 20;

std::vector<std::byte> copy_of(const std::byte* from, std::size_t bytes) { return {from, from + bytes}; }

}  // namespace

// ---- storing ----

void FarRank::put_log(std::size_t place, Log& log) {
    if (log.bytes.empty()) return;
    auto& node = team_.node(place);
    log.count = team_.put_counted(node, FarFrame::stores, TeamHead{team_.plan.number}, std::move(log.bytes));
    log.bytes = {};
    node.wire->flush();
}

std::uint64_t FarRank::put_log(std::size_t place) {
    const std::lock_guard guard(lock_);
    put_log(place, logs_[place]);
    return logs_[place].count;
}

void FarRank::store(std::size_t place, std::uint32_t memory, std::size_t offset, const std::byte* from,
                    std::size_t bytes) {
    auto& node = team_.node(place);
    if (bytes >= long_span) {
        for (std::size_t done = 0; done < bytes;) {
            const auto step = std::min(longest_span, bytes - done);
            {
                const std::lock_guard guard(lock_);
                put_log(place, logs_[place]);  // in the order in which they were stored
                logs_[place].count = team_.put_counted(node, FarFrame::copy,
                                                       CopyHead{.team = team_.plan.number,
                                                                .memory = memory,
                                                                .offset = offset + done,
                                                                .word = 0,
                                                                .value = 0,
                                                                .word_bytes = CopyHead::no_word,
                                                                .wakes = 0},
                                                       copy_of(from + done, step));
            }
            node.wire->flush();
            wait_for_room(node);
            done += step;
        }
        return;
    }
    {
        const std::lock_guard guard(lock_);
        Log& log = logs_[place];
        StoreRecord record;
        if (!log.bytes.empty()) std::memcpy(&record, log.bytes.data() + log.last, sizeof record);
        if (!log.bytes.empty() && record.memory == memory && record.offset + record.bytes == offset) {
            record.bytes += static_cast<std::uint32_t>(bytes);
        } else {
            log.last = log.bytes.size();
            record = {memory, static_cast<std::uint32_t>(bytes), offset};
            log.bytes.resize(log.bytes.size() + sizeof record);
        }
        std::memcpy(log.bytes.data() + log.last, &record, sizeof record);
        log.bytes.insert(log.bytes.end(), from, from + bytes);
        if (log.bytes.size() >= long_log) put_log(place, log);
    }
    wait_for_room(node);
}

/// By the rank, or a thread of its own beside it. Others of this node send there, too, so that more may have arrived by
/// now than had been sent when this one looked.
void FarRank::wait_for_room(FarNode& node) {
    const auto sent = node.sent.load(std::memory_order_acquire);
    if (node.arrived.load(std::memory_order_acquire) + bytes_a_fence > sent) return;
    std::uint64_t asked = 0;
    {
        const std::lock_guard guard(node.lock);
        asked = node.asked;
    }
    if (asked + bytes_a_fence <= sent) team_.ask_fence(node, sent);
    while (node.arrived.load(std::memory_order_acquire) + most_under_way < sent &&
           !node.lost.load(std::memory_order_acquire))
        if (!look()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

// ---- releasing ----

void FarRank::release(int to) {
    const auto place_of_to = to == everybody ? team_.here : team_.place_of(to);
    std::vector<std::pair<FarNode*, std::uint64_t>> awaited;  // and up to where what was sent there counts
    {
        const std::lock_guard guard(lock_);
        for (std::size_t place = 0; place < logs_.size(); ++place) {
            if (place == team_.here) continue;
            put_log(place, logs_[place]);
            auto& node = team_.node(place);
            if (place != place_of_to && !FarTeam::has_arrived(node, logs_[place].count))
                awaited.emplace_back(&node, logs_[place].count);
        }
    }
    if (awaited.empty()) return;
    for (const auto& [node, count] : awaited) team_.ask_fence(*node, count);
    me().wait_unless(
        [&] {
            return std::ranges::all_of(awaited,
                                       [](const auto& each) { return FarTeam::has_arrived(*each.first, each.second); });
        },
        [] { return -1; });
}

void FarRank::publish(std::size_t place, std::uint32_t memory, std::size_t offset, std::uint64_t value) {
    release(team_.plan.first_of(place));
    auto& node = team_.node(place);
    {
        const std::lock_guard guard(lock_);
        logs_[place].count = team_.put_counted(node, FarFrame::copy,
                                               CopyHead{.team = team_.plan.number,
                                                        .memory = memory,
                                                        .offset = 0,
                                                        .word = offset,
                                                        .value = value,
                                                        .word_bytes = 8,
                                                        .wakes = 1});
    }
    node.wire->flush();
    wait_for_room(node);
}

Changed FarRank::change(int owner, std::uint32_t memory, WordChange what, std::uint64_t value, std::uint64_t expected) {
    release(owner);
    auto& node = team_.node(team_.place_of(owner));
    const auto asked = std::make_shared<FarTeam::Asked>();
    asked->rank = rank_;
    asked->of = &node;
    std::uint64_t number = 0;
    {
        const std::lock_guard guard(team_.lock_);
        number = team_.next_question_++;
        team_.asked_[number] = asked;
    }
    const struct Forgotten {
        FarTeam& team;
        std::uint64_t number;
        ~Forgotten() {
            const std::lock_guard guard(team.lock_);
            team.asked_.erase(number);
        }
    } forgotten{team_, number};
    team_.put(node, FarFrame::change,
              ChangeHead{team_.plan.number, memory, number, value, expected, static_cast<std::uint32_t>(what)});
    node.wire->flush();
    // Its node answers for an owner that has left, too.
    me().wait_unless([&] { return asked->there.load(std::memory_order_acquire); },
                     [&] { return node.lost.load(std::memory_order_acquire) ? owner : -1; });
    return asked->answer;
}

void FarRank::copy_back(const std::byte* memory, std::size_t offset, int to) {
    CopyBackHead head{.team = team_.plan.number, .memory = 0, .offset = offset, .to = to, .value = 0};
    {
        const std::lock_guard guard(team_.lock_);
        const auto found = team_.numbers_.find(memory);
        if (found == team_.numbers_.end()) return;  // nobody there has it
        head.memory = found->second;
    }
    head.value = std::atomic_ref(*reinterpret_cast<const std::uint32_t*>(memory + offset)).load();
    auto& node = team_.node(team_.place_of(to));
    team_.put(node, FarFrame::copy_back, head);
    node.wire->flush();
}

// ---- shadows ----

namespace {

/// Pages that are there once they are used.
Mapping reserved(std::size_t bytes) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw SystemError("cannot map the shadow of memory on another node", errno);
    return {static_cast<std::byte*>(at), bytes};
}

}  // namespace

FarShadow::FarShadow(std::shared_ptr<FarTeam> team, std::shared_ptr<FarRank> rank, std::size_t node,
                     std::uint32_t number, int owner, std::size_t bytes, std::size_t whole)
    : team_(std::move(team)), rank_(std::move(rank)), node_(node), number_(number), owner_(owner), bytes_(bytes) {
    Mapping::operator=(reserved(whole));
}

FarShadow::~FarShadow() {
    try {
        rank_->put_log(node_);  // which may speak of it
        team_->put(team_->node(node_), FarFrame::dropped, OfMemory{team_->plan.number, number_, rank_->rank_});
    } catch (const std::bad_alloc&) {  // its owner keeps it until the team ends
    }
    const std::lock_guard guard(team_->lock_);
    if (const auto found = team_->shadows_.find({node_, number_, rank_->rank_});
        found != team_->shadows_.end() && found->second.expired())
        team_->shadows_.erase(found);
}

void FarShadow::accepted() const {
    auto& node = team_->node(node_);
    team_->put(node, FarFrame::accepted, OfMemory{team_->plan.number, number_, rank_->rank_});
    node.wire->flush();
}

void FarShadow::copy(std::size_t offset, std::size_t bytes, std::size_t word, std::size_t word_bytes) {
    CopyHead head{.team = team_->plan.number,
                  .memory = number_,
                  .offset = offset,
                  .word = 0,
                  .value = 0,
                  .word_bytes = CopyHead::no_word,
                  .wakes = 0};
    if (word != no_word) {
        head.word = word;
        head.word_bytes = static_cast<std::uint32_t>(word_bytes);
        head.wakes = 1;
        head.value = word_bytes == 4 ? std::atomic_ref(*reinterpret_cast<std::uint32_t*>(data() + word)).load()
                                     : std::atomic_ref(*reinterpret_cast<std::uint64_t*>(data() + word)).load();
    }
    auto& node = team_->node(node_);
    team_->put(node, FarFrame::copy, head, bytes == 0 ? std::vector<std::byte>{} : copy_of(data() + offset, bytes));
    if (word != no_word) node.wire->flush();
}

}  // namespace penstock::team
