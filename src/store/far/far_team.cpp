#include "store/far/far_team.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "process/fork.hpp"

namespace penstock::team {
namespace {

constexpr std::uint64_t most_of_stores = std::uint64_t{4} << 20;
constexpr std::uint64_t most_of_a_grant = 4096;

[[noreturn]] void refuse(const char* what) { throw Error(std::string("a frame of a team ") + what); }

}  // namespace

std::size_t TeamPlan::node_of(int rank) const noexcept {
    std::size_t node = nodes.size() - 1;
    while (first_of(node) > rank) --node;
    return node;
}

// ---- programs ----

namespace {

struct Readers {
    ProcessMutex lock;
    std::map<std::string, FarProgram::Reader> all;
};
Readers& readers() {
    static Readers every;
    return every;
}

}  // namespace

void FarProgram::read_programs(const std::string& form, Reader reader) {
    const std::lock_guard guard(readers().lock);
    readers().all[form] = reader;
}

std::unique_ptr<FarProgram> FarProgram::of(const std::string& form, const std::string& name,
                                           std::span<const std::byte> bytes) {
    Reader reader = nullptr;
    {
        const std::lock_guard guard(readers().lock);
        if (const auto found = readers().all.find(form); found != readers().all.end()) reader = found->second;
    }
    if (reader == nullptr)
        throw UsageError("this process runs no ranks of the form '" + form +
                         "': start the agent where that language is (penstock agent)");
    return reader(name, bytes);
}

// ---- who may write what ----

namespace {

struct Limits {
    ProcessMutex lock;
    std::map<std::uint64_t, PartsOfWriter> all;
};
Limits& limits() {
    static Limits every;
    return every;
}

PartsOfWriter limit_of(std::uint64_t kind) {
    const std::lock_guard guard(limits().lock);
    const auto found = limits().all.find(kind);
    return found == limits().all.end() ? nullptr : found->second;
}

}  // namespace

void limit_writers(std::uint64_t kind, PartsOfWriter parts) {
    const std::lock_guard guard(limits().lock);
    limits().all[kind] = parts;
}

// ---- making and running ----

FarTeam::FarTeam(TeamPlan its_plan, wire::Site site, Options options)
    : plan(std::move(its_plan)),
      here(static_cast<std::size_t>(std::ranges::find(plan.nodes, site, &TeamNode::site) - plan.nodes.begin())),
      options_(std::move(options)), control_(static_cast<std::size_t>(plan.size) * sizeof(Seat)), exchange_(*this) {
    for (int rank = 0; rank < plan.size; ++rank) {
        places_.push_back(plan.node_of(rank));
        auto* const seat = new (seats() + rank) Seat;
        seat->identity.pid = plan.nodes[place_of(rank)].process;
        if (is_here(rank)) ranks_[rank] = std::make_shared<FarRank>(*this, rank);
    }
    for (const auto& node : plan.nodes) {
        nodes_.push_back(std::make_unique<FarNode>());
        nodes_.back()->site = node.site;
        nodes_.back()->generation = node.generation;
    }
}

FarTeam::~FarTeam() = default;

std::vector<wire::Site> FarTeam::peers() const {
    std::vector<wire::Site> all;
    for (std::size_t place = 0; place < nodes_.size(); ++place)
        if (place != here) all.push_back(nodes_[place]->site);
    return all;
}

void FarTeam::set_wire(wire::Site site, std::shared_ptr<wire::Wire> wire) {
    for (auto& node : nodes_)
        if (node->site == site) {
            if (wire->generation != node->generation) throw Error("a node of the team has died meanwhile");
            node->wire = std::move(wire);
        }
}

void FarTeam::wake_all() const noexcept {
    for (const auto& [rank, own] : ranks_) wake_at(seats()[rank].bell);
}

void FarTeam::end_rank(int rank, State state) noexcept {
    auto& word = seats()[rank].state;
    auto seen = word.load(std::memory_order_acquire);
    do {
        if (seen >= State::finished) return;
    } while (!word.compare_exchange_weak(seen, state, std::memory_order_acq_rel));
    wake_all();
}

void FarTeam::run(FarProgram& program, const std::function<void(RankEnd)>& ended) {
    const auto leave = [&](RankEnd end) {
        const int rank = end.rank;
        const auto state = end.state;
        try {
            ranks_.at(rank)->release(Far::everybody);  // what it has stored is there before its end
        } catch (const std::exception&) {              // no memory: those that wait learn of its end all the same
        }
        end_rank(rank, state);
        for (std::size_t place = 0; place < nodes_.size(); ++place) {
            if (place == here) continue;
            put(node(place), FarFrame::ended, EndedHead{plan.number, rank, static_cast<std::uint32_t>(state)});
            if (node(place).wire != nullptr) node(place).wire->flush();
        }
        ended(std::move(end));
    };
    std::optional<Placement> placement;
    const auto body = [&](int rank) {
        placement->pin(rank - ranks_.begin()->first);
        name_this_thread("rank " + std::to_string(rank));
        auto& own = *ranks_.at(rank);
        const auto substrate = Substrate::nodes;
        own.member = {.seats = seats(),
                      .exchange = &exchange_,
                      .index = rank,
                      .size = plan.size,
                      .substrate = substrate,
                      .policy = placement->policy,
                      .accept_within = options_.accept_within,
                      .far = nodes_.size() > 1 ? &own : nullptr};
        seats()[rank].identity = ProcessIdentity::of_this_process();
        seats()[rank].state.store(State::running, std::memory_order_release);
        RankEnd end;
        end.rank = rank;
        try {
            program.run(Rank(own.member), end.value);
        } catch (...) {
            end.state = State::failed;
            tell_cause(std::current_exception(), [&](const char* what, bool consequence) {
                end.text = what;
                end.consequence = consequence;
            });
        }
        leave(std::move(end));
    };
    std::vector<std::thread> threads;
    auto next = ranks_.begin();
    try {
        placement = Placement::of(static_cast<int>(ranks_.size()), options_.pin);
        threads.reserve(ranks_.size());
        for (; next != ranks_.end(); ++next) threads.emplace_back(body, next->first);
    } catch (const std::exception& error) {  // those that have begun go on
        for (; next != ranks_.end(); ++next)
            leave({next->first, State::failed, false, std::string("it cannot be started: ") + error.what(), {}});
    }
    for (auto& thread : threads) thread.join();
}

void FarTeam::close() {
    closed_ = true;
    exchange_.close();
    const std::lock_guard guard(lock_);
    granted_.clear();
    numbers_.clear();
}

void FarTeam::node_lost(wire::Site site) noexcept {
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
        if (nodes_[place]->site != site || place == here) continue;
        for (int rank = plan.first_of(place); rank < plan.first_of(place + 1); ++rank) end_rank(rank, State::dead);
        nodes_[place]->lost.store(true, std::memory_order_release);
        wake_all();
    }
}

