// Flags, counters, barriers and locks for Python. Waits run without the interpreter's lock (rank_session.hpp).
#include "penstock/barrier.hpp"
#include "penstock/condition.hpp"
#include "penstock/shared_mutex.hpp"
#include "python/ranks/region.hpp"

namespace penstock::python {
namespace {

/// A barrier or lock with the rank that uses it. One that an interruption left half done is not used again.
template <class T>
struct Shared {
    std::shared_ptr<RankSession> session;
    std::unique_ptr<T> object;
    bool spoilt = false;
    bool held = false;  ///< of a mutex: by this rank

    T& use() const {
        session->check();
        if (spoilt)
            throw UsageError(
                "an interruption ended a wait in the middle of this barrier or lock, so it cannot be used again; end "
                "this rank's function, so that the others are told");
        return *object;
    }
    /// Calls `action(object)`, which leaves the object half done when it is interrupted.
    template <class Action>
    void wait(Action&& action) {
        T& used = use();
        spoilt = true;
        try {
            session->wait([&](const Rank&) { action(used); });
        } catch (const Error&) {
            spoilt = false;
            throw;
        }
        spoilt = false;
    }
    template <auto method>
    void wait() {
        wait(std::mem_fn(method));
    }
    /// The same, but not interrupted.
    template <auto method>
    void finish() {
        T& object_used = use();
        session->finish([&](const Rank&) { (object_used.*method)(); });
    }
};

/// All ranks make one under the same name.
template <class T>
nb::class_<Shared<T>> shared_class(nb::module_& module, const char* name, const char* doc) {
    return final_class<Shared<T>>(module, name, doc)
        .def(
            "__init__",
            [](Shared<T>* self, const PythonRank& me, const std::string& given) {
                auto object = me.session->wait([&](const Rank& rank) { return std::make_unique<T>(rank, given); });
                new (self) Shared<T>{me.session, std::move(object)};
            },
            nb::arg("me"), nb::arg("name"),
            "To be called by all ranks, with the same name (1 to 55 bytes). Waits for the others; raises\n"
            "GrantMissing when one does not come within the time that spmd was given, RankLost, UsageError.");
}

constexpr const char* awaited_doc =
    "\n\n"
    "Other threads of Python run meanwhile. `awaited`: whose end makes the wait hopeless: a rank, 'everybody', or\n"
    "None for anybody. Raises RankDied or RankLeft then, what had been published before being seen first.";

std::string with_awaited(const char* text) { return std::string(text) + awaited_doc; }

/// What flags and counters have in common, at home and far.
template <class Word>
void bind_operations(nb::class_<PythonWord<Word>>& word) {
    using T = PythonWord<Word>;
    word.def_prop_ro(
            "owner", [](const T& self) { return self.word.owner(); }, "The rank that waits for it.")
        .def_prop_ro("name", [](const T& self) { return self.word.name(); }, "What it was granted as.");
    if constexpr (requires { &Word::is_set; }) {
        word.def(
                "is_set", [](T& self) { return self.call(std::mem_fn(&Word::is_set)); },
                "Is it set? What its setter had stored before is visible after True.")
            .def(
                "set", [](T& self) { return self.call(std::mem_fn(&Word::set)); },
                "Sets it: publishes all that this rank has stored so far, and wakes the owner.")
            .def(
                "clear", [](T& self) { return self.call(std::mem_fn(&Word::clear)); }, "Makes it unset.")
            .def(
                "test_and_set", [](T& self) { return self.call(std::mem_fn(&Word::test_and_set)); },
                "Sets it. True when it was set before.");
    } else {
        word.def(
                "load", [](T& self) { return self.call(std::mem_fn(&Word::load)); }, "Its value, 0 to 2**64-1.")
            .def(
                "store", [](T& self, std::uint64_t value) { self.call([&](Word& own) { own.store(value); }); },
                nb::arg("value"),
                "Gives it this value: publishes all that this rank has stored so far, and wakes the owner.")
            .def(
                "fetch_add",
                [](T& self, std::int64_t difference) {
                    return self.call([&](Word& own) { return own.fetch_add(static_cast<std::uint64_t>(difference)); });
                },
                nb::arg("difference"), "Adds, modulo 2**64, and returns the value before. Publishes as store() does.")
            .def(
                "compare_exchange",
                [](T& self, std::uint64_t expected, std::uint64_t desired) {
                    const bool written = self.call([&](Word& own) { return own.compare_exchange(expected, desired); });
                    return std::pair(written, expected);
                },
                nb::arg("expected"), nb::arg("desired"),
                "Writes `desired` if the value is `expected`. Returns whether it did, and the value before.");
    }
}

/// A word at home, to be granted; what waits for it comes next.
template <class Word>
nb::class_<PythonWord<Word>> home_class(nb::module_& module, const char* name, const char* doc, const char* grant_doc) {
    using T = PythonWord<Word>;
    return final_class<T>(module, name, doc)
        .def(
            "__init__",
            [](T* self, const PythonRank& me, const std::string& given) {
                new (self) T{me.session, Word(me.use(), given)};
            },
            nb::arg("me"), nb::arg("name"), "`name`: 1 to 63 bytes. Raises UsageError, SystemError.")
        .def(
            "grant",
            [](T& self, int rank) {
                self.use();
                self.session->finish([&](const Rank&) { self.word.grant(rank); });
            },
            nb::arg("rank"), grant_doc);
}

/// Another rank's word.
template <class Word>
void bind_remote(nb::module_& module, const char* name, const char* doc) {
    auto word = final_class<PythonWord<Word>>(module, name, doc);
    word.def_static(
        "accept",
        [](const PythonRank& me, int owner, const std::string& granted, std::optional<double> within) {
            const auto limit = within_of(within);
            return PythonWord<Word>{me.session, me.session->wait([&](const Rank& rank) {
                                        return Word::accept(rank, owner, granted, limit);
                                    })};
        },
        nb::arg("me"), nb::arg("owner"), nb::arg("name"), or_none("within"),
        "Waits until `owner` has granted it, for at most `within` seconds (by default as long as spmd was told), and\n"
        "takes it. Raises GrantMissing, RankLost, InvalidGrant.");
    bind_operations(word);
}

/// Waits without the interpreter's lock; the arguments are those of Python.
template <class Word, class Wait>
bool wait_for(PythonWord<Word>& self, std::optional<double> timeout, nb::handle awaited, Wait&& wait) {
    const auto whom = awaited_of(awaited);
    const auto limit = timeout ? seconds("timeout", *timeout) : std::chrono::nanoseconds::max();
    return self.session->wait([&](const Rank&) { return wait(self.word, limit, whom); });
}

void bind_words(nb::module_& module) {
    auto flag = home_class<Flag>(module, "Flag", "A flag at home: this rank waits for it. It is not set at first.",
                                 "Lets this rank set it, once it has accepted. Raises UsageError, RankLost.");
    flag.def(
        "wait",
        [](PythonFlag& self, std::optional<double> timeout, nb::handle awaited) {
            return self.use().is_set() || wait_for(self, timeout, awaited, std::mem_fn(&Flag::wait_for));
        },
        or_none("timeout"), or_none("awaited"),
        nb::sig("def wait(self, timeout: float | None = None, awaited: int | Literal['everybody'] | None = None) -> "
                "bool"),
        with_awaited("Waits until it is set, for at most `timeout` seconds. False when it was not by then.").c_str());
    bind_operations(flag);
    bind_remote<RemoteFlag>(module, "RemoteFlag", "Another rank's flag.");

    auto counter =
        home_class<Counter>(module, "Counter", "A counter at home: this rank waits for it. It is 0 at first.",
                            "Lets this rank change it, once it has accepted. Raises UsageError, RankLost.");
    counter.def(
        "wait_until",
        [](PythonCounter& self, std::uint64_t value, std::optional<double> timeout, nb::handle awaited) {
            return self.use().load() >= value || wait_for(self, timeout, awaited, [&](Counter& word, auto... limits) {
                       return word.wait_until_for(value, limits...);
                   });
        },
        nb::arg("value"), or_none("timeout"), or_none("awaited"),
        nb::sig("def wait_until(self, value: int, timeout: float | None = None, awaited: int | Literal['everybody'] "
                "| None = None) -> bool"),
        with_awaited(
            "Waits until it is at least `value`, for at most `timeout` seconds. False when it was less by then.")
            .c_str());
    bind_operations(counter);
    bind_remote<RemoteCounter>(module, "RemoteCounter", "Another rank's counter.");
}

using PythonMutex = Shared<Mutex>;
using PythonSharedMutex = Shared<SharedMutex>;

/// `with mutex.shared():`
struct SharedHold {
    nb::object mutex;

