// message layer: two-sided messages between any two ranks of a team (DataCutter-Lite's CIML, section on communication).
//
//     penstock::spmd(2, [](penstock::Rank me) {
//         penstock::Messenger post(me);
//         std::array<double, 100> row{};
//         if (me.index() == 0) post.send(1, row);
//         if (me.index() == 1) post.recv(0, row);
//     });
//
// The words are MPI's, and so is their meaning: messages of one rank to another arrive in the order in which they were
// sent; a send that has returned leaves its memory free for other use; a receive takes the first message of its source
// that no earlier receive takes. There are no tags to match by; a small number travels with each message for the
// receiver to look at.
//
// How a message travels is chosen by its size (see Protocol): in its header, through a ring of bytes at the receiver,
// or by one copy straight between the two ranks' memories. Each ordered pair of ranks has one channel for the headers,
// homed at the receiver, so every rank polls its own memory. docs/messages.md tells the whole; `./bench messages`
// prints what it costs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "penstock/detail/message/memory.hpp"
#include "penstock/message_error.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// Receives from whoever comes first; among those that have come, in turn.
inline constexpr int any_source = -1;

/// How the bytes travel that do not fit into the header (32 bytes). All ranks must choose the same.
enum class Protocol : std::uint8_t {
    automatic,  ///< by size: through the ring while short, or in a buffer that also takes the answer, where two ranks
                ///< take turns; of long ones the receiver fetches one half while the sender, if it waits, stores the
                ///< other; between processes through the ring too where the kernel does not let them copy from one
                ///< another (`./bench messages`)
    ring,  ///< the sender stores into a ring of bytes at the receiver, long messages piece by piece: two copies that
           ///< overlap
    pull,  ///< the header says where the bytes lie, the receiver fetches them: one copy (the paper's sender-initiated
           ///< pull)
    push,  ///< the receiver answers with where it wants them, the sender stores them there: one copy (sender-initiated
           ///< push)
    pure_pull,  ///< as pull, and the headers stay with the sender too: the receiver looks at everybody's array of
                ///< headers
};

/// The word for it in reports.
std::string_view name(Protocol protocol) noexcept;

/// How messages travel.
struct MessengerOptions {
    Protocol protocol = Protocol::automatic;  ///< by which way
    std::uint64_t ring_bytes =
        0;  ///< of each ring, a power of two from 4 KiB on; 0: 64 to 256 KiB, less for many ranks
    std::string name = "messages";     ///< tells apart several messengers of one rank
    std::uint64_t longest_vector = 0;  ///< bytes for which recv_vector allots memory; 0: half of the machine's memory
};

/// What is known of a message.
struct Status {
    int source = -1;          ///< the rank that sent it, or, for a send, the one that it went to
    std::uint64_t bytes = 0;  ///< of the whole message
    std::uint32_t tag = 0;    ///< the number that its sender gave it

    /// How many T it holds. Throws UsageError when that is not a whole number.
    template <class T>
    std::size_t count() const {
        if (bytes % sizeof(T) != 0) throw_not_whole(sizeof(T));
        return bytes / sizeof(T);
    }

  private:
    [[noreturn]] void throw_not_whole(std::size_t size) const;
};

/// A send or receive under way. Copied freely; used with the messenger that gave it, until that has waited for it.
class Request {
  public:
    Request() noexcept = default;
    /// False before it stands for anything, and once it was waited for.
    explicit operator bool() const noexcept { return generation_ != 0; }

  private:
    friend class Messenger;
    Request(std::uint32_t index, std::uint32_t generation) noexcept : index_(index), generation_(generation) {}
    std::uint32_t index_ = 0;
    std::uint32_t generation_ = 0;
};

