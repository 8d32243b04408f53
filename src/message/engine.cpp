#include "message/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>

namespace penstock::message {
namespace {

constexpr std::uint64_t ring_between_threads = 64 * 1024;
constexpr std::uint64_t ring_between_processes = 256 * 1024;
constexpr std::uint64_t rings_of_a_rank = 4 * 1024 * 1024;
/// Up to here a message is copied into the receiver's ring whole, so that its sender goes on at once while there is
/// room (63 messages, the bytes of the ring), whether somebody receives or not. Streams of 1 KiB are faster so; from 4
/// KiB on pull is, between threads (`./bench paper dcl-protocols`), but makes the sender wait.
constexpr std::uint64_t longest_whole = 4096;
static_assert(longest_whole <= exchange_bytes);

/// Options with the ring's size filled in: the same on every rank.
MessengerOptions complete(MessengerOptions options, Rank me) {
    if (options.ring_bytes == 0) {
        const auto wanted = me.substrate() == Substrate::threads ? ring_between_threads : ring_between_processes;
        const auto share = std::bit_floor(rings_of_a_rank / static_cast<unsigned>(me.size()));
        options.ring_bytes = std::clamp(share, smallest_ring, wanted);
    }
    if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < smallest_ring ||
        options.ring_bytes > largest_ring)
        throw UsageError("ring_bytes of a messenger must be a power of two from " + std::to_string(smallest_ring) +
                         " to " + std::to_string(largest_ring) + ", but " + std::to_string(options.ring_bytes) +
                         " was asked for");
    if (options.longest_vector == 0)
        options.longest_vector =
            static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) / 2 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if (options.protocol > Protocol::pure_pull)
        throw UsageError("there is no protocol of the number " +
                         std::to_string(static_cast<unsigned>(options.protocol)));
    return options;
}

/// For as long as it lives, nothing interrupts this rank's waits: who takes memory back cannot leave half way.
class Uninterrupted {
  public:
    explicit Uninterrupted(Rank me) noexcept : me_(me), before_(me.set_interruption(nullptr)) {}
    ~Uninterrupted() { me_.set_interruption(before_); }
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;

  private:
    Rank me_;
    team::Interruption* before_;
};

}  // namespace

Engine::Engine(Rank me, MessengerOptions options)
    : me_(me), options_(complete(std::move(options), me)), longest_whole_(std::min(longest_whole, options_.ring_bytes)),
      longest_short_(options_.protocol <= Protocol::ring ? longest_whole_ : bytes_inside),
      memory_(me.make(options_.name, Mailbox::size_of(me.size(), options_.ring_bytes), mailbox_kind,
                      me.far() == nullptr ? "" : Mailbox::described(me, options_))),
      box_(Mailbox::create(memory_.data(), me, options_)), peers_(static_cast<unsigned>(me.size())),
      standstill_(me, box_.header().standstill, [this](int rank) { return standstill_of(rank); }) {
    if (me.far() != nullptr) team::limit_writers(mailbox_kind, &Mailbox::parts_of);
    for (int rank = 0; rank < me.size(); ++rank) {
        if (rank == me.index()) continue;
        try {
            me_.grant(memory_, rank);
        } catch (const RankLost&) {  // whoever wants something of it will be told
        }
    }
}

Engine::~Engine() {
    for (int rank = 0; rank < me_.size(); ++rank) withdraw_from(rank);
    for (int rank = 0; rank < me_.size(); ++rank) close(rank);
    if (!threads()) return;
    const auto is_near = [this](int rank) { return !me_.elsewhere(rank); };  // also of those never attached
    const auto leave = [&](const Mailbox& box) {                             // of a shadow nobody else has a part
        if (box && box.header().holders.fetch_sub(1, std::memory_order_acq_rel) == 1) box.empty(is_near);
    };
    leave(box_);
    for (const Peer& peer : peers_)
        if (peer.far == nullptr) leave(peer.box);
}

/// Tells this peer that nothing more is exchanged with it.
void Engine::close(int rank) {
    auto& closed = box_.lane(rank).closed;
    closed.store(1, std::memory_order_release);
    if (me_.elsewhere(rank))
        me_.far()->copy_back(memory_.data(),
                             static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&closed) - memory_.data()),
                             rank);
    if (rank != me_.index()) me_.wake(rank);
}