    PythonSharedMutex& use() const { return nb::cast<PythonSharedMutex&>(mutex); }
};

void bind_barrier(nb::module_& module) {
    shared_class<Barrier>(module, "Barrier", "A barrier of all ranks of a team.")
        .def("arrive_and_wait", &Shared<Barrier>::wait<&Barrier::arrive_and_wait>,
             "Returns when all ranks have come here; what they stored before is visible then. Other threads of\n"
             "Python run meanwhile. Raises RankDied or RankLeft when one died, failed or ended without coming here;\n"
             "the barrier cannot be passed after that.");
}

void lock_mutex(PythonMutex& self) {
    self.wait<&Mutex::lock>();
    self.held = true;
}

void unlock_mutex(PythonMutex& self) {
    self.held = false;
    self.finish<&Mutex::unlock>();
}

void lock_shared(PythonSharedMutex& self) {
    SharedMutex& lock = self.use();
    self.session->wait([&](const Rank&) { lock.lock_shared(); });
}

void bind_mutex(nb::module_& module) {
    auto mutex = shared_class<Mutex>(
        module, "Mutex",
        "A mutex of all ranks of a team, granted in the order in which they asked: `with mutex: ...`.\n\n"
        "When a rank dies or ends while it holds it or waits for it, it is broken: lock() raises RankDied or\n"
        "RankLeft.");
    mutex
        .def(
            "lock", &lock_mutex,
            "Waits for its turn. Raises RankLost when the mutex is broken, UsageError when this rank holds it already.")
        .def(
            "try_lock", [](PythonMutex& self) { return self.held = self.use().try_lock(); },
            "False when somebody holds it.")
        .def("unlock", &unlock_mutex, "Raises UsageError when this rank does not hold it.");
    const auto leave = [](PythonMutex& self, nb::handle) {
        if (self.held) unlock_mutex(self);  // a condition that was told of a death has let it go
    };
    add_block(mutex, "def __enter__(self) -> Mutex", leave, &lock_mutex);

    auto hold = final_class<SharedHold>(module, "SharedHold", "What SharedMutex.shared() gives: a block that reads.");
    add_block(
        hold, "def __enter__(self) -> SharedHold",
        [](SharedHold& self, nb::handle) { self.use().finish<&SharedMutex::unlock_shared>(); },
        [](SharedHold& self) { lock_shared(self.use()); });
    auto lock = shared_class<SharedMutex>(
        module, "SharedMutex",
        "A lock of all ranks of a team for many readers or one writer: `with lock.shared(): ...` reads, `with lock:\n"
        "...` writes. A read costs two stores at home, a write visits every rank.");
    lock.def("lock_shared", &lock_shared,
             "To read. Raises RankLost where it would have to wait for a rank that is gone, UsageError when this rank "
             "has it already.")
        .def("unlock_shared", &PythonSharedMutex::finish<&SharedMutex::unlock_shared>,
             "Raises UsageError when this rank does not read.")
        .def("lock", &PythonSharedMutex::wait<&SharedMutex::lock>,
             "To write. Raises RankLost when the lock is broken, UsageError when this rank has it already.")
        .def("unlock", &PythonSharedMutex::finish<&SharedMutex::unlock>,
             "Raises UsageError when this rank does not write.")
        .def(
            "shared", [](nb::handle self) { return SharedHold{nb::borrow(self)}; },
            nb::sig("def shared(self) -> SharedHold"), "For `with`: reads inside of the block.");
    add_block(
        lock, "def __enter__(self) -> SharedMutex",
        [](PythonSharedMutex& self, nb::handle) { self.finish<&SharedMutex::unlock>(); },
        [](PythonSharedMutex& self) { self.wait<&SharedMutex::lock>(); });
}

void wait_for_notification(Shared<Condition>& self, PythonMutex& mutex) {
    Condition& condition = self.use();
    if (!mutex.held)
        throw UsageError("this rank does not hold the mutex with which it waits for a condition; lock it first");
    mutex.held = false;
    mutex.wait([&](Mutex& held) {
        std::unique_lock lock(held, std::adopt_lock);
        condition.wait(lock);
        lock.release();  // the caller holds it as before
    });
    mutex.held = true;
}

void bind_condition(nb::module_& module) {
    using T = Shared<Condition>;
    shared_class<Condition>(module, "Condition", "A condition of all ranks of a team, used with one Mutex.")
        .def(
            "wait",
            [](T& self, PythonMutex& mutex, nb::handle holds) {
                if (holds.is_none()) return wait_for_notification(self, mutex);
                while (!nb::cast<bool>(nb::bool_(nb::borrow(holds())))) wait_for_notification(self, mutex);
            },
            nb::arg("mutex"), or_none("holds"),
            nb::sig("def wait(self, mutex: Mutex, holds: Callable[[], bool] | None = None) -> None"),
            "Unlocks the mutex, which this rank holds, waits for a notification, and locks it again; with `holds`,\n"
            "until that returns true, which is asked with the mutex held. Raises RankLost when a rank died or\n"
            "failed, or all others have ended; the mutex is not held then.")
        .def("notify_one", used<T, &Condition::notify_one>(), "Wakes one waiter, if there is one; each in turn.")
        .def("notify_all", used<T, &Condition::notify_all>(), "Wakes all waiters.");
}

}  // namespace

void bind_synchronisation(nb::module_& module) {
    bind_words(module);
    bind_barrier(module);
    bind_mutex(module);
    bind_condition(module);
}

}  // namespace penstock::python