void FarTeam::wire_lost(const wire::Wire& wire) noexcept {
    if (node_at(wire) != nullptr) node_lost(wire.site);
}

// ---- fences ----

void FarTeam::ask_fence(FarNode& to, std::uint64_t count) const {
    {
        const std::lock_guard guard(to.lock);
        if (to.asked >= count || to.lost.load(std::memory_order_acquire)) return;
        to.asked = to.sent.load(std::memory_order_relaxed);
        put(to, FarFrame::fence, FenceHead{plan.number, 0, to.asked});
    }
    to.wire->flush();
}

// ---- memory of this node's ranks ----

std::uint32_t FarTeam::hold(const std::shared_ptr<Mapping>& memory, std::size_t bytes, std::uint64_t kind, int owner,
                            MemoryNote* note, int to) {
    const auto parts_of = limit_of(kind);
    const std::lock_guard guard(lock_);
    auto& number = numbers_[memory->data()];
    if (number == 0) {
        number = next_memory_++;
        granted_[number] = {memory, bytes, owner, note, {}, {}};
    }
    auto& held = granted_[number];
    ++held.holders[to];
    if (parts_of != nullptr) {
        auto parts = held.parts == nullptr ? std::map<int, std::vector<MemoryPart>>{} : *held.parts;
        parts[to] = parts_of(bytes, plan.size, to);
        held.parts = std::make_shared<const std::map<int, std::vector<MemoryPart>>>(std::move(parts));
    }
    return number;
}

void FarTeam::check_place(const Granted& memory, const FarNode& from, std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > memory.bytes || bytes > memory.bytes - offset) refuse("goes beyond the memory that was granted");
    if (memory.parts == nullptr || bytes == 0) return;
    const auto holds_it = [&](const MemoryPart& part) {
        return offset >= part.offset && offset - part.offset <= part.bytes &&
               bytes <= part.bytes - (offset - part.offset);
    };
    for (const auto& [rank, parts] : *memory.parts)
        if (&node(place_of(rank)) == &from && std::ranges::any_of(parts, holds_it)) return;
    refuse("goes to a part of the memory that others write");
}

