// How two processes that have the same secret become sure of one another, before the first frame of a wire.
//
//     dials -> listens   hello      which run, which site, of which generation; what has arrived on this wire so far
//     listens -> dials   challenge  a number used once, and the proof of the secret over both
//     dials -> listens   proof      the same of the other side
//     listens -> dials   welcome    what has arrived on this wire so far; or a refusal with its reason
//
// Over TLS the secret is the key of the connection already, and the proofs say that nobody speaks for another site.
// Without TLS they are all that authenticates, and nothing protects what follows. On a Unix socket the kernel says that
// both ends belong to one user, and the secret itself is the proof: no library is needed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "wire/address.hpp"
#include "wire/carrier.hpp"
#include "wire/frame.hpp"
#include "wire/secret.hpp"

namespace penstock::wire {

/// Who is at the other end, as it says and has proved.
struct Hello {
    std::uint64_t run = 0;
    Site from = 0, to = 0;
    std::uint32_t generation = 0;  ///< of `from`
    std::uint32_t nothing = 0;
    std::uint64_t received = 0;  ///< frames of this wire
    Proof once{};                ///< random
};

enum class Refused : std::uint32_t {
    not_at_all,
    wrong_secret,
    old_generation,
    unknown_site,
    other_run,
    garbage,    ///< no frame, or not the one whose turn it is
    cut_short,  ///< the connection ended within a frame, or before the greeting's end
};
inline constexpr std::size_t kinds_of_refusal = 7;
const char* text_of(Refused why) noexcept;

/// One connection until its greeting is over. Nothing of it waits; step() goes on when the socket is ready.
class Greeting {
  public:
    /// What the listening side finds of a peer that has proved itself: how many of its frames have arrived here, or why
    /// it is refused.
    struct Answer {
        Refused refused = Refused::not_at_all;
        std::uint64_t received = 0;
    };
    using Judge = std::function<Answer(const Hello&)>;

    /// Dials: `hello` is what it says of itself.
    Greeting(std::unique_ptr<Carrier> carrier, const Secret& secret, bool local, Hello hello);
    /// Listens.
    Greeting(std::unique_ptr<Carrier> carrier, const Secret& secret, bool local, Judge judge);

    enum class State { going_on, over, failed };
    /// What it has come to; step() again only while it goes on.
    State step() { return state_ = advance(); }
    State state() const noexcept { return state_; }
    bool wants_to_write() const noexcept { return writes_; }
    int descriptor() const noexcept { return carrier_->descriptor(); }
    std::chrono::steady_clock::time_point until;

    // once it is over
    const Hello& hello() const noexcept { return hello_; }
    std::uint64_t peer_received() const noexcept { return peer_received_; }
    std::unique_ptr<Carrier> take_carrier() noexcept { return std::move(carrier_); }
    // once it has failed
    Refused refused() const noexcept { return refused_; }
    Side side() const noexcept { return side_; }

  private:
    enum class Turn { begin, hello, challenge, proof, end };
    State advance();
    State fail(Refused why) noexcept;
    State take(const FrameHead& head);
    Proof proof(const char* of_whom) const;
    void say(const FrameHead& head);
    bool same_user() const;

    std::unique_ptr<Carrier> carrier_;
    Secret secret_;
    bool local_;
    Side side_;
    Judge judge_;
    Hello hello_;
    Proof once_{};  ///< of the listening side
    Turn turn_ = Turn::begin;
    State state_ = State::going_on;
    bool writes_ = false;
    bool last_ = false;  ///< what is being said is the last
    std::uint64_t peer_received_ = 0;
    Refused refused_ = Refused::cut_short;
    std::array<std::byte, sizeof(FrameHead)> in_{};
    std::size_t heard_ = 0;
    std::array<std::byte, sizeof(FrameHead)> out_{};
    std::size_t unsaid_ = 0;
};

}  // namespace penstock::wire
