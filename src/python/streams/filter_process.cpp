// Filters whose firings run in the machine's worker interpreters. A firing is issued there and the filter lets its
// thread go; when the outcome has come, the filter takes it and writes. An object of a class lives in one worker.

#include <condition_variable>

#include "python/calls/python_machine.hpp"
#include "python/errors.hpp"
#include "python/streams/filter_spec.hpp"

namespace penstock::python {

/// Where the firings of one filter go, and the thread that sees them come back. With the interpreter's lock, but for
/// returned().
class ProcessSite {
  public:
    ProcessSite() = default;
    ~ProcessSite() {
        const std::lock_guard lock(watch_->lock);
        watch_->stopping = true;
        watch_->changed.notify_one();
    }
    ProcessSite(const ProcessSite&) = delete;
    ProcessSite& operator=(const ProcessSite&) = delete;

    /// The graph starts on a machine with these workers.
    void bind(const std::shared_ptr<WorkerPool>& pool, int workers) {
        const std::lock_guard lock(watch_->lock);
        watch_->pool = pool;
        workers_ = workers;
    }
    /// Throws MachineGone.
    std::shared_ptr<WorkerPool> pool() const {
        const std::lock_guard lock(watch_->lock);
        if (auto pool = watch_->pool.lock()) return pool;
        throw MachineGone("the machine of this filter was closed; start the graph on one that is open");
    }
    /// The worker of the next copy that keeps a state.
    int next_worker() noexcept { return static_cast<int>(next_++ % static_cast<std::size_t>(workers_)); }
    /// A firing was issued: the thread, made at the first of them, looks for its end.
    void issued() {
        const std::lock_guard lock(watch_->lock);
        ++watch_->out;
        if (!std::exchange(watch_->serving, true)) std::thread([watch = watch_] { watch->serve(); }).detach();
        watch_->changed.notify_one();
    }
    /// It has come back.
    void returned() {
        const std::lock_guard lock(watch_->lock);
        --watch_->out;
    }

  private:
    /// What the thread holds too: it is not waited for, as it may need the interpreter's lock to end.
    struct Watch {
        void serve() {
            for (;;) {
                std::weak_ptr<WorkerPool> known;
                {
                    std::unique_lock guard(lock);
                    changed.wait(guard, [this] { return stopping || out != 0; });
                    if (stopping && out == 0) return;
                    known = pool;
                }
                if (!nb::is_alive()) return;
                const nb::gil_scoped_acquire acquire;
                try {
                    // Waits without the interpreter's lock, and runs the call-backs of what has completed.
                    if (const auto held = known.lock()) held->wait_for_any(std::chrono::milliseconds{100});
                } catch (const std::exception&) {
                    return;  // in a child of fork, where nothing comes back any more
                }
            }
        }

        std::mutex lock;
        std::condition_variable changed;
        std::weak_ptr<WorkerPool> pool;
        std::size_t out = 0;  ///< firings that were issued and have not come back
        bool serving = false;
        bool stopping = false;
    };

    std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
    int workers_ = 1;
    std::size_t next_ = 0;
};

namespace {

class ProcessFilter final : public SpecFilter {
  public:
    ProcessFilter(std::shared_ptr<const FilterSpec> given, std::shared_ptr<ProcessSite> site)
        : SpecFilter(std::move(given)), site_(std::move(site)) {
        completes_later = true;
        const nb::gil_scoped_acquire acquire;
        remote_ = hold((*spec().make)());
        handles_events_ = spec().keeps_state && nb::cast<bool>(remote_->attr("handles_events"));
        may_finish_ = spec().keeps_state && nb::cast<bool>(remote_->attr("has_finish"));
    }

    bool fire() override {
        if (over_) return false;
        firing_ = begin();
        if (spec().fills)
            for (std::size_t o = 0; o < outputs.size(); ++o) firing_.results.emplace_back(o, make(o, firing_));
        in_python([&] {
            issue("fire", arrays());
            const auto ticket = std::make_shared<std::optional<Spread::Ticket>>(tasks().ticket());
            site_->issued();
            site_->pool()->when_done(task_, nb::cpp_function([this, ticket] {
                                         site_->returned();
                                         ticket->reset();  // this filter may be gone behind it
                                     }));
        });
        return true;
    }

    void complete() override {
        in_python([&] { take_outcome(); });
        write(firing_);
    }

