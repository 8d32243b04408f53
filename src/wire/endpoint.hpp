// Where the wires of one process end: the sockets at which it listens, those that it dials, and the thread that reads
// them all.
//
// A thread that waits for what a frame brings reads the wires itself (look()): else the endpoint's thread would have to
// be woken for the frame, and then wake the one that waits. While others look, the endpoint's thread naps, and looks
// itself only now and then, until they say that they look away, or have not looked for a while. What the two
// share, all that is said to be the thread's, belongs to whoever has the turn.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <thread>

#include "wire/greeting.hpp"
#include "wire/wire.hpp"

namespace penstock::wire {

struct EndpointOptions {
    Secret secret{};
    std::uint64_t run = 0;  ///< a number that no other cluster has
    Site site = 0;
    std::uint32_t generation = 1;
    bool encrypted = true;  ///< TLS, but for Unix sockets
    /// How long a peer that does not answer, or cannot be reached, is waited for.
    std::chrono::milliseconds patience{15'000};
};

class Endpoint {
  public:
    /// Throws OpenSslMissing, SystemError.
    Endpoint(const EndpointOptions& options, Events& events);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    /// Before begin(). Returns where. Throws SystemError.
    Address listen(Address at);
    /// From here on the thread runs.
    void begin();

    // ---- any thread ----
    /// A peer that dials this process. Older generations of it are refused from now on.
    std::shared_ptr<Wire> expect(Site peer, std::uint32_t generation);
    /// A peer that this process dials, again and again until it answers.
    std::shared_ptr<Wire> dial(Site peer, std::uint32_t generation, const Address& at);
    /// Its wire is closed when this returns, and that generation is not let in again.
    void fence(Site peer, std::uint32_t generation);
    /// Ends the connection of a wire, as a fault of the network would. For tests.
    void cut(Site peer);
    /// Takes in what has come from this peer, who is dead: what it had said before counts. In the endpoint's turn.
    void read_out(Site peer);
    /// Null where there is none.
    std::shared_ptr<Wire> wire_to(Site peer);
    /// Connections that were refused, by reason.
    std::uint64_t refused(Refused why) const noexcept {
        return refused_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
    }
    /// Has the endpoint's thread do something, and waits for that. Throws what it throws. On that thread, and where
    /// there is none: at once.
    void call(const std::function<void()>& work);
    /// Takes in frames that are quick, if there are any, in the caller's thread. True: some have come.
    bool look() noexcept;
    /// The caller will not look for a while.
    void look_away() noexcept;
    /// Waits until all that was sent has been acknowledged, or as long as that.
    void drain(std::chrono::milliseconds longest);
    /// Ends the thread and all connections.
    void close() noexcept;

  private:
    struct Peer {
        std::shared_ptr<Wire> wire;
        std::uint32_t generation = 0;       ///< the oldest that is let in
        std::optional<Address> at{};        ///< it is dialled
        bool greeting = false;              ///< that is under way
        bool left = false;                  ///< by a thread that looked: for the endpoint's own
        std::optional<Wire::State> ends{};  ///< as what, so that thread has found
        std::chrono::steady_clock::time_point next_dial{};
        std::chrono::milliseconds pause{0};
    };
    struct Greeted {
        std::unique_ptr<Greeting> greeting;
        std::optional<Site> dialled{};
        bool local = false;
    };
    struct Listening {
        OwnedDescriptor socket;
        bool local;
    };

    void run() noexcept;
    void step();
    void do_calls();
    void attend(std::uint64_t tag, bool writable);
    void let_in(const Listening& at);
    void dial_due(std::chrono::steady_clock::time_point now);
    std::unique_ptr<Carrier> carrier_over(OwnedDescriptor socket, bool local, Side side) const;
    void greet(std::list<Greeted>::iterator which);
    void end_greeting(std::list<Greeted>::iterator which);
    void attach(Peer& peer, std::unique_ptr<Carrier> carrier, std::uint64_t peer_received);
    Greeting::Answer judge(const Hello& hello);
    void read(Peer& peer);
    bool nap() noexcept;
    void part(Peer& peer, Wire::State state);
    void tick(std::chrono::steady_clock::time_point now);
    void watch(int descriptor, std::uint64_t tag, bool writes);
    std::chrono::milliseconds next_wait(std::chrono::steady_clock::time_point now) const;

    const EndpointOptions options_;
    Events& events_;
    OwnedDescriptor poll_;  ///< epoll
    OwnedDescriptor bell_;  ///< an eventfd
    std::vector<Listening> listening_;
    std::map<Site, Peer> peers_;  ///< the thread's
    std::list<Greeted> greetings_;
    std::vector<Site> more_;  ///< of which more can be read at once
    std::chrono::steady_clock::time_point next_tick_{};
    std::array<std::atomic<std::uint64_t>, kinds_of_refusal> refused_{};

    std::mutex lock_;  ///< of what follows
    std::condition_variable called_;
    std::vector<std::function<void()>> calls_;
    std::uint64_t asked_ = 0, done_ = 0;
    bool running_ = false;  ///< the thread: it takes calls
    bool stopping_ = false;

    std::mutex turn_;                                              ///< of all that is the thread's
    std::atomic<std::chrono::steady_clock::time_point> looked_{};  ///< when a thread did last
    std::atomic<bool> naps_now_{false};
    Site looked_at_ = 0;
    unsigned naps_ = 0;
    std::atomic<std::thread::id> own_{};  ///< the thread's
    std::thread thread_;
};

}  // namespace penstock::wire
