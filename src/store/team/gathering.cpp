#include "store/team/gathering.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "process/local_socket.hpp"
#include "process/quiet_thread.hpp"

namespace penstock::team {
namespace {

using namespace std::chrono_literals;
using Reason = JoinRefused::Reason;
using Stage = Guest::Stage;

/// How long a guest may take for its first word, and for hearing that it is refused.
constexpr auto patience = 2s;
/// How long a member may take to be handed its place.
constexpr auto time_to_sit_down = 10s;
/// A process that dies closes its connection a little before its end can be seen.
constexpr auto time_to_die = 500ms;
/// Guests who have no rank (yet). The oldest must go when more come.
constexpr std::ptrdiff_t most_strangers = 64;

OwnedDescriptor a_spare_one() { return OwnedDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool is_stranger(const Guest& guest) { return guest.stage() == Stage::greeting || guest.stage() == Stage::refused; }

int checked_size(int size) {
    if (size < 1 || size > most_ranks)
        throw UsageError("a team has 1 to " + std::to_string(most_ranks) + " members, but " + std::to_string(size) +
                         " were asked for");
    return size;
}

}  // namespace

Gathering::Gathering(std::string_view name, int size, HostOptions options)
    : name_(name), size_(checked_size(size)), options_(std::move(options)),
      placement_(Placement::of(size, options_.pin)), hoard_(size), listening_(stand_at(name)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), spare_(a_spare_one()), deadline_(deadline_after(options_.within)),
      known_(static_cast<std::size_t>(size)), process_(getpid()) {
    if (options_.within.count() <= 0) throw UsageError("HostOptions::within must be more than 0");
    if (!stop_ || !spare_) throw SystemError("cannot stand host for team '" + name_ + "'", EMFILE);
    thread_ = process::quiet_thread("penstock host", [this] { serve(); });
}

Gathering::~Gathering() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
}

bool Gathering::wait_until(Time deadline) {
    if (process_ != getpid())
        throw UsageError("the host of team '" + name_ + "' stayed behind in the parent of a fork; wait for it there");
    std::unique_lock lock(mutex_);
    if (deadline == Time::max()) changed_.wait(lock, [this] { return over_; });
    else if (!changed_.wait_until(lock, deadline, [this] { return over_; })) return false;
    if (outcome_) std::rethrow_exception(outcome_);
    return true;
}

// ---- the thread ----

void Gathering::serve() noexcept {
    std::exception_ptr outcome;
    try {
        pollfd stop{stop_.get(), POLLIN, 0};
        while (poll(&stop, 1, 0) == 0 && !all_ended()) step();
        if (all_ended()) conclude_team();
    } catch (...) {
        outcome = std::current_exception();
    }
    // A forked child may have these descriptors too, so that closing them here would tell nobody.
    shutdown(listening_.get(), SHUT_RDWR);
    for (const auto& guest : guests_) shutdown(guest.connection(), SHUT_RDWR);
    listening_.reset();
    guests_.clear();
    const std::lock_guard lock(mutex_);
    outcome_ = outcome;
    over_ = true;
    changed_.notify_all();
}

void Gathering::step() {
    std::vector<pollfd> entries{{stop_.get(), POLLIN, 0}, {spare_ ? listening_.get() : -1, POLLIN, 0}};
    for (const auto& guest : guests_)
        entries.push_back({guest.connection(), static_cast<short>(guest.listens() ? POLLIN : 0), 0});
    const auto processes = entries.size();
    for (std::size_t rank = 0; rank < known_.size(); ++rank)
        entries.push_back({known_[rank].process_ended ? -1 : hoard_.processes[rank].get(), POLLIN, 0});
    if (poll(entries.data(), entries.size(), milliseconds_to_sleep()) < 0) {
        if (errno == EINTR) return;
        throw SystemError("the host of team '" + name_ + "' cannot wait for its members", errno);
    }
    if (entries[0].revents != 0) return;
    std::size_t entry = 2;
    for (auto& guest : guests_) {
        const auto happened = entries[entry++].revents;
        if (happened != 0) attend(guest, (happened & POLLIN) != 0, (happened & (POLLHUP | POLLERR)) != 0);
    }
    std::vector<Watched> ended;
    for (std::size_t rank = 0; rank < known_.size(); ++rank)
        if (entries[processes + rank].revents != 0)
            ended.push_back({static_cast<int>(rank), hoard_.processes[rank].get()});
    notice_deaths(ended);
    if (entries[1].revents != 0) let_in();
    look_at_the_clock();
    for (const auto& guest : guests_)
        if (guest.stage() == Stage::gone) take_leave(guest);
    std::erase_if(guests_, [](const Guest& guest) { return guest.stage() == Stage::gone; });
    if (!spare_) spare_ = a_spare_one();
    if (!complete() && present() == size_) begin();
    hand_over();
}

int Gathering::milliseconds_to_sleep() const {
    auto first = complete() ? Time::max() : deadline_;
    if (!spare_) first = std::min(first, deadline_after(50ms));  // until there is one again nobody is let in
    for (const auto& guest : guests_) first = std::min(first, guest.blocked() ? deadline_after(5ms) : guest.until());
    for (const auto& known : known_) first = std::min(first, known.let_go);
    if (first == Time::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// ---- at the door ----

void Gathering::let_in() {
    OwnedDescriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    bool last = false;
    if (!connection && (errno == EMFILE || errno == ENFILE)) {
        spare_.reset();  // until this guest has gone nobody else is let in
        last = true;
        connection.reset(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    }
    if (!connection) return;  // it has gone again
    const auto peer = process::peer_of(connection.get());
    make_room();
    auto& guest = guests_.emplace_back(std::move(connection), peer, size_, deadline_after(patience));
    const bool admitted = peer.uid == geteuid() || std::ranges::find(options_.users, peer.uid) != options_.users.end();
    if (!admitted) guest.refuse(Reason::user, deadline_after(patience));
    else if (last) guest.refuse(Reason::resources, deadline_after(patience));
}

void Gathering::make_room() {
    if (std::ranges::count_if(guests_, is_stranger) < most_strangers) return;
    auto oldest = std::ranges::find(guests_, Stage::refused, &Guest::stage);
    if (oldest == guests_.end()) oldest = std::ranges::find_if(guests_, is_stranger);
    oldest->forget();
}

void Gathering::attend(Guest& guest, bool said_something, bool closed) {
    if (said_something) {
        switch (guest.stage()) {
            case Stage::greeting:
                if (const auto hello = guest.hear_hello()) judge(guest, *hello);
                return;
            case Stage::refused:
                return guest.ignore();
            case Stage::admitted:
            case Stage::starting:
                if (guest.hear_confirmation()) return;
                if (guest.stage() == Stage::starting) return guest.forget();
                take_leave(guest);
                return guest.refuse(Reason::nonsense, deadline_after(patience));
            default:
                break;
        }
    }
    if (closed) guest.forget();
}

int Gathering::free_rank(int wanted) const {
    for (int rank = 0; rank < size_; ++rank)
        if (!known_[rank].taken && (wanted == any_rank || wanted == rank)) return rank;
    return -1;
}

void Gathering::judge(Guest& guest, const Hello& hello) {
    const auto refuse = [&](Reason reason) { guest.refuse(reason, deadline_after(patience)); };
    const Hello own;
    if (hello.magic != Hello::valid) return refuse(Reason::nonsense);
    if (hello.version != own.version || hello.seat_bytes != own.seat_bytes || hello.report_bytes != own.report_bytes)
        return refuse(Reason::version);
    if (hello.process <= 0 || hello.process != guest.peer().pid) return refuse(Reason::namespaces);
    if (hello.size != 0 && hello.size != size_) return refuse(Reason::size);
    if (hello.rank < any_rank || hello.rank >= size_) return refuse(Reason::no_such_rank);
    const int rank = free_rank(hello.rank);
    if (rank < 0) return refuse(complete() || hello.rank == any_rank ? Reason::complete : Reason::rank_taken);
    auto& process = hoard_.processes[rank];
    try {
        process = process::process_of(guest.connection(), guest.peer().pid);
    } catch (const SystemError&) {
        return refuse(Reason::resources);
    }
    if (!process) return guest.forget();
    guest.admit(rank, {.subject = Subject::admitted,
                       .rank = rank,
                       .size = size_,
                       .processor = placement_.processors.empty() ? -1 : placement_.processors[rank],
                       .within = std::chrono::nanoseconds(deadline_ - std::chrono::steady_clock::now()).count()});
    known_[rank].taken = true;
    ++present_;
}

/// A guest has gone, or has lost its rank.
void Gathering::take_leave(const Guest& guest) {
    if (guest.rank() < 0) return;
    if (complete()) {
        if (hoard_.control.state(guest.rank()) < State::finished)
            known_[guest.rank()].let_go = deadline_after(time_to_die);
        return;
    }
    known_[guest.rank()].taken = false;
    hoard_.processes[guest.rank()].reset();
    --present_;
}

// ---- the team ----

void Gathering::begin() {
    for (auto& guest : guests_) {
        if (guest.stage() != Stage::admitted) continue;
        auto& seat = hoard_.control.seat(guest.rank());
        seat.identity.pid = guest.peer().pid;
        seat.user = guest.peer().uid;
    }
    complete_ = true;
    for (auto& guest : guests_)
        if (guest.stage() == Stage::admitted) guest.start(hoard_, deadline_after(time_to_sit_down));
}

void Gathering::hand_over() {
    if (!complete() || hoard_.boxes.sending.empty()) return;
    bool all = true;
    for (auto& guest : guests_) {
        guest.hand_over(hoard_);
        all &= guest.stage() != Stage::starting;
    }
    if (!all) return;
    hoard_.boxes.receiving.clear();  // so that what is sent to the dead is refused
    hoard_.boxes.sending.clear();
}

void Gathering::notice_deaths(const std::vector<Watched>& ended) {
    if (ended.empty()) return;
    for (const auto& one : ended) {
        if (complete()) known_[one.rank].process_ended = true;
        for (auto& guest : guests_)
            if (guest.rank() == one.rank) guest.forget();
    }
    if (complete()) mark_dead(hoard_.control, ended);
}

void Gathering::look_at_the_clock() {
    const auto now = std::chrono::steady_clock::now();
    for (auto& guest : guests_) {
        if (guest.until() > now || guest.stage() == Stage::gone) continue;
        if (guest.stage() == Stage::starting) fail(guest.rank(), "did not take its place in the team in time");
        guest.forget();
    }
    for (int rank = 0; rank < size_; ++rank) {
        auto& known = known_[rank];
        if (known.let_go > now) continue;
        known.let_go = Time::max();
        if (!known.process_ended) fail(rank, "let go of the team without leaving it, and goes on as a process");
    }
    if (!complete() && deadline_ <= now) give_up();
}

void Gathering::fail(int rank, const std::string& remark) {
    if (hoard_.control.end(rank, State::failed)) known_[rank].remark = remark;
}

void Gathering::give_up() {
    HostReply notice{.subject = Subject::missing, .size = size_};
    std::vector<int> missing;
    for (int rank = 0; rank < size_; ++rank) {
        if (known_[rank].taken) continue;
        missing.push_back(rank);
        notice.missing[rank / 64] |= std::uint64_t{1} << rank % 64;
    }
    for (auto& guest : guests_)
        if (guest.stage() == Stage::admitted) guest.say(notice);
    throw MembersMissing(name_, std::move(missing), size_);
}

bool Gathering::all_ended() const {
    if (!complete()) return false;
    for (int rank = 0; rank < size_; ++rank)
        if (hoard_.control.state(rank) < State::finished) return false;
    return true;
}

void Gathering::conclude_team() const {
    std::vector<Ending> endings;
    for (int rank = 0; rank < size_; ++rank) {
        const auto& known = known_[rank];
        const Watched watched{rank, hoard_.processes[rank].get()};
        if (hoard_.control.state(rank) == State::dead) learn_ends(hoard_.control, {&watched, 1});
        auto record = hoard_.control.ending(rank);
        if (!known.remark.empty()) {
            record.write(known.remark);
            record.order = hoard_.control.next_failure();
        }
        endings.push_back(ending_of(record));
    }
    conclude(endings);
}

}  // namespace penstock::team
