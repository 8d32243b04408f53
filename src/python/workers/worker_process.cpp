// What a Python worker does: claims tasks from the board, calls their functions, tells how they ended.
#include <fcntl.h>
#include <sys/mman.h>

#include <csignal>

#include "machine/said_by.hpp"
#include "penstock/topology.hpp"
#include "python/calls/python_machine.hpp"
#include "python/errors.hpp"

namespace penstock::python {
namespace {

/// The parent's shared heap, as this process has it mapped.
class HeapOfParent {
  public:
    explicit HeapOfParent(int descriptor) : memory_(SharedMemory::adopt(descriptor)) {
        // A core dump would give memory to all of its pages that have none.
        static_cast<void>(madvise(memory_.data(), memory_.size(), MADV_DONTDUMP));
    }

    /// Throws Error where there are not so many bytes.
    std::byte* at(HeapPlace place, std::size_t bytes) {
        if (place == 0 || place > memory_.size() || bytes > memory_.size() - (place - 1))
            throw Error("a place in the shared heap is none: something overwrote it");
        return memory_.data() + (place - 1);
    }
    /// All of it as a Python buffer.
    nb::handle buffer(bool writable) {
        nb::object& view = writable ? writable_ : readable_;
        if (!view.is_valid())
            view = nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(memory_.data()),
                                                     static_cast<Py_ssize_t>(memory_.size()),
                                                     writable ? PyBUF_WRITE : PyBUF_READ));
        return view;
    }

  private:
    SharedMemory memory_;
    nb::object writable_, readable_;
};

/// NumPy arrays over the parent's heap, kept: the same array is often given again.
class CachedViews {
  public:
    explicit CachedViews(HeapOfParent& heap) : heap_(heap) {}

    nb::object view(std::string_view description) {
        auto found = arrays_.find(description);
        if (found == arrays_.end()) {
            nb::object array = make(description);
            if (arrays_.size() >= most_arrays) arrays_.clear();
            found = arrays_.emplace(description, std::move(array)).first;
        }
        return found->second.attr("view")();  // of its own for each body, which may give its array another shape
    }

  private:
    static constexpr std::size_t most_arrays = 4096;
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    nb::object make(std::string_view text) {
        const ArrayDescription description(text);
        const auto [low, high] = description.reach();
        const std::size_t offset = description.place - 1;
        heap_.at(description.place + static_cast<HeapPlace>(low), static_cast<std::size_t>(high - low));
        nb::object type;
        if (description.pickled_type.empty()) type = numpy("dtype")(std::string(name_of(description.element)));
        else type = unpickled(description.pickled_type.data(), description.pickled_type.size());
        nb::list shape, strides;
        for (const auto extent : description.extents) shape.append(extent);
        for (const auto stride : description.strides) strides.append(stride);
        return numpy("ndarray")(nb::tuple(shape), type, heap_.buffer(description.writable), offset, nb::tuple(strides));
    }

    HeapOfParent& heap_;
    std::unordered_map<std::string, nb::object, Hash, std::equal_to<>> arrays_;
};

class WorkerProcess {
  public:
    WorkerProcess(TaskBoard board, int heap, std::uint32_t index, int keeper, int notice)
        : board_(std::move(board)), index_(index), keeper_(keeper), notice_(notice), heap_(heap), views_(heap_) {
        describe_failure_ = imported("penstock.interpreters", "describe_failure");
        functions_.resize(TaskBoard::functions);
        completed_ = own().completed.load(std::memory_order_relaxed);
        released_ = own().released.load(std::memory_order_relaxed);
    }

    /// Serves until the parent says stop.
    void serve() {
        own().serving.store(1, std::memory_order_release);
        std::uint32_t looks = 0;
        while (board_.header().stop.load(std::memory_order_acquire) == 0) {
            if (const auto claim = next()) {
                run(*claim);
                looks = 0;
            } else if (++looks < looks_with_lock) {
                relax();
            } else {
                idle();
                looks = 0;
                if (PyErr_CheckSignals() != 0) throw nb::python_error();
            }
        }
    }

  private:
    static constexpr std::uint32_t looks_with_lock = 64;  // about two microseconds
    static constexpr std::size_t usual_arguments = 16;

    WorkerBoard& own() const noexcept { return board_.worker(index_); }

    std::optional<Claim> next() noexcept {
        if (auto claim = board_.ring(0).claim(board_, index_)) return claim;
        if (auto claim = board_.ring_of(index_).claim(board_, index_)) return claim;
        return board_.ring(1).claim(board_, index_);
    }

    bool something_waits() const noexcept {
        return board_.ring(0).inviting() || board_.ring_of(index_).inviting() || board_.ring(1).inviting() ||
               board_.header().stop.load(std::memory_order_seq_cst) != 0;
    }

