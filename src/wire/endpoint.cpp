#include "wire/endpoint.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "machine/uninterrupted.hpp"
#include "penstock/error.hpp"
#include "process/quiet_thread.hpp"
#include "wire/openssl.hpp"

namespace penstock::wire {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto time_to_greet = 5s;
constexpr std::size_t most_greetings = 64;
constexpr auto tick_interval = 250ms;
constexpr auto time_to_owe = 2ms;
constexpr std::size_t read_at_once = std::size_t{128} << 10;  // others may look by then
constexpr std::size_t read_at_a_look = std::size_t{64} << 10;
constexpr std::size_t peers_a_look = 4;
constexpr auto looks_last = 300us;  // so long the wires are others' behind a look
constexpr long nap_ns = 200'000;
constexpr unsigned most_naps = 10;  // then it looks itself
constexpr auto longest_pause = 500ms;
constexpr auto longest_step = 500ms;  // of the endpoint's thread; who takes longer has stood still

// What an event of epoll is about: in the upper half what, in the lower half which.
enum : std::uint64_t { about_bell = 1, about_listening, about_greeting, about_wire };
std::uint64_t tag_of(std::uint64_t what, std::uint64_t which) { return what << 32 | which; }

}  // namespace

Endpoint::Endpoint(const EndpointOptions& options, Events& events)
    : options_(options), events_(events), poll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!poll_ || !bell_) throw SystemError("cannot wait for frames", errno);
    watch(bell_.get(), tag_of(about_bell, 0), false);
}

Endpoint::~Endpoint() { close(); }

void Endpoint::watch(int descriptor, std::uint64_t tag, bool writes) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET | (writes ? std::uint32_t{EPOLLOUT} : 0u);
    event.data.u64 = tag;
    if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0 &&
        (errno != EEXIST || epoll_ctl(poll_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0))
        throw SystemError("cannot watch a connection", errno);
}

Address Endpoint::listen(Address at) {
    if (!at.local) (void)OpenSsl::found();
    auto socket = listen_at(at);
    watch(socket.get(), tag_of(about_listening, listening_.size()), false);
    listening_.push_back({std::move(socket), at.local});
    return at;
}

void Endpoint::begin() {
    thread_ = process::quiet_thread("penstock wires", [this] { run(); });
    const std::lock_guard guard(lock_);
    running_ = true;
}

void Endpoint::close() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard guard(lock_);
        stopping_ = true;
    }
    eventfd_write(bell_.get(), 1);
    thread_.join();
}

void Endpoint::call(const std::function<void()>& work) {
    if (std::this_thread::get_id() == own_.load(std::memory_order_relaxed)) return work();
    std::unique_lock guard(lock_);
    if (!running_) {
        guard.unlock();
        return work();
    }
    std::exception_ptr thrown;
    calls_.push_back([&] {
        try {
            work();
        } catch (...) {
            thrown = std::current_exception();
        }
    });
    const auto mine = ++asked_;
    eventfd_write(bell_.get(), 1);
    called_.wait(guard, [&] { return done_ >= mine; });
    if (thrown != nullptr) std::rethrow_exception(thrown);
}

void Endpoint::do_calls() {
    for (;;) {
        std::vector<std::function<void()>> calls;
        {
            const std::lock_guard guard(lock_);
            calls = std::exchange(calls_, {});
        }
        if (calls.empty()) return;
        for (const auto& each : calls) each();
        const std::lock_guard guard(lock_);
        done_ += calls.size();
        called_.notify_all();
    }
}

std::shared_ptr<Wire> Endpoint::expect(Site site, std::uint32_t generation) {
    std::shared_ptr<Wire> made;
    call([&] {
        auto& peer = peers_[site];
        if (peer.wire == nullptr || peer.wire->generation < generation) {
            if (peer.wire != nullptr) part(peer, Wire::State::closed);
            peer.wire = std::make_shared<Wire>(site, generation);
            peer.generation = std::max(peer.generation, generation);  // one that was fenced stays out
        }
        made = peer.wire;
    });
    return made;
}

