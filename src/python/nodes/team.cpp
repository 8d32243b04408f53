// spmd over a cluster: the program's side, and the ranks in an agent, which are threads of its interpreter.
#include "nodes/cluster_state.hpp"
#include "python/errors.hpp"
#include "python/ranks/rank_session.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

/// What `penstock.node_ranks` has made of a function that came pickled.
class PythonFarProgram final : public team::FarProgram {
  public:
    explicit PythonFarProgram(HeldObject program) : program_(std::move(program)) {}

    void run(Rank me, std::vector<std::byte>& value) override {
        bool failed = false, consequence = false;
        std::string text;
        {
            const nb::gil_scoped_acquire acquire;
            const auto session = std::make_shared<RankSession>(me, true);
            const AtEnd ending{[&] { session->end(); }};
            sessions_.push_back(session);
            if (interrupted_) session->interrupt();
            try {
                nb::bytes told;
                std::tie(failed, consequence, text, told) =
                    nb::cast<std::tuple<bool, bool, std::string, nb::bytes>>((*program_)(PythonRank{session}));
                const auto* const begin = reinterpret_cast<const std::byte*>(told.c_str());
                value.assign(begin, begin + told.size());
            } catch (nb::python_error& error) {  // an interruption at the last moment
                error.restore();
                failed = true;
                text = description_of(raised_exception());
            }
        }
        if (failed && consequence) throw RankLost(me.index(), text);
        if (failed) throw Error(text);
    }

    /// As in a team of threads: waits end at once, code that does not wait is given a round to come to a wait.
    void interrupt() override {
        const nb::gil_scoped_acquire acquire;
        interrupted_ = true;
        for (const auto& session : sessions_) session->interrupt();
        without_interpreter([] { std::this_thread::sleep_for(2 * between_looks); });
        for (const auto& session : sessions_)
            if (!session->ended()) session->interrupt_code();
    }

  private:
    HeldObject program_;
    // Under the interpreter's lock.
    std::vector<std::shared_ptr<RankSession>> sessions_;
    bool interrupted_ = false;
};

std::unique_ptr<team::FarProgram> program_from(const std::string& version, std::span<const std::byte> pickled) {
    std::unique_ptr<team::FarProgram> program;
    in_python([&] {
        const nb::bytes bytes(pickled.data(), pickled.size());
        program = std::make_unique<PythonFarProgram>(
            hold(nb::module_::import_("penstock.node_ranks").attr("_program_from")(version, bytes)));
    });
    return program;
}

nb::list run_team(nb::handle cluster, int size, const std::string& group, const std::string& version,
                  const nb::bytes& pickled, double accept_within, bool pin) {
    Cluster& over = *cluster_in(cluster);
    const auto* const begin = reinterpret_cast<const std::byte*>(pickled.c_str());
    const nodes::TeamOrder order{.size = size,
                                 .group = group,
                                 .recipe = {"python", version, {begin, begin + pickled.size()}},
                                 .accept_within = seconds("accept_within", accept_within),
                                 .pin = pin};
    if (size < 1 || size > team::most_ranks)
        throw UsageError("a team has 1 to " + std::to_string(team::most_ranks) + " ranks, but " + std::to_string(size) +
                         " were asked for");
    if (order.accept_within.count() <= 0) throw UsageError("accept_within is a time in seconds, more than 0");
    std::optional<nb::python_error> interruption;
    bool interrupted = false;
    const auto ends = without_interpreter([&] {
        return nodes::run_team(over.state(), order, [&] {
            const nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) interruption.emplace();
            if (RankSession::calling_thread_interrupted()) interrupted = true;
            return interrupted || interruption.has_value();
        });
    });
    if (interruption) throw std::move(*interruption);
    if (interrupted) {
        RankSession::tell_calling_thread();
        throw Interrupted{};
    }
    nb::list all;
    for (const auto& end : ends)
        all.append(nb::make_tuple(end.end.rank, end.died, end.end.state == team::State::failed, end.end.consequence,
                                  end.order, end.end.text, nb::bytes(end.end.value.data(), end.end.value.size()),
                                  end.node, end.how, end.process));
    return all;
}

}  // namespace

void bind_node_team(nb::module_& module) {
    team::FarProgram::read_programs("python", &program_from);
    module.def("run_team", &run_team);
}

}  // namespace penstock::python
