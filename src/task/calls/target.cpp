#include "task/calls/target.hpp"

#include <algorithm>
#include <new>
#include <system_error>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"
#include "penstock/topology.hpp"
#include "task/calls/core.hpp"
#include "task/waiting/notices.hpp"

namespace penstock {

Target::Target(Core& core, int index, int processor, std::uint32_t most_lanes)
    : core_(core), index_(index), processor_(processor), lanes_(std::make_unique<LaneInbox[]>(most_lanes)),
      waiter_(core.backend().waiter(index)), initiator_(new Initiator(core, index, &waiter_)),
      runner_(&initiator_->runner()) {}

Target::~Target() { stop(); }

void Target::start() {
    try {
        thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error& e) {
        throw SystemError("cannot start a thread for target " + std::to_string(index_), e.code().value());
    }
}

void Target::stop() noexcept {
    if (!thread_.joinable()) return;
    stopping_.store(true, std::memory_order_release);
    while (waiter_.parked()) wake_at(waiter_.bell());
    wake_at(waiter_.bell());
    thread_.join();
}

void Target::add_lane(Ring& ring, Initiation initiation) noexcept {
    const auto count = lane_count_.load(std::memory_order_relaxed);
    lanes_[count] = {Consumer<TaskPayload>(ring.parts(initiation)), &ring, 0};
    lane_count_.store(count + 1, std::memory_order_release);
}

namespace {

/// Asks for the arguments of the tasks behind the front of a lane.
class LaneAhead final : public FetchAhead {
  public:
    LaneAhead(Runner& runner, Ring& lane, Consumer<TaskPayload>& consumer, std::uint64_t& fetched) noexcept
        : runner_(runner), lane_(lane), consumer_(consumer), fetched_(fetched) {}
    void fetch_ahead() noexcept override {
        const auto next = consumer_.next();
        for (fetched_ = std::max(fetched_, next); fetched_ < next + runner_.ahead(); ++fetched_) {
            const auto* const behind = consumer_.behind(static_cast<std::uint32_t>(fetched_ + 1 - next));
            if (behind == nullptr) break;
            runner_.prefetch(behind->payload, &lane_.extensions()[behind - lane_.slots()]);
        }
    }

  private:
    Runner& runner_;
    Ring& lane_;
    Consumer<TaskPayload>& consumer_;
    std::uint64_t& fetched_;
};

}  // namespace

/// Of the lane's tasks, `record` first, a share.
void Target::serve_lane(LaneInbox& inbox, TaskRecord* record) noexcept {
    auto& [consumer, lane, fetched] = inbox;
    for (int turn = 0; turn < lane_share && record != nullptr; ++turn, record = consumer.front()) {
        while (core_.board().urgent.load(std::memory_order_relaxed) != 0 && claim_urgent()) [[unlikely]] {
        }
        begin_work();
        if (runner_->run_lone(*lane, consumer, *record)) continue;
        LaneAhead ahead(*runner_, *lane, consumer, fetched);
        const bool looks = !runner_->passes_over(record->payload.entry, 1);
        if (looks) runner_->fetch_behind(record->payload, ahead);
        runner_->run_front(*lane, consumer, record->payload);
        if (looks) runner_->forget_behind();
    }
}

/// Inline, as is serve_postings(): what lies between a record's arrival and its task makes a lone call slower.
[[gnu::always_inline]] inline bool Target::serve_lanes() noexcept {
    bool served = false;
    const auto count = lane_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        TaskRecord* const record = lanes_[i].consumer.front();
        if (record == nullptr) continue;
        serve_lane(lanes_[i], record);
        served = true;
    }
    return served;
}

namespace {

void fetch(const Posting& posting) noexcept {
    prefetch_read(posting.second);
    prefetch_read(static_cast<const std::byte*>(posting.second) + 64);
}

}  // namespace

/// Of one sender, `record` first, a share.
void Target::serve_sender(Consumer<Posting>& consumer, const Record<Posting>* record) noexcept {
    for (int turn = 0; turn < lane_share && record != nullptr; ++turn, record = consumer.front()) {
        const Posting posting = record->payload;
        fetch(posting);
        const auto* const behind = consumer.behind();
        if (behind != nullptr) fetch(behind->payload);
        consumer.complete();
        begin_work();
        runner_->run_posted(posting, behind == nullptr);
    }
}

[[gnu::always_inline]] inline bool Target::serve_postings() noexcept {
    bool served = false;
    const auto count = posting_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto* const record = postings_[i].front();
        if (record == nullptr) continue;
        serve_sender(postings_[i], record);
        served = true;
    }
    return served;
}