std::shared_ptr<Wire> Endpoint::dial(Site site, std::uint32_t generation, const Address& at) {
    if (!at.local) (void)OpenSsl::found();
    std::shared_ptr<Wire> made = expect(site, generation);
    call([&] { peers_[site].at = at; });
    return made;
}

void Endpoint::fence(Site site, std::uint32_t generation) {
    call([&] {
        auto& peer = peers_[site];
        peer.generation = std::max(peer.generation, generation + 1);
        if (peer.wire == nullptr || peer.wire->generation > generation) return;
        part(peer, Wire::State::closed);
        peer.wire = nullptr;
        peer.at.reset();
    });
}

void Endpoint::cut(Site site) {
    call([&] {
        if (const auto peer = peers_.find(site);
            peer != peers_.end() && peer->second.wire != nullptr && peer->second.wire->state() == Wire::State::joined)
            part(peer->second, Wire::State::broken);
    });
}

void Endpoint::read_out(Site site) {
    constexpr int most_reads = 512;  // of one that is not dead, and goes on sending
    const auto found = peers_.find(site);
    if (found == peers_.end() || found->second.wire == nullptr) return;
    auto& peer = found->second;
    bool more = true, nonsense = false;
    for (int i = 0; i < most_reads && more && !peer.ends && peer.wire->state() == Wire::State::joined; ++i)
        if (!peer.wire->read(events_, read_at_once, more, nonsense))
            peer.ends = nonsense ? Wire::State::lost : Wire::State::broken;
    peer.left = peer.left || peer.ends;
}

std::shared_ptr<Wire> Endpoint::wire_to(Site site) {
    std::shared_ptr<Wire> found;
    call([&] {
        if (const auto peer = peers_.find(site); peer != peers_.end()) found = peer->second.wire;
    });
    return found;
}

void Endpoint::drain(std::chrono::milliseconds longest) {
    const auto until = Clock::now() + longest;
    bool idle = false;
    while (!idle && Clock::now() < until) {
        idle = true;
        call([&] {
            for (auto& [site, peer] : peers_)
                if (peer.wire != nullptr && peer.wire->state() == Wire::State::joined) {
                    if (peer.wire->owes()) peer.wire->acknowledge();
                    idle = idle && peer.wire->under_way() == 0;
                }
        });
        if (!idle) std::this_thread::sleep_for(1ms);
    }
}

// ---- the thread ----

void Endpoint::run() noexcept {
    own_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    for (;;) {
        {
            const std::lock_guard guard(lock_);
            if (stopping_) break;
        }
        try {
            step();
        } catch (...) {  // no memory, or no descriptor: again soon
            std::this_thread::sleep_for(10ms);
        }
    }
    {
        const std::lock_guard turn(turn_);
        for (auto& [site, peer] : peers_)
            if (peer.wire != nullptr) part(peer, Wire::State::closed);
        greetings_.clear();
    }
    for (;;) {
        do_calls();
        const std::lock_guard guard(lock_);
        if (!calls_.empty()) continue;
        running_ = false;
        return;
    }
}

std::chrono::milliseconds Endpoint::next_wait(Clock::time_point now) const {
    if (!more_.empty()) return 0ms;
    auto next = next_tick_;
    for (const auto& [site, peer] : peers_) {
        if (peer.wire == nullptr) continue;
        const auto state = peer.wire->state();
        if (state == Wire::State::joined && peer.wire->owes()) next = std::min(next, now + time_to_owe);
        if (peer.at && !peer.greeting && (state == Wire::State::waits || state == Wire::State::broken))
            next = std::min(next, peer.next_dial);
    }
    return std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(next - now));
}

