// spmd over threads: ranks are threads of this interpreter, and whoever called waits for them and for Ctrl-C.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "penstock/spmd.hpp"
#include "python/errors.hpp"
#include "python/ranks/rank_session.hpp"
#include "python/workers/raised_exception.hpp"

namespace penstock::python {
namespace {

/// A team while it runs. All but `done` is guarded by the interpreter's lock.
class ThreadTeam {
  public:
    ThreadTeam(int size, nb::object function, nb::tuple arguments)
        : function_(std::move(function)), arguments_(std::move(arguments)), sessions_(places(size)),
          results_(places(size)), errors_(places(size)) {}

    nb::list run(int size, const SpmdOptions& options) {
        std::thread runner([&] {
            try {
                spmd(size, [this](Rank me) { run_rank(me); }, options);
            } catch (...) {
                failure_ = std::current_exception();
            }
            const std::lock_guard lock(mutex_);
            done_ = true;
            ended_.notify_one();
        });
        std::optional<nb::python_error> interruption;
        for (int rounds = 0; !ended_within(between_looks);) {
            bool due = RankSession::calling_thread_interrupted();
            if (PyErr_CheckSignals() != 0) {
                interruption.emplace();
                due = true;
                rounds = 0;
            }
            if (due) interrupted_ = true;
            if (interrupted_) interrupt(rounds++);
        }
        {
            const nb::gil_scoped_release release;
            runner.join();
        }
        if (interruption) throw std::move(*interruption);
        if (interrupted_) {
            RankSession::tell_calling_thread();
            throw Interrupted{};
        }
        if (failure_) conclude();
        nb::list results;
        for (auto& result : results_) results.append(result);
        return results;
    }

  private:
    /// Ends a session, however its rank's function ends.
    struct Ending {
        RankSession& session;
        ~Ending() { session.end(); }
    };

    /// None for a size that spmd will refuse.
    static std::size_t places(int size) {
        return size < 1 || size > team::most_ranks ? 0 : static_cast<std::size_t>(size);
    }

    /// Runs the function as this rank, without the interpreter's lock at first.
    void run_rank(Rank me) {
        const auto index = static_cast<std::size_t>(me.index());
        bool consequence = false;
        std::string text;
        {
            const nb::gil_scoped_acquire acquire;
            const auto session = std::make_shared<RankSession>(me, true);
            const Ending ending{*session};
            sessions_[index] = session;
            if (interrupted_) session->interrupt();
            try {
                results_[index] = function_(PythonRank{session}, *arguments_);
            } catch (nb::python_error& error) {
                error.restore();
                errors_[index] = raised_exception();  // before Python 3.12 `error` may hold a type only
                consequence = nb::isinstance(errors_[index], nb::module_::import_("penstock.errors").attr("RankLost"));
                text = description_of(errors_[index]);
            }
            if (!errors_[index].is_valid()) return;
        }
        if (consequence) throw RankLost(me.index(), text);
        throw Error(text);
    }

    bool ended_within(std::chrono::milliseconds time) {
        const nb::gil_scoped_release release;
        std::unique_lock lock(mutex_);
        return ended_.wait_for(lock, time, [this] { return done_; });
    }

    /// Waits end at once. Python code that does not wait is given one round to come to a wait, where nothing is half
    /// done.
    void interrupt(int round) {
        for (const auto& session : sessions_) {
            if (!session || session->ended()) continue;
            session->interrupt();
            if (round == 1) session->interrupt_code();
        }
    }

    [[noreturn]] void conclude() {
        try {
            std::rethrow_exception(failure_);
        } catch (const RankFailed& failed) {
            const nb::object made = error_object("RankFailed", failed);
            made.attr("rank") = failed.rank();
            made.attr("others") = failed.others();
            if (const auto& cause = errors_[static_cast<std::size_t>(failed.rank())]; cause.is_valid())
                made.attr("__cause__") = cause;
            raise(made);
            throw nb::python_error();
        }
    }

    nb::object function_;
    nb::tuple arguments_;
    std::vector<std::shared_ptr<RankSession>> sessions_;
    std::vector<nb::object> results_;
    std::vector<nb::object> errors_;
    bool interrupted_ = false;
    std::exception_ptr failure_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool done_ = false;
};

}  // namespace

void bind_team(nb::module_& module) {
    module.def(
        "spmd_threads",
        [](int size, nb::object function, nb::tuple arguments, double accept_within, bool pin) {
            SpmdOptions options;
            options.accept_within = seconds("accept_within", accept_within);
            options.pin = pin;
            return ThreadTeam(size, std::move(function), std::move(arguments)).run(size, options);
        },
        nb::arg("size"), nb::arg("function"), nb::arg("arguments"), nb::arg("accept_within"), nb::arg("pin"),
        nb::sig("def spmd_threads(size: int, function: Callable[..., Any], arguments: tuple[Any, ...], "
                "accept_within: float, pin: bool) -> list[Any]"),
        "What penstock.spmd does where ranks are threads.");
}

}  // namespace penstock::python
