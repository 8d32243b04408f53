// One wire: frames to another process, in order, each once, also when connections break in between.
//
// What is sent lies in the outbox until the other end has acknowledged it; what had not arrived when a connection broke
// is sent again on the next one, and what arrives a second time is not shown again. A process that was started again is
// another one: it has another generation, and a wire of its own.
//
// Any thread sends, and writes into the socket itself, so that a frame need not wait for another thread. One thread
// at a time reads: who has the endpoint's turn.
//
// Happens-before. The outbox and the connection are under `lock_`. What a frame's payload holds is written before put()
// and stays as it is until let_go() says that it has gone, which comes behind the acknowledgement.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "wire/carrier.hpp"
#include "wire/frame.hpp"

namespace penstock::wire {

/// Who owns the memory of payloads that are under way.
class Keeper {
  public:
    /// The frame has arrived at the other end, or (`arrived` is false) never will by this wire. Any thread.
    virtual void let_go(void* what, bool arrived) noexcept = 0;

  protected:
    ~Keeper() = default;
};

class Events;

class Wire {
  public:
    enum class State {
        waits,  ///< was never joined
        joined,
        broken,   ///< the connection has ended; another is looked for
        lost,     ///< none was found for as long as the endpoint's patience, or what came was nonsense
        refused,  ///< the other end says that this process does not belong there any more
        closed    ///< by this side
    };

    Wire(Site of, std::uint32_t its_generation) : site(of), generation(its_generation) {}
    ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    const Site site;
    const std::uint32_t generation;

    // ---- any thread ----
    /// Queues a frame. `what` is the keeper's, which is told at once where the wire is closed.
    void put(const FrameHead& head, std::span<const std::byte> payload = {}, Keeper* keeper = nullptr,
             void* what = nullptr);
    /// The same with a payload of the frame's own.
    void put(const FrameHead& head, std::vector<std::byte> payload);
    /// What this keeper's frames hold that are under way becomes the wire's own: it is told that they are gone.
    void disown(const Keeper& keeper);
    /// Writes what is queued, as far as the connection takes it; the rest follows by itself.
    void flush() noexcept;
    State state() const noexcept { return state_.load(std::memory_order_acquire); }
    /// Lost, refused or closed: nothing goes over it any more, and what was under way has been dropped.
    bool over() const noexcept;
    /// Frames in order, so far: put, and arrived.
    std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_acquire); }
    std::uint64_t received() const noexcept { return received_.load(std::memory_order_acquire); }
    std::uint64_t bytes_sent() const noexcept { return bytes_sent_.load(std::memory_order_relaxed); }
    std::uint64_t bytes_received() const noexcept { return bytes_received_.load(std::memory_order_relaxed); }
    std::uint64_t joined_times() const noexcept { return joined_times_.load(std::memory_order_relaxed); }
    /// Frames that have not been acknowledged; none behind the end (over()), whether they arrived or not.
    std::size_t under_way();

    // ---- whoever has the endpoint's turn ----
    using Time = std::chrono::steady_clock::time_point;
    /// A connection. `peer_received`: frames that need not be sent again.
    void join(std::unique_ptr<Carrier> carrier, std::uint64_t peer_received);
    /// The connection has ended.
    void part(Events& events, State state);
    /// Reads what is there, up to about `most` bytes. False: the connection has ended, or brought nonsense
    /// (`nonsense`). `quick`: neither begins nor ends a frame that is not (Events::quick).
    bool read(Events& events, std::size_t most, bool& more, bool& nonsense, bool quick = false);
    /// The last read() stopped there.
    bool stopped() const noexcept { return stopped_; }
    /// Has received what the other end does not know of?
    bool owes() const noexcept {
        return received_.load(std::memory_order_relaxed) != told_.load(std::memory_order_relaxed);
    }
    bool owes_much() const noexcept;
    /// Says what has arrived, or only that this process lives.
    void acknowledge();
    int descriptor() const noexcept { return descriptor_; }
    Time heard{};                ///< when something came last
    std::atomic<Time> spoken{};  ///< when something went last; whoever writes
    Time broken_since = std::chrono::steady_clock::now();

  private:
    struct Outgoing {
        FrameHead head;
        std::span<const std::byte> payload;
        Keeper* keeper = nullptr;
        void* what = nullptr;
        std::vector<std::byte> own{};
    };
    void add(Outgoing frame);
    void write_all() noexcept;
    void take_acknowledgement(std::uint64_t last);
    void let_go(std::deque<Outgoing>& frames, bool arrived) noexcept;
    bool take_frame(Events& events, const FrameHead& head);
    bool finish_frame(Events& events);

    std::atomic<State> state_{State::waits};
    std::atomic<std::uint64_t> sent_{0}, received_{0}, told_{0};
    std::atomic<std::uint64_t> bytes_sent_{0}, bytes_received_{0}, joined_times_{0};

    std::mutex lock_;  ///< of what follows
    std::unique_ptr<Carrier> carrier_;
    std::deque<Outgoing> out_;   ///< not acknowledged, the oldest first
    std::size_t unsent_ = 0;     ///< those before it have been written
    std::size_t written_ = 0;    ///< bytes of that one
    bool sign_of_life_ = false;  ///< an acknowledgement is to be written
    FrameHead sign_{};
    std::size_t sign_written_ = 0;

    // Of whoever has the endpoint's turn.
    Carrier* reading_ = nullptr;
    int descriptor_ = -1;
    std::vector<std::byte> buffer_;
    std::size_t filled_ = 0;
    FrameHead head_{};
    std::byte* payload_ = nullptr;
    std::uint64_t arrived_ = 0;  ///< bytes of the payload
    bool in_payload_ = false;
    bool stopped_ = false;
    std::uint64_t bytes_owed_ = 0;
};

/// What an endpoint tells. All of it in the endpoint's turn, by its thread; frames that are quick, by whoever looks.
class Events {
  public:
    virtual ~Events() = default;
    /// May a thread take in the frame that waits for something else? It must not have to wait itself.
    virtual bool quick(const FrameHead&) const noexcept { return false; }
    /// Where the payload of a frame that begins to arrive is to lie. Whatever it throws makes the wire lost.
    virtual std::byte* room(Wire& wire, const FrameHead& head) = 0;
    /// A frame is there. Whatever it throws makes the wire lost.
    virtual void arrived(Wire& wire, const FrameHead& head, std::byte* payload) = 0;
    /// The rest of it will not come by this connection; what there was room for is not used.
    virtual void abandoned(Wire& wire, const FrameHead& head, std::byte* payload) noexcept = 0;
    /// Its state is another one.
    virtual void changed(Wire& wire) noexcept = 0;
    /// Several times a second.
    virtual void tick() noexcept {}
};

}  // namespace penstock::wire