FarTeam::Granted FarTeam::granted(std::uint32_t memory, const FarNode& to) {
    const std::lock_guard guard(lock_);
    const auto found = granted_.find(memory);
    if (found == granted_.end() || std::ranges::none_of(found->second.holders, [&](const auto& each) {
            return &node(place_of(each.first)) == &to;
        }))
        refuse("is about memory that was not granted");
    return found->second;
}

// ---- frames, in the endpoint's turn ----

FarNode* FarTeam::node_at(const wire::Wire& wire) const noexcept {
    for (std::size_t place = 0; place < nodes_.size(); ++place)
        if (place != here && nodes_[place]->site == wire.site && nodes_[place]->generation == wire.generation &&
            !nodes_[place]->lost.load(std::memory_order_acquire))
            return nodes_[place].get();
    return nullptr;
}

std::byte* FarTeam::room(wire::Wire& wire, const wire::FrameHead& head) {
    auto& incoming = incoming_[wire.site];
    incoming = {};
    const auto kind = static_cast<FarFrame>(head.kind);
    const FarNode* const from = node_at(wire);
    if (kind == FarFrame::copy && from != nullptr && !closed_) {
        const auto copy = head.as<CopyHead>();
        const auto memory = granted(copy.memory, *from);
        check_place(memory, *from, copy.offset, head.payload_bytes);
        incoming.into = memory.memory;
        return memory.memory->data() + copy.offset;
    }
    const auto most = kind == FarFrame::grant ? most_of_a_grant : most_of_stores;
    if (head.payload_bytes > most) refuse("is too long");
    incoming.bytes.resize(head.payload_bytes);
    return incoming.bytes.data();
}

void FarTeam::arrived(wire::Wire& wire, const wire::FrameHead& head) {
    const auto incoming = std::exchange(incoming_[wire.site], {});
    FarNode* const from = node_at(wire);
    if (from == nullptr || closed_) return;
    switch (static_cast<FarFrame>(head.kind)) {
        case FarFrame::grant:
            return take_grant(*from, head.as<GrantHead>(), incoming.bytes);
        case FarFrame::accepted: {
            const auto what = head.as<OfMemory>();
            const auto memory = granted(what.memory, *from);
            if (!memory.holders.contains(what.rank) || &node(place_of(what.rank)) != from)
                refuse("accepts memory that was not granted");
            memory.note->accepted[what.rank / 64].fetch_or(std::uint64_t{1} << what.rank % 64,
                                                           std::memory_order_release);
            return wake_at(seats()[memory.owner].bell);
        }
        case FarFrame::dropped: {
            std::shared_ptr<Mapping> last;  // goes behind the lock
            const std::lock_guard guard(lock_);
            const auto what = head.as<OfMemory>();
            const auto found = granted_.find(what.memory);
            const bool is_held = found != granted_.end() && found->second.holders.contains(what.rank);
            if (!is_held || &node(place_of(what.rank)) != from) refuse("drops memory that was not granted");
            auto& holders = found->second.holders;
            if (--holders[what.rank] == 0) holders.erase(what.rank);
            if (!holders.empty()) return;
            last = std::move(found->second.memory);
            numbers_.erase(last->data());
            granted_.erase(found);
            return;
        }
        case FarFrame::stores:
            return apply_stores(*from, incoming.bytes);
        case FarFrame::copy:
            return apply_copy(*from, head.as<CopyHead>(), head.payload_bytes);
        case FarFrame::copy_back: {
            const auto copy = head.as<CopyBackHead>();
            std::shared_ptr<FarShadow> shadow;
            {
                const std::lock_guard guard(lock_);
                const auto place = static_cast<std::size_t>(std::ranges::find(plan.nodes, wire.site, &TeamNode::site) -
                                                            plan.nodes.begin());
                if (const auto found = shadows_.find({place, copy.memory, copy.to}); found != shadows_.end())
                    shadow = found->second.lock();
            }
            if (shadow == nullptr) return;  // it was dropped meanwhile
            if (copy.offset % 4 != 0 || copy.offset > shadow->bytes() || shadow->bytes() - copy.offset < 4)
                refuse("goes beyond the memory that was granted");
            std::atomic_ref(*reinterpret_cast<std::uint32_t*>(shadow->data() + copy.offset))
                .store(copy.value, std::memory_order_release);
            return wake_at(seats()[copy.to].bell);
        }
        case FarFrame::change: {
            const auto change = head.as<ChangeHead>();
            const auto changed = apply_change(*from, change);
            put(*from, FarFrame::changed, ChangedHead{plan.number, changed.written, change.number, changed.before});
            return from->wire->flush();
        }
        case FarFrame::changed: {
            const auto changed = head.as<ChangedHead>();
            std::shared_ptr<Asked> asked;
            {
                const std::lock_guard guard(lock_);
                if (const auto found = asked_.find(changed.number); found != asked_.end()) asked = found->second;
            }
            if (asked == nullptr) return;  // its rank was interrupted
            if (asked->of != from) refuse("answers what was not asked");
            asked->answer = {changed.before, changed.written != 0};
            asked->there.store(true, std::memory_order_release);
            return wake_at(seats()[asked->rank].bell);
        }
        case FarFrame::fence:
            put(*from, FarFrame::fenced, head.as<FenceHead>());
            return from->wire->flush();
        case FarFrame::fenced: {
            const auto number = head.as<FenceHead>().number;
            if (number > from->sent.load(std::memory_order_acquire)) refuse("answers what was not asked");
            if (number > from->arrived.load(std::memory_order_relaxed))
                from->arrived.store(number, std::memory_order_release);
            return wake_all();
        }
        case FarFrame::ended: {
            const auto end = head.as<EndedHead>();
            const auto state = static_cast<State>(end.state);
            if (end.rank < 0 || end.rank >= plan.size || &node(place_of(end.rank)) != from ||
                (state != State::finished && state != State::failed))
                refuse("ends a rank that is not its node's");
            return end_rank(end.rank, state);
        }
        default:
            refuse("is of no kind that there is");
    }
}