/// Takes back what this peer might read from or store into memory of this rank's user, and waits where it has begun:
/// until it is done, or has said that it will not go on with it.
void Engine::withdraw_from(int rank) {
    Peer& peer = this->peer(rank);
    if (!peer.attached) return;
    const Uninterrupted uninterrupted(me_);
    const auto until = [&](auto&& poll) { me_.wait_unless([&] { return poll() || over(rank); }, [] { return -1; }); };
    auto& mine = box_.lane(rank);
    if (!peer.offered.empty()) {
        const auto begun = mine.outward.fetch.take_back();
        for (const auto index : peer.offered)
            if (const auto ticket = operations_[index].ticket;
                ticket.number <= begun && begun != message_claim::taken_back)
                until([&] {
                    // Of halves, whoever has taken the place back has read the other half.
                    const Operation& operation = operations_[index];
                    return peer.producer.complete(ticket) ||
                           (operation.fetched && !operation.pushes && mine.outward.place.is_taken_back());
                });
    }
    if (peer.taking && (peer.header.way == Way::push || peer.header.way == Way::halves)) {
        const Operation& operation = operations_[*peer.taking];
        if (operation.pushes || peer.box.lane(me_.index()).outward.place.take_back(operation.number))
            until([&] { return pushed(rank, operation); });
    }
}

// ---- lanes ----

/// `within`: how long to wait for its mailbox; 0: as long as the team's options say.
void Engine::attach(int rank, std::chrono::nanoseconds within) {
    Peer& peer = this->peer(rank);
    if (peer.spoilt) std::rethrow_exception(peer.spoilt);
    peer.memory = me_.accept_anywhere(rank, options_.name, mailbox_kind, within);
    peer.far = peer.memory.far();
    try {
        if (peer.far != nullptr) adopt(peer, rank);
        peer.box = Mailbox::open(peer.memory.data(), peer.memory.size(), me_, rank, options_);
    } catch (const InvalidMessage&) {  // it was granted once, so every later try is to tell the same
        spoil(rank, std::current_exception());
        throw;
    }
    const bool near = peer.far == nullptr;
    if (threads() && near) peer.box.header().holders.fetch_add(1, std::memory_order_relaxed);
    const bool headers_stay = options_.protocol == Protocol::pure_pull && near;
    Lane& mine = box_.lane(rank);
    Lane& theirs = peer.box.lane(me_.index());
    auto* const slots_out = headers_stay ? box_.slots(rank) : peer.box.slots(me_.index());
    auto* const slots_in = headers_stay ? peer.box.slots(me_.index()) : box_.slots(rank);
    peer.producer = Producer<Envelope>({slots_out, &mine.outward.credits, nullptr, slots_a_lane, Initiation::push},
                                       slots_a_lane, headers_stay || !near ? Completion::line : Completion::automatic);
    peer.consumer = Consumer<Envelope>({slots_in, &theirs.outward.credits, nullptr, slots_a_lane, Initiation::push});
    peer.writer = RingWriter<std::byte>(
        {peer.box.ring(me_.index()), options_.ring_bytes, &theirs.inward.filled, &mine.outward.freed});
    peer.reader =
        RingReader<std::byte>({box_.ring(rank), options_.ring_bytes, &mine.inward.filled, &theirs.outward.freed});
    find_out_what_may_be_copied(peer, rank);
    peer.closed = &theirs.closed;
    peer.answers = !headers_stay && near;
    if (peer.answers && options_.protocol == Protocol::automatic) {
        peer.exchange_out = peer.box.exchange(me_.index());
        peer.exchange_in = box_.exchange(rank);
    }
    peer.attached = true;
    peer.quick = me_.far() == nullptr;  // else something must be released first
}

/// The kernel allows the memory of another process to be read and written to its parents, or to all of the same user,
/// as it is set up.
void Engine::find_out_what_may_be_copied(Peer& peer, int rank) {
    if (threads()) return;
    peer.process = me_.process(rank).pid;
    std::uint64_t seen = 0;
    const iovec here{&seen, sizeof seen};
    const iovec there{reinterpret_cast<void*>(peer.box.header().address), sizeof seen};
    const bool allowed = peer.process > 0 && process_vm_readv(peer.process, &here, 1, &there, 1, 0) == sizeof seen &&
                         seen == peer.box.header().size;
    peer.stores = allowed;
    box_.lane(rank).can_fetch.store(allowed ? 1 : 0, std::memory_order_release);
}

/// Null while the mailbox of this rank is not there, and where it is on another node.
StandstillWords* Engine::standstill_of(int rank) {
    if (me_.elsewhere(rank)) return nullptr;  // it is not seen from here
    Peer& peer = this->peer(rank);
    try {
        if (!peer.attached) attach(rank, std::chrono::nanoseconds{1});
    } catch (const Error&) {
        return nullptr;
    }
    return &peer.box.header().standstill;
}

