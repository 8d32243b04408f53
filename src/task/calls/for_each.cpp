// Loops in pieces. A short loop, as far as the last two over the same body tell, is cut into one part for each thread,
// and each target finds its part in the line that it polls. In a longer one each thread has a share that it takes
// pieces from, and who has none left takes from the others, so uneven pieces balance and a busy target takes part when
// it gets round to it. Nobody waits for a target that has not begun: its part is taken back. What comes to whom is told
// in loop_shares.hpp.
//
// The body and the loop belong to the caller, which leaves only when all targets that have begun are done.
#include "penstock/for_each.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/error.hpp"
#include "task/calls/core.hpp"
#include "task/calls/loop_helpers.hpp"
#include "task/calls/runner.hpp"
#include "task/calls/target.hpp"

namespace penstock::loop {

/// A piece's work is at least so many times what its claim costs.
constexpr double claims_worth = 32;
/// Pieces that are left in a share when the end comes near.
constexpr std::uint32_t pieces_left = 2;
/// Nanoseconds of a loop that is short.
constexpr double short_loop = 4000;
/// Looks, with a pause behind each, for which the caller, which has done its part of a short loop, waits for a target
/// to begin: about a microsecond.
constexpr int patience = 32;

class alignas(128) Loop {
  public:
    explicit Loop(int targets) : shares_(static_cast<std::size_t>(targets) + 1), asked_(shares_.size()) {}

