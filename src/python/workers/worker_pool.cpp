#include "python/workers/worker_pool.hpp"

#include <pthread.h>

#include "penstock/detail/machine/relax.hpp"
#include "python/words.hpp"

namespace penstock::python {
namespace {

constexpr std::uint32_t looks_with_lock = 100;  // a task that does nothing is back within them
constexpr std::size_t most_known_functions = TaskBoard::functions;
constexpr std::size_t most_known_bytes = std::size_t{16} << 20;  // pickled; workers keep what they made of them
constexpr std::size_t issued_between_polls = 64;
constexpr auto forever = std::chrono::nanoseconds::max();

std::string name_of_function(nb::handle function) {
    nb::object name = nb::getattr(function, "__qualname__", nb::none());
    if (!nb::isinstance<nb::str>(name)) name = nb::repr(function);
    return nb::cast<std::string>(nb::str(name));
}

}  // namespace

WorkerPool::WorkerPool(std::uint32_t workers, const MachineOptions& options, std::shared_ptr<TaskHeap> heap,
                       WorkerCommand command)
    : options_(options), heap_(std::move(heap)), board_(workers) {
    most_in_slots_ = options_.when_full == WhenFull::defer
                         ? TaskBoard::slots
                         : std::min<std::size_t>(TaskBoard::slots, std::size_t{options_.depth} * workers);
    board_.header().spin = static_cast<std::uint64_t>(options_.spin.count());
    in_slots_.resize(TaskBoard::slots);
    for (std::uint32_t s = TaskBoard::slots; s-- > 0;) free_slots_.push_back(s);
    drained_ = std::make_unique<std::atomic<std::uint64_t>[]>(workers);
    granted_.resize(workers);
    kept_.resize(workers);
    placed_.resize(TaskBoard::functions);
    keeper_ = std::make_unique<WorkerKeeper>(*this, board_, heap_->descriptor(), std::move(command));
    keeper_->begin();
}

WorkerPool::~WorkerPool() {
    if (forked()) {
        static_cast<void>(keeper_.release());  // its thread stayed behind in the parent
        return;
    }
    without_interpreter([this] {
        while (outstanding() != 0) {
            static_cast<void>(advance());
            board_.header().completion.sleep([this] { return something_completed() || outstanding() == 0; },
                                             std::chrono::milliseconds{20});
        }
        keeper_->end();
    });
    finish_settled();
    for (auto& of_worker : kept_)
        for (auto& [number, blocks] : of_worker)
            for (const Block& block : blocks) heap_->free(block);
    std::vector<nb::object> callables;
    for (auto& [key, function] : known_) callables.push_back(std::move(function->callable));
}

// ---- issuing ----

std::shared_ptr<CarriedFunction> WorkerPool::carried(nb::handle function) {
    if (const auto found = known_.find(function.ptr()); found != known_.end()) return found->second;
    static const nb::handle carry = imported("penstock.interpreters", "carry").release();
    auto made = std::make_shared<CarriedFunction>();
    made->name = name_of_function(function);
    const auto code = nb::cast<nb::bytes>(carry(function));
    made->heap = heap_;
    made->code = heap_->allocate(code.size());
    made->code_bytes = code.size();
    std::memcpy(made->code.data, code.c_str(), code.size());
    std::vector<nb::object> dropped;
    if (known_.size() >= most_known_functions || known_bytes_ + code.size() > most_known_bytes)
        dropped = forget_functions();
    // Pickling it may have let another thread do the same.
    if (const auto found = known_.find(function.ptr()); found != known_.end()) return found->second;
    made->callable = nb::borrow(function);
    known_[function.ptr()] = made;
    known_bytes_ += code.size();
    return made;
}

/// Those that no task needs at present: methods and lambdas that are made anew for each call would fill the memory.
/// What comes next takes their places in the table, so that workers let theirs go, too. The callables are the caller's
/// to drop, last.
std::vector<nb::object> WorkerPool::forget_functions() {
    std::vector<nb::object> dropped;
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](auto& item) {
        CarriedFunction& function = *item.second;
        if (function.outstanding != 0) return false;
        dropped.push_back(std::move(function.callable));
        known_bytes_ -= function.code_bytes;
        if (function.serial != 0) {
            placed_[function.place] = nullptr;
            free_places_.push_back(function.place);
            function.serial = 0;
        }
        return true;
    });
    return dropped;
}