    void finish() override {
        if (spec().keeps_state && (may_finish_ || known_there_)) ask("finish", {});  // which also lets the object go
    }
    void handle(const Event& event) override {
        std::vector<nb::object> arguments;
        {
            const nb::gil_scoped_acquire acquire;
            arguments.push_back(object_of(event));
        }
        ask("on_event", std::move(arguments));
    }
    bool handles_events() const noexcept override { return handles_events_; }

  private:
    /// Views of the buffers, tagged: the pool copies what does not lie in the shared heap. What a firing writes into
    /// comes last.
    std::vector<nb::object> arrays() {
        const StreamNames& names = stream_names();
        std::vector<nb::object> arguments;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            nb::object given = argument(i, firing_);
            const bool one = nb::isinstance(given, names.array);
            arguments.push_back(one ? names.in(given) : std::move(given));
        }
        written_.clear();
        for (auto& [o, buffer] : firing_.results) {
            written_.push_back(hold(array_over(std::move(buffer), *spec().outputs[o], true)));
            arguments.push_back(names.out(*written_.back()));
        }
        firing_ = {};
        return arguments;
    }

    /// Sends one piece of work to a worker. With the interpreter's lock.
    void issue(const char* what, std::vector<nb::object> arguments) {
        nb::list all;
        if (spec().keeps_state) {
            all.append(nb::str(what));
            all.append(nb::bool_(known_there_));
        }
        nb::dict shown;
        for (std::size_t i = 0; i < settings.size(); ++i) shown[settings[i]->name().c_str()] = object_of(setting(i));
        all.append(shown);
        for (auto& argument : arguments) all.append(std::move(argument));
        TaskWishes wishes;
        wishes.limit = spec().limit;
        if (spec().keeps_state) {
            if (worker_ < 0) worker_ = site_->next_worker();
            wishes.target = worker_;
        }
        task_ = site_->pool()->issue(*remote_, nb::tuple(all), {}, wishes);
    }

    /// The same, waiting for it: between firings.
    void ask(const char* what, std::vector<nb::object> arguments) {
        firing_ = {};
        in_python([&] {
            issue(what, std::move(arguments));
            site_->pool()->wait(task_);
            take_outcome();
        });
        write(firing_);
    }

    void take_outcome() {
        const TaskPointer task = std::exchange(task_, nullptr);
        std::vector<nb::object> written;
        for (auto& array : std::exchange(written_, {})) written.push_back(std::move(*array));
        if (task->failed()) {
            task->delivered = true;
            if (task->outcome != Outcome::raised) known_there_ = false;  // its worker is gone, and all that was in it
            const nb::object error = exception_of(*task);
            if (nb::isinstance(error, stream_names().state_lost)) known_there_ = false;
            throw BodyFailed(described_exception(error), task);
        }
        known_there_ = true;
        nb::object result = result_of(*task);
        task->result.reset();  // so that nobody else holds the arrays
        if (nb::isinstance<nb::str>(result) && result.equal(stream_names().ended)) {
            over_ = true;
            return;
        }
        if (!spec().fills) return take_result(std::move(result), firing_);
        take_written(result, written, firing_);
    }

    std::shared_ptr<ProcessSite> site_;
    HeldObject remote_;  ///< what is carried over: penstock._firing.Function or .Object
    Firing firing_;
    TaskPointer task_;
    std::vector<HeldObject> written_;
    int worker_ = -1;
    bool known_there_ = false;  ///< the worker has the object
    bool over_ = false;
    bool handles_events_ = false;
    bool may_finish_ = false;
};

}  // namespace

PythonKind process_kind(std::shared_ptr<const FilterSpec> spec) {
    auto site = std::make_shared<ProcessSite>();
    using Kind = SpecKind<ProcessFilter, std::shared_ptr<ProcessSite>>;
    return {std::make_shared<Kind>(std::move(spec), site), site};
}

void bind_site(const PythonKind& kind, nb::object machine_object) {
    if (kind.site == nullptr) return;
    auto& machine = nb::cast<PythonMachine&>(machine_object);
    const auto targets = machine.live()->targets();
    if (targets == 0)
        throw UsageError("a machine with targets=0 has no worker interpreters for filters with isolation=\"process\"");
    kind.site->bind(machine.workers(), targets);
}

}  // namespace penstock::python