void Target::serve() {
    name_this_thread("penstock/" + std::to_string(index_));
    waiting::be_always_brief();
    if (processor_ >= 0 && !pin_this_thread(processor_)) processor_ = -1;
    if (processor_ < 0) unpin_this_thread();  // not where the maker of the machine happened to be pinned
    initiator_->bind_to_this_thread();
    // Where the last task came from a lane, the next one is expected there too. Each look that finds nothing is
    // followed by a pause: a bare look that comes while the initiator writes takes its line away once more (a lone task
    // there and back took half as long again, `./bench null-task`).
    int lane_looks = 1;
    int lane_rounds = 0;
    bool behind_lane = false;   // the last task came from a lane, and the deques have not been looked at since
    bool deque_follows = true;  // the last such look found something
    for (std::uint32_t misses = 0;;) {
        bool from_lane = false;
        if (lane_rounds == lane_rounds_in_a_row) {
            lane_rounds = 0;
            claim_from_deques();
        }
        if (behind_lane && deque_follows && claimed_from_ != nullptr) claimed_from_->pending().fetch_to_claim();
        for (int looks = 0; looks < lane_looks && !from_lane; ++looks) {
            from_lane = serve_postings() | serve_lanes();
            if (!from_lane && !(behind_lane && deque_follows)) relax();
        }
        const bool dependent = core_.board().dependents.load(std::memory_order_relaxed) != 0 && run_ready();
        const bool claimed = !from_lane && claim_from_deques();
        if (!from_lane && behind_lane) deque_follows = claimed;
        behind_lane = from_lane;
        lane_looks = from_lane && !deque_follows ? most_lane_looks : 1;
        if (from_lane || claimed || dependent) {
            lane_rounds = from_lane ? lane_rounds + 1 : 0;
            misses = 0;
            continue;
        }
        if (misses == 0) runner_->interrupted();
        if (++misses < std::min(looks_before_idle, waiter_.policy().spins_before_yield)) continue;
        if (stopping_.load(std::memory_order_acquire)) break;
        idle();
        misses = 0;
    }
}

PostingLane* Target::make_posting_lane(int receiver) noexcept {
    Target& to = core_.target(receiver);
    try {
        const std::lock_guard lock(core_.mutex());
        outgoing_.resize(static_cast<std::size_t>(core_.target_count()));
        auto& lane = outgoing_[static_cast<std::size_t>(receiver)];
        if (to.postings_ == nullptr)
            to.postings_ = std::make_unique<Consumer<Posting>[]>(static_cast<std::size_t>(core_.target_count()));
        lane = std::make_unique<PostingLane>(to.waiter_.bell());
        core_.mix();
        const auto count = to.posting_count_.load(std::memory_order_relaxed);
        to.postings_[count] = Consumer<Posting>(lane->parts());
        to.posting_count_.store(count + 1, std::memory_order_release);
        return lane.get();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool Target::post(int to, const Posting& posting) noexcept {
    const auto receiver = static_cast<std::size_t>(to);
    PostingLane* lane = receiver < outgoing_.size() ? outgoing_[receiver].get() : nullptr;
    if (lane == nullptr) [[unlikely]]
        lane = make_posting_lane(to);
    return lane != nullptr && lane->post(posting);
}

Poster::Poster(Machine& machine) noexcept : core_(Core::of(machine)) {}

bool Poster::post(int from, int to, const Posting& posting) noexcept { return core_.target(from).post(to, posting); }

bool Target::claim_from_deques() noexcept {
    if (core_.board().urgent.load(std::memory_order_relaxed) == 0) [[likely]]
        return claim_from_any(Look::everything);
    return claim_urgent() || claim_from_any(Look::normal) || claim_from_any(Look::urgent);
}

/// Runs tasks of high priority, unless it is the turn of the normal ones.
bool Target::claim_urgent() noexcept {
    if (urgent_in_a_row_ < most_urgent_in_a_row && claim_from_any(Look::urgent)) {
        ++urgent_in_a_row_;
        return true;
    }
    urgent_in_a_row_ = 0;
    return false;
}

bool Target::claim_from_any(Look look) noexcept {
    // Its own tasks first, and of each deque the part that stands first, but not always: tasks that issue themselves
    // again and again must not keep the others out.
    const bool in_turn = ++claims_ % 16 == 0;
    if (!in_turn && claim_from(*initiator_, look, false)) return true;
    const auto count = core_.initiator_count();
    for (std::uint32_t looked = 0; looked < count; ++looked) {
        next_victim_ = next_victim_ + 1 >= count ? 0 : next_victim_ + 1;
        if (claim_from(core_.initiator(next_victim_), look, in_turn)) return true;
    }
    return in_turn && claim_from(*initiator_, look, true);
}

bool Target::claim_from(Initiator& initiator, Look look, bool in_turn) noexcept {
    std::uint32_t part = 0;
    Ring* const ring = initiator.deque().inviting(index_, look, in_turn ? next_part_ : 0, &part);
    if (ring == nullptr) return false;
    if (in_turn) next_part_ = part + 1;
    // What an initiator sent to this target alone keeps its order: first what is in its lane. The lane is looked at
    // behind the deque, so that it shows all that was issued before.
    if (ring->only_target() >= 0 && !ring->urgent && in_lane_of(initiator)) return false;
    const ClaimSize size{
        .most = most_claimed, .share = ring->only_target() >= 0 ? 1 : core_.workers(), .goes_on = true};
    const auto claim = size.claim(*ring);
    if (claim.count == 0) return false;
    claimed_from_ = ring;
    begin_work();
    runner_->run_claimed(*ring, claim, runner_->counters().pulled, size);
    return true;
}

bool Target::in_lane_of(const Initiator& initiator) noexcept {
    const auto count = lane_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i)
        if (&lanes_[i].ring->owner() == &initiator && lanes_[i].consumer.front() != nullptr) return true;
    return false;
}

bool Target::run_ready() noexcept {
    runner_->look_at_watched();
    constexpr std::uint64_t most = 64;
    std::uint64_t count = 0;
    while (count < most) {
        const auto more = runner_->run_ready(nullptr);
        if (more == 0) break;
        begin_work();
        count += more;
    }
    return count != 0;
}

bool Target::something_waits() noexcept {
    if (stopping_.load(std::memory_order_acquire)) return true;
    if (core_.board().dependents.load(std::memory_order_relaxed) != 0) {
        runner_->look_at_watched();
        if (runner_->can_run_ready(nullptr)) return true;
    }
    if (has_mail() || invited()) return true;
    if (++looks_ % 256 == 0 || waiter_.parked()) core_.give_back_what_is_held_up(*initiator_);
    return false;
}

bool Target::has_mail() noexcept {
    const auto lanes = lane_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < lanes; ++i)
        if (lanes_[i].consumer.front() != nullptr) return true;
    const auto postings = posting_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < postings; ++i)
        if (postings_[i].front() != nullptr) return true;
    return false;
}

