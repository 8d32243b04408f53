// The part of a worker pool that runs under its lock: slots are filled, outcomes are taken out of them, deaths are
// told.
#include "python/workers/worker_pool.hpp"

namespace penstock::python {

/// Puts the task into a slot or, where the options say so, among those that wait for one. False when there is no room
/// for it.
bool WorkerPool::place(const TaskPointer& task, const std::byte* packed, std::size_t size) {
    bool waits = false;
    {
        const std::lock_guard lock(mutex_);
        if (!hopeless_.empty()) throw Error(hopeless_ + "; make a new machine");
        const auto room = [&] { return has_free_slot() && ring_for(*task).has_room(); };
        if (!room()) drain();
        const bool full = waiting_count_.load(std::memory_order_relaxed) != 0 || !room();
        const auto predecessors = look_at_predecessors(*task);
        waits = full || predecessors != Predecessors::complete;
        if (full && predecessors == Predecessors::complete && options_.when_full != WhenFull::defer) return false;
        if (waits && options_.pending_limit != 0 &&
            waiting_count_.load(std::memory_order_relaxed) >= options_.pending_limit)
            return false;
        if (task->function->serial == 0) place_function(*task->function);
        ++task->function->outstanding;
        task->number = ++last_number_;
        if (task->limit != 0) limited_.fetch_add(1, std::memory_order_relaxed);
        task->issuer->outstanding.fetch_add(1, std::memory_order_relaxed);
        outstanding_.fetch_add(1, std::memory_order_relaxed);
        if (waits) {
            waiting_[task->level].push_back({task, {packed, packed + size}});
            waits = waiting_count_.fetch_add(1, std::memory_order_relaxed) == 0;
        } else {
            put_into_slot(task, packed, size);
        }
    }
    if (waits || task->limit != 0) keeper_->wake();
    return true;
}

bool WorkerPool::may_have_room() {
    const std::lock_guard lock(mutex_);
    drain();
    return has_free_slot() || !hopeless_.empty();
}

bool WorkerPool::advance_waiting() { return waiting_count_.load(std::memory_order_acquire) != 0 && advance(); }

/// Of which there is a free one.
void WorkerPool::put_into_slot(const TaskPointer& task, const std::byte* packed, std::size_t size) {
    const auto s = free_slots_.back();
    free_slots_.pop_back();
    task->slot.store(s, std::memory_order_release);
    TaskSlot& slot = board_.slot(s);
    slot.function = task->function->place;
    slot.function_serial = task->function->serial;
    slot.size = static_cast<std::uint32_t>(size);
    slot.limit = task->limit;
    slot.block = 0;
    slot.room = 0;
    std::byte* place = slot.bytes;
    if (task->room.bytes != 0) {
        slot.block = task->room.place;
        slot.room = static_cast<std::uint32_t>(std::min<std::size_t>(task->room.bytes, UINT32_MAX));
        place = task->room.data;
    }
    std::memcpy(place, packed, size);
    in_slots_[s] = task;
    ring_for(*task).publish(board_, s, task->number);
    board_.header().work.notify(task->target == TaskBoard::everybody ? 1 : INT_MAX);
}

/// Takes out what has completed and moves tasks into the slots that became free. True while tasks wait.
bool WorkerPool::advance() {
    bool settled_here = false;  // because of a failed predecessor, which no worker tells of
    const AtEnd end{[&] {
        if (settled_here) tell();
    }};
    const std::lock_guard lock(mutex_);
    drain();
    if (waiting_count_.load(std::memory_order_relaxed) == 0) return false;
    for (auto& queue : waiting_) {
        for (std::size_t looked = 0, most = queue.size(); looked < most && has_free_slot(); ++looked) {
            Waiting next = std::move(queue.front());
            queue.pop_front();
            const auto predecessors = look_at_predecessors(*next.task);
            if (predecessors == Predecessors::failed) {
                waiting_count_.fetch_sub(1, std::memory_order_relaxed);
                settle_as(next.task, Outcome::predecessor);
                settled_here = true;
                continue;
            }
            if (predecessors == Predecessors::under_way || !ring_for(*next.task).has_room()) {
                queue.push_back(std::move(next));
                continue;
            }
            waiting_count_.fetch_sub(1, std::memory_order_relaxed);
            put_into_slot(next.task, next.packed.data(), next.packed.size());
        }
    }
    return waiting_count_.load(std::memory_order_relaxed) != 0;
}

/// Forgets those that have completed, so that long rows of tasks are not kept. The first failure among them is kept.
/// What is forgotten may hold Python objects, so it goes later, by a thread with the interpreter's lock.
WorkerPool::Predecessors WorkerPool::look_at_predecessors(PythonTask& task) {
    std::erase_if(task.after, [&](TaskPointer& before) {
        if (!before->settled.load(std::memory_order_acquire)) return false;
        if (before->failed() && task.failed_predecessor == nullptr) task.failed_predecessor = before;
        forgotten_.push_back(std::move(before));
        return true;
    });
    if (task.failed_predecessor != nullptr) return Predecessors::failed;
    return task.after.empty() ? Predecessors::complete : Predecessors::under_way;
}

ClaimRing<TaskBoard> WorkerPool::ring_for(const PythonTask& task) const noexcept {
    return task.target == TaskBoard::everybody ? board_.ring(task.level)
                                               : board_.ring_of(static_cast<std::uint32_t>(task.target));
}

void WorkerPool::drain() {
    for (std::uint32_t w = 0; w < board_.workers(); ++w) {
        // Before its completions, so that whatever it has released by now is seen to complete below.
        const auto released = board_.worker(w).released.load(std::memory_order_acquire);
        const auto completed = board_.worker(w).completed.load(std::memory_order_acquire);
        auto seen = drained_[w].load(std::memory_order_relaxed);
        // overwritten by somebody who should not have
        if (completed - seen > TaskBoard::slots) seen = completed - TaskBoard::slots;
        for (; seen < completed; ++seen) {
            const auto entry = board_.completion(w, seen).load(std::memory_order_acquire);
            const auto slot = static_cast<std::uint32_t>(entry & 0xffff);
            if (slot < TaskBoard::slots && in_slots_[slot] != nullptr && in_slots_[slot]->number == entry >> 16)
                settle(slot);
        }
        drained_[w].store(completed, std::memory_order_relaxed);
        take_releases(w, released);
    }
    settled_since_drain_ = 0;
}

/// Takes the outcome out of a slot whose task is done; takes no notice of others.
void WorkerPool::settle(std::uint32_t s) {
    const TaskPointer task = in_slots_[s];
    TaskSlot& slot = board_.slot(s);
    const auto word = slot.state.load(std::memory_order_acquire);
    if (task == nullptr || slot_word::number(word) != task->number || slot_word::phase(word) != Phase::done) return;
    take_result(*task, slot, static_cast<std::uint32_t>(slot_word::worker(word)));
    settle_as(task, task->outcome);
}

/// Frees what a worker had kept and uses no more. Numbers that nobody knows are somebody's who should not have written.
void WorkerPool::take_releases(std::uint32_t worker, std::uint64_t released) {
    WorkerBoard& board = board_.worker(worker);
    auto taken = board.taken.load(std::memory_order_relaxed);
    for (; taken != released && released - taken <= WorkerBoard::releases; ++taken) {
        const auto number = board.release[taken % WorkerBoard::releases].load(std::memory_order_relaxed);
        const auto found = kept_[worker].find(number);
        if (found == kept_[worker].end()) continue;
        for (const Block& block : found->second) heap_->free(block);
        kept_[worker].erase(found);
    }
    board.taken.store(released, std::memory_order_release);
}

void WorkerPool::take_result(PythonTask& task, const TaskSlot& slot, std::uint32_t worker) {
    task.worker = static_cast<int>(worker);
    if (slot.kept && worker < kept_.size()) kept_[worker][task.number] = std::exchange(task.values, {});
    task.outcome = slot.outcome;
    task.result_size = slot.result_size;
    if (task.outcome != Outcome::nothing && task.outcome != Outcome::value && task.outcome != Outcome::raised)
        task.outcome = Outcome::lost;
    if (task.outcome == Outcome::nothing || task.outcome == Outcome::lost) return;
    const HeapPlace place = slot.result_block;
    if (place == 0) {
        task.raw.assign(reinterpret_cast<const char*>(slot.bytes), std::min(task.result_size, TaskSlot::inline_bytes));
    } else if (place == task.room.place && task.result_size <= task.room.bytes) {
        task.result_block = std::exchange(task.room, {});
    } else if (worker < granted_.size() && place == granted_[worker].place &&
               task.result_size <= granted_[worker].bytes) {
        task.result_block = std::exchange(granted_[worker], {});
    } else {
        task.outcome = Outcome::lost;
        return;
    }
    // Half of what a larger one left, so that one large result is not paid for by all that follow.
    task.function->largest_result = std::max(task.result_size, task.function->largest_result / 2);
}

/// For the next barrier. A program that never has one, but asks its handles, need not keep what it was told of.
void WorkerPool::keep_failure(const TaskPointer& task) {
    Issuer& issuer = *task->issuer;
    if (issuer.failures.size() >= issuer.most_failures) {
        std::erase_if(issuer.failures, [&](TaskPointer& failed) {
            if (!failed->delivered.load(std::memory_order_relaxed)) return false;
            forgotten_.push_back(std::move(failed));
            return true;
        });
        issuer.most_failures = std::max<std::size_t>(64, 2 * issuer.failures.size());
    }
    issuer.failures.push_back(task);
}

/// The end of the task as far as workers are concerned, however it came.
void WorkerPool::settle_as(const TaskPointer& task, Outcome outcome) {
    task->outcome = outcome;
    if (const auto s = task->slot.exchange(PythonTask::no_slot, std::memory_order_acq_rel); s != PythonTask::no_slot) {
        in_slots_[s] = nullptr;
        free_slots_.push_back(s);
    }
    --task->function->outstanding;
    if (task->limit != 0) limited_.fetch_sub(1, std::memory_order_relaxed);
    if (task->failed() && outcome != Outcome::cancelled && outcome != Outcome::predecessor) keep_failure(task);
    settled_.push_back(task);
    unfinished_.store(settled_.size(), std::memory_order_relaxed);
    ++settled_since_drain_;
    task->settled.store(true, std::memory_order_release);
    task->issuer->outstanding.fetch_sub(1, std::memory_order_release);
    outstanding_.fetch_sub(1, std::memory_order_release);
}

/// Gives the function a place in the table, where nobody uses what lay there before.
void WorkerPool::place_function(CarriedFunction& function) {
    const auto place_at = [&](std::uint32_t place) {
        placed_[place] = function.shared_from_this();
        function.place = place;
        function.serial = ++last_serial_;
        board_.function(place) = {function.serial, function.code.place, function.code.bytes};
    };
    while (!free_places_.empty()) {
        const auto place = free_places_.back();
        free_places_.pop_back();
        if (placed_[place] == nullptr) return place_at(place);
    }
    for (std::uint32_t looked = 0; looked < TaskBoard::functions; ++looked) {
        hand_ = (hand_ + 1) % TaskBoard::functions;
        const auto& there = placed_[hand_];
        if (there != nullptr && there->outstanding != 0) continue;
        if (there != nullptr) there->serial = 0;  // to be placed again before it is used again
        return place_at(hand_);
    }
    throw QueueFull("tasks of " + std::to_string(TaskBoard::functions) +
                    " different functions are outstanding; wait for some of them");
}

void WorkerPool::died(const process::Death& death) {
    {
        const std::lock_guard lock(mutex_);
        drain();
        const auto limited = board_.worker(death.tag).limited.load(std::memory_order_acquire);
        for (std::uint32_t s = 0; s < TaskBoard::slots; ++s) {
            const TaskPointer task = in_slots_[s];
            if (task == nullptr) continue;
            const auto word = board_.state(s).load(std::memory_order_acquire);
            if (slot_word::number(word) != task->number || slot_word::worker(word) != death.tag) continue;
            // its entry among the completions was not written any more
            if (slot_word::phase(word) == Phase::done) settle(s);
            if (slot_word::phase(word) != Phase::claimed) continue;
            board_.state(s).store(slot_word::of(task->number, Phase::done, death.tag), std::memory_order_seq_cst);
            task->worker = static_cast<int>(death.tag);
            task->death = death;
            settle_as(task, limited == (task->number * 2 | 1) ? Outcome::time_limit : Outcome::died);
        }
        heap_->free(std::exchange(granted_[death.tag], {}));
        for (const auto& [number, blocks] : std::exchange(kept_[death.tag], {}))
            for (const Block& block : blocks) heap_->free(block);
    }
    tell();
}

/// Wakes whoever sleeps and event loops. These always: a worker that died may have cleared `armed` and not come to
/// write.
void WorkerPool::tell() {
    board_.header().completion.notify();
    eventfd_write(keeper_->notice(), 1);
}

void WorkerPool::hopeless(std::string why) {
    {
        const std::lock_guard lock(mutex_);
        hopeless_ = std::move(why);
        drain();
        for (std::uint32_t s = 0; s < TaskBoard::slots; ++s)
            if (const TaskPointer task = in_slots_[s]; task != nullptr) settle_as(task, Outcome::lost);
        for (auto& queue : waiting_) {
            for (Waiting& waiting : queue) settle_as(waiting.task, Outcome::lost);
            queue.clear();
        }
        waiting_count_.store(0, std::memory_order_relaxed);
    }
    tell();
}

Block WorkerPool::room(std::uint32_t worker, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    drain();  // the task before this one may have left its result in the room that the worker has
    heap_->free(std::exchange(granted_[worker], {}));
    try {
        granted_[worker] = heap_->allocate(bytes);
    } catch (const Error&) {
        // Nothing: the worker raises MemoryError.
    }
    return granted_[worker];
}

bool WorkerPool::slot_done(const PythonTask& task) const noexcept {
    if (task.settled.load(std::memory_order_seq_cst)) return true;
    const auto s = task.slot.load(std::memory_order_acquire);
    if (s == PythonTask::no_slot) return false;
    return completed(board_, {task.number, s});
}

bool WorkerPool::something_completed() const noexcept {
    for (std::uint32_t w = 0; w < board_.workers(); ++w)
        if (board_.worker(w).completed.load(std::memory_order_seq_cst) != drained_[w].load(std::memory_order_relaxed))
            return true;
    return false;
}

}  // namespace penstock::python
