#include "wire/greeting.hpp"

#include <unistd.h>

#include "process/local_socket.hpp"

namespace penstock::wire {
namespace {

struct Challenge {
    Proof once;
    Proof proof;
};
struct Welcome {
    std::uint64_t received;
    Proof proof;
};
struct Refusal {
    Refused why;
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

}  // namespace

const char* text_of(Refused why) noexcept {
    constexpr const char* texts[] = {"not at all",
                                     "wrong secret",
                                     "old generation",
                                     "unknown site",
                                     "of another run",
                                     "no frame, or not the one whose turn it was",
                                     "the connection ended too soon"};
    const auto which = static_cast<std::size_t>(why);
    return which < std::size(texts) ? texts[which] : "for no known reason";
}

Greeting::Greeting(std::unique_ptr<Carrier> carrier, const Secret& secret, bool local, Hello hello)
    : carrier_(std::move(carrier)), secret_(secret), local_(local), side_(Side::dials), hello_(hello), writes_(true) {
    fill_randomly(hello_.once);
}

Greeting::Greeting(std::unique_ptr<Carrier> carrier, const Secret& secret, bool local, Judge judge)
    : carrier_(std::move(carrier)), secret_(secret), local_(local), side_(Side::listens), judge_(std::move(judge)) {
    fill_randomly(once_);
}

Proof Greeting::proof(const char* of_whom) const {
    if (local_) return secret_.bytes;
    const std::span whom(of_whom, std::char_traits<char>::length(of_whom));
    return proof_of(secret_, {std::as_bytes(whom), bytes_of(hello_), once_});
}

bool Greeting::same_user() const { return !local_ || process::peer_of(carrier_->descriptor()).uid == geteuid(); }

Greeting::State Greeting::fail(Refused why) noexcept {
    refused_ = why;
    return State::failed;
}

void Greeting::say(const FrameHead& head) {
    std::memcpy(out_.data(), &head, sizeof head);
    unsaid_ = sizeof head;
}

Greeting::State Greeting::advance() {
    for (;;) {
        if (turn_ == Turn::begin) {
            const auto stage = carrier_->begin();
            if (stage == Carrier::Stage::failed)
                return fail(side_ == Side::listens ? Refused::wrong_secret : Refused::cut_short);
            writes_ = stage == Carrier::Stage::writes;
            if (stage != Carrier::Stage::done) return State::going_on;
            if (!same_user()) return fail(Refused::wrong_secret);
            turn_ = side_ == Side::dials ? Turn::challenge : Turn::hello;
            if (side_ == Side::dials) say(FrameHead::of(number(FrameKind::hello), hello_));
        }
        while (unsaid_ != 0) {
            const iovec part{out_.data() + out_.size() - unsaid_, unsaid_};
            const auto said = carrier_->write({&part, 1});
            if (said == Carrier::broken)
                return fail(last_ && refused_ != Refused::cut_short ? refused_ : Refused::cut_short);
            writes_ = said == Carrier::later;
            if (writes_) return State::going_on;
            unsaid_ -= static_cast<std::size_t>(said);
        }
        if (!carrier_->flush()) {
            writes_ = true;
            return State::going_on;
        }
        writes_ = false;
        if (last_) return refused_ == Refused::not_at_all ? State::over : State::failed;
        const iovec part{in_.data() + heard_, in_.size() - heard_};
        const auto got = carrier_->read({&part, 1});
        if (got == Carrier::broken) return fail(Refused::cut_short);
        if (got == Carrier::later) return State::going_on;
        heard_ += static_cast<std::size_t>(got);
        if (heard_ < in_.size()) continue;
        heard_ = 0;
        FrameHead head;
        std::memcpy(static_cast<void*>(&head), in_.data(), sizeof head);
        if (!head.possible() || head.payload_bytes != 0 || head.sequence != 0) return fail(Refused::garbage);
        if (const auto state = take(head); state != State::going_on) return state;
    }
}

Greeting::State Greeting::take(const FrameHead& head) {
    const auto is = [&](FrameKind kind) { return head.kind == number(kind); };
    const auto end_with = [&](const FrameHead& last, Refused why) {
        say(last);
        last_ = true;
        refused_ = why;
        return State::going_on;
    };
    const auto refuse = [&](Refused why) {
        return end_with(FrameHead::of(number(FrameKind::refusal), Refusal{why}), why);
    };
    if (turn_ == Turn::hello && is(FrameKind::hello)) {
        hello_ = head.as<Hello>();
        turn_ = Turn::proof;
        // On a Unix socket the dialling side shows the secret first.
        say(FrameHead::of(number(FrameKind::challenge), Challenge{once_, local_ ? Proof{} : proof("listens")}));
        return State::going_on;
    }
    if (turn_ == Turn::challenge && is(FrameKind::challenge)) {
        const auto challenge = head.as<Challenge>();
        once_ = challenge.once;
        if (!local_ && !same(challenge.proof, proof("listens"))) return refuse(Refused::wrong_secret);
        turn_ = Turn::end;
        say(FrameHead::of(number(FrameKind::proof), proof("dials")));
        return State::going_on;
    }
    if (turn_ == Turn::proof && is(FrameKind::proof)) {
        if (!same(head.as<Proof>(), proof("dials"))) return refuse(Refused::wrong_secret);
        const auto answer = judge_(hello_);
        if (answer.refused != Refused::not_at_all) return refuse(answer.refused);
        peer_received_ = hello_.received;
        return end_with(FrameHead::of(number(FrameKind::welcome), Welcome{answer.received, proof("welcomes")}),
                        Refused::not_at_all);
    }
    if ((turn_ == Turn::end || turn_ == Turn::proof) && is(FrameKind::refusal)) {
        const auto why = head.as<Refusal>().why;
        return fail(why == Refused::not_at_all || static_cast<std::size_t>(why) >= kinds_of_refusal ? Refused::garbage
                                                                                                    : why);
    }
    if (turn_ == Turn::end && is(FrameKind::welcome)) {
        const auto welcome = head.as<Welcome>();
        if (!same(welcome.proof, proof("welcomes"))) return fail(Refused::wrong_secret);
        peer_received_ = welcome.received;
        return State::over;
    }
    return fail(Refused::garbage);
}

}  // namespace penstock::wire