/// Is there something in a deque?
bool Target::invited() const noexcept {
    const auto count = core_.initiator_count();
    for (std::uint32_t i = 0; i < count; ++i)
        if (core_.initiator(i).deque().inviting(index_, Look::everything) != nullptr) return true;
    return false;
}

void Target::idle() {
    initiator_->reap_orphans();
    // of calls inside tasks: they have no call-backs
    if (auto* const notices = initiator_->notices()) notices->collect();
    auto& counters = runner_->counters();
    counters.idle_periods.add();
    const auto begin = Clock::ticks();
    counters.idle_ticks.begin(begin);
    idle_.store(true, std::memory_order_release);
    core_.board().idle_targets.fetch_add(1, std::memory_order_seq_cst);
    const auto parks = waiter_.parks();
    // Some tasks cannot wake whoever waits for them; targets look for these and do it. While there are such waits, no
    // target sleeps for long.
    if (core_.watched().any())
        waiter_.wait_for([this] { return something_waits(); }, std::chrono::microseconds(200), {"tasks", 0});
    else waiter_.wait([this] { return something_waits() || core_.watched().any(); }, {"tasks", 0});
    idle_.store(false, std::memory_order_relaxed);
    core_.board().idle_targets.fetch_sub(1, std::memory_order_relaxed);
    counters.parks.add(waiter_.parks() - parks);
    const auto end = Clock::ticks();
    counters.idle_ticks.end(end);
    if (initiator_->timeline().enabled())
        initiator_->timeline().record(
            {.begin = begin, .end = end, .kind = trace::EventKind::idle, .target = initiator_->track()});
    expect_gap_like(std::chrono::nanoseconds(static_cast<std::int64_t>(Clock::nanoseconds(end - begin))));
    woken_ = true;
}

/// Loops and runs that follow one another find it awake: where the last work came soon, it spins longer for the next.
/// What comes seldom it sleeps through, so that an idle machine is idle; and where others need its processor, always.
void Target::expect_gap_like(std::chrono::nanoseconds gap) noexcept {
    const auto standing = core_.wait_policy();
    if (standing.spins_before_yield != WaitPolicy{}.spins_before_yield) return;
    const bool soon = gap / longest_awake <= standing.spin;
    waiter_.spin_for(soon ? std::max(standing.spin, std::min(2 * gap, longest_awake * standing.spin)) : standing.spin);
}

/// It may have been woken for something else than what it has taken, by somebody who woke no other.
void Target::pass_on() noexcept {
    woken_ = false;
    if (core_.board().idle_targets.load(std::memory_order_relaxed) != 0 && invited()) core_.wake_a_target();
}

}  // namespace penstock
