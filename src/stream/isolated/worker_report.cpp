// What a filter in a worker process did is done at its station; and what its death took is named.
#include <utility>

#include "penstock/isolation.hpp"
#include "stream/isolated/isolated_run.hpp"
#include "stream/isolated/worker_proxy.hpp"
#include "stream/run/run_core.hpp"

namespace penstock::streaming {
namespace {

bool without_workers(const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const WorkersLost&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

void WorkerProxy::take_one(Inlet& inlet) {
    auto& sent = sent_[inlet.index];
    if (takes_[inlet.index] >= sent.size()) refuse_nonsense();
    const auto& [waiting, slot] = sent[takes_[inlet.index]++];
    lent_[slot].waits = false;
    station_.note_taken(inlet, *waiting.block);
    station_.credit(waiting.link, waiting.block->bytes);
}

void WorkerProxy::write_one(const Action& action, std::exception_ptr& failure) {
    if (action.port >= station_.outlets.size() || action.slot >= lent_.size()) refuse_nonsense();
    const bool was_made = lent_[action.slot].inlet == nullptr;
    Block* const block = take_slot(action.slot);
    const auto& shape = action.shape;
    if (shape.bytes > block->storage->capacity || shape.rank == 0 || shape.rank > Block::max_rank) {
        give_back(block);
        refuse_nonsense();
    }
    const auto tags = shape.tagged || !was_made ? shape.tags : block->tags;
    shape.give_to(*block);
    block->tags = tags;
    if (was_made) {
        auto& made = makes_[action.port];
        ++made.now;
        made.bytes = std::max(made.bytes, shape.bytes);
    }
    try {
        station_.outlets[action.port]->write(block);
    } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
    }
}

void WorkerProxy::replay(Outcome& outcome, const std::vector<Action>& actions) {
    for (const Action& action : actions) {
        switch (action.kind) {
            case Action::take:
                if (action.port >= station_.inlets.size()) refuse_nonsense();
                take_one(*station_.inlets[action.port]);
                break;
            case Action::write:
                write_one(action, outcome.failure);
                break;
            case Action::give_back:
                give_back(take_slot(action.slot));
                break;
            case Action::close:
                if (action.port >= station_.outlets.size()) refuse_nonsense();
                station_.outlets[action.port]->close_when_empty();
                break;
        }
    }
    for (auto& made : makes_)
        if (call_ == FilterCall::fire)
            made.count = std::max(made.now, made.count - std::min<std::size_t>(made.count, 1));
}

void WorkerProxy::send_events(const std::vector<std::byte>& events) {
    const auto& outputs = station_.filter().event_outputs;
    for (carried::Decoder from(events); from.left() != 0;) {
        const auto output = carried::decode<std::uint32_t>(from);
        auto value = decode_setting(from);
        if (output >= outputs.size() || outputs[output]->like().index() != value.index()) refuse_nonsense();
        station_.send_event(*outputs[output], std::move(value));
    }
}

void WorkerProxy::read_report(Outcome& outcome) {
    // A copy of it all is made first: it may be written over at any time.
    carried::Decoder report({report_.at, report_.capacity});
    const auto found = carried::decode<Findings>(report);
    const auto actions = carried::decode<std::vector<Action>>(report);
    const auto events = carried::decode<std::vector<std::byte>>(report);
    auto type = carried::decode<std::string>(report);
    const auto text = carried::decode<std::string>(report);
    const auto state = found.state_changed ? carried::decode<std::vector<std::byte>>(report) : std::vector<std::byte>{};
    if (found.made && made_.exchange(true, std::memory_order_relaxed)) {
        // Its worker ended in another filter's firing, and what this one had kept there went with it.
        tally(station_.made_again);
        lose(outcome, number_);
    }
    replay(outcome, actions);
    send_events(events);
    if (found.failed) outcome.failure = std::make_exception_ptr(RemoteException(std::move(type), text));
    if (found.state_changed) keep_state(state);
    outcome.over = found.over;
    outcome.ticks = found.ticks;
    if (call_ == FilterCall::finish) made_.store(false, std::memory_order_relaxed);
}

/// They are the first in their queues again.
void WorkerProxy::put_back_untaken() {
    for (auto& inlet : station_.inlets) {
        auto& sent = sent_[inlet->index];
        const auto taken = takes_[inlet->index];
        if (call_ == FilterCall::fire && taken == sent.size() && taken >= most_passed_[inlet->index])
            most_passed_[inlet->index] = 2 * taken;
        for (auto each = sent.size(); each > taken; --each) {
            (void)free_slot(sent[each - 1].slot);
            inlet->queue.push_front(sent[each - 1].waiting);
        }
        sent.clear();
        inlet->waiting.store(inlet->queue.size(), std::memory_order_relaxed);
    }
}

/// What the worker had since before that job.
void WorkerProxy::lose(Outcome& outcome, std::uint64_t before_job) {
    for (Block* const block : take_slots(before_job, &outcome.lost)) give_back(block);
}

FilterProxy::Outcome WorkerProxy::take_back() {
    Outcome outcome;
    outcome.call = call_;
    std::ranges::fill(takes_, 0);
    try {
        if (death_ == nullptr) read_report(outcome);
    } catch (...) {
        death_ = std::current_exception();
    }
    outcome.passed_all = passed_all_;
    if (death_ != nullptr) {
        outcome.failure = std::exchange(death_, nullptr);
        outcome.died = true;
        record_->answered.store(record_->asked.load(std::memory_order_acquire),
                                std::memory_order_relaxed);  // whoever asked is gone
        if (without_workers(outcome.failure)) station_.on_failure = OnFailure::stop;
        outcome.others = run_.others_at(*this);
        for (auto& inlet : station_.inlets) {
            const auto taken = std::min<std::size_t>(record_->taken[inlet->index].load(std::memory_order_acquire),
                                                     sent_[inlet->index].size());
            while (takes_[inlet->index] < taken) take_one(*inlet);
        }
    }
    put_back_untaken();
    if (outcome.died) {
        lose(outcome, number_ + 1);
        if (made_.exchange(false, std::memory_order_relaxed)) tally(station_.made_again);
    }
    return outcome;
}

void WorkerProxy::pass_more() {
    for (auto& inlet : station_.inlets)
        most_passed_[inlet->index] = std::max(2 * most_passed_[inlet->index], inlet->queue.size());
}

}  // namespace penstock::streaming