void Endpoint::step() {
    std::array<epoll_event, 32> events;
    if (nap()) return;
    auto wait = 0ms;
    if (naps_ == 0) {
        const std::lock_guard turn(turn_);
        wait = next_wait(Clock::now());
    }
    naps_ = 0;
    const auto count =
        epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(wait.count()));
    if (count < 0 && errno != EINTR) throw SystemError("cannot wait for frames", errno);
    const std::lock_guard turn(turn_);
    for (const Site site : std::exchange(more_, {}))
        if (const auto peer = peers_.find(site); peer != peers_.end()) read(peer->second);
    for (auto& [site, peer] : peers_)
        if (peer.left) read(peer);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        try {
            attend(event.data.u64, (event.events & EPOLLOUT) != 0);
        } catch (...) {  // no memory, or no descriptor: the others are told only once of what has happened
        }
    }
    do_calls();
    const auto now = Clock::now();
    const bool slept = count == 0;
    for (auto& [site, peer] : peers_)
        if (peer.wire != nullptr && peer.wire->state() == Wire::State::joined &&
            (peer.wire->owes_much() || (slept && peer.wire->owes())))
            peer.wire->acknowledge();
    dial_due(now);
    if (now >= next_tick_) tick(now);
}

/// Sleeps a little if others look. True: they still do, and nobody wants anything of this thread.
bool Endpoint::nap() noexcept {
    const auto others_look = [&] { return Clock::now() - looked_.load() < looks_last; };
    if (!others_look()) return false;
    pollfd bell{bell_.get(), POLLIN, 0};
    const timespec longest{0, nap_ns};
    naps_now_.store(true);
    const bool naps = others_look();  // behind that store: who looks away now rings
    const bool rung = naps && ppoll(&bell, 1, &longest, nullptr) != 0;
    naps_now_.store(false, std::memory_order_relaxed);
    return !rung && ++naps_ < most_naps && others_look();
}

void Endpoint::look_away() noexcept {
    looked_.store({});
    if (naps_now_.load()) eventfd_write(bell_.get(), 1);
}

// What needs the thread itself (a frame that is not quick, the end of a connection) is left to it.
//
// No frame is lost between the two. The thread sees each edge of epoll, be it late, and reads behind it all that there
// is, whoever has read before.
bool Endpoint::look() noexcept {
    looked_.store(Clock::now(), std::memory_order_relaxed);  // the thread that has the turn gives it up soon
    const std::unique_lock turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) return false;
    bool some = false, leaves = false;
    auto at = peers_.upper_bound(looked_at_);
    for (auto left = std::min(peers_.size(), peers_a_look); left != 0; --left, ++at) {
        if (at == peers_.end()) at = peers_.begin();
        auto& [site, peer] = *at;
        looked_at_ = site;
        if (peer.wire == nullptr || peer.left || peer.wire->state() != Wire::State::joined) continue;
        Wire& wire = *peer.wire;
        const auto before = wire.bytes_received();
        bool more = false, nonsense = false;
        if (!wire.read(events_, read_at_a_look, more, nonsense, true))
            peer.ends = nonsense ? Wire::State::lost : Wire::State::broken;
        const bool came = wire.bytes_received() != before;
        peer.left = peer.ends || wire.stopped();
        if (peer.left) leaves = true;
        else if (wire.owes_much()) wire.acknowledge();
        else wire.flush();
        some = some || came;
    }
    if (leaves) eventfd_write(bell_.get(), 1);
    return some;
}

void Endpoint::attend(std::uint64_t tag, bool writable) {
    const auto which = tag & 0xFFFFFFFFu;
    switch (tag >> 32) {
        case about_bell: {
            eventfd_t rung;
            eventfd_read(bell_.get(), &rung);
            break;
        }
        case about_listening:
            let_in(listening_[which]);
            break;
        case about_greeting: {
            const auto found = std::ranges::find_if(greetings_, [&](const Greeted& each) {
                return each.greeting->descriptor() == static_cast<int>(which);
            });
            if (found != greetings_.end()) greet(found);
            break;
        }
        case about_wire:
            if (const auto peer = peers_.find(static_cast<Site>(which)); peer != peers_.end()) {
                if (writable && peer->second.wire != nullptr) peer->second.wire->flush();
                read(peer->second);
            }
            break;
        default:
            break;
    }
}

