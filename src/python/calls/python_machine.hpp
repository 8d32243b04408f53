// The machine as Python has it: closed once, and holding what its tasks need.
#pragma once

#include "penstock/isolation.hpp"
#include "python/calls/carried_call.hpp"
#include "python/workers/ledger.hpp"
#include "python/workers/worker_pool.hpp"

namespace penstock::python {

/// How a thread learns of a task that was called with notification='interrupt'.
struct Interrupt {
    std::weak_ptr<Machine> machine;
    int descriptor;
    unsigned long thread;  ///< the one that polls for it
};

/// A handle, and the ledger to tidy when its task is seen to be complete. Of a task with a Python body: the task, and
/// who runs it.
struct PythonHandle {
    Handle handle;
    std::shared_ptr<Ledger> ledger;
    TaskPointer task;
    std::weak_ptr<WorkerPool> pool;
    std::shared_ptr<const Interrupt> interrupt;

    void wait(bool helping) const;
    bool ready() const;
    bool cancel() const;
    /// Waits for at most so long; none: for ever. False when it has not completed.
    bool wait_for(std::optional<double> seconds) const;
    nb::object result(std::optional<double> timeout) const;
    nb::object exception(std::optional<double> timeout) const;
    void add_done_callback(nb::object callback) const;
    friend bool operator==(const PythonHandle& a, const PythonHandle& b) {
        return a.handle == b.handle && a.task == b.task;
    }

  private:
    std::shared_ptr<WorkerPool> workers() const;
};

/// The words of a call beside its arguments; None where they were left out.
struct CallWords {
    nb::handle signature, time_limit, after, priority, then, deadline, affine, notification;

    bool plain() const noexcept;
};

/// Are the targets of such a machine, or class of targets, worker processes?
inline bool on_worker_processes(const auto& of) noexcept { return of.isolation == Isolation::process; }
/// Throws CannotCarryOver, with this reason, where they are.
inline void require_thread_targets(const Machine& machine, const std::string& name, int argument, const char* why) {
    if (on_worker_processes(machine.options())) throw CannotCarryOver(name, argument, why);
}

class PythonChain;
class PythonDependences;
struct LiveRun;

class PythonMachine {
  public:
    explicit PythonMachine(const MachineOptions& options);
    /// One that was not closed: writes the failures that nobody asked for to sys.unraisablehook.
    ~PythonMachine();
    PythonMachine(const PythonMachine&) = delete;
    PythonMachine& operator=(const PythonMachine&) = delete;

    /// The machine, kept from being destroyed as long as the result lives. Throws MachineGone after close().
    std::shared_ptr<Machine> live() const;
    std::shared_ptr<Machine> use() const { return live(); }
    bool closed() const noexcept { return machine_ == nullptr; }
    /// Finishes all tasks and gives the threads back. Throws the first failure that nobody has seen, after that.
    void close();
    /// The same where nobody comes back: Ctrl-C abandons what is under way.
    void close_or_abandon();
    /// Python bodies that run are ended, and those that wait do not run: nobody is there any more who wants them.
    void abandon();
    /// At the end of the interpreter: closes those that are open, or abandons them where Ctrl-C ended the program. What
    /// failed goes to sys.unraisablehook.
    static void close_all();

    PythonHandle call(int target, nb::handle body, const nb::args& arguments, const CallWords& words);
    /// The target with this number, or the next one of a class by name. Throws UsageError.
    int target_of(nb::handle number_or_class);
    /// A Python body; `names` are those of the last arguments.
    PythonHandle call_python(nb::handle body, const nb::tuple& arguments, nb::handle names, const TaskWishes& wishes);
    /// For executors: any body, the arguments in one tuple, those with names in a dict.
    PythonHandle submit(nb::handle body, const nb::tuple& arguments, const nb::dict& keywords);
    bool is_python_body(nb::handle body, nb::handle signature) const;
    /// Zeroed elements in the shared heap, as a NumPy array.
    nb::object array(nb::handle shape, nb::handle type);
    /// Process numbers of the workers, 0 for one that is being started; none before the first call of a Python body.
    std::vector<int> worker_pids() const;
    std::shared_ptr<WorkerPool> workers();
    /// Worker interpreters: one for each target. Where nobody said how many targets, one more: Python bodies get every
    /// processor, because a thread that waits for them leaves its own to them.
    int worker_count() const noexcept { return worker_count_; }
    void barrier();
    void finish();
    std::size_t held() const noexcept { return ledger_->size(); }
    /// Issues a call: without the interpreter's lock where that may have to wait for a task.
    template <class Issue>
    Handle without_lock_if_it_may_block(const Machine& machine, Issue&& issue) const {
        if (may_block(machine)) [[unlikely]]
            return without_interpreter(issue);
        return issue();
    }
    /// Holds what a task needs until it has completed. A handle whose completion signals a descriptor knows which, and
    /// who may poll for it: `way`, of a task of this machine.
    PythonHandle keep(Handle handle, nb::object body, nb::object arguments, const OptionsOrHandles* way = nullptr,
                      const std::shared_ptr<Machine>& machine = {});
    /// Objects that end with the machine.
    void add_order(PythonDependences& order) { orders_.push_back(&order); }
    void remove_order(PythonDependences& order) { std::erase(orders_, &order); }
    /// Stopped when the machine closes.
    void add_run(const std::shared_ptr<LiveRun>& run);

  private:
    /// Who runs compiled bodies for a target, and its number there: of worker processes beside threads, these.
    std::pair<std::shared_ptr<Machine>, int> place_of(int target) const;
    bool may_block(const Machine& machine) const;
    PythonHandle call_chain(int target, PythonChain& chain, nb::handle object, const nb::args& arguments,
                            const OptionsOrHandles* way);
    std::optional<PythonHandle> call_just_in_time(int target, nb::handle body, const nb::args& arguments,
                                                  const CallWords& words);
    TaskPointer run_at_once(nb::handle body, const nb::tuple& arguments, nb::handle names);
    void wait_for_all(void (Machine::*wait)(), std::vector<TaskPointer> (WorkerPool::*collect)());

    std::shared_ptr<Machine> machine_;
    int worker_count_ = 0;
    std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
    std::shared_ptr<WorkerPool> pool_;  // from the first call of a Python body on
    std::vector<TaskPointer> failed_at_once_;
    std::vector<PythonDependences*> orders_;
    std::vector<std::weak_ptr<LiveRun>> runs_;
    CarriedBodies carried_;
    std::size_t next_of_class_ = 0;
    std::size_t issued_ = 0;  // since the last barrier of any thread: how full lanes and deques can be at most
};

void bind_machine(nb::module_& module);
void bind_handle(nb::module_& module);
void bind_worker_process(nb::module_& module);
void bind_trace(nb::module_& module, nb::class_<PythonMachine>& machine);
void bind_resident(nb::module_& module, nb::class_<PythonMachine>& machine);
/// Issues a call with resident arguments, by a machine's plain or longer ways. Throws UsageError for calls after
/// others.
Handle issue_resident(Machine& machine, int target, const OptionsOrHandles* way, const Words& words);
void bind_loops(nb::class_<PythonMachine>& machine);
void bind_dependences(nb::module_& module);
void bind_chain(nb::module_& module);
void bind_topology(nb::module_& module);
void bind_gallery(nb::module_& module);
void bind_components(nb::module_& module);
void bind_language(nb::module_& module);
void bind_kernels(nb::module_& module);

}  // namespace penstock::python