void WorkerPool::place_array(ByteWriter& writer, PythonTask& task, const ArrayArgument& array) {
    const auto low = reinterpret_cast<const std::byte*>(array.bounds().low);
    if (array.count() != 0) {
        const std::size_t bytes = array.bounds().high - array.bounds().low;
        if (const HeapPlace place = heap_->place_of(low, bytes); place != 0)
            return write_array(writer, array, place + (array.base() - array.bounds().low), array.contiguous());
    }
    // Another's memory travels through the heap. An empty array needs a place too.
    const Block block = heap_->allocate(std::max<std::size_t>(array.count() * array.item_bytes(), 1));
    task.blocks.push_back(block);
    if (array.access() != Access::out) gather(array, block.data);
    if (array.access() != Access::in) task.copies.push_back({&array, block.data});
    write_array(writer, array, block.place, true);
}

/// Of an array that is not tagged. In the heap already (true): used there, and not to be written to, for it is a value.
bool WorkerPool::place_buffer(ByteWriter& writer, PythonTask& task, const std::byte* data, std::size_t size) {
    HeapPlace place = heap_->place_of(data, size);
    const bool there = place != 0;
    writer.put(there ? BufferWay::read_only : BufferWay::place);
    writer.put(static_cast<std::uint64_t>(size));
    if (!there) {
        const Block block = heap_->allocate(size);
        task.values.push_back(block);
        std::memcpy(block.data, data, size);
        place = block.place;
    }
    writer.put(place);
    return there;
}

void WorkerPool::pack(ByteWriter& writer, PythonTask& task, const nb::tuple& arguments, nb::handle names) {
    const std::size_t named = names.is_valid() ? nb::len(names) : 0;
    if (arguments.size() > UINT16_MAX)
        throw UsageError("call of " + task.function->name + ": more than 65,535 arguments; collect them in a list");
    writer.put(static_cast<std::uint16_t>(arguments.size() - named));
    writer.put(static_cast<std::uint16_t>(named));
    if (named != 0) write_value(writer, names);
    std::vector<const ArrayArgument*> arrays;
    bool writes = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const ArrayArgument* const array = array_argument(arguments[i]);
        if (array == nullptr) continue;
        if (array->wrong() != nullptr)
            throw ArgumentError(task.function->name, static_cast<int>(i) + 1, array->wrong());
        arrays.resize(arguments.size());
        arrays[i] = array;
        writes = writes || array->access() != Access::in;
    }
    if (writes) check_overlap(task.function->name, arrays);
    nb::list held;  // a list or dict among the arguments may let go of it meanwhile
    const PutBuffer put = [&](ByteWriter& to, const std::byte* data, std::size_t size, const nb::object& holder) {
        if (place_buffer(to, task, data, size)) held.append(holder);
    };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!arrays.empty() && arrays[i] != nullptr) {
            place_array(writer, task, *arrays[i]);
            continue;
        }
        try {
            write_value(writer, arguments[i], put);
        } catch (nb::python_error& error) {
            imported("penstock.interpreters", "note_argument")(error.value(), task.function->name, i + 1, arguments[i]);
            throw;
        }
    }
    if (writer.size() > UINT32_MAX)
        throw UsageError("call of " + task.function->name +
                         ": arguments of 4 GiB or more; put them into arrays of machine.array");
    task.arguments = held.size() == 0 ? nb::object(arguments) : nb::object(nb::make_tuple(arguments, held));
}

std::shared_ptr<Issuer> WorkerPool::issuer_of_this_thread() {
    auto& issuer = issuers_[static_cast<std::uint64_t>(pthread_self())];
    if (issuer == nullptr) issuer = std::make_shared<Issuer>();
    return issuer;
}