    /// Other threads of this interpreter may run now, which functions may have started.
    void idle() {
        const nb::gil_scoped_release release;
        const auto until = now_ns() + board_.header().spin;
        while (now_ns() < until)
            for (int looks = 0; looks < 32; ++looks) {
                if (something_waits()) return;
                relax();
            }
        board_.header().work.sleep([&] { return something_waits(); }, std::chrono::milliseconds{100});
    }

    void run(const Claim& claim) {
        TaskSlot& slot = board_.slot(claim.slot);
        const bool limited = slot.limit != 0;
        if (limited) start_clock(slot, claim.number);
        slot.result_block = 0;
        slot.result_size = 0;
        slot.kept = false;
        try {
            call(slot);
        } catch (nb::python_error& error) {
            error.restore();
            tell_failure(slot, raised_exception());
        } catch (const std::exception& error) {
            tell_failure(slot, nb::borrow(PyExc_RuntimeError)(std::string(penstock::said_by(error))));
        }
        if (limited) stop_clock(claim.number);
        if (!buffers_.empty()) slot.kept = keep(claim.number);
        complete(claim);
        if (!kept_.empty()) release();
    }

    /// Memory of the heap that arrays of this task lie in. They may outlive the task, in a cache for instance: then
    /// whoever has such an array holds the object that is made here (NumPy makes it the array's base), and keep() sees
    /// it.
    nb::object heap_buffer(HeapPlace place, std::size_t size, bool writable) {
        heap_.at(place, size);
        nb::object made = numpy("ndarray")(size, "u1", heap_.buffer(writable), place - 1);
        if (writable) buffers_.push_back(made);
        return made;
    }

    static bool in_use(const std::vector<nb::object>& buffers) noexcept {
        return std::ranges::any_of(buffers, [](const nb::object& buffer) { return Py_REFCNT(buffer.ptr()) > 1; });
    }

    /// Does anything use the task's memory after its end? Then it is this worker's until release().
    bool keep(std::uint64_t number) {
        auto buffers = std::exchange(buffers_, {});
        if (!in_use(buffers)) return false;
        kept_.push_back({number, std::move(buffers)});
        return true;
    }

    /// Tells of some of what was kept and is not used any more.
    void release() {
        for (int looked = 0; looked < 2 && !kept_.empty(); ++looked) {
            Kept oldest = std::move(kept_.front());
            kept_.pop_front();
            if (in_use(oldest.buffers) ||
                released_ - own().taken.load(std::memory_order_acquire) >= WorkerBoard::releases) {
                kept_.push_back(std::move(oldest));
                continue;
            }
            oldest.buffers.clear();
            own().release[released_ % WorkerBoard::releases].store(oldest.number, std::memory_order_relaxed);
            own().released.store(++released_, std::memory_order_release);
        }
    }

    void call(TaskSlot& slot) {
        const std::uint32_t size = slot.size;
        const std::byte* const packed = slot.block == 0 ? slot.bytes : heap_.at(slot.block, size);
        if (slot.block == 0 && size > TaskSlot::inline_bytes)
            throw Error("a task has more arguments than fit: something overwrote it");
        ByteReader reader(packed, size);
        const auto positional = reader.get<std::uint16_t>(), named = reader.get<std::uint16_t>();
        nb::object names;
        nb::object held[usual_arguments];
        std::vector<nb::object> many;
        const std::size_t count = std::size_t{positional} + named;
        nb::object* arguments = held;
        if (count > usual_arguments) {
            many.resize(count);
            arguments = many.data();
        }
        if (named != 0) names = read_value(reader);
        for (std::size_t i = 0; i < count; ++i) arguments[i] = read_value(reader, sources_);
        static_assert(sizeof(nb::object) == sizeof(PyObject*));
        const auto result = nb::steal(PyObject_Vectorcall(
            function(slot).ptr(), reinterpret_cast<PyObject* const*>(arguments), positional, names.ptr()));
        if (!result.is_valid()) throw nb::python_error();
        if (result.is_none()) {
            slot.outcome = Outcome::nothing;
            return;
        }
        ByteWriter writer;
        Tail tail;
        const PutBuffer put = [&](ByteWriter& to, const std::byte* data, std::size_t bytes, nb::object holder) {
            to.put(BufferWay::tail);
            to.put(static_cast<std::uint64_t>(bytes));
            tail.push_back({data, bytes, std::move(holder)});
        };
        try {
            write_value(writer, result, put);
        } catch (nb::python_error& error) {
            imported("penstock.interpreters", "note_result")(error.value(), result);
            throw;
        }
        tell(slot, Outcome::value, writer.data(), writer.size(), tail);
    }

    /// Arrays of a result, which come behind its bytes.
    struct TailBuffer {
        const std::byte* data;
        std::size_t size;
        nb::object holder;
    };
    using Tail = std::vector<TailBuffer>;