namespace message {

class Engine;

/// Memory on its way from one thread to another: its owner, type-erased.
struct Parcel {
    Parcel() = default;
    Parcel(const Parcel&) = delete;
    Parcel& operator=(const Parcel&) = delete;
    virtual ~Parcel() = default;
    const std::type_info* type = nullptr;
    const void* data = nullptr;
    std::size_t bytes = 0;
};

template <class T>
struct VectorParcel final : Parcel {
    explicit VectorParcel(std::vector<T>&& from) : vector(std::move(from)) {
        type = &typeid(T);
        data = vector.data();
        bytes = vector.size() * sizeof(T);
    }
    std::vector<T> vector;
};

template <class R>
using ElementOf = std::remove_cv_t<std::ranges::range_value_t<R>>;

template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T>;
/// Elements one behind the other, of a type that is copied byte by byte.
template <class R>
concept Elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && Plain<ElementOf<R>>;
template <class R>
concept WritableElements = Elements<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
/// One value.
template <class T>
concept Value = Plain<T> && !std::ranges::range<T>;
template <class T>
concept WritableValue = Value<T> && !std::is_const_v<T>;
template <class T>
concept Sendable = Elements<T> || Value<std::remove_reference_t<T>>;
template <class T>
concept Receivable =
    WritableElements<T> || (std::is_lvalue_reference_v<T> && WritableValue<std::remove_reference_t<T>>);
/// A value or range whose elements outlive the expression.
template <class R>
concept Lasting = std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R>;

template <Elements R>
std::span<const std::byte> bytes_of(const R& range) {
    return std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <WritableElements R>
std::span<std::byte> writable_bytes_of(R& range) {
    return std::as_writable_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <Value T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}
template <WritableValue T>
std::span<std::byte> writable_bytes_of(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace message

/// One rank's post office. Every rank of the team that sends or receives makes one, with the same options. Used by the
/// rank's own thread.
///
/// Errors of all calls that name a rank: NoSuchRank; those that wait: RankDied and RankLeft when the rank is gone,
/// MessengerClosed when it has destroyed its messenger or has broken off with this rank after an error of its own,
/// InvalidMessage when it wrote nonsense. What had been sent before is received first. A receive from any_source fails
/// so once for each rank that died, and when nobody is left.
///
/// A blocking send or receive that an interruption (Rank::set_interruption) ends is over. Nothing is lost when it had
/// not begun; in the middle of a message it breaks off with that rank, so that both get MessengerClosed from then on.
///
/// Memory given to isend and irecv stays the caller's and must live until the request was waited for, or the messenger
/// is destroyed.
class Messenger {
  public:
    /// Makes this rank's mailbox: about (ring + 9 KiB) for each rank of the team. Waits for nobody. Throws UsageError,
    /// SystemError.
    explicit Messenger(Rank me, MessengerOptions options = {});
    /// Drops what was neither received nor taken from here. Waits only for a copy that another rank makes just now.
    ~Messenger();
    Messenger(const Messenger&) = delete;
    Messenger& operator=(const Messenger&) = delete;

    /// Whose messenger this is.
    Rank rank() const noexcept;
    /// As it was made.
    const MessengerOptions& options() const noexcept;

    // ---- blocking ----

    /// Sends a value, or elements (a span, vector, array ...), and returns when their memory may be used again: at once
    /// for short messages, else when the receiver has taken them. To oneself it returns at once. Any number of
    /// elements, 0 too.
    template <message::Sendable T>
    void send(int to, const T& what, std::uint32_t tag = 0) {
        send_bytes(to, message::bytes_of(what), tag);
    }
    /// Hands a vector over. Between threads nothing is copied, and the call waits only while 63 messages are on their
    /// way.
    template <message::Plain T>
    void send(int to, std::vector<T>&& elements, std::uint32_t tag = 0) {
        if (hands_over(to)) send_parcel(to, std::make_unique<message::VectorParcel<T>>(std::move(elements)), tag);
        else send_bytes(to, message::bytes_of(std::vector<T>(std::move(elements))), tag);
    }

    /// Receives the next message of `from` (or any_source). Throws Truncated when it is longer than `into`.
    template <message::Receivable T>
    Status recv(int from, T&& into) {
        return recv_bytes(from, message::writable_bytes_of(into));
    }
    /// Receives a message of any length. A vector that a thread handed over arrives as it is. Throws UsageError when
    /// the message is no whole number of T, MessageTooLong when there is no memory for as much as was announced; it
    /// stays where it is then.
    template <message::Plain T>
    std::vector<T> recv_vector(int from, Status* status = nullptr) {
        const Status coming = probe(from);
        std::vector<T> elements;
        const auto count = coming.count<T>();
        if (auto parcel = take_parcel(coming.source, typeid(T)))
            elements = std::move(static_cast<message::VectorParcel<T>&>(*parcel).vector);
        else {
            try {
                if (coming.bytes > options().longest_vector) throw std::bad_alloc();
                elements.resize(count);
            } catch (const std::bad_alloc&) {
                throw_too_long(coming);
            }
            recv_bytes(coming.source, std::as_writable_bytes(std::span(elements)));
        }
        if (status) *status = coming;
        return elements;
    }

    // ---- non-blocking ----

    /// Not of a temporary: it would be gone before it is sent.
    template <message::Sendable T>
    Request isend(int to, T&& what, std::uint32_t tag = 0)
        requires message::Lasting<T>
    {
        return isend_bytes(to, message::bytes_of(what), tag);
    }
    template <message::Receivable T>
    Request irecv(int from, T&& into)
        requires message::Lasting<T>
    {
        return irecv_bytes(from, message::writable_bytes_of(into));
    }

    /// Waits until the request is complete and forgets it. Throws what became of it. An empty request gives an empty
    /// Status at once; one that was waited for through a copy or by wait_all() is refused with UsageError.
    Status wait(Request& request);
    Status wait(Request&& request) { return wait(request); }
    /// As wait(), but gives up after `limit`; the request is then still under way.
    std::optional<Status> wait_for(Request& request, std::chrono::nanoseconds limit);
    /// As wait() when it is complete, else nothing. Moves on whatever is under way.
    std::optional<Status> test(Request& request);

    /// Waits for these requests; for all to and from one peer (not those for any_source that have no message yet); for
    /// all. When some fail the others are waited for too, then the first error is thrown.
    void wait_all(std::span<Request> requests);
    /// Waits for all requests to and from one rank.
    void wait_all_of(int peer);
    void wait_all();

    // ---- memory ----

    /// Memory for `count` > 0 elements, zero at first, from which other processes copy long messages by themselves
    /// (detail/message/memory.hpp). Between threads any memory is as good. Throws UsageError, SystemError.
    template <message::Plain T>
    MessageMemory<T> allocate(std::size_t count) {
        return {allocate_bytes(count, sizeof(T)), count};
    }

    // ---- looking ----

    /// Waits for a message that no receive under way takes, and tells of it. It stays where it is.
    Status probe(int from);
    /// The same without waiting.
    std::optional<Status> iprobe(int from);

    // ---- the same for bytes ----

    /// As send(), of bytes.
    void send_bytes(int to, std::span<const std::byte> bytes, std::uint32_t tag = 0);
    /// As recv(), of bytes.
    Status recv_bytes(int from, std::span<std::byte> into);
    /// As isend(), of bytes.
    Request isend_bytes(int to, std::span<const std::byte> bytes, std::uint32_t tag = 0);
    /// As irecv(), of bytes.
    Request irecv_bytes(int from, std::span<std::byte> into);

  private:
    [[gnu::noinline]] void send_slowly(int to, std::span<const std::byte> bytes, std::uint32_t tag);
    [[gnu::noinline]] void recv_slowly(int from, std::span<std::byte> into, Status& status);
    void check(const Request& request) const;
    [[noreturn]] void throw_too_long(const Status& coming) const;
    bool hands_over(int to) const noexcept;
    message::SegmentPart allocate_bytes(std::size_t count, std::size_t size);
    void send_parcel(int to, std::unique_ptr<message::Parcel> parcel, std::uint32_t tag);
    std::unique_ptr<message::Parcel> take_parcel(int from, const std::type_info& type);

    std::unique_ptr<message::Engine> engine_;
};

}  // namespace penstock
