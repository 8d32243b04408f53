// The targets' side of a loop, and the lanes by which they are asked to help.
#include "task/calls/loop_helpers.hpp"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "task/calls/core.hpp"
#include "task/calls/loop.hpp"
#include "task/calls/runner.hpp"
#include "task/calls/target.hpp"

namespace penstock::loop {

namespace {

Winner<>& winner_of(std::byte* extension) noexcept {
    static_assert(sizeof(Winner<>) <= sizeof(Extension));
    return *std::launder(reinterpret_cast<Winner<>*>(extension));
}

/// Of what is asked for first in this record. Those that are made anew in it have the next ones.
std::uint64_t number_of(std::uint64_t record) noexcept { return record << 16; }
constexpr std::uint64_t last_of_record = 0xffff;  ///< by its low bits

}  // namespace

void take_part(const PackedArguments& arguments, LocalStore& store, void (*run)(void*, Piece), bool copied) {
    auto& part = *std::launder(reinterpret_cast<Part*>(arguments.line));
    const auto* const record = reinterpret_cast<const TaskRecord*>(arguments.line - offsetof(TaskPayload, line) -
                                                                   offsetof(TaskRecord, payload));
    void* body = part.body;
    if (!copied) std::memcpy(&body, part.body, sizeof body);
    prefetch_read(body);
    const auto number = number_of(record->sequence.load(std::memory_order_relaxed) >> 1);
    if (!winner_of(arguments.extension).win(number, true)) return;
    part.loop->run_all(run, body, part.first, part.pieces, part.items / part.pieces, part.items % part.pieces,
                       static_cast<int>(store.worker()));
}

namespace {

void help(const PackedArguments& arguments, LocalStore& store) {
    auto& offer = *std::launder(reinterpret_cast<Offer<Loop>*>(arguments.line));
    Loop* const loop = offer.begin(winner_of(arguments.extension));
    if (loop == nullptr) return;
    if (loop->automatic()) {
        std::uint64_t none = 0;
        loop->helper_began.compare_exchange_strong(none, Clock::ticks(), std::memory_order_relaxed);
    }
    Loop::Worker worker{.target = static_cast<int>(store.worker()), .share = store.worker() + 1};
    do {
        while (loop->step(worker)) {
        }
    } while (loop->steal(worker.share));
}

constexpr Entry help_entry = entry_of_loop(help, "penstock::Machine::for_each");
const std::uint32_t help_number = register_entry(help_entry);

}  // namespace

// ---- the targets that help ----

struct Helpers::Lane {
    Ring* ring = nullptr;  ///< null until it is made, at its first use
    Producer<TaskPayload> producer;
    Doorbell* bell = nullptr;  ///< of the target
    // Of the last record:
    Ticket ticket;
    std::uint64_t number = 0;
    bool is_offer = false;
    std::uint32_t slept = 0;  ///< short loops in which the target slept
    int rank = 0;             ///< in each_target()

