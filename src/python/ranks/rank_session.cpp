#include "python/ranks/rank_session.hpp"

#include <cmath>

#include "python/errors.hpp"

namespace penstock::python {
namespace {

thread_local RankSession* session_of_this_thread = nullptr;  // of a thread of spmd, which has one in its life

bool is_main_thread() {
    const nb::object main = imported("threading", "main_thread")();
    return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

}  // namespace

RankSession::RankSession(Rank rank, bool in_team)
    : rank_(rank), thread_(std::this_thread::get_id()), python_thread_(PyThread_get_thread_ident()),
      handles_signals_(is_main_thread()), in_team_(in_team) {
    rank.set_interruption(this);
    if (in_team) session_of_this_thread = this;
}

void RankSession::end() noexcept {
    if (!rank_) return;
    {
        // Others may wait for the interpreter's lock while a messenger waits for them.
        const nb::gil_scoped_release release;
        ++shields_;
        // What gives memory back may run Python code that makes further parts.
        while (!parts_.empty())
            for (const auto& weak : std::exchange(parts_, {}))
                if (const auto part = weak.lock()) part->end();
        rank_->set_interruption(nullptr);
    }
    buried_.clear();
    rank_.reset();
    if (in_team_) session_of_this_thread = nullptr;
}

void RankSession::begin_waiting() {
    if (waiting_.exchange(true, std::memory_order_relaxed)) refuse_waiting();
    next_look_ = std::chrono::steady_clock::now() + between_looks;
}

/// Called now and then inside of waits, without the interpreter's lock.
void RankSession::look() {
    if (shields_ != 0) return;
    if (interrupted_.load(std::memory_order_relaxed)) {
        const nb::gil_scoped_acquire acquire;
        tell();
        throw Interrupted{};
    }
    if (!handles_signals_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + between_looks;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Once is enough: an exception that waits for the rank's code is taken back. With the interpreter's lock.
void RankSession::tell() noexcept {
    if (!std::exchange(told_, true)) PyThreadState_SetAsyncExc(python_thread_, nullptr);
}

void RankSession::tell_calling_thread() noexcept {
    if (session_of_this_thread != nullptr) session_of_this_thread->tell();
}

void RankSession::interrupt_code() const {
    if (!waiting() && !told_) PyThreadState_SetAsyncExc(python_thread_, PyExc_KeyboardInterrupt);
}

bool RankSession::calling_thread_interrupted() noexcept {
    const auto* session = session_of_this_thread;
    return session != nullptr && session->interrupted_.load(std::memory_order_relaxed);
}

void RankSession::refuse() const {
    if (!rank_)
        throw RankEnded(
            "this rank's function has ended, and with it all that the rank made; keep arrays and numbers, not the "
            "rank, its regions or its messengers");
    throw UsageError(
        "a rank is used by its own thread only; give other threads the array of a region, and let the rank's own "
        "thread publish");
}

void RankSession::refuse_waiting() {
    throw UsageError("this rank waits already; a signal handler cannot use it meanwhile");
}

// ---- what Python gives ----

std::string text_of(nb::handle text) {
    const auto bytes = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!bytes.is_valid()) throw nb::python_error();
    return {bytes.c_str(), bytes.size()};
}

std::string description_of(nb::handle error) noexcept {
    std::string kind = "an exception";
    try {
        kind = text_of(error.type().attr("__name__"));
        const auto what = said_by(error);
        return what.empty() ? kind : kind + ": " + what;
    } catch (const std::exception&) {
        return kind;
    }
}

std::chrono::nanoseconds seconds(const char* what, double value) {
    constexpr double most = 1e9;  // 30 years
    if (!(value >= 0)) throw UsageError(std::string(what) + " is a time in seconds, 0 or more");
    return std::chrono::nanoseconds(std::llround(std::min(value, most) * 1e9));
}

std::chrono::nanoseconds within_of(std::optional<double> within) {
    // 0 means something else below, and the shortest time that there is serves as well.
    return within ? std::max(seconds("within", *within), std::chrono::nanoseconds{1}) : std::chrono::nanoseconds{0};
}

Awaited awaited_of(nb::handle awaited) {
    if (awaited.is_none()) return Awaited::anybody();
    if (PyLong_Check(awaited.ptr())) {
        int overflow = 0;
        const long rank = PyLong_AsLongAndOverflow(awaited.ptr(), &overflow);
        if (overflow != 0 || rank < 0 || rank >= team::most_ranks)
            throw UsageError("awaited is a rank, 'everybody' or None, not " + text_of(nb::str(awaited)));
        return Awaited::rank(static_cast<int>(rank));
    }
    if (nb::isinstance<nb::str>(awaited) && awaited.equal(nb::str("everybody"))) return Awaited::everybody();
    throw UsageError("awaited is a rank's number, 'everybody' or None (anybody)");
}

void bind_rank(nb::module_& module) {
    final_class<PythonRank>(
        module, "Rank",
        "One member of a team: what spmd gives to the function that it runs. Used by the thread that runs the\n"
        "function, and only while it runs (RankEnded after that).")
        .def_prop_ro("index", used<PythonRank, &Rank::index>(), "Its number, 0 to size-1.")
        .def_prop_ro("size", used<PythonRank, &Rank::size>(), "How many ranks the team has.")
        .def_prop_ro(
            "substrate", [](const PythonRank& self) { return std::string(name(self.use().substrate())); },
            nb::sig("def substrate(self) -> Literal['threads', 'processes', 'nodes']"),
            "What ranks are: 'threads', 'processes', or threads on the 'nodes' of a cluster.")
        .def("elsewhere", used<PythonRank, &Rank::elsewhere>(), nb::arg("rank"), "Is this rank on another node?")
        .def("dead", used<PythonRank, &Rank::dead>(), nb::arg("rank"),
             "Has the process of this rank died? Costs one load.")
        .def("failed", used<PythonRank, &Rank::failed>(), nb::arg("rank"),
             "Was this rank's function ended by an exception?")
        .def("gone", used<PythonRank, &Rank::gone>(), nb::arg("rank"),
             "Is this rank dead, failed or at the end of its function? Raises UsageError when there is no such rank, "
             "as the two above.")
        .def("__repr__", [](const PythonRank& self) {
            if (self.session->ended()) return std::string("penstock.Rank(ended)");
            const Rank& rank = self.use();
            return "penstock.Rank(" + std::to_string(rank.index()) + " of " + std::to_string(rank.size()) + ", " +
                   std::string(name(rank.substrate())) + ")";
        });
}

}  // namespace penstock::python
