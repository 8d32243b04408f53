// TeamHost and Membership for Python: teams of processes that were started apart.
#include "penstock/join.hpp"

#include <nanobind/stl/unique_ptr.h>

#include "process/children.hpp"
#include "python/ranks/rank_session.hpp"

namespace penstock::python {
namespace {

/// Lets Python handle signals, and ends what is under way where that raises. Without the interpreter's lock.
void look_for_signals() {
    const nb::gil_scoped_acquire acquire;
    if (RankSession::calling_thread_interrupted()) {
        RankSession::tell_calling_thread();
        throw Interrupted{};
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

class PythonHost {
  public:
    PythonHost(const std::string& name, int size, const HostOptions& options) {
        host_ = without_interpreter([&] { return std::make_shared<TeamHost>(name, size, options); });
    }
    PythonHost(const PythonHost&) = delete;
    PythonHost& operator=(const PythonHost&) = delete;
    ~PythonHost() { close(); }

    const TeamHost& use() const {
        if (!host_) refuse();
        return *host_;
    }
    bool wait(std::optional<double> timeout) {
        use();
        auto host = host_;  // another thread may close this one meanwhile
        const auto begin = std::chrono::steady_clock::now();
        const auto limit = timeout ? seconds("timeout", *timeout) : std::chrono::nanoseconds::max();
        const nb::gil_scoped_release release;
        const auto used = std::move(host);  // whose end may take a while goes without the lock
        for (;;) {
            const auto left = limit - (std::chrono::steady_clock::now() - begin);
            if (used->wait_for(std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds{0}, between_looks)))
                return true;
            look_for_signals();
            if (closed()) refuse();
            if (left <= between_looks) return false;
        }
    }
    void close() noexcept {
        auto host = std::move(host_);
        without_interpreter([&] { host.reset(); });
    }

  private:
    /// Without the interpreter's lock, which guards `host_`.
    bool closed() const {
        const nb::gil_scoped_acquire acquire;
        return !host_;
    }
    [[noreturn]] static void refuse() { throw UsageError("this host was closed; make a new one"); }

    std::shared_ptr<TeamHost> host_;
};

class PythonMembership {
  public:
    PythonMembership(const std::string& name, const JoinOptions& options) {
        membership_ = without_interpreter([&] { return std::make_shared<Membership>(name, options); });
        session_ = std::make_shared<RankSession>(membership_->rank(), false);
    }
    PythonMembership(const PythonMembership&) = delete;
    PythonMembership& operator=(const PythonMembership&) = delete;
    /// Leaves; but not under the hands of a rank that is used still, which leaves when nobody has it any more.
    ~PythonMembership() {
        if (!may_end() && session_.use_count() > 1) {
            session_->keep(std::move(membership_));
            return;
        }
        session_->end();
        const nb::gil_scoped_release release;
        membership_->leave();
        membership_.reset();
    }

    PythonRank rank() const { return {session_}; }
    void leave() {
        end();
        membership_->leave();
    }
    void fail(const std::string& what, bool consequence) {
        end();
        membership_->fail(what, consequence);
    }

  private:
    bool may_end() const noexcept { return session_->ended() || (session_->in_own_thread() && !session_->waiting()); }
    void end() {
        if (!may_end())
            throw UsageError(
                "a team is left by the thread that joined it, and not by a signal handler while that waits; tell it "
                "to come to its end");
        session_->end();
    }

    std::shared_ptr<Membership> membership_;
    std::shared_ptr<RankSession> session_;
};

void bind_host(nb::module_& module) {
    auto host = final_class<PythonHost>(
        module, "TeamHost",
        "Brings a team of processes together under a name: programs that were started apart, in Python or C++, and\n"
        "call join().\n\n"
        "    with penstock.TeamHost('radio', 2) as host:\n"
        "        host.wait()\n\n"
        "Works in a thread of its own; the process may join the team itself. The name is taken until all members\n"
        "have ended or the host is closed. When it is closed before the team is complete, those who came get\n"
        "HostMissing; later, the team goes on without it.");
    host.def(
            "__init__",
            [](PythonHost* self, const std::string& name, int size, double within,
               const std::vector<std::uint32_t>& users, bool pin) {
                new (self) PythonHost(name, size, {seconds("within", within), {users.begin(), users.end()}, pin});
            },
            nb::arg("name"), nb::arg("size"), nb::kw_only(), nb::arg("within") = 30.0,
            nb::arg("users") = std::vector<std::uint32_t>{}, nb::arg("pin") = true,
            nb::sig("def __init__(self, name: str, size: int, *, within: float = 30.0, users: Sequence[int] = (), "
                    "pin: bool = True) -> None"),
            "`name`: 1 to 63 bytes without blanks. `size`: 1 to 256 members. `within`: seconds that all members have\n"
            "to come. `users`: numbers of users who may join beside this one. `pin`: offer each member a processor\n"
            "of its own, where there are enough of them. Raises UsageError, TeamNameTaken, SystemError.")
        .def_prop_ro("name", used<PythonHost, &TeamHost::name>(), "Of the team.")
        .def_prop_ro("size", used<PythonHost, &TeamHost::size>(), "Members that the team has when it is complete.")
        .def_prop_ro("present", used<PythonHost, &TeamHost::present>(), "Members that have been admitted.")
        .def_prop_ro("complete", used<PythonHost, &TeamHost::complete>(),
                     "Have all come, so that the team runs or has run?")
        .def("wait", &PythonHost::wait, or_none("timeout"),
             "Returns True when all members have ended, False after `timeout` seconds. Other threads of Python run\n"
             "meanwhile. Raises RankDied when the process of a member died, RankFailed with the text of the first\n"
             "exception that ended one, MembersMissing when the team was never complete.")
        .def("close", &PythonHost::close,
             "Gives the name back. May be called again. A wait() in another thread raises UsageError.");
    add_block(host, "def __enter__(self) -> TeamHost", [](PythonHost& self, nb::handle) { self.close(); });
}

}  // namespace

void bind_join(nb::module_& module) {
    bind_host(module);
    auto membership = final_class<PythonMembership>(
        module, "Membership", "A place in a team, as join() gives it: `with penstock.join('radio') as me: ...`.");
    membership.def_prop_ro("rank", &PythonMembership::rank, "The rank, for use until this was left.")
        .def("leave", &PythonMembership::leave,
             "This member has come to the end of its work. A second call does nothing. Raises UsageError in any "
             "thread but the one that joined.")
        .def(
            "fail",
            [](PythonMembership& self, const nb::str& what, bool consequence) {
                self.fail(text_of(what), consequence);
            },
            nb::arg("what"), nb::arg("consequence") = false,
            "This member was ended by an error, of which the others and the host are told; `consequence`: only "
            "because another member was gone.")
        .def("__enter__", &PythonMembership::rank);
    add_exit(membership, [](PythonMembership& self, nb::handle error) {
        if (error.is_none()) return self.leave();
        self.fail(description_of(error), nb::isinstance(error, imported("penstock.errors", "RankLost")));
    });
    module.def(
        "join",
        [](const std::string& name, std::optional<int> rank, int size, double within,
           std::optional<std::uint32_t> owner, double accept_within, bool pin) {
            if (rank && *rank < 0) throw UsageError("a rank is 0 or more, or None for any that is free");
            return std::make_unique<PythonMembership>(
                name, JoinOptions{rank.value_or(any_rank), size, seconds("within", within), owner,
                                  seconds("accept_within", accept_within), pin, &look_for_signals});
        },
        nb::arg("name"), nb::kw_only(), or_none("rank"), nb::arg("size") = 0, nb::arg("within") = 10.0,
        or_none("owner"), nb::arg("accept_within") = 10.0, nb::arg("pin") = true,
        nb::sig("def join(name: str, *, rank: int | None = None, size: int = 0, within: float = 10.0, owner: int | "
                "None = None, accept_within: float = 10.0, pin: bool = True) -> Membership"),
        "Joins the team that a TeamHost of this name brings together, and waits until all others have come. `rank`:\n"
        "the one to be, None for the lowest that is free. `size`: that the team must have, 0 for any. `within`:\n"
        "seconds to look for the host. `owner`: number of the user whose host it must be, by default one's own.\n"
        "`accept_within`: how long accept() waits unless told otherwise. `pin`: pin this thread to the processor\n"
        "that the host offers, until it leaves.\n"
        "Raises UsageError, HostMissing, WrongHost, JoinRefused, MembersMissing, SystemError.");
    module.def("end_with_parent", &process::end_with, nb::arg("parent"),
               "Ends this process at once when the thread that started it ends. For the worker processes of spmd.");
}

}  // namespace penstock::python
