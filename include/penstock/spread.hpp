// stream layer: a firing that goes on as tasks on many targets. The filter issues them and returns at once; what it has
// written is sent when the last of them has completed, and only then does it fire again. No thread waits. (Cell-Space's
// components stand for several jobs likewise.)
//
//     void blur(view<const float, 2> window, view<float, 2> tile);
//     struct Blur {
//         Input<float> in{"in"};
//         Output<float> out{"out"};
//         Spread tasks;
//         void operator()() {
//             auto& from = tasks.keep(in.read());
//             auto to = out.make(from.extent(0), from.extent(1));
//             for (const auto& tile : tiles_of(to)) tasks.call<blur>(in(window_of(from, tile)), out(tile));
//             out.write(std::move(to));
//         }
//     };
//
// Jobs are calls with tagged arguments, as machine.call has them: arguments of the jobs that wait are prefetched while
// others run, what must be contiguous is staged in the local store, and chains and resident data are taken as well. In
// a worker process a firing's jobs run in that process, behind the filter's own function, one after the other, with the
// next one's arguments prefetched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "penstock/chain.hpp"
#include "penstock/detail/task/local_store.hpp"
#include "penstock/machine.hpp"
#include "penstock/port.hpp"

namespace penstock {

class Prefetcher;

namespace streaming {

class Station;

/// The jobs of a firing where no targets run them: they wait here until the filter's function has returned.
class JobsHere {
  public:
    JobsHere();
    ~JobsHere();
    JobsHere(const JobsHere&) = delete;
    JobsHere& operator=(const JobsHere&) = delete;

    /// Something that stays until they have run.
    void keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }
    void then(std::function<void()> next) { next_ = std::move(next); }
    template <class F, class... Args>
    void add(F function, Args&&... arguments) {
        using Site = procedure::SiteOf<F, Args...>;
        add_as<Site>(Site::unpack(std::move(function)), std::index_sequence_for<Args...>{},
                     std::forward<Args>(arguments)...);
    }
    std::size_t local_store_bytes() const noexcept;
    /// Runs them all, and what comes then, and their jobs. Throws the first failure, behind all of them.
    void run();
    /// Drops what has not run, and what was kept.
    void clear() noexcept;

  private:
    struct Packed {
        std::uint32_t entry = 0;
        TaskPayload payload{};
        Extension extension{};
    };
    template <class Site, class F, std::size_t... I, class... Args>
    void add_as(F function, std::index_sequence<I...>, Args&&... arguments) {
        using Call = typename Site::Call;
        using Pack = typename Call::Pack;
        static_assert(!Call::has_residents,
                      "penstock: resident data belong to a machine, and are for filters whose firings its targets run");
        constexpr std::string_view name = Site::Registered::entry.name;
        Call::check(name, arguments...);
        auto bound = std::tuple{Call::template bind<I>(name, std::forward<Args>(arguments))...};
        if (jobs_.size() == jobs_.capacity()) jobs_.reserve(2 * jobs_.size() + 8);  // nothing throws behind the packing
        auto packed = std::make_unique<Packed>();
        packed->entry = Site::Registered::number;
        std::apply(
            [&](auto&... stored) {
                packed->payload.entry = packed->entry;
                if (Pack::fits(function, stored...)) {
                    Pack::store(packed->payload, &packed->extension, function, stored...);
                } else {
                    auto box = std::make_unique<typename Pack::Box>(std::move(function), std::move(stored)...);
                    packed->payload.flags = TaskPayload::boxed;
                    Pack::store_box(packed->payload, box.release());
                }
            },
            bound);
        jobs_.push_back(std::move(packed));
    }

    std::vector<std::shared_ptr<void>> kept_;
    std::vector<std::unique_ptr<Packed>> jobs_;
    std::function<void()> next_;
    std::unique_ptr<LocalStore> store_;
    std::unique_ptr<Prefetcher> prefetcher_;
};

}  // namespace streaming

/// A member of a filter. Used inside its firing only.
class Spread : public streaming::Part {
  public:
    Spread();

    /// Something that others do for this firing, which is not over before the ticket is gone. Any thread may say so.
    class Ticket {
      public:
        Ticket(Ticket&& other) noexcept
            : station_(std::exchange(other.station_, nullptr)), is_due_(std::exchange(other.is_due_, false)) {}
        Ticket& operator=(Ticket&& other) noexcept {
            std::swap(station_, other.station_);
            std::swap(is_due_, other.is_due_);
            return *this;
        }
        ~Ticket();
        /// The firing has failed.
        void fail(std::exception_ptr cause);
        /// Of a job: it runs. When a job's ticket goes before, the firing has failed.
        void begin() noexcept { is_due_ = false; }

      private:
        friend class Spread;
        explicit Ticket(streaming::Station* station, bool is_due = false) noexcept
            : station_(station), is_due_(is_due) {}
        streaming::Station* station_;
        bool is_due_;  ///< of a job that has not run
    };

