// A messenger as Python has it. Whatever happens, the memory of a send or receive under way is held until nothing can
// reach it.
#pragma once

#include "penstock/message.hpp"
#include "python/ranks/rank_session.hpp"

namespace penstock::python {

/// The memory of a message: an exported buffer of bytes one behind the other.
class MessageBuffer : public ExportedBuffer {
  public:
    /// To be sent: copied when it is not contiguous. Throws ElementError for what has no memory, or holds Python
    /// objects.
    static MessageBuffer to_send(nb::object object);
    /// To be received into: throws ElementError too when it is read-only or not contiguous.
    static MessageBuffer to_receive(nb::object object);

    std::span<std::byte> bytes() const noexcept {
        return {static_cast<std::byte*>(get().buf), static_cast<std::size_t>(get().len)};
    }

  private:
    static MessageBuffer take(nb::object object, int flags);
};

class PythonMessenger;

/// A send or receive under way, as its messenger and Python's Request share it.
struct Transfer {
    Request request;
    MessageBuffer memory;
    int peer = -1;
    const PythonMessenger* owner = nullptr;  ///< while that is open
    std::optional<Status> status{};          ///< once it is complete
    std::exception_ptr error{};              ///< once it has failed
    bool collected = false;                  ///< somebody was told of its end

    bool under_way() const noexcept { return !status && !error && !collected; }
    /// Given the one of the messenger: can or need nobody ask for it any more?
    static bool over(const std::shared_ptr<Transfer>& held) noexcept {
        return held->collected || (held->status && held.use_count() == 1);
    }
};

class PythonMessenger final : public EndsWithRank {
  public:
    PythonMessenger(std::shared_ptr<RankSession> session, const MessengerOptions& options);

    std::shared_ptr<Transfer> send(int to, nb::object object, std::uint32_t tag);
    std::shared_ptr<Transfer> receive(int from, nb::object object);
    /// What became of it; waits for at most `limit`. Nothing when it is under way still.
    std::optional<Status> finish(Transfer& transfer, std::chrono::nanoseconds limit);
    void finish_all(std::optional<int> peer);
    Status probe(int from);
    std::optional<Status> iprobe(int from);

    /// Destroys the messenger, in the rank's own thread, with the interpreter's lock or without.
    void end() noexcept override;
    bool open() const noexcept { return messenger_ != nullptr; }
    const std::shared_ptr<RankSession>& session() const noexcept { return session_; }
    const MessengerOptions& options() const { return use().options(); }
    std::size_t under_way();

  private:
    Messenger& use() const;
    /// Starts something that never waits once this peer was reached.
    template <class Start>
    Request begin(int peer, std::size_t bytes, Start&& start);
    /// Memory to be given back when nothing is half done.
    using Ended = std::vector<MessageBuffer>;
    template <class Ask>
    bool settle(Transfer& transfer, Ended& ended, Ask&& ask);
    bool test(Transfer& transfer, Ended& ended);
    void sweep();
    std::shared_ptr<Transfer> add(Transfer transfer);

    std::shared_ptr<RankSession> session_;
    std::unique_ptr<Messenger> messenger_;
    std::vector<bool> reached_;
    std::vector<std::shared_ptr<Transfer>> transfers_;
    std::size_t next_sweep_ = least_sweep;
    static constexpr std::size_t least_sweep = 64;
    static constexpr std::size_t quick_bytes = std::size_t{64} << 10;  ///< moved with the interpreter's lock held
};

}  // namespace penstock::python
