// Messenger, Request and Status, as Python sees them.
#include <nanobind/stl/shared_ptr.h>

#include "python/ranks/messenger.hpp"

namespace penstock::python {
namespace {

/// Python's Messenger. When it is dropped in another thread (by the garbage collector), its rank's thread closes it.
struct HeldMessenger {
    std::shared_ptr<PythonMessenger> held;

    explicit HeldMessenger(std::shared_ptr<PythonMessenger> messenger) : held(std::move(messenger)) {}
    HeldMessenger(const HeldMessenger&) = delete;
    HeldMessenger& operator=(const HeldMessenger&) = delete;
    ~HeldMessenger() { close(); }

    PythonMessenger& use() const noexcept { return *held; }

    void close() noexcept {
        const auto& session = *held->session();
        if (!held->open() || session.ended()) return;
        if (!session.in_own_thread() || session.waiting()) return held->session()->bury(held);
        held->session()->finish([this](const Rank&) { held->end(); });
    }
};

constexpr Choices<Protocol::pure_pull> protocols{"automatic", "ring", "pull", "push", "pure_pull"};

constexpr auto forever = std::chrono::nanoseconds::max();

void send(HeldMessenger& self, int to, nb::object array, std::uint32_t tag) {
    self.held->finish(*self.held->send(to, std::move(array), tag), forever);
}

Status receive(HeldMessenger& self, int from, nb::object into) {
    return *self.held->finish(*self.held->receive(from, std::move(into)), forever);
}

/// For a message of which only its sender says how long it is.
nb::object new_array(const Status& coming, std::uint64_t count, const nb::object& type) {
    const auto limit =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
    if (coming.bytes > limit) throw MessageTooLong(coming.source, coming.bytes, limit);
    try {
        return numpy("empty")(count, type);
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_MemoryError)) throw;
        throw MessageTooLong(coming.source, coming.bytes, limit);
    }
}

nb::tuple receive_array(HeldMessenger& self, int from, nb::handle dtype) {
    const nb::object type = imported("penstock.elements", "element_type")(dtype);
    const Status coming = self.held->probe(from);
    const auto item = nb::cast<std::uint64_t>(type.attr("itemsize"));
    if (coming.bytes % item != 0)
        throw UsageError("the message of rank " + std::to_string(coming.source) + " has " +
                         std::to_string(coming.bytes) + " bytes, which is no whole number of elements of " +
                         std::to_string(item) + " bytes; receive it as what was sent");
    const nb::object array = new_array(coming, coming.bytes / item, type);
    return nb::make_tuple(array, receive(self, coming.source, array));
}

void bind_status(nb::module_& module) {
    final_class<Status>(module, "Status", "What is known of a message.")
        .def_ro("source", &Status::source, "The rank that sent it; of a send, the one that it went to.")
        .def_ro("bytes", &Status::bytes, "Of the whole message.")
        .def_ro("tag", &Status::tag, "The number that its sender gave it.")
        .def(
            "count",
            [](const Status& self, nb::handle dtype) {
                const auto item =
                    nb::cast<std::uint64_t>(imported("penstock.elements", "element_type")(dtype).attr("itemsize"));
                if (self.bytes % item != 0)
                    throw UsageError("a message of " + std::to_string(self.bytes) +
                                     " bytes is no whole number of elements of " + std::to_string(item) + " bytes");
                return self.bytes / item;
            },
            nb::arg("dtype"), nb::sig("def count(self, dtype: Any) -> int"),
            "How many elements of this NumPy type it holds. Raises UsageError when that is not a whole number.")
        .def("__repr__", [](const Status& self) {
            return "penstock.Status(source=" + std::to_string(self.source) + ", bytes=" + std::to_string(self.bytes) +
                   ", tag=" + std::to_string(self.tag) + ")";
        });
    final_class<Transfer>(
        module, "Request",
        "A send or receive under way, for its messenger's wait() and test(). Holds its memory until it has ended.")
        .def_ro("collected", &Transfer::collected, "Was it waited for?");
}

}  // namespace

