// Loops in pieces. A short loop, as far as the last two over the same body tell, is cut into one part for each thread,
// and each target finds its part in the line that it polls. In a longer one each thread has a share that it takes
// pieces from, and who has none left takes from the others, so uneven pieces balance and a busy target takes part when
// it gets round to it. Nobody waits for a target that has not begun: its part is taken back. What comes to whom is told
// in loop_shares.hpp.
#include "penstock/for_each.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "task/calls/core.hpp"
#include "task/calls/loop.hpp"
#include "task/calls/runner.hpp"

namespace penstock::loop {
namespace {

/// Nanoseconds of a loop that is short.
constexpr double short_loop = 4000;
/// Looks, with a pause behind each, for which the caller, which has done its part of a short loop, waits for a target
/// to begin: about a microsecond.
constexpr int patience = 32;

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
        const auto give_part = [&](int target) {
            if (target == me_.target) return true;
            const Range part = cut.next();
            if (part.size() == 0) return false;
            loop_->share(static_cast<std::size_t>(target) + 1).give({left.first + part.first, left.first + part.end});
            cut.give();
            return true;
        };
        helpers_->each_target(std::ref(give_part));  // not copied: that might need memory
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

std::atomic<std::uint64_t>& Machine::hand_off_ticks() noexcept { return core_->hand_off_ticks(); }

}  // namespace penstock