TaskPointer WorkerPool::issue(nb::handle function, const nb::tuple& arguments, nb::handle names,
                              const TaskWishes& wishes) {
    refuse_child();
    auto task = std::make_shared<PythonTask>();
    task->heap = heap_;
    task->function = carried(function);
    task->target = wishes.target;
    task->level = wishes.urgent ? 0 : 1;
    task->limit = static_cast<std::uint64_t>(wishes.limit.count());
    task->issuer = issuer_of_this_thread();
    task->after = wishes.after;
    ByteWriter writer;
    pack(writer, *task, arguments, names);
    const std::size_t result = task->function->largest_result;
    if (writer.size() > TaskSlot::inline_bytes || result > TaskSlot::inline_bytes)
        task->room = heap_->allocate(std::max(writer.size(), result));
    if (++issued_ % issued_between_polls == 0) poll();
    while (!place(task, writer.data(), writer.size())) {
        if (options_.when_full == WhenFull::refuse)
            throw QueueFull(
                "call of " + task->function->name + ": " + std::to_string(most_in_slots_) +
                " tasks are outstanding; wait for some of them, or make the machine with when_full=\"defer\"");
        wait_until([this] { return may_have_room(); }, std::chrono::milliseconds{100});
    }
    return task;
}

// ---- waiting ----

/// Waits without the interpreter's lock, which `done` must do without, too. With it every now and then, for signals.
template <class Done>
bool WorkerPool::wait_until(Done&& done, std::chrono::nanoseconds longest) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
        const auto waited = [&] { return std::chrono::steady_clock::now() - begin; };
        {
            const nb::gil_scoped_release release;
            for (int rounds = 0; rounds < 5; ++rounds) {
                do {
                    for (int looks = 0; looks < 16; ++looks) {
                        if (done()) return true;
                        relax();
                    }
                    if (waiting_count_.load(std::memory_order_relaxed) != 0) static_cast<void>(advance());
                } while (waited() < std::min<std::chrono::nanoseconds>(options_.spin, longest));
                if (waited() >= longest) return done();
                const auto left = longest == forever ? forever : longest - waited();
                board_.header().completion.sleep(
                    done, std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds{10}));
            }
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

bool WorkerPool::wait_for(const TaskPointer& task, std::chrono::nanoseconds longest) {
    refuse_child();
    for (std::uint32_t looks = 0; looks < looks_with_lock && !slot_done(*task); ++looks) relax();
    const bool done = slot_done(*task) || wait_until([&] { return slot_done(*task); }, longest);
    if (done) static_cast<void>(ready(task));
    return done;
}

void WorkerPool::wait_for_any(std::chrono::nanoseconds longest) {
    refuse_child();
    static_cast<void>(wait_until(
        [this] { return something_completed() || unfinished_.load(std::memory_order_relaxed) != 0; }, longest));
    poll();
}

bool WorkerPool::ready(const TaskPointer& task) {
    if (forked()) return true;  // as where the machine is gone
    if (!task->settled.load(std::memory_order_acquire)) {
        if (!slot_done(*task)) return false;
        const std::lock_guard lock(mutex_);
        if (const auto s = task->slot.load(std::memory_order_relaxed); s != PythonTask::no_slot) settle(s);
        // The list of completions is a lap long.
        if (settled_since_drain_ > TaskBoard::slots / 2) drain();
    }
    finish_settled();
    return true;
}

bool WorkerPool::cancel(const TaskPointer& task) {
    if (forked()) return false;
    {
        const std::lock_guard lock(mutex_);
        if (task->settled.load(std::memory_order_relaxed)) return false;
        if (const auto s = task->slot.load(std::memory_order_relaxed); s == PythonTask::no_slot) {
            auto& queue = waiting_[task->level];
            std::erase_if(queue, [&](const Waiting& waiting) { return waiting.task == task; });
            waiting_count_.fetch_sub(1, std::memory_order_relaxed);
        } else {
            auto expected = slot_word::of(task->number, Phase::ready);
            if (!board_.state(s).compare_exchange_strong(expected, slot_word::of(task->number, Phase::cancelled)))
                return false;
        }
        settle_as(task, Outcome::cancelled);
    }
    finish_settled();
    return true;
}