void Endpoint::read(Peer& peer) {
    const auto wire = peer.wire;
    if (wire == nullptr || wire->state() != Wire::State::joined) return;
    bool more = false, nonsense = false;
    peer.left = false;
    if (!peer.ends && !wire->read(events_, read_at_once, more, nonsense))
        peer.ends = nonsense ? Wire::State::lost : Wire::State::broken;
    if (const auto ends = std::exchange(peer.ends, std::nullopt)) {
        if (*ends == Wire::State::lost)
            refused_[static_cast<std::size_t>(Refused::garbage)].fetch_add(1, std::memory_order_relaxed);
        return part(peer, *ends);
    }
    if (more) more_.push_back(wire->site);
}

void Endpoint::part(Peer& peer, Wire::State state) {
    const auto wire = peer.wire;
    peer.left = false;
    peer.ends.reset();
    wire->part(events_, state);
    peer.next_dial = Clock::now();
    peer.pause = 10ms;
    events_.changed(*wire);
}

void Endpoint::tick(Clock::time_point now) {
    // While this process itself stood still, nobody can have been silent.
    const bool stood_still = next_tick_ != Clock::time_point{} && now - next_tick_ > longest_step;
    const auto missed = stood_still ? now - next_tick_ : Clock::duration::zero();
    next_tick_ = now + std::clamp<std::chrono::milliseconds>(options_.patience / 8, 50ms, tick_interval);
    for (auto& [site, peer] : peers_) {
        if (peer.wire == nullptr) continue;
        Wire& wire = *peer.wire;
        wire.heard = std::min(wire.heard + missed, now);
        wire.broken_since += missed;
        switch (wire.state()) {
            case Wire::State::joined:
                if (now - wire.spoken.load(std::memory_order_relaxed) >
                    std::min<std::chrono::milliseconds>(options_.patience / 8, 1s))
                    wire.acknowledge();
                // A new connection may get through where the old one does not.
                if (now - wire.heard > options_.patience / 2) {
                    part(peer, Wire::State::broken);
                    wire.broken_since = wire.heard;
                }
                break;
            case Wire::State::waits:
                if (!peer.at) break;  // who expects a peer knows himself how long
                [[fallthrough]];
            case Wire::State::broken:
                if (now - wire.broken_since > options_.patience) part(peer, Wire::State::lost);
                break;
            default:
                break;
        }
    }
    for (auto each = greetings_.begin(); each != greetings_.end();) {
        const auto next = std::next(each);
        if (now > each->greeting->until) end_greeting(each);
        each = next;
    }
    events_.tick();
    for (const auto& each : listening_) let_in(each);  // whom there was no descriptor or memory for
}

// ---- greetings ----

std::unique_ptr<Carrier> Endpoint::carrier_over(OwnedDescriptor socket, bool local, Side side) const {
    set_up(socket.get(), {.local = local}, options_.patience);
    if (local || !options_.encrypted) return std::make_unique<Carrier>(std::move(socket));
    return over_tls(std::move(socket), options_.secret, side);
}