    /// Issues a job: `function` with these arguments, as machine.call<function> has them. They refer to what lives till
    /// the firing's last job has completed: values that were written, and buffers that were kept. When it throws, the
    /// firing has failed.
    template <auto function, class... Args>
    void call(Args&&... arguments);
    /// The same for a chain of jobs, which run one after the other, on one target, with what lies between them in its
    /// local store. The chain must live until the firing is over.
    template <class... P, class... Args>
    void call(const Chain<P...>& chain, Args&&... arguments);
    /// The same for a closure. It may refer to what the filter's function refers to.
    template <class F>
        requires std::invocable<F&>
    void call(F body) {
        if (here_ != nullptr) return body();
        Machine& machine = begin_task();
        Ticket ticket(station_, true);  // goes with the task, or here when there is no memory for one
        machine.call(boxed([body = std::move(body), ticket = std::move(ticket)]() mutable {
            Ticket task(std::move(ticket));  // the last of them that goes sends what was written
            task.begin();
            try {
                body();
            } catch (...) {
                task.fail(std::current_exception());
            }
        }));
    }

    /// Calls body(i) for each i below n, in tasks of `grain` calls each; 0: as many tasks as four for each target.
    template <class F>
    void for_each(std::size_t n, F body, std::size_t grain = 0) {
        if (n == 0) return;
        if (grain == 0) grain = std::max<std::size_t>(1, n / (4 * workers()));
        const auto shared = std::make_shared<F>(std::move(body));
        for (std::size_t first = 0; first < n; first += grain)
            call([shared, first, last = std::min(n, first + grain)] {
                for (std::size_t i = first; i < last; ++i) (*shared)(i);
            });
    }

    /// `next` is called when all jobs issued so far have completed, before what was written is sent: it may issue more,
    /// write to the outputs, and say what comes then. Not when one of them has failed. (The call back of Cell-RTL.)
    void then(std::function<void()> next);

    /// Throws UsageError outside a firing.
    Ticket ticket() {
        begin_task();
        return Ticket(station_);
    }

    /// Holds a buffer until the firing's last task has completed.
    template <class T>
    Buffer<T>& keep(Buffer<T>&& buffer) {
        auto held = std::make_shared<Buffer<T>>(std::move(buffer));
        hold(held);
        return *held;
    }

    /// Whose targets run the jobs, for what a filter makes of it once (machine.resident(table)). Throws UsageError
    /// outside a firing, and where the filter's process has no machine.
    Machine& machine() const;
    /// Of the targets that share the jobs; 1 where none do.
    std::size_t workers() const;

    streaming::Station* station_ = nullptr;  ///< set while a graph runs
    /// In a worker process: jobs run inside the call, behind the filter's own function.
    void run_here(streaming::JobsHere* jobs) noexcept { here_ = jobs; }

  private:
    streaming::JobsHere* here_ = nullptr;
    Machine& begin_task();
    void hold(std::shared_ptr<void> object);
};

namespace streaming {

/// A job as a target runs it. The ticket goes with it, when its results have been written back.
template <auto function, class List>
struct FiringJob;
template <auto function, class... P>
struct FiringJob<function, procedure::Parameters<P...>> {
    Spread::Ticket ticket;
    void operator()(P... parameters) {
        ticket.begin();
        try {
            function(std::forward<P>(parameters)...);
        } catch (...) {
            ticket.fail(std::current_exception());
        }
    }
};

template <class... P>
struct ChainJob {
    using TakesStore = void;
    chain::Task<P...> task;
    mutable Spread::Ticket ticket;
    void run(LocalStore& store, P... parameters) const {
        ticket.begin();
        try {
            task.run(store, std::forward<P>(parameters)...);
        } catch (...) {
            ticket.fail(std::current_exception());
        }
    }
    void discard() const noexcept { task.discard(); }
};

}  // namespace streaming

namespace procedure {

// In traces a job is called as what it calls.
template <auto function, class List>
struct Callee<Boxed<streaming::FiringJob<function, List>>> {
    using Callable = streaming::FiringJob<function, List>;
    using Named = std::decay_t<decltype(function)>;
    using Name = FunctionName<function>;
    static Callable&& unpack(Boxed<Callable>&& box) noexcept { return std::move(box.function); }
};
template <class... P, class... Args>
struct ParametersOf<streaming::ChainJob<P...>, Args...> : ParametersOf<chain::Task<P...>, Args...> {};
template <class... P>
struct ClosureName<streaming::ChainJob<P...>> : ClosureName<chain::Task<P...>> {};

}  // namespace procedure

template <auto function, class... Args>
void Spread::call(Args&&... arguments) {
    if (here_ != nullptr) return here_->add(procedure::Constant<function>{}, std::forward<Args>(arguments)...);
    using List = typename procedure::Signature<std::decay_t<decltype(function)>>::List;
    Machine& machine = begin_task();
    machine.call(boxed(streaming::FiringJob<function, List>{Ticket(station_, true)}), std::forward<Args>(arguments)...);
}

template <class... P, class... Args>
void Spread::call(const Chain<P...>& chain, Args&&... arguments) {
    if (here_ != nullptr) {
        const auto task = chain.task_here(here_->local_store_bytes(), arguments...);
        try {
            return here_->add(task, std::forward<Args>(arguments)...);
        } catch (...) {
            task.discard();
            throw;
        }
    }
    Machine& machine = begin_task();
    Ticket ticket(station_, true);
    const auto as = [&](chain::Task<P...> task) { return boxed(streaming::ChainJob<P...>{task, std::move(ticket)}); };
    (void)chain.issue_as(machine.initiator(), Initiator::any_target, as, std::forward<Args>(arguments)...);
}

}  // namespace penstock