    void begin(std::size_t n, Grain grain, std::size_t most, const Body& body) {
        n_ = n;
        body_ = body;
        automatic_ = grain.is_automatic();
        std::size_t pieces = n;  // sized on the way: items, of which a claim takes several
        if (!automatic_) {
            const auto wished = std::min(grain.items(), n);
            pieces = std::max<std::size_t>(1, n / wished + (n % wished > wished / 2 ? 1 : 0));
        }
        pieces_ = static_cast<std::uint32_t>(std::min<std::size_t>(pieces, ~std::uint32_t{0}));
        least_ = n / pieces_;
        larger_ = n % pieces_;
        const auto fit = most / (least_ + (larger_ != 0 ? 1 : 0));
        most_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, 1, pieces_));
        if (failed()) {  // else targets that look at it keep its line
            failed_.store(false, std::memory_order_relaxed);
            failure_ = nullptr;
        }
        helper_began.store(0, std::memory_order_relaxed);
    }

    /// What one worker knows: how long an item takes, and a claim.
    struct Worker {
        int target = Initiator::any_target;
        std::size_t share = 0;
        double item_ticks = 0;  ///< 0: nothing measured yet
        double claim_ticks = 0;
        std::uint32_t last = 0;       ///< items of the last piece
        std::uint32_t others_of = 1;  ///< workers that may want a part of its share
    };

    std::uint32_t pieces() const noexcept { return pieces_; }
    bool automatic() const noexcept { return automatic_; }
    bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
    /// Of these pieces, for a target: where less than most_items.
    Part part_of(Range pieces) noexcept {
        const Piece items = items_of(pieces);
        Part part;
        part.loop = this;
        part.first = static_cast<std::uint16_t>(items.begin);
        part.items = static_cast<std::uint16_t>(items.size());
        part.pieces = static_cast<std::uint16_t>(pieces.size());
        return part;
    }
    Share<>& share(std::size_t worker) noexcept { return shares_[worker]; }

    /// Runs so many pieces one by one, from item `first` on, of `least` items each, one more in the first `larger`.
    void run_all(void (*body)(void*, Piece), void* argument, std::size_t first, std::size_t pieces, std::size_t least,
                 std::size_t larger, int target) noexcept {
        Piece piece{0, first};
        for (std::size_t number = 0; number != pieces; ++number) {
            piece = {piece.end, piece.end + least + (number < larger ? 1 : 0)};
            run(body, argument, piece, target);
        }
    }
    void run_all(Range pieces, int target) noexcept {
        run_all(body_.run, body_.body, begin_of(pieces.first), pieces.size(), least_,
                larger_ - std::min<std::size_t>(pieces.first, larger_), target);
    }

    /// Takes and runs one piece of the worker's share. False when it has none left.
    bool step(Worker& worker) noexcept {
        Share<>& mine = shares_[worker.share];
        if (const bool lost = failed(); lost || !automatic_) {
            const Range taken = mine.take([&](std::uint32_t left) { return lost ? left : 1; });
            if (taken.size() != 0) run(body_.run, body_.body, items_of(taken), worker.target);
            return taken.size() != 0;
        }
        const auto begin = Clock::ticks();
        const Range taken = mine.take([&](std::uint32_t left) { return claim_of(worker, left); });
        if (taken.size() == 0) return false;
        const auto claimed = Clock::ticks();
        run(body_.run, body_.body, items_of(taken), worker.target);
        learn(worker.item_ticks, static_cast<double>(Clock::ticks() - claimed) / taken.size());
        learn(worker.claim_ticks, static_cast<double>(claimed - begin));
        worker.last = taken.size();
        return true;
    }
    /// Takes from another share what its owner has not begun. False when nobody has anything left.
    bool steal(std::size_t share) noexcept {
        for (std::size_t next = 1; next < shares_.size(); ++next) {
            const Range stolen = shares_[(share + next) % shares_.size()].steal();
            if (stolen.size() == 0) continue;
            shares_[share].give(stolen);
            return true;
        }
        return false;
    }
    bool something_left() const noexcept {
        return std::ranges::any_of(shares_, [](const Share<>& share) { return share.left() != 0; });
    }

    void throw_failure() {
        if (!failed()) return;
        throw TaskFailed(std::string(body_.name) + " (items " + std::to_string(failed_piece_.begin) + " to " +
                             std::to_string(failed_piece_.end - 1) + " of a loop over " + std::to_string(n_) + ")",
                         failed_target_, std::exchange(failure_, nullptr));
    }

    /// By target. The caller's own.
    std::vector<Asked>& asked() noexcept { return asked_; }

  private:
    static void learn(double& known, double measured) noexcept {
        known = known == 0 ? measured : known + (measured - known) / 4;
    }

    // Without n_ * piece, which may not fit.
    std::size_t begin_of(std::uint32_t piece) const noexcept {
        return piece * least_ + std::min<std::size_t>(piece, larger_);
    }
    Piece items_of(Range pieces) const noexcept { return {begin_of(pieces.first), begin_of(pieces.end)}; }

    std::uint32_t claim_of(const Worker& worker, std::uint32_t left) const noexcept {
        std::uint32_t size = 1;
        if (worker.item_ticks > 0) {
            const auto wanted = claims_worth * worker.claim_ticks / worker.item_ticks;
            size = wanted > static_cast<double>(left) ? left : static_cast<std::uint32_t>(wanted);
            size = std::max(size, left / (8 * worker.others_of));  // large while much is left,
            // but what is known comes from a few items at first
            if (worker.last < left / 4) size = std::min(size, 4 * worker.last);
            size = std::min(size, left / (pieces_left * worker.others_of));  // and the last ones are spread over all
        }
        return std::clamp<std::uint32_t>(size, 1, std::min(most_, left));
    }

    void run(void (*body)(void*, Piece), void* argument, Piece piece, int target) noexcept {
        if (failed()) return;
        try {
            body(argument, piece);
        } catch (...) {
            keep_failure(piece, target);
        }
    }

    [[gnu::noinline, gnu::cold]] void keep_failure(Piece piece, int target) noexcept {
        const std::lock_guard lock(mutex_);
        if (failure_) return;
        failure_ = std::current_exception();
        failed_piece_ = piece;
        failed_target_ = target;
        failed_.store(true, std::memory_order_relaxed);
    }

    Body body_{};
    std::size_t least_ = 0;  ///< items of a piece, one more in the first `larger_`
    std::size_t larger_ = 0;
    std::uint32_t pieces_ = 0;
    std::uint32_t most_ = 1;  ///< pieces of one claim: what the local store holds
    bool automatic_ = false;
    alignas(128) std::atomic<bool> failed_{false};
    alignas(128) std::size_t n_ = 0;
    std::vector<Share<>> shares_;  ///< the caller's, then one for each target
    std::vector<Asked> asked_;     ///< by target
    std::mutex mutex_;
    std::exception_ptr failure_;
    Piece failed_piece_;
    int failed_target_ = Initiator::any_target;

  public:
    /// When the first helper began, for the next loop's sake.
    std::atomic<std::uint64_t> helper_began{0};
};

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

constexpr Entry help_entry{.run = help,
                           .discard = [](const PackedArguments&) noexcept {},
                           .describe = [](const PackedArguments&, ArgumentBlock*) noexcept { return std::size_t{0}; },
                           .name = "penstock::Machine::for_each",
                           .has_blocks = false,
                           .has_rows = false};
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

