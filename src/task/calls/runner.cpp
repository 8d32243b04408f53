#include "task/calls/runner.hpp"

#include <new>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/task/chain_image.hpp"
#include "task/calls/core.hpp"
#include "task/dependent/replay.hpp"
#include "task/waiting/notices.hpp"
#include "task/waiting/verdict.hpp"

namespace penstock {

namespace {

/// Of a task that ended otherwise than it should, perhaps for want of memory.
std::string name_of(const Entry& entry) noexcept {
    try {
        return std::string(entry.name);
    } catch (const std::bad_alloc&) {
        return "(unnamed)";  // short enough to need none
    }
}

}  // namespace

/// For as long as it lives this thread is inside tasks: what they issue goes into scopes of their own.
class Runner::Inside {
  public:
    explicit Inside(Runner& runner, Ring* ring = nullptr, std::uint64_t number = 0) noexcept
        : task{ring, number, nullptr, runner.innermost_}, runner_(runner), timed_entry_(runner.timed_entry_),
          copy_ticks_(runner.copy_ticks_), outer_(runner.self_.enter_task(runner.core_.standing_options())) {
        ++runner.depth_;
        runner.innermost_ = &task;
        if (runner.core_.board().timeline.load(std::memory_order_relaxed) != 0) runner.until_sample_ = 1;
    }
    ~Inside() {
        runner_.timed_entry_ = timed_entry_;
        runner_.copy_ticks_ = copy_ticks_;
        runner_.innermost_ = task.outer;
        if (--runner_.depth_ == 0) runner_.running_.store(0, std::memory_order_relaxed);
        runner_.self_.leave_task(outer_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    Running task;  ///< the one that runs now

  private:
    Runner& runner_;
    std::uint32_t timed_entry_;  ///< of the task around it
    std::uint64_t copy_ticks_;
    Initiator::Interrupted outer_;
};

[[gnu::always_inline]] inline std::uint32_t Runner::run_one(Ring& ring, TaskPayload& payload, Extension* extension,
                                                            std::uint64_t number) noexcept {
    const Entry& entry = entry_of(payload.entry);
    const std::uint32_t notice = payload.flags >> TaskPayload::notice_shift;
    const PackedArguments arguments{payload.line, extension->bytes, (payload.flags & TaskPayload::boxed) != 0};
    if (ring.cancels() && ring.take_cancellation(number)) [[unlikely]] {
        skip(ring, entry, arguments, number);
        return notice;
    }
    if (depth_ == 1) running_.store(payload.entry, std::memory_order_relaxed);
    const std::uint64_t begin = --until_sample_ == 0 ? start_sample(payload) : 0;
    try {
        entry.run(arguments, store_);
    } catch (...) {
        keep_failure(ring, entry, number);
    }
    if (begin != 0) [[unlikely]]
        end_sample(begin, payload, extension->bytes, ring);
    self_.leave_scope();
    return notice;
}

std::uint32_t Runner::run(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept {
    const Inside inside(*this, &ring, number);
    const auto notice = run_one(ring, payload, extension, number);
    if (ring.cancels()) [[unlikely]]
        ring.take_cancellation(number);  // asked for too late
    counters_.tasks.add_release();
    return notice;
}

void Runner::run_front(Ring& lane, Consumer<TaskPayload>& consumer, TaskPayload& payload) noexcept {
    const auto number = consumer.next();
    std::uint32_t notice = 0;
    {
        const Inside inside(*this, &lane, number);
        notice = run_one(lane, payload, &lane.extensions()[consumer.position()], number);
        if (lane.cancels()) [[unlikely]]
            lane.take_cancellation(number);  // asked for too late
        counters_.tasks.add_release();
        consumer.complete();
    }
    if (notice != 0) [[unlikely]]
        notify(lane, notice);
    penstock::wake_at(lane.owner_bell());
}

// It completes in its slot, so somebody may wait for just this task: what need not come before its completion comes
// behind it, and what Inside would save for a task around it is left out. There is none, and outside tasks a target
// issues nothing.
bool Runner::run_lone(Ring& lane, Consumer<TaskPayload>& consumer, TaskRecord& record) noexcept {
    const bool in_slot = (record.sequence.load(std::memory_order_relaxed) & 1) != 0;
    if (!in_slot || until_sample_ == 1 || lane.cancels() || core_.board().timeline.load(std::memory_order_relaxed) != 0)
        [[unlikely]]
        return false;
    TaskPayload& payload = record.payload;
    const std::uint32_t notice = payload.flags >> TaskPayload::notice_shift;
    const Entry& entry = entry_of(payload.entry);
    const Running task{&lane, consumer.next(), nullptr, nullptr};
    const auto outer = self_.enter_task(core_.standing_options());
    --until_sample_;  // of this one: tasks that it runs while it waits may begin to count anew
    depth_ = 1;
    innermost_ = &task;
    running_.store(payload.entry, std::memory_order_relaxed);
    try {
        entry.run(
            {payload.line, lane.extensions()[consumer.position()].bytes, (payload.flags & TaskPayload::boxed) != 0},
            store_);
    } catch (...) {
        keep_failure(lane, entry, task.number);
    }
    self_.leave_scope();
    if (lane.cancels()) [[unlikely]]
        lane.take_cancellation(task.number);  // asked for too late
    counters_.tasks.add_release();
    consumer.complete();
    innermost_ = nullptr;
    depth_ = 0;
    running_.store(0, std::memory_order_relaxed);
    self_.leave_task(outer);
    if (notice != 0) [[unlikely]]
        notify(lane, notice);
    penstock::wake_at(lane.owner_bell());
    return true;
}

std::uint32_t Runner::claimant_in(const Ring& ring) const noexcept {
    const auto targets = static_cast<std::uint32_t>(self_.target_count());
    return target_ >= 0 ? static_cast<std::uint32_t>(target_) : targets + (&ring.owner() == &self_ ? 0 : 1);
}

/// Asks for the arguments of tasks of a claim, and, during its last task, claims on and asks for those of the first task
/// of the next one: else one task of each claim would find nothing near.
class Runner::ClaimAhead final : public FetchAhead {
  public:
    ClaimAhead(Runner& runner, Ring& ring, OpenClaim<Ring>* open, Claim claim, const ClaimSize& size) noexcept
        : runner_(runner), ring_(ring), open_(open), size_(size), fetched_(claim.first) {
        begin(claim);
    }
    /// The claim whose tasks run from here on.
    void begin(Claim claim) noexcept {
        end = claim.first + claim.count;
        next = {};
    }
    void look_behind(std::uint64_t number) noexcept {
        number_ = number;
        runner_.fetch_behind(ring_.pending().record(number).payload, *this);
    }
    void fetch_ahead() noexcept override {
        if (number_ + 1 < end) end = runner_.look_ahead(ring_, *open_, number_, fetched_, end);
        else if (next.count == 0 && size_.goes_on && claims_ < most_claims && runner_.may_claim_on(ring_)) claim_on();
    }

    std::uint64_t end;  ///< of the claim, which others may shorten
    Claim next;         ///< the one behind it, open in its place; empty: none

  private:
    static constexpr int most_claims = 4;  ///< before the thread looks at whatever else it serves

    /// Of the claim that ends nothing is left that others could take.
    void claim_on() noexcept {
        next = size_.claim(ring_);
        if (next.count == 0) return;
        ++claims_;
        ring_.pending().fetch(next);
        open_->close();
        open_->open(ring_, next.first, next.first + next.count);
        runner_.prefetch(ring_, next.first);
        fetched_ = next.first;
        open_->announce_again(next.first - 1);
    }

    Runner& runner_;
    Ring& ring_;
    OpenClaim<Ring>* open_;
    const ClaimSize& size_;
    std::uint64_t number_ = 0, fetched_;
    int claims_ = 1;
};

/// More waits than the others will ask for soon, nothing else waits for this thread, and no task waits for this one.
bool Runner::may_claim_on(Ring& ring) const noexcept {
    return depth_ == 1 && !ring.urgent && ring.pending().unclaimed() > core_.workers() &&
           (target_ < 0 || !core_.target(target_).has_mail());
}

void Runner::run_claimed(Ring& ring, Claim claim, trace::Counter& ran, const ClaimSize& size) noexcept {
    auto& pending = ring.pending();
    OpenClaim<Ring>* open = nullptr;
    bool looks = false;
    if (claim.count > 1) {
        open = open_claim(ring, claim);
        pending.fetch(claim);
        const auto first = pending.record(claim.first).payload.entry;
        if (!looks_ahead_) looks_ahead_ = prefetcher_.may_pay(entry_of(first));
        looks = looks_ahead_ && open != nullptr && !prefetcher_.passes_over(first, claim.count - 1);
    }
    std::uint64_t number = claim.first;
    ClaimAhead ahead(*this, ring, open, claim, size);
    {
        Inside inside(*this, &ring, number);
        for (;;) {
            if (looks) ahead.look_behind(number);
            const auto notice =
                run_one(ring, pending.record(number).payload, &ring.extensions()[pending.slot(number)], number);
            if (looks) forget_behind();
            pending.complete(number);
            if (notice != 0) [[unlikely]]
                notify(ring, notice);
            penstock::wake_at(ring.owner_bell());
            const bool goes_on = ++number == ahead.end;
            if (goes_on && ahead.next.count == 0) break;
            if (core_.board().urgent.load(std::memory_order_relaxed) != 0 && must_give_way(ring)) [[unlikely]] {
                give_back(open->withdraw(std::this_thread::yield));
                break;
            }
            const auto coming = goes_on ? ahead.next.first : number;
            auto end = goes_on ? coming + ahead.next.count : ahead.end;
            open->announce(coming);
            if (!open->unchanged()) [[unlikely]] {
                end = open->settle(std::this_thread::yield);
                if (coming >= end) break;
            }
            if (goes_on) {  // one of this ring is outstanding still: nobody's barrier ends here
                end_claim(ring, claim.first, number, ran);
                claim = ahead.next;
                ahead.begin(claim);
                number = coming;
            }
            ahead.end = end;
            inside.task.number = number;
        }
    }
    if (open != nullptr) close_claim();
    end_claim(ring, claim.first, number, ran);
}

/// The tasks from `first` on, up to before `end`, have run: counted, once for all of them.
void Runner::end_claim(Ring& ring, std::uint64_t first, std::uint64_t end, trace::Counter& ran) noexcept {
    if (ring.cancels()) [[unlikely]]
        ring.forget_cancellations(first - 1, end - 1);  // asked for too late
    const auto count = static_cast<std::uint32_t>(end - first);
    ran.add(count);
    counters_.tasks.add_release(count);
    ring.pending().complete_claim({first, count}, claimant_in(ring));
    penstock::wake_at(ring.owner_bell());
}

// ---- what is claimed and has not begun ----

/// Where there is no room for one more that others can take from, only its first task is kept.
OpenClaim<Ring>* Runner::open_claim(Ring& ring, Claim& claim) noexcept {
    const auto level = open_claims_.load(std::memory_order_relaxed);
    if (level == most_open_claims) [[unlikely]] {
        ring.pending().give_back(claim.first + 1, claim.first + claim.count);
        core_.tell_of_returned(ring, std::exchange(claim.count, 1) - 1);
        return nullptr;
    }
    open_[level].claim.open(ring, claim.first, claim.first + claim.count);
    open_claims_.store(level + 1, std::memory_order_release);
    return &open_[level].claim;
}

/// Fetches the arguments of those that come next. Nobody may take (and run, and end) a task whose record is looked at,
/// so each is announced as if it began. Returns the end of the claim.
std::uint64_t Runner::look_ahead(Ring& ring, OpenClaim<Ring>& open, std::uint64_t number, std::uint64_t& fetched,
                                 std::uint64_t end) noexcept {
    for (fetched = std::max(fetched, number); fetched + 1 < end && fetched < number + ahead(); ++fetched) {
        open.announce(fetched + 1);
        if (!open.unchanged()) [[unlikely]] {
            end = open.settle(std::this_thread::yield);
            if (fetched + 1 >= end) break;
        }
        prefetch(ring, fetched + 1);
    }
    open.announce_again(number);
    return end;
}

void Runner::close_claim() noexcept {
    const auto level = open_claims_.load(std::memory_order_relaxed) - 1;
    open_[level].claim.close();
    open_claims_.store(level, std::memory_order_relaxed);
}

void Runner::give_back(const OpenClaim<Ring>::Rest& rest) noexcept {
    if (rest.empty()) return;
    rest.where->pending().give_back(rest.first, rest.end);
    core_.tell_of_returned(*rest.where, static_cast<std::uint32_t>(rest.end - rest.first));
}

void Runner::give_back_all() noexcept {
    for (std::uint32_t level = open_claims_.load(std::memory_order_relaxed); level-- > 0;)
        give_back(open_[level].claim.withdraw(std::this_thread::yield));
}

void Runner::give_back_if_held_up(const Initiator& taker) noexcept {
    const auto levels = open_claims_.load(std::memory_order_acquire);
    if (levels == 0 || !can_take_) return;
    for (std::uint32_t level = 0; level < levels; ++level) {
        auto& [claim, seen, since] = open_[level];
        const auto next = claim.next();
        if (next == 0) continue;
        const auto now = Clock::ticks();
        const auto task = next ^ static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(claim.where())) << 16;
        if (seen.load(std::memory_order_acquire) != task) {
            since.store(now, std::memory_order_relaxed);
            seen.store(task, std::memory_order_release);
        } else if (Clock::nanoseconds(now - since.load(std::memory_order_relaxed)) > held_up_after) {
            give_back(claim.take(&taker, waiting::process_wide_barrier));
        }
    }
}

/// Between two tasks of a claim, outside of waits: is there a task of high priority that may run here?
bool Runner::must_give_way(const Ring& ring) const noexcept {
    if (ring.urgent || depth_ != 1) return false;
    if (target_ < 0) return self_.deque().inviting(target_, Deque::Look::urgent) != nullptr;
    bool waits = false;
    core_.each_initiator(
        [&](Initiator& other) { waits = waits || other.deque().inviting(target_, Deque::Look::urgent) != nullptr; });
    return waits;
}

void Runner::run_posted(const Posting& posting, bool last) noexcept {
    const Inside inside(*this);
    posting.run(posting.first, posting.second, target_, last);
    self_.leave_scope();
}

// ---- dependent tasks ----

std::uint64_t Runner::run_dependent(DependentNode& first, std::uint64_t most) noexcept {
    Inside inside(*this);
    std::uint64_t count = 0;
    for (DependentNode* node = &first; node != nullptr; ++count) {
        if (count == most) {
            hand_on(*node);
            break;
        }
        node = run_and_release(*node, inside.task);
    }
    return count;
}

DependentNode* Runner::run_and_release(DependentNode& node, Running& running) noexcept {
    Ring& ring = *node.ring();
    auto& pending = ring.pending();
    const auto slot = static_cast<std::uint32_t>(&node - ring.nodes());
    TaskRecord& record = ring.slots()[slot];
    Extension* const extension = &ring.extensions()[slot];
    const std::uint64_t number = record.sequence.load(std::memory_order_relaxed) >> 1;
    running.ring = &ring;
    running.number = number;
    running.node = &node;
    if (node.verdict() != nullptr) [[unlikely]]
        pass_over(ring, node, entry_of(record.payload.entry),
                  {record.payload.line, extension->bytes, (record.payload.flags & TaskPayload::boxed) != 0}, number);
    else run_one(ring, record.payload, extension, number);
    if (ring.cancels()) [[unlikely]]
        ring.take_cancellation(number);  // asked for too late
    const auto verdict = Verdict::on(ring, number);
    const auto successors = node.close();
    pending.complete(number);  // from here on the owner may use the slot again
    DependentNode* next = nullptr;
    if (core_.heights().any()) [[unlikely]] {
        next = release_by_height(successors, verdict ? &*verdict : nullptr);
    } else {
        DependentNode::each_successor(successors, [&](DependentNode& successor) {
            if (verdict) [[unlikely]]
                Verdict::give(successor, *verdict);
            if (!successor.arrive()) return;
            if (next != nullptr || (successor.target() >= 0 && successor.target() != target_))
                return hand_on(successor);
            next = &successor;
            const Ring& its = *successor.ring();
            prefetch_read(&its.slots()[&successor - its.nodes()]);
        });
    }
    counters_.tasks.add_release();
    pending.complete_claim({number, 1}, claimant_in(ring));
    penstock::wake_at(ring.owner_bell());
    return next;
}

/// Of those that become ready the highest is run next, unless a higher one waits somewhere; the others are handed on.
[[gnu::noinline, gnu::cold]] DependentNode* Runner::release_by_height(std::uint64_t successors,
                                                                      const Verdict* verdict) noexcept {
    Heights& heights = core_.heights();
    DependentNode* next = nullptr;
    std::uint32_t height = 0;
    DependentNode::each_successor(successors, [&](DependentNode& successor) {
        if (verdict != nullptr) Verdict::give(successor, *verdict);
        if (!successor.arrive()) return;
        if (successor.target() >= 0 && successor.target() != target_) return hand_on(successor);
        const auto its = heights.of(successor);
        if (next != nullptr && its <= height) return hand_on(successor);
        if (next != nullptr) hand_on(*next);
        next = &successor;
        height = its;
    });
    if (next == nullptr || heights.is_highest(height)) return next;
    hand_on(*next);
    return nullptr;
}

std::uint64_t Runner::run_ready(const Scope* only, std::uint64_t most) noexcept {
    DependentNode* node = named_.take_oldest(only);
    if (node == nullptr) node = ready_.take_newest(only);
    if (node == nullptr && core_.heights().inviting()) [[unlikely]]
        node = take_by_height(only);
    if (node == nullptr) node = take_from_others(only);
    return node == nullptr ? 0 : run_dependent(*node, most);
}

inline DependentNode* Runner::take_from_others(const Scope* only) noexcept {
    DependentNode* node = nullptr;
    core_.each_initiator([&](Initiator& other) {
        if (node != nullptr || &other == &self_) return;
        node = only == nullptr ? take_several(other.runner().ready_) : other.runner().ready_.take_oldest(only);
    });
    return node;
}

/// Not always before what others offer: these must not be kept out.
[[gnu::noinline, gnu::cold]] DependentNode* Runner::take_by_height(const Scope* only) noexcept {
    DependentNode* const of_others = ++takes_ % 8 == 0 ? take_from_others(only) : nullptr;
    return of_others != nullptr ? of_others : core_.heights().take(only);
}

void Runner::hand_on(DependentNode& node) noexcept {
    if (self_.target_count() == 0) {
        run_dependent(node);
        return;
    }
    Ring& ring = *node.ring();  // the task may be over as soon as it has been pushed
    const int target = node.target();
    if (target >= 0) {
        Target& named = core_.target(target);
        named.runner().named().push(node);
        penstock::wake_at(named.waiter().bell());
        return;
    }
    if (core_.heights().any() && core_.heights().push(node)) [[unlikely]]
        return tell_of_ready(ring);
    try {
        ready_.push(node);
    } catch (const std::bad_alloc&) {  // no room for it in the queue: at once
        run_dependent(node);
        return;
    }
    tell_of_ready(ring);
}

void Runner::tell_of_ready(Ring& ring) noexcept {
    if (core_.board().idle_targets.load(std::memory_order_relaxed) != 0) [[unlikely]]
        core_.wake_a_target();
    penstock::wake_at(ring.owner_bell());
}

/// Whoever looked while it was away and is about to sleep is told.
void Runner::put_back(ReadyQueue& queue, DependentNode& node) noexcept {
    Ring& ring = *node.ring();
    try {
        queue.push(node);
    } catch (const std::bad_alloc&) {
        return hand_on(node);
    }
    if (&queue != &named_) tell_of_ready(ring);
}

void Runner::each_other_ready(const std::function<void(ReadyQueue&)>& visit) {
    core_.each_initiator([&](Initiator& other) {
        if (&other != &self_) visit(other.runner().ready_);
    });
}

/// The oldest; those that come with it are ready here from now on, for anybody.
DependentNode* Runner::take_several(ReadyQueue& queue) noexcept {
    std::array<DependentNode*, 16> several;
    const auto count = queue.take_oldest(several);
    if (count == 0) return nullptr;
    if (count > 1) {
        std::array<Ring*, several.size()> rings;  // asked now: once they are pushed they may be over at any moment
        for (std::size_t i = 1; i < count; ++i) rings[i] = several[i]->ring();
        std::reverse(several.begin() + 1, several.begin() + static_cast<std::ptrdiff_t>(count));
        ready_.push(std::span(several).subspan(1, count - 1));
        for (std::size_t i = 1; i < count; ++i) tell_of_ready(*rings[i]);
    }
    return several[0];
}

bool Runner::can_run_ready(const Scope* only) noexcept {
    const auto good = [only](ReadyQueue& queue) { return only == nullptr ? queue.inviting() : queue.holds(*only); };
    bool can = good(named_);
    core_.each_initiator([&](Initiator& other) { can = can || good(other.runner().ready_); });
    Heights& heights = core_.heights();
    return can || (only == nullptr ? heights.inviting() : heights.holds(*only));
}

void Runner::order_ready() noexcept {
    core_.each_initiator([&](Initiator& one) {
        ReadyQueue& queue = one.runner().ready_;
        for (auto left = queue.size(); left != 0; --left) {
            DependentNode* const node = queue.take_oldest(nullptr);
            if (node == nullptr) return;
            Ring& ring = *node->ring();  // the task may be over as soon as it has been pushed
            if (core_.heights().push(*node)) tell_of_ready(ring);
            else put_back(queue, *node);
        }
    });
}

std::vector<DependentNode*> Runner::take_all_of_known_height() { return core_.heights().take_all(); }

[[gnu::always_inline]] inline void Runner::run_step(Replay& replay, const ReplayStep& step,
                                                    Extension& extension) noexcept {
    // Relaxed: who waited for a task of another worker has acquired what that one stored before it signalled.
    if (replay.failing.load(std::memory_order_relaxed) && replay.comes_after_lost(step.task)) [[unlikely]] {
        replay.lost[step.task].store(replay.number, std::memory_order_relaxed);
        return;
    }
    const Entry& entry = entry_of(step.payload.entry);
    try {
        entry.run({const_cast<std::byte*>(step.payload.line), extension.bytes, false}, store_);
    } catch (...) {
        counters_.failed.add();
        replay.lost[step.task].store(replay.number, std::memory_order_relaxed);
        replay.failing.store(true, std::memory_order_relaxed);
        const std::lock_guard lock(replay.mutex);
        if (replay.failed++ == 0) replay.first_failed = {entry.name, target_, std::current_exception()};
    }
    self_.leave_scope();
}

void Runner::replay(Replay& replay, std::uint32_t worker) noexcept {
    Replay::Worker& mine = replay.workers[worker];
    const Inside inside(*this);
    for (std::size_t i = 0; i < mine.steps.size(); ++i) {
        const ReplayStep& step = mine.steps[i];
        const Replay::Word* word = mine.words.data() + step.begin;
        for (std::uint32_t w = 0; w < step.waits; ++w, ++word) [[unlikely]] {
            const auto& reached = mine.counters[word->worker].reached;
            const auto wanted = replay.word_of(word->position);
            for (std::uint32_t looks = 1; reached.load(std::memory_order_acquire) < wanted; ++looks) {
                relax();
                if (looks % 1024 != 0) continue;
                if (replay.abandoned.load(std::memory_order_relaxed)) return;
                std::this_thread::yield();  // the other worker may have no processor now
            }
        }
        const auto begin = replay.measuring ? Clock::ticks() : 0;
        run_step(replay, step, mine.extensions[i]);
        if (replay.measuring) [[unlikely]]
            mine.ticks[i] = Clock::ticks() - begin;
        for (std::uint32_t s = 0; s < step.signals; ++s, ++word) [[unlikely]]
            replay.workers[word->worker].counters[worker].reached.store(replay.word_of(step.position),
                                                                        std::memory_order_release);
    }
}

void Runner::look_at_watched(std::size_t most) noexcept {
    auto& watched = core_.watched();
    if (!watched.any()) return;
    watched.look(
        [this](const Handle& handle, DependentNode& node) {
            Verdict::pass_on(handle, node);
            if (node.arrive()) hand_on(node);
        },
        most);
}

[[gnu::noinline, gnu::cold]] void Runner::pass_over(Ring& ring, DependentNode& node, const Entry& entry,
                                                    const PackedArguments& arguments, std::uint64_t number) noexcept {
    entry.discard(arguments);
    const Verdict::Owned verdict(node.verdict());
    ring.fail(verdict->failure_of(number, entry, target_));
}

[[gnu::noinline, gnu::cold]] std::uint64_t Runner::start_sample(const TaskPayload& payload) noexcept {
    until_sample_ = core_.board().timeline.load(std::memory_order_relaxed) != 0 ? 1 : trace::tasks_a_sample;
    timed_entry_ = payload.entry;
    copy_ticks_ = 0;
    store_.observe(this);
    return Clock::ticks();
}

[[gnu::noinline, gnu::cold]] void Runner::copied(bool back, std::uint64_t begin, std::uint64_t end,
                                                 std::size_t bytes) noexcept {
    copy_ticks_ += end - begin;
    if (!self_.timeline().enabled()) return;
    trace::Event event{.begin = begin, .end = end, .id = timed_entry_};
    event.kind = back ? trace::EventKind::write_back : trace::EventKind::fetch;
    event.target = self_.track();
    (back ? event.bytes_out : event.bytes_in) = bytes;
    self_.timeline().record(event);
}

[[gnu::noinline, gnu::cold]] void Runner::note_fetched(std::uint64_t begin, std::uint32_t entry,
                                                       std::size_t bytes) noexcept {
    self_.timeline().record({.begin = begin,
                             .end = Clock::ticks(),
                             .id = entry,
                             .kind = trace::EventKind::fetch,
                             .target = self_.track(),
                             .bytes_in = bytes});
}

[[gnu::noinline, gnu::cold]] void Runner::end_sample(std::uint64_t begin, const TaskPayload& payload,
                                                     std::byte* extension, Ring& ring) noexcept {
    const auto end = Clock::ticks();
    if (until_sample_ != 1) store_.observe(nullptr);
    counters_.sampled_tasks.add();
    counters_.sampled_compute_ticks.add(end - begin - copy_ticks_);
    counters_.sampled_transfer_ticks.add(copy_ticks_);
    static const double ticks_worth = worth_a_claim / Clock::nanoseconds_per_tick();
    task_ticks_ += (static_cast<double>(end - begin) - task_ticks_) / 4;
    least_claimed_ = static_cast<std::uint32_t>(std::clamp(ticks_worth / task_ticks_, 1.0, 16.0));
    if (depth_ == 1 && target_ == Initiator::any_target) {
        self_.counters().help_sampled.add();
        self_.counters().help_ticks_sampled.add(end - begin);
    }
    if (!self_.timeline().enabled()) return;
    trace::Event event{.begin = begin, .end = end, .id = payload.entry, .kind = trace::EventKind::task};
    event.issuer = ring.owner().track();
    event.target = self_.track();
    event.issued = ring.take_issued(payload);
    if (event.issued < core_.recorded_since()) event.issued = 0;  // of an earlier recording
    if ((payload.flags & TaskPayload::boxed) == 0) {              // a box is gone by now
        std::array<ArgumentBlock, Entry::max_blocks> blocks;
        const PackedArguments arguments{const_cast<std::byte*>(payload.line), extension, false};
        const auto count = entry_of(payload.entry).describe(arguments, blocks.data());
        for (std::size_t i = 0; i < count; ++i) {
            if (blocks[i].access != Access::out) event.bytes_in += blocks[i].bytes();
            if (blocks[i].access != Access::in) event.bytes_out += blocks[i].bytes();
        }
    }
    self_.timeline().record(event);
}

[[gnu::noinline, gnu::cold]] void Runner::notify(Ring& ring, std::uint32_t notice) noexcept {
    Notices& notices = *ring.owner().notices();
    if (const auto deadline = notices[notice].deadline; deadline != 0) {
        if (const auto now = Clock::ticks(); now > deadline) {
            counters_.late.add();
            if (self_.timeline().enabled())
                self_.timeline().record({.begin = deadline,
                                         .end = now,
                                         .id = notices[notice].entry,
                                         .kind = trace::EventKind::late,
                                         .issuer = ring.owner().track(),
                                         .target = self_.track()});
        }
    }
    notices.completed(notice);
}

[[gnu::noinline, gnu::cold]] void Runner::keep_failure(Ring& ring, const Entry& entry, std::uint64_t number) noexcept {
    counters_.failed.add();
    try {
        throw;
    } catch (chain::StepFailed& step) {
        ring.fail({number, std::move(step.task), target_, std::move(step.cause), false});
    } catch (...) {
        ring.fail({number, name_of(entry), target_, std::current_exception(), false});
    }
}

[[gnu::noinline, gnu::cold]] void Runner::skip(Ring& ring, const Entry& entry, const PackedArguments& arguments,
                                               std::uint64_t number) noexcept {
    entry.discard(arguments);
    ring.fail({number, name_of(entry), target_, nullptr, true});
}

}  // namespace penstock
