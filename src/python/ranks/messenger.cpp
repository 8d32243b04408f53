// Messages of arrays between ranks, for Python.
#include "python/ranks/messenger.hpp"

namespace penstock::python {
namespace {

/// Is there an object among the elements of this format? Names of fields stand between colons.
bool holds_objects(const char* format) {
    bool in_name = false;
    for (const char letter : std::string_view(format == nullptr ? "" : format)) {
        if (letter == ':') in_name = !in_name;
        else if (letter == 'O' && !in_name) return true;
    }
    return false;
}

}  // namespace

// ---- memory ----

/// Nothing where the object does not give it so.
MessageBuffer MessageBuffer::take(nb::object object, int flags) {
    MessageBuffer memory;
    const auto request = [&] {
        if (memory.request(object, flags | PyBUF_FORMAT)) return true;
        PyErr_Clear();
        return false;
    };
    if (!request()) {
        // Times and dates have no format that a buffer could tell; their bytes have.
        if (!nb::isinstance(object, numpy("ndarray")) || nb::cast<bool>(object.attr("dtype").attr("hasobject")))
            return memory;
        try {
            object = object.attr("view")("u1");
        } catch (const nb::python_error&) {
            return memory;
        }
        if (!request()) return memory;
    }
    if (holds_objects(memory.get().format))
        throw ElementError("a message of Python objects cannot be sent: send numbers, or the bytes of pickle.dumps()");
    return memory;
}

MessageBuffer MessageBuffer::to_send(nb::object object) {
    if (auto memory = take(object, PyBUF_C_CONTIGUOUS)) return memory;
    if (!PyObject_CheckBuffer(object.ptr()) && !PyFloat_Check(object.ptr()) && !PyLong_Check(object.ptr()) &&
        !PyComplex_Check(object.ptr()))
        throw ElementError("a message is an array, a number, or anything with the buffer protocol, but a " +
                           class_name(object) + " has no memory to send; make it a NumPy array");
    if (auto memory = take(numpy("ascontiguousarray")(object), PyBUF_C_CONTIGUOUS)) return memory;
    throw ElementError("the memory of a " + class_name(object) + " cannot be sent; make it a NumPy array of numbers");
}

MessageBuffer MessageBuffer::to_receive(nb::object object) {
    if (auto memory = take(object, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) return memory;
    throw ElementError("a message is received into memory that can be written and lies packed (C order), which this " +
                       class_name(object) + " has not; use recv_array(), or np.empty()");
}

// ---- the messenger ----

PythonMessenger::PythonMessenger(std::shared_ptr<RankSession> session, const MessengerOptions& options)
    : session_(std::move(session)),
      messenger_(session_->wait([&](const Rank& rank) { return std::make_unique<Messenger>(rank, options); })),
      reached_(static_cast<std::size_t>(session_->check().size())) {}

Messenger& PythonMessenger::use() const {
    session_->check_idle();
    if (!messenger_) throw UsageError("this messenger was closed; make a new one under another name");
    return *messenger_;
}

void PythonMessenger::end() noexcept {
    if (!messenger_) return;
    messenger_.reset();
    const nb::gil_scoped_acquire acquire;
    for (const auto& transfer : std::exchange(transfers_, {})) {
        transfer->owner = nullptr;
        transfer->memory.release();
    }
}

template <class Start>
Request PythonMessenger::begin(int peer, std::size_t bytes, Start&& start) {
    Messenger& messenger = use();
    const auto place = static_cast<std::size_t>(peer);
    const bool known = peer >= 0 && place < reached_.size();
    if (known && reached_[place] && bytes <= quick_bytes) return start(messenger);
    const Request request = session_->wait([&](const Rank&) { return start(messenger); });
    if (known) reached_[place] = true;
    return request;
}

std::shared_ptr<Transfer> PythonMessenger::add(Transfer transfer) {
    const auto added = std::make_shared<Transfer>(std::move(transfer));
    transfers_.push_back(added);
    if (transfers_.size() > next_sweep_) {
        sweep();
        next_sweep_ = std::max(least_sweep, 2 * transfers_.size());
    }
    return added;
}

std::shared_ptr<Transfer> PythonMessenger::send(int to, nb::object object, std::uint32_t tag) {
    use();
    auto memory = MessageBuffer::to_send(std::move(object));
    const auto bytes = memory.bytes();
    const auto request =
        begin(to, bytes.size(), [&](Messenger& messenger) { return messenger.isend_bytes(to, bytes, tag); });
    return add({request, std::move(memory), to, this});
}

std::shared_ptr<Transfer> PythonMessenger::receive(int from, nb::object object) {
    use();
    auto memory = MessageBuffer::to_receive(std::move(object));
    const auto request =
        begin(from, 0, [&](Messenger& messenger) { return messenger.irecv_bytes(from, memory.bytes()); });
    return add({request, std::move(memory), from, this});
}

/// Asks how it stands; true when it has ended. Throws where nobody could be asked: it is under way then.
template <class Ask>
bool PythonMessenger::settle(Transfer& transfer, Ended& ended, Ask&& ask) {
    try {
        transfer.status = ask();
        if (!transfer.status) return false;
    } catch (const Error&) {
        if (transfer.request) throw;  // a request that has ended stands for nothing any more
        transfer.error = std::current_exception();
    }
    ended.push_back(std::move(transfer.memory));
    return true;
}

bool PythonMessenger::test(Transfer& transfer, Ended& ended) {
    return !transfer.under_way() || settle(transfer, ended, [&] { return messenger_->test(transfer.request); });
}

/// Forgets what has ended and nobody can or need ask for.
void PythonMessenger::sweep() {
    Ended ended;  // given back when all is swept
    std::erase_if(transfers_, [&](const std::shared_ptr<Transfer>& transfer) {
        try {
            if (!test(*transfer, ended)) return false;
        } catch (const Error&) {  // told to whoever asks for it
            return false;
        }
        return Transfer::over(transfer);
    });
}

std::optional<Status> PythonMessenger::finish(Transfer& transfer, std::chrono::nanoseconds limit) {
    Messenger& messenger = use();
    if (transfer.collected) throw UsageError("this request was waited for before, or by a wait for all");
    if (transfer.owner != this)
        throw UsageError("this request belongs to another messenger; wait for it with the one that started it");
    Ended ended;
    if (transfer.under_way() && (transfer.memory.bytes().size() > quick_bytes || !test(transfer, ended))) {
        const auto wait = [&](const Rank&) -> std::optional<Status> {
            if (limit == std::chrono::nanoseconds::max()) return messenger.wait(transfer.request);
            if (limit.count() == 0) return messenger.test(transfer.request);
            return messenger.wait_for(transfer.request, limit);
        };
        if (!settle(transfer, ended, [&] { return session_->wait(wait); })) return std::nullopt;
    }
    transfer.collected = true;
    const auto error = std::exchange(transfer.error, nullptr);
    std::erase_if(transfers_, [&](const std::shared_ptr<Transfer>& held) { return held.get() == &transfer; });
    ended.clear();
    if (error) std::rethrow_exception(error);
    return transfer.status;
}

void PythonMessenger::finish_all(std::optional<int> peer) {
    Messenger& messenger = use();
    std::exception_ptr first;
    Ended ended;
    const auto concerns = [&](const Transfer& transfer) {
        return !peer || transfer.peer == *peer || (transfer.status && transfer.status->source == *peer);
    };
    const auto collect = [&](Transfer& transfer) {
        if (transfer.error && !first) first = std::exchange(transfer.error, nullptr);
        transfer.error = nullptr;
        transfer.collected = true;
        ended.push_back(std::move(transfer.memory));
    };
    // What had ended before, and was found out by a sweep.
    for (const auto& transfer : transfers_)
        if (!transfer->under_way() && concerns(*transfer)) collect(*transfer);
    try {
        session_->wait([&](const Rank&) { peer ? messenger.wait_all_of(*peer) : messenger.wait_all(); });
    } catch (const Error&) {
        if (!first) first = std::current_exception();
    } catch (...) {  // an interruption, which may have come when some were collected already
        first = std::current_exception();
    }
    // What it waited for does not stand for anything any more.
    for (const auto& transfer : transfers_) {
        try {
            test(*transfer, ended);
        } catch (const UsageError&) {
            collect(*transfer);
        } catch (const Error&) {  // told to whoever asks for it
        }
    }
    std::erase_if(transfers_, &Transfer::over);
    ended.clear();
    if (first) std::rethrow_exception(first);
}

Status PythonMessenger::probe(int from) {
    Messenger& messenger = use();
    if (const auto there = messenger.iprobe(from)) return *there;
    return session_->wait([&](const Rank&) { return messenger.probe(from); });
}

std::optional<Status> PythonMessenger::iprobe(int from) { return use().iprobe(from); }

std::size_t PythonMessenger::under_way() {
    use();
    sweep();
    return static_cast<std::size_t>(
        std::ranges::count_if(transfers_, [](const auto& transfer) { return transfer->under_way(); }));
}

}  // namespace penstock::python