template <class Visit>
void Helpers::each_target(Visit&& visit) {
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

// ---- the caller ----

namespace {

/// What this thread's last loop over each of a few bodies took, in ticks. A guess for another body costs a hand-off at
/// most.
struct Known {
    const void* like = nullptr;
    double item_ticks = 0;  ///< of one thread: a loop that comes again is shared from its first item on
    double loop_ticks = 0;  ///< of the whole loop, an item; of two, the larger
    double last_ticks = 0;  ///< of the last
};

Known& known_of(const Body& body) noexcept {
    static thread_local std::array<Known, 16> table;
    auto& known = table[std::hash<const void*>{}(body.like) / 16 % table.size()];
    if (known.like != body.like) known = {body.like, 0, 0, 0};
    return known;
}

double ticks_of(double nanoseconds) noexcept {
    static const double one = 1 / Clock::nanoseconds_per_tick();
    return nanoseconds * one;
}

/// So many pieces in equal parts, the caller's first, for it and `others` more, as far as there are pieces.
class Cut {
  public:
    Cut(std::uint32_t pieces, std::uint32_t others) noexcept
        : part_(pieces / (1 + std::min(others, pieces - 1))), larger_(pieces % (1 + std::min(others, pieces - 1))),
          parts_(std::min(others, pieces - 1)), end_(pieces) {}
    /// The last of those that nobody has yet, or none but the caller's.
    Range next() const noexcept { return {end_ - (parts_ == 0 ? 0 : part_ + (parts_ < larger_ ? 1 : 0)), end_}; }
    void give() noexcept {
        end_ = next().first;
        --parts_;
    }
    Range rest() const noexcept { return {0, end_}; }

  private:
    std::uint32_t part_, larger_, parts_, end_;  ///< parts_: beside the caller's, that nobody has yet
};

/// One loop, from its caller's side.
class Calling {
  public:
    Calling(Machine& machine, Initiator& self, const Body& body)
        : machine_(machine), self_(self), body_(body), by_deque_(self.no_lone_calls()) {
        me_.target = self.target();
        if (self.shared()) {
            own_ = std::make_unique<Loop>(0);
            loop_ = own_.get();
        } else {
            helpers_ = &self.runner().helpers();
            loop_ = &helpers_->enter();
            targets_ = self.target_count();
        }
    }
    ~Calling() {
        if (helpers_ != nullptr) helpers_->leave();
    }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

    Loop& loop() noexcept { return *loop_; }
    double item_ticks() const noexcept { return me_.item_ticks; }

    /// One part for each thread that can be had, the caller's first.
    void run_parts() {
        Cut cut(loop_->pieces(), others());
        for (int next = 0; next < targets_ && cut.next().size() != 0; ++next)
            if (ask(helpers_->in_turn(next), cut.next())) cut.give();
        loop_->run_all(cut.rest(), me_.target);
        // A look that comes before the answer costs as much as one that comes a little late.
        relax();
        relax();
        finish(patience);
    }

    /// `known`: ticks that an item took in the last such loop, or 0.
    void run_shares(double known) {
        Share<>& mine = loop_->share(0);
        mine.give({0, loop_->pieces()});
        std::uint64_t asked = 0;
        if (targets_ != 0) {
            me_.others_of = 1 + others();
            run_alone(known);
            me_.others_of = 1;
            if (mine.left() > 1) {
                asked = Clock::ticks();
                share_out();
            }
        }
        do {
            while (loop_->step(me_))
                if (unasked_ != 0 && mine.left() > 1) ask_again();
        } while (loop_->steal(0));
        finish(0);
        if (asked != 0 && loop_->automatic()) note_hand_off(asked);
    }

  private:
    /// Targets that could help.
    std::uint32_t others() const noexcept {
        return static_cast<std::uint32_t>(targets_) - (me_.target >= 0 && targets_ != 0 ? 1 : 0);
    }

    /// To run these, or to take part. False when it cannot be had now.
    bool ask(int target, Range pieces = {}) noexcept {
        if (target == me_.target) return false;
        Asked& asked = loop_->asked()[static_cast<std::size_t>(target)];
        asked.pieces = pieces;
        try {
            return pieces.size() != 0 ? helpers_->ask(target, asked, body_, loop_->part_of(pieces))
                                      : helpers_->ask(target, asked, *loop_);
        } catch (const std::exception&) {
            return false;  // no lane: then with fewer
        }
    }

    /// Automatic pieces are run alone at first, unless their last loop says that they are worth a hand-off: others are
    /// asked when what is left is, as far as the first items tell.
    void run_alone(double known) noexcept {
        if (!loop_->automatic()) return;
        const auto hand_off = static_cast<double>(machine_.hand_off_ticks().load(std::memory_order_relaxed));
        if (known >= hand_off) return;
        const auto begin = Clock::ticks();
        while (static_cast<double>(Clock::ticks() - begin) < hand_off ||
               me_.item_ticks * loop_->share(0).left() < 2 * hand_off)
            if (!loop_->step(me_)) return;
    }

    void share_out() {
        Share<>& mine = loop_->share(0);
        const Range left = mine.take([](std::uint32_t all) { return all; });
        Cut cut(left.size(), others());
        helpers_->each_target([&](int target) {
            if (target == me_.target) return true;
            const Range part = cut.next();
            if (part.size() == 0) return false;
            loop_->share(static_cast<std::size_t>(target) + 1).give({left.first + part.first, left.first + part.end});
            cut.give();
            return true;
        });
        mine.give({left.first + cut.rest().first, left.first + cut.rest().end});
        // Once all can be seen: who finds nothing left does not look again.
        for (int target = 0; target < targets_; ++target)
            if (loop_->share(static_cast<std::size_t>(target) + 1).left() != 0 && !ask(target)) ++unasked_;
    }
    /// Those that loops around this one had asked for as much as they can be asked for.
    void ask_again() noexcept {
        unasked_ = 0;
        for (int target = 0; target < targets_; ++target)
            if (target != me_.target && !loop_->asked()[static_cast<std::size_t>(target)].open && !ask(target))
                ++unasked_;
    }

    /// Waits for the targets, and runs what those have not begun that have not come by in so many looks.
    void finish(int looks) {
        for (bool all_done = false; !all_done; --looks) {
            all_done = true;
            const bool takes_back = looks <= 0;
            for (int target = targets_ - 1; target >= 0; --target) {  // the first pieces first
                Asked& asked = loop_->asked()[static_cast<std::size_t>(target)];
                if (!asked.open) continue;
                const bool done = helpers_->done(target, asked);
                if (done ? helpers_->passed(target, asked) : takes_back && helpers_->take_back(target, asked)) {
                    asked.open = false;
                    helpers_->begin_behind(target);
                    loop_->run_all(asked.pieces, me_.target);
                } else {
                    asked.open = !done;
                    all_done = all_done && done;
                }
            }
            if (all_done) return;
            if (!takes_back) {
                relax();
                continue;
            }
            self_.waiter().wait([&] { return loop_->something_left() || some_done(); }, {"pieces of a loop", 0});
            while (loop_->steal(0))
                while (loop_->step(me_)) {
                }
        }
    }
    bool some_done() noexcept {
        for (int target = 0; target < targets_; ++target) {
            const Asked& asked = loop_->asked()[static_cast<std::size_t>(target)];
            if (asked.open && helpers_->done(target, asked)) return true;
        }
        return false;
    }

    void note_hand_off(std::uint64_t asked) noexcept {
        const auto began = loop_->helper_began.load(std::memory_order_relaxed);
        if (began <= asked) return;
        // The shortest of late, forgotten slowly: a helper that began late was most likely not waiting for work.
        const auto measured = static_cast<double>(began - asked);
        const auto known = static_cast<double>(machine_.hand_off_ticks().load(std::memory_order_relaxed));
        const auto next = measured < known ? measured : known * 1.1;
        machine_.hand_off_ticks().store(static_cast<std::uint64_t>(next) + 1, std::memory_order_relaxed);
    }

    Machine& machine_;
    Initiator& self_;
    const Body& body_;
    Helpers* helpers_ = nullptr;  ///< null where several threads share an initiator: these loop alone
    std::unique_ptr<Loop> own_;   ///< then
    Loop* loop_ = nullptr;
    int targets_ = 0;
    int unasked_ = 0;
    Loop::Worker me_;
    const Exchanged<bool> by_deque_;
};

}  // namespace

void run(Machine& machine, std::size_t n, std::size_t item_bytes, Grain grain, const Body& body) {
    if (n == 0) return;
    Core::of(machine).backend().require(Backend::Ability::loops);
    Initiator& self = machine.initiator();
    const auto begin = Clock::ticks();
    Known& known = known_of(body);
    Calling calling(machine, self, body);
    Loop& loop = calling.loop();
    loop.begin(n, grain, item_bytes == 0 ? n : self.local_store_bytes() / item_bytes, body);
    const auto expected = known.loop_ticks * static_cast<double>(n);
    if (!loop.automatic() && n <= Part::most_items && expected > 0 && expected < ticks_of(short_loop))
        calling.run_parts();
    else calling.run_shares(known.item_ticks);
    // A loop inside a piece may have put another body in its place.
    Known& learnt = known_of(body);
    if (calling.item_ticks() > 0) learnt.item_ticks = calling.item_ticks();
    const auto last = static_cast<double>(Clock::ticks() - begin) / static_cast<double>(n);
    if (learnt.last_ticks > 0) learnt.loop_ticks = std::max(learnt.last_ticks, last);
    learnt.last_ticks = last;
    loop.throw_failure();
}

}  // namespace penstock::loop

namespace penstock {

loop::Helpers& Runner::helpers() {
    if (helpers_ == nullptr) helpers_ = std::make_shared<loop::Helpers>(self_);
    return *helpers_;
}

std::atomic<std::uint64_t>& Machine::hand_off_ticks() noexcept { return core_->hand_off_ticks(); }

}  // namespace penstock