void FarTeam::apply_stores(const FarNode& from, std::span<const std::byte> records) {
    Granted memory;
    std::uint32_t last = 0;
    while (!records.empty()) {
        StoreRecord record;
        if (records.size() < sizeof record) refuse("ends in the middle of a store");
        std::memcpy(&record, records.data(), sizeof record);
        records = records.subspan(sizeof record);
        if (record.memory != last) memory = granted(last = record.memory, from);
        if (record.bytes > records.size()) refuse("ends in the middle of a store");
        check_place(memory, from, record.offset, record.bytes);
        std::memcpy(memory.memory->data() + record.offset, records.data(), record.bytes);
        records = records.subspan(record.bytes);
    }
}

void FarTeam::apply_copy(const FarNode& from, const CopyHead& head, std::uint64_t bytes) {
    const auto memory = granted(head.memory, from);
    check_place(memory, from, head.offset, bytes);
    if (head.word_bytes != CopyHead::no_word) {
        if ((head.word_bytes != 4 && head.word_bytes != 8) || head.word % head.word_bytes != 0 ||
            head.word > memory.bytes || memory.bytes - head.word < head.word_bytes)
            refuse("has a word that is not in the memory that was granted");
        check_place(memory, from, head.word, head.word_bytes);
        std::byte* const at = memory.memory->data() + head.word;
        if (head.word_bytes == 4)
            std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at))
                .store(static_cast<std::uint32_t>(head.value), std::memory_order_release);
        else std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(head.value, std::memory_order_release);
    }
    if (head.wakes != 0) wake_at(seats()[memory.owner].bell);
}

Changed FarTeam::apply_change(const FarNode& from, const ChangeHead& head) {
    const auto memory = granted(head.memory, from);
    if (memory.bytes < sizeof(std::uint64_t)) refuse("has a word that is not in the memory that was granted");
    check_place(memory, from, 0, sizeof(std::uint64_t));
    std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(memory.memory->data()));
    Changed changed;
    switch (static_cast<WordChange>(head.what)) {
        case WordChange::load:
            changed.before = word.load(std::memory_order_acquire);
            return changed;
        case WordChange::exchange:
            changed.before = word.exchange(head.value, std::memory_order_acq_rel);
            break;
        case WordChange::add:
            changed.before = word.fetch_add(head.value, std::memory_order_acq_rel);
            break;
        case WordChange::compare_exchange:
            changed.before = head.expected;
            changed.written = word.compare_exchange_strong(changed.before, head.value, std::memory_order_acq_rel,
                                                           std::memory_order_acquire);
            break;
        default:
            refuse("changes a word in no way that there is");
    }
    if (changed.written) wake_at(seats()[memory.owner].bell);
    return changed;
}