    Winner<>& winner(std::uint32_t slot) const noexcept { return winner_of(ring->extensions()[slot].bytes); }
};

Helpers::Helpers(Initiator& self) : self_(self), lanes_(static_cast<std::size_t>(self.target_count())) {
    // Inside a task: the thread that issued it cannot tell from its lanes who is idle.
    if (self.target() != Initiator::any_target) self.core().mix();
}

Helpers::~Helpers() {
    for (const Lane& lane : lanes_)
        if (lane.ring != nullptr) lane.ring->release();
}

Loop& Helpers::enter() {
    if (depth_ == loops_.size()) loops_.push_back(std::make_unique<Loop>(self_.target_count()));
    return *loops_[depth_++];
}

void Helpers::each_target(const std::function<bool(int)>& visit) {
    const int count = self_.target_count();
    begin_behind(first_);
    for (int target = 0; target < count; ++target) {
        Lane& lane = lanes_[static_cast<std::size_t>(target)];
        lane.rank = lane.ring != nullptr && !lane.producer.drained() ? 2
                    : self_.core().target(target).is_idle()          ? 0
                                                                     : 1;
    }
    for (int rank = 0; rank <= 2; ++rank)
        for (int next = 0; next < count; ++next)
            if (const int target = in_turn(next);
                lanes_[static_cast<std::size_t>(target)].rank == rank && !visit(target))
                return;
}

Helpers::Lane& Helpers::lane_to(int target) {
    Lane& lane = lanes_[static_cast<std::size_t>(target)];
    if (lane.ring != nullptr) return lane;
    // Two: what is taken back may keep one until the target comes by.
    constexpr std::uint32_t records = 2;
    Core& core = self_.core();
    const auto initiation = core.options().initiation;
    Ring& ring = Ring::acquire(Ring::Kind::lane, records, 0, self_, self_.waiter().bell(), target, nullptr, initiation);
    for (std::uint32_t slot = 0; slot < records; ++slot) new (ring.extensions()[slot].bytes) Winner<>;
    lane.producer = Producer<TaskPayload>(ring.parts(initiation), records, Completion::automatic);
    Target& receiver = core.target(target);
    lane.bell = &receiver.waiter().bell();
    const std::lock_guard lock(core.mutex());
    receiver.add_lane(ring, initiation);
    lane.ring = &ring;
    return lane;
}

void Helpers::publish(Lane& lane, Asked& asked) noexcept {
    self_.counters().calls.add();
    self_.counters().committed.add();
    lane.ticket = lane.producer.publish();
    wake_at(*lane.bell);
    lane.number = number_of(lane.ticket.number);
    asked = {true, asked.pieces, lane.ticket, lane.number, false};
}

bool Helpers::ask(int target, Asked& asked, const Body& body, const Part& part) {
    Lane& lane = lane_to(target);
    if (!lane.producer.drained()) return false;
    // To wake it takes longer than the loop. But it must not sleep through a program of short loops.
    constexpr std::uint32_t short_loops_a_call = 16;
    if (Parking(lane.bell->parked).sleeper() && ++lane.slept % short_loops_a_call != 0) return false;
    TaskPayload& payload = lane.producer.reserve()->payload;
    payload.entry = body.entry;
    auto& told = *new (payload.line) Part(part);
    if (body.copied != 0) std::memcpy(told.body, body.body, body.copied);
    else std::memcpy(told.body, &body.body, sizeof body.body);
    lane.is_offer = false;
    publish(lane, asked);
    return true;
}

bool Helpers::ask(int target, Asked& asked, Loop& loop) {
    Lane& lane = lane_to(target);
    if (!lane.producer.drained() && lane.is_offer && (lane.number & last_of_record) != last_of_record &&
        lane.winner(lane.ticket.slot).was_taken_back(lane.number)) {
        // The target has not come by since: it finds this one in place of what was taken back.
        asked = {true, {}, lane.ticket, ++lane.number, true};
        std::launder(reinterpret_cast<Offer<Loop>*>(lane.ring->slots()[lane.ticket.slot].payload.line))
            ->make(loop, lane.number);
        return true;
    }
    TaskRecord* const record = lane.producer.reserve();
    if (record == nullptr) return false;
    record->payload.entry = help_number;
    (new (record->payload.line) Offer<Loop>)->make(loop, number_of(lane.producer.issued() + 1));
    lane.is_offer = true;
    asked.pieces = {};
    publish(lane, asked);
    return true;
}

bool Helpers::take_back(int target, const Asked& asked) noexcept {
    return lanes_[static_cast<std::size_t>(target)].winner(asked.ticket.slot).win(asked.number, false);
}

bool Helpers::done(int target, const Asked& asked) noexcept {
    return lanes_[static_cast<std::size_t>(target)].producer.complete(asked.ticket);
}

}  // namespace penstock::loop

namespace penstock {

loop::Helpers& Runner::helpers() {
    if (helpers_ == nullptr) helpers_ = std::make_shared<loop::Helpers>(self_);
    return *helpers_;
}

}  // namespace penstock