    nb::handle function(const TaskSlot& slot) {
        if (slot.function >= TaskBoard::functions) throw Error("a task has no function: something overwrote it");
        Function& known = functions_[slot.function];
        if (known.serial != slot.function_serial) {
            const FunctionPlace place = board_.function(slot.function);
            known.callable = unpickled(heap_.at(place.block, place.size), place.size);
            known.serial = slot.function_serial;
        }
        return known.callable;
    }

    void tell(TaskSlot& slot, Outcome outcome, const std::byte* bytes, std::size_t head, const Tail& tail = {}) {
        std::size_t size = head;
        for (const TailBuffer& buffer : tail) size += tail_bytes(buffer.size);
        if (size > UINT32_MAX)
            throw Error("the result of a task has 4 GiB or more; write it into an array of machine.array");
        std::byte* place = slot.bytes;
        if (size > TaskSlot::inline_bytes) {
            if (slot.block != 0 && size <= slot.room) {
                slot.result_block = slot.block;
            } else {
                slot.result_block = ask_for_room(size);
                if (slot.result_block == 0) throw nb::python_error();
            }
            place = heap_.at(slot.result_block, size);
        }
        std::memcpy(place, bytes, head);
        place += head;
        for (const TailBuffer& buffer : tail) {
            std::memcpy(place, buffer.data, buffer.size);
            place += tail_bytes(buffer.size);
        }
        slot.result_size = static_cast<std::uint32_t>(size);
        slot.outcome = outcome;
    }

    void tell_failure(TaskSlot& slot, const nb::object& error) {
        try {
            const auto text = nb::cast<nb::bytes>(describe_failure_(error));
            tell(slot, Outcome::raised, reinterpret_cast<const std::byte*>(text.c_str()), text.size());
        } catch (...) {
            slot.outcome = Outcome::raised;  // without a word: there is no memory
            slot.result_size = 0;
            slot.result_block = 0;
        }
    }

    /// The parent's keeper gives out the heap. 0, with MemoryError set, when there is no more.
    HeapPlace ask_for_room(std::size_t bytes) {
        own().granted.store(0, std::memory_order_relaxed);
        own().wanted.store(bytes, std::memory_order_seq_cst);
        eventfd_write(keeper_, 1);
        without_interpreter([&] {
            const auto answered = [&] { return own().wanted.load(std::memory_order_seq_cst) == 0; };
            while (!answered()) board_.header().grant.sleep(answered, std::chrono::milliseconds{100});
        });
        const HeapPlace place = own().granted.load(std::memory_order_relaxed);
        if (place == 0) PyErr_NoMemory();
        return place;
    }

    void start_clock(const TaskSlot& slot, std::uint64_t number) noexcept {
        own().since.store(now_ns(), std::memory_order_relaxed);
        own().limit.store(slot.limit, std::memory_order_relaxed);
        own().limited.store(2 * number, std::memory_order_release);
    }

    void stop_clock(std::uint64_t number) noexcept {
        std::uint64_t running = 2 * number;
        if (own().limited.compare_exchange_strong(running, 0, std::memory_order_acq_rel)) return;
        process::await_kill();  // its time was up
    }

    void complete(const Claim& claim) noexcept {
        penstock::python::complete(board_, claim, index_);
        board_.completion(index_, completed_).store(claim.number << 16 | claim.slot, std::memory_order_release);
        own().completed.store(++completed_, std::memory_order_seq_cst);
        auto& header = board_.header();
        header.completion.notify();
        if (header.armed.load(std::memory_order_seq_cst) != 0 &&
            header.armed.exchange(0, std::memory_order_seq_cst) != 0) {
            eventfd_write(notice_, 1);
        }
    }

    struct Function {
        std::uint64_t serial = 0;
        nb::object callable;
    };

    TaskBoard board_;
    std::uint32_t index_;
    int keeper_, notice_;
    HeapOfParent heap_;
    CachedViews views_;
    const ArraySources sources_{
        [this](std::string_view description) { return views_.view(description); },
        [this](HeapPlace place, std::size_t size, bool writable) { return heap_buffer(place, size, writable); }};
    nb::object describe_failure_;
    std::vector<Function> functions_;
    std::uint64_t completed_ = 0;
    struct Kept {
        std::uint64_t number;
        std::vector<nb::object> buffers;
    };
    std::vector<nb::object> buffers_;  ///< of the task that runs
    std::deque<Kept> kept_;
    std::uint64_t released_ = 0;
};

}  // namespace

void bind_worker_process(nb::module_& module) {
    module.def(
        "serve_tasks",
        [](int board, int heap, std::uint32_t index, int keeper, int notice, int processor) {
            if (processor >= 0) static_cast<void>(pin_this_thread(processor));
            WorkerProcess(TaskBoard::adopt(board), heap, index, keeper, notice).serve();
        },
        nb::arg("board"), nb::arg("heap"), nb::arg("index"), nb::arg("keeper"), nb::arg("notice"), nb::arg("processor"),
        "Serves a machine's tasks in a worker process until the machine closes. For penstock._interpreter.");
}

}  // namespace penstock::python