void FarTeam::take_grant(FarNode& from, const GrantHead& head, std::span<const std::byte> payload) {
    if (head.owner < 0 || head.owner >= plan.size || &node(place_of(head.owner)) != &from || head.to < 0 ||
        head.to >= plan.size || !is_here(head.to))
        refuse("grants memory between ranks that are not there");
    const auto offset = MemoryNote::offset(head.bytes);
    if (!offset || head.name_bytes == 0 || head.name_bytes > longest_name || head.name_bytes > payload.size() ||
        payload.size() - head.name_bytes > MemoryNote::longest_description)
        refuse("grants memory that there cannot be");
    const std::string name(reinterpret_cast<const char*>(payload.data()), head.name_bytes);
    const auto place = place_of(head.owner);
    std::shared_ptr<FarShadow> shadow;
    try {
        shadow = std::make_shared<FarShadow>(shared_from_this(), ranks_.at(head.to), place, head.memory, head.owner,
                                             head.bytes, *offset + sizeof(MemoryNote));
    } catch (const SystemError&) {  // who accepts it is told
        exchange_.arrived(head.owner, head.to, name, {.bytes = head.bytes, .kind = head.kind});
        return wake_at(seats()[head.to].bell);
    }
    auto* const note = new (shadow->data() + *offset) MemoryNote;
    note->bytes = head.bytes;
    note->kind = head.kind;
    const auto description = payload.subspan(head.name_bytes);
    if (!description.empty()) std::memcpy(note->description, description.data(), description.size());
    note->described = static_cast<std::uint32_t>(description.size());
    {
        const std::lock_guard guard(lock_);
        shadows_[{place, head.memory, head.to}] = shadow;
    }
    exchange_.arrived(head.owner, head.to, name, {.bytes = head.bytes, .kind = head.kind, .memory = std::move(shadow)});
    wake_at(seats()[head.to].bell);
}

// ---- grants ----

bool NodeExchange::try_send(const Member& member, const RankMemory& memory, int to) {
    if (team_.is_here(to)) {
        const std::lock_guard guard(mutex_);
        letters_[{to, member.index, memory.name()}].push_back(
            {.bytes = memory.size(), .kind = memory.kind(), .memory = memory.memory_});
        return true;
    }
    auto& node = team_.node(team_.place_of(to));
    if (node.lost.load(std::memory_order_acquire)) return false;
    const auto description = memory.description();
    const GrantHead head{
        .team = team_.plan.number,
        .memory = team_.hold(memory.memory_, memory.size(), memory.kind(), member.index, memory.note_, to),
        .owner = member.index,
        .to = to,
        .bytes = memory.size(),
        .kind = memory.kind(),
        .name_bytes = static_cast<std::uint32_t>(memory.name().size())};
    std::vector<std::byte> payload(memory.name().size() + description.size());
    std::memcpy(payload.data(), memory.name().data(), memory.name().size());
    std::memcpy(payload.data() + memory.name().size(), description.data(), description.size());
    team_.put(node, FarFrame::grant, head, std::move(payload));
    node.wire->flush();
    return true;
}

std::optional<Letter> NodeExchange::collect(const Member& member, int owner, const std::string& name) {
    const std::lock_guard guard(mutex_);
    return take_first(letters_, {member.index, owner, name});
}

RankMemory NodeExchange::open(Letter letter, int owner, const std::string& name) {
    if (letter.memory == nullptr)
        throw SystemError("cannot map the shadow of '" + name + "', which lies on another node", ENOMEM);
    const auto shadow = team_.is_here(owner) ? nullptr : std::static_pointer_cast<FarShadow>(letter.memory);
    auto memory = opened(std::move(letter.memory), letter.bytes, owner, name);
    if (shadow == nullptr) return memory;
    memory.far_ = shadow.get();
    shadow->accepted();
    return memory;
}

void NodeExchange::arrived(int owner, int to, const std::string& name, Letter letter) {
    const std::lock_guard guard(mutex_);
    letters_[{to, owner, name}].push_back(std::move(letter));
}

void NodeExchange::close() {
    Letters<std::tuple<int, int, std::string>> gone;  // behind the lock: a shadow that goes says so
    const std::lock_guard guard(mutex_);
    std::swap(gone, letters_);
}

}  // namespace penstock::team