void Endpoint::let_in(const Listening& at) {
    for (;;) {
        OwnedDescriptor socket(
            uninterrupted([&] { return accept4(at.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
        if (!socket && errno == ECONNABORTED) continue;
        if (!socket) return;
        if (greetings_.size() >= most_greetings) {
            const auto oldest = std::ranges::find_if(greetings_, [](const Greeted& each) { return !each.dialled; });
            if (oldest != greetings_.end()) end_greeting(oldest);
        }
        const int descriptor = socket.get();
        greetings_.push_back(
            {std::make_unique<Greeting>(carrier_over(std::move(socket), at.local, Side::listens), options_.secret,
                                        at.local, [this](const Hello& hello) { return judge(hello); }),
             std::nullopt, at.local});
        greetings_.back().greeting->until = Clock::now() + time_to_greet;
        watch(descriptor, tag_of(about_greeting, static_cast<std::uint64_t>(descriptor)), true);
    }
}

void Endpoint::dial_due(Clock::time_point now) {
    for (auto& [site, peer] : peers_) {
        if (peer.wire == nullptr || !peer.at || peer.greeting || now < peer.next_dial) continue;
        const auto state = peer.wire->state();
        if (state != Wire::State::waits && state != Wire::State::broken) continue;
        peer.pause = std::clamp<std::chrono::milliseconds>(2 * peer.pause, 10ms, longest_pause);
        peer.next_dial = now + peer.pause;
        auto socket = connect_to(*peer.at);
        if (!socket) continue;
        const int descriptor = socket.get();
        const Hello hello{.run = options_.run,
                          .from = options_.site,
                          .to = site,
                          .generation = options_.generation,
                          .received = peer.wire->received()};
        greetings_.push_back({std::make_unique<Greeting>(carrier_over(std::move(socket), peer.at->local, Side::dials),
                                                         options_.secret, peer.at->local, hello),
                              site, peer.at->local});
        greetings_.back().greeting->until =
            now + std::clamp<std::chrono::milliseconds>(options_.patience / 4, 250ms, time_to_greet);
        peer.greeting = true;
        watch(descriptor, tag_of(about_greeting, static_cast<std::uint64_t>(descriptor)), true);
    }
}

void Endpoint::greet(std::list<Greeted>::iterator which) {
    auto state = Greeting::State::failed;
    try {
        state = which->greeting->step();
    } catch (...) {  // it is dialled again
    }
    if (state != Greeting::State::going_on) end_greeting(which);
}

void Endpoint::end_greeting(std::list<Greeted>::iterator which) {
    const auto ended = std::move(*which);
    greetings_.erase(which);
    Greeting& greeting = *ended.greeting;
    const auto carrier = [&] { return greeting.take_carrier(); };
    if (ended.dialled) {
        auto& peer = peers_[*ended.dialled];
        peer.greeting = false;
        if (peer.wire == nullptr) return;
        if (greeting.state() == Greeting::State::over) return attach(peer, carrier(), greeting.peer_received());
        const auto why = greeting.refused();
        if (why != Refused::cut_short) refused_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
        if (why == Refused::old_generation || why == Refused::other_run) part(peer, Wire::State::refused);
        return;
    }
    if (greeting.state() == Greeting::State::over) {
        auto& peer = peers_[greeting.hello().from];
        if (peer.wire != nullptr && peer.wire->generation == greeting.hello().generation)
            attach(peer, carrier(), greeting.peer_received());
        return;
    }
    refused_[static_cast<std::size_t>(greeting.refused())].fetch_add(1, std::memory_order_relaxed);
}

Greeting::Answer Endpoint::judge(const Hello& hello) {
    if (hello.run != options_.run) return {Refused::other_run};
    if (hello.to != options_.site) return {Refused::unknown_site};
    const auto found = peers_.find(hello.from);
    if (found == peers_.end()) return {Refused::unknown_site};
    auto& peer = found->second;
    if (hello.generation < peer.generation) return {Refused::old_generation};
    if (peer.wire == nullptr) return {Refused::unknown_site};  // not expected yet: it dials again
    if (peer.wire->generation > hello.generation) return {Refused::old_generation};
    if (peer.wire->generation != hello.generation) return {Refused::unknown_site};
    const auto state = peer.wire->state();
    if (state != Wire::State::waits && state != Wire::State::broken && state != Wire::State::joined)
        return {Refused::old_generation};
    // The peer has noticed before this side that their connection has ended.
    if (state == Wire::State::joined) part(peer, Wire::State::broken);
    return {Refused::not_at_all, peer.wire->received()};
}

void Endpoint::attach(Peer& peer, std::unique_ptr<Carrier> carrier, std::uint64_t peer_received) {
    if (peer.wire->state() == Wire::State::joined) part(peer, Wire::State::broken);
    const auto state = peer.wire->state();
    if (state != Wire::State::waits && state != Wire::State::broken) return;
    const int descriptor = carrier->descriptor();
    peer.wire->join(std::move(carrier), peer_received);
    watch(descriptor, tag_of(about_wire, peer.wire->site), true);
    events_.changed(*peer.wire);
    read(peer);
}

}  // namespace penstock::wire