void bind_messenger(nb::module_& module) {
    bind_status(module);
    module.attr("any_source") = any_source;
    auto messenger = final_class<HeldMessenger>(
        module, "Messenger",
        "One rank's post office. Every rank of the team that sends or receives makes one, with the same options.\n\n"
        "A message is bytes, with a number (`tag`, 0 to 2**32-1) beside them; type and shape do not travel.\n"
        "Messages of one rank to another arrive in the order in which they were sent; a receive takes the first\n"
        "message of its source that no earlier receive takes. Waits let other threads of Python run and end on\n"
        "Ctrl-C; a receive that was ended so stays posted, and its memory held, until the messenger is closed.\n\n"
        "All calls that name a rank raise NoSuchRank; those that wait RankDied and RankLeft when it is gone,\n"
        "MessengerClosed when its messenger is, InvalidMessage when it wrote nonsense. What had been sent before is\n"
        "received first.");
    messenger
        .def(
            "__init__",
            [](HeldMessenger* self, const PythonRank& me, const std::string& protocol, std::uint64_t ring_bytes,
               const std::string& name) {
                const MessengerOptions options{choose<Protocol>("protocol", protocol, protocols), ring_bytes, name};
                auto made = std::make_shared<PythonMessenger>(me.session, options);
                me.session->attach(made);
                new (self) HeldMessenger(std::move(made));
            },
            nb::arg("me"), nb::kw_only(), nb::arg("protocol") = "automatic", nb::arg("ring_bytes") = 0,
            nb::arg("name") = "messages",
            nb::sig(
                "def __init__(self, me: Rank, *, protocol: Literal['automatic', 'ring', 'pull', 'push', 'pure_pull'] "
                "= 'automatic', ring_bytes: int = 0, name: str = 'messages') -> None"),
            "`protocol`: how bytes travel that do not fit into the header (docs/messages.md). `ring_bytes`: of each\n"
            "ring, a power of two from 4096 on; 0 for 64 to 256 KiB, less for many ranks. `name`: tells apart\n"
            "several messengers of one rank.\n"
            "Waits for nobody; costs about (ring + 9 KiB) for each rank of the team. Raises UsageError, SystemError.")
        .def("send", &send, nb::arg("to"), nb::arg("array").none(), nb::arg("tag") = 0,
             nb::sig("def send(self, to: int, array: Any, tag: int = 0) -> None"),
             "Sends the bytes of an array (or of anything with the buffer protocol, or of one number), and returns\n"
             "when its memory may be used again: at once for short messages, else when the receiver has taken them.\n"
             "An array that is not contiguous is copied first. Raises ElementError for what has no memory or holds\n"
             "Python objects.")
        .def("recv", &receive, nb::arg("source"), nb::arg("into").none(),
             nb::sig("def recv(self, source: int, into: Any) -> Status"),
             "Receives the next message of `source` (or any_source) into a contiguous array that may be longer than\n"
             "the message. Raises Truncated when it is shorter; the beginning is there then, the rest is dropped.\n"
             "ElementError for memory that cannot be used.")
        .def("recv_array", &receive_array, nb::arg("source"), nb::arg("dtype") = "uint8",
             nb::sig("def recv_array(self, source: int, dtype: Any = 'uint8') -> tuple[Any, Status]"),
             "Receives a message of any length as a new one-dimensional array of this type. Raises UsageError when\n"
             "the message is no whole number of elements, MessageTooLong when it announces more than half of the\n"
             "machine's memory; it stays where it is then.")
        .def("isend", used<HeldMessenger, &PythonMessenger::send>(), nb::arg("to"), nb::arg("array").none(),
             nb::arg("tag") = 0, nb::sig("def isend(self, to: int, array: Any, tag: int = 0) -> Request"),
             "Starts to send, as send(). The array is held until the request was waited for; do not change it before.")
        .def("irecv", used<HeldMessenger, &PythonMessenger::receive>(), nb::arg("source"), nb::arg("into").none(),
             nb::sig("def irecv(self, source: int, into: Any) -> Request"),
             "Starts to receive, as recv(). The array is held until the request was waited for; do not touch it "
             "before.")
        .def(
            "wait", [](HeldMessenger& self, Transfer& request) { return *self.held->finish(request, forever); },
            nb::arg("request"),
            "Waits until the request is complete, and raises what became of it. UsageError when it was waited for "
            "before.")
        .def(
            "wait_for",
            [](HeldMessenger& self, Transfer& request, double timeout) {
                return self.held->finish(request, seconds("timeout", timeout));
            },
            nb::arg("request"), nb::arg("timeout"),
            "As wait(), for at most `timeout` seconds. None when it is under way still.")
        .def(
            "test",
            [](HeldMessenger& self, Transfer& request) {
                return self.held->finish(request, std::chrono::nanoseconds{0});
            },
            nb::arg("request"), "As wait() when it is complete, else None.")
        .def(
            "wait_all", [](HeldMessenger& self) { self.held->finish_all(std::nullopt); },
            "Waits for all requests. When some fail the others are waited for too, then the first error is raised.")
        .def(
            "wait_all_of", [](HeldMessenger& self, int peer) { self.held->finish_all(peer); }, nb::arg("peer"),
            "The same for all to and from one rank, but for receives from any_source that have no message yet.")
        .def("probe", used<HeldMessenger, &PythonMessenger::probe>(), nb::arg("source"),
             "Waits for a message that no receive under way takes, and tells of it. It stays where it is.")
        .def("iprobe", used<HeldMessenger, &PythonMessenger::iprobe>(), nb::arg("source"),
             "The same without waiting: None when there is none.")
        .def_prop_ro(
            "protocol", [](const HeldMessenger& self) { return std::string(name(self.held->options().protocol)); },
            "How bytes travel.")
        .def_prop_ro("under_way", used<HeldMessenger, &PythonMessenger::under_way>(),
                     "Sends and receives that have not ended.")
        .def("close", &HeldMessenger::close,
             "Drops what was neither received nor taken from here. Ends by itself with the rank. May be called again.");
    add_block(messenger, "def __enter__(self) -> Messenger", [](HeldMessenger& self, nb::handle) { self.close(); });
}

}  // namespace penstock::python