void Engine::refuse_address(int rank, const char* what, std::uintptr_t address) const {
    if (!me_.dead(rank)) throw InvalidMessage(rank, what, 0, address);
}

// ---- operations ----

std::uint32_t Engine::make_operation() {
    if (free_.empty()) {
        if (free_.capacity() <= operations_.size())  // room for all of them: giving one back needs no memory
            free_.reserve(2 * operations_.size() + 1);
        operations_.emplace_back();
        free_.push_back(static_cast<std::uint32_t>(operations_.size() - 1));
    }
    const auto index = free_.back();
    free_.pop_back();
    Operation& operation = operations_[index];
    const auto generation = std::exchange(operation, Operation{}).generation;
    operation.generation = generation + 1 == 0 ? 1 : generation + 1;
    ++live_;
    return index;
}

void Engine::done(Operation& operation) {
    operation.state = Operation::State::done;
    ++moved_;
    --live_;
}

Status Engine::collect(std::uint32_t index) {
    Operation& operation = operations_[index];
    const Status status = operation.status;
    const auto error = std::exchange(operation.error, nullptr);
    operation.state = Operation::State::free;
    free_.push_back(index);
    if (error) std::rethrow_exception(error);
    return status;
}

void Engine::fail(std::uint32_t index, std::exception_ptr error) {
    Operation& operation = operations_[index];
    if (operation.peer == any_source) {
        std::erase(posted_any_, index);
    } else {
        Peer& peer = this->peer(operation.peer);
        for (auto* queue : {&peer.queued, &peer.offered, &peer.posted}) std::erase(*queue, index);
        if (peer.taking == index) peer.taking.reset();
    }
    operation.error = std::move(error);
    done(operation);
}

/// Breaks off with this peer: whatever is under way with it ends, nothing more is begun, and it is told. It is told
/// first: two ranks that break off with one another at once must not wait for one another. This rank touches no memory
/// of the peer's user any more, for it copies nothing while it is here.
void Engine::spoil(int rank, std::exception_ptr error) {
    Peer& peer = this->peer(rank);
    peer.spoilt = error;
    peer.quick = false;
    close(rank);
    withdraw_from(rank);
    if (peer.taking) fail(*peer.taking, error);
    for (auto* queue : {&peer.queued, &peer.offered, &peer.posted})
        while (!queue->empty()) fail(queue->front(), error);
}

/// Ends an operation of a rank that is still there. One that has begun leaves a gap in what its two ranks exchange, so
/// nothing more goes between them.
void Engine::give_up(std::uint32_t index, std::exception_ptr error) {
    const Operation& operation = operations_[index];
    if (operation.state == Operation::State::done) return;
    if (operation.state == Operation::State::posted || operation.state == Operation::State::queued)
        return fail(index, std::move(error));
    spoil(operation.peer, std::move(error));
}

/// Ends and forgets an operation whose memory the user has back in a moment.
void Engine::abandon(std::uint32_t index) noexcept {
    std::exception_ptr why;
    try {
        why = std::make_exception_ptr(MessengerClosed(operations_[index].peer));
    } catch (const std::bad_alloc&) {
        why = std::current_exception();
    }
    try {
        give_up(index, std::move(why));
        collect(index);
    } catch (...) {  // whoever abandons it has an error of its own to tell
    }
}

/// Does a step with this peer, unless that is broken off with. An error in it breaks off. False then.
template <class Step>
bool Engine::or_spoil(int rank, Step&& step) {
    Peer& peer = this->peer(rank);
    try {
        return !peer.spoilt && step(peer);
    } catch (const Error&) {
        spoil(rank, std::current_exception());
        return false;
    }
}

/// Takes what this rank has sent, as move_in() does.
bool Engine::receive(int rank, Peer& peer) { return rank == me_.index() ? receive_from_self() : move_in(rank, peer); }

void Engine::progress_of(int rank) {
    or_spoil(rank, [&](Peer& peer) {
        if (!peer.queued.empty() || !peer.offered.empty()) move_out(rank, peer);
        if (rank == me_.index() || peer.taking || !peer.posted.empty())
            while (receive(rank, peer)) {
            }
        return true;
    });
}

void Engine::progress() {
    for (int rank = 0; rank < me_.size(); ++rank) progress_of(rank);
    for (int i = 0; i < me_.size() && !posted_any_.empty(); ++i) {
        const int rank = (next_any_ + i) % me_.size();
        if (!or_spoil(rank, [&](Peer& peer) { return receive(rank, peer); })) continue;
        next_any_ = (rank + 1) % me_.size();
        i = -1;  // from that one on
    }
}

}  // namespace penstock::message