std::vector<TaskPointer> WorkerPool::barrier() {
    refuse_child();
    const auto issuer = issuer_of_this_thread();
    await_all(issuer->outstanding);
    std::vector<TaskPointer> failed;
    take_failures(*issuer, failed);
    return failed;
}

std::vector<TaskPointer> WorkerPool::finish() {
    refuse_child();
    await_all(outstanding_);
    std::vector<TaskPointer> failed;
    for (auto& [thread, issuer] : issuers_) take_failures(*issuer, failed);
    std::erase_if(issuers_, [](const auto& item) { return item.second.use_count() == 1; });
    return failed;
}

void WorkerPool::await_all(const std::atomic<std::size_t>& outstanding) {
    const auto done = [&] {
        if (something_completed()) static_cast<void>(advance());
        return outstanding.load(std::memory_order_seq_cst) == 0;
    };
    if (!done()) static_cast<void>(wait_until(done, forever));
    finish_settled();
}

void WorkerPool::take_failures(Issuer& issuer, std::vector<TaskPointer>& failed) {
    std::vector<TaskPointer> taken;
    {
        const std::lock_guard lock(mutex_);
        taken.swap(issuer.failures);
    }
    for (TaskPointer& task : taken)
        if (!task->delivered) failed.push_back(std::move(task));
}

// ---- finishing ----

void WorkerPool::poll() {
    refuse_child();
    if (something_completed()) static_cast<void>(advance());
    finish_settled();
}

void WorkerPool::rearm() {
    refuse_child();
    eventfd_t count = 0;
    static_cast<void>(eventfd_read(keeper_->notice(), &count));
    poll();
    board_.header().armed.store(1, std::memory_order_seq_cst);
    poll();  // what completed in between told nobody
}

void WorkerPool::finish_settled() {
    for (;;) {
        std::vector<TaskPointer> settled, forgotten;
        {
            const std::lock_guard lock(mutex_);
            settled.swap(settled_);
            unfinished_.store(0, std::memory_order_relaxed);
            forgotten.swap(forgotten_);
        }
        if (settled.empty()) break;
        // All of them before any Python code runs, which may let other threads run: what they wait for has finished by
        // then.
        std::vector<nb::object> dropped;
        for (const TaskPointer& task : settled) {
            finish(*task);
            dropped.push_back(std::move(task->arguments));
        }
    }
    run_due();
}

/// Without running any Python code; the arguments are left to the caller.
void WorkerPool::finish(PythonTask& task) {
    if (!task.failed())
        for (const CopyBack& copy : task.copies) scatter(copy.from, *copy.array);
    task.copies.clear();
    for (Block& block : task.blocks) heap_->free(std::exchange(block, {}));
    for (Block& block : task.values) heap_->free(std::exchange(block, {}));
    heap_->free(std::exchange(task.room, {}));
    task.finished = true;
    for (nb::object& callback : task.callbacks) due_.push_back(std::move(callback));
    task.callbacks.clear();
}

void WorkerPool::run_due() {
    while (!due_.empty()) {
        std::vector<nb::object> due;
        due.swap(due_);
        for (const nb::object& callback : due) {
            try {
                callback();
            } catch (nb::python_error& error) {
                error.discard_as_unraisable(callback);  // as concurrent.futures does: whoever waits is not to blame
            }
        }
    }
}

void WorkerPool::when_done(const TaskPointer& task, nb::object callback) {
    refuse_child();
    if (task->finished) {
        due_.push_back(std::move(callback));
        run_due();
    } else {
        task->callbacks.push_back(std::move(callback));
    }
}

}  // namespace penstock::python
