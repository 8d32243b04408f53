// spmd over threads: ranks are threads of this interpreter, and whoever called waits for them and for Ctrl-C.
#include <future>

#include "penstock/spmd.hpp"
#include "python/errors.hpp"
#include "python/ranks/rank_session.hpp"

namespace penstock::python {
namespace {

/// A team while it runs, guarded by the interpreter's lock.
class ThreadTeam {
  public:
    ThreadTeam(int size, nb::object function, nb::tuple arguments)
        : function_(std::move(function)), arguments_(std::move(arguments)), sessions_(places(size)),
          results_(places(size)), errors_(places(size)) {}

    std::vector<nb::object> run(int size, const SpmdOptions& options) {
        auto team = std::async(std::launch::async, [&] { spmd(size, [this](Rank me) { run_rank(me); }, options); });
        std::optional<nb::python_error> interruption;
        const auto look = [&] { return team.wait_for(between_looks); };
        for (int rounds = 0; without_interpreter(look) != std::future_status::ready;) {
            bool due = RankSession::calling_thread_interrupted();
            if (PyErr_CheckSignals() != 0) {
                interruption.emplace();
                due = true;
                rounds = 0;
            }
            if (due) interrupted_ = true;
            if (interrupted_) interrupt(rounds++);
        }
        std::exception_ptr failure;
        try {
            without_interpreter([&] { team.get(); });  // its thread has ended then
        } catch (...) {
            failure = std::current_exception();
        }
        if (interruption) throw std::move(*interruption);
        if (interrupted_) {
            RankSession::tell_calling_thread();
            throw Interrupted{};
        }
        if (failure) conclude(failure);
        return std::move(results_);
    }

  private:
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
            const AtEnd ending{[&] { session->end(); }};
            sessions_[index] = session;
            if (interrupted_) session->interrupt();
            try {
                results_[index] = function_(PythonRank{session}, *arguments_);
            } catch (nb::python_error& error) {
                error.restore();
                errors_[index] = raised_exception();  // before Python 3.12 `error` may hold a type only
                consequence = nb::isinstance(errors_[index], imported("penstock.errors", "RankLost"));
                text = description_of(errors_[index]);
            }
            if (!errors_[index].is_valid()) return;
        }
        if (consequence) throw RankLost(me.index(), text);
        throw Error(text);
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

    [[noreturn]] void conclude(const std::exception_ptr& failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const RankFailed& failed) {
            const nb::object made =
                error_object("RankFailed", failed, "rank", failed.rank(), "others", failed.others());
            if (const auto& cause = errors_[static_cast<std::size_t>(failed.rank())]; cause.is_valid())
                made.attr("__cause__") = cause;
            throw_object(made);
        }
    }

    nb::object function_;
    nb::tuple arguments_;
    std::vector<std::shared_ptr<RankSession>> sessions_;
    std::vector<nb::object> results_;
    std::vector<nb::object> errors_;
    bool interrupted_ = false;
};

}  // namespace

void bind_team(nb::module_& module) {
    module.def(
        "spmd_threads",
        [](int size, nb::object function, nb::tuple arguments, double accept_within, bool pin) {
            return ThreadTeam(size, std::move(function), std::move(arguments))
                .run(size, {.accept_within = seconds("accept_within", accept_within), .pin = pin});
        },
        "What penstock.spmd does where ranks are threads.");
}

}  // namespace penstock::python
