#include <sys/syscall.h>
#include <unistd.h>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/join.hpp"
#include "penstock/topology.hpp"
#include "store/team/gathering.hpp"
#include "store/team/seated.hpp"
#include "trace/text.hpp"

namespace penstock {
namespace team {
namespace {

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

}  // namespace

Seated::Seated(Admission place, const JoinOptions& options)
    : place_(std::move(place)), exchange_(std::move(place_.inbox), std::move(place_.outboxes)),
      member_{.seats = place_.control.seats(),
              .exchange = &exchange_,
              .index = place_.rank,
              .size = place_.size,
              .substrate = Substrate::processes,
              .policy = WaitPolicy::for_threads(place_.size, Topology::here().usable()),
              .accept_within = options.accept_within},
      watch_(place_.control, place_.rank, std::move(place_.processes)), process_(getpid()) {
    if (options.pin && place_.processor >= 0) {
        cpu_set_t before;
        if (sched_getaffinity(0, sizeof before, &before) == 0 && pin_this_thread(place_.processor)) {
            processors_before_ = before;
            pinned_ = this_thread();
        }
    }
    // All in the order in which others may see it: from the last line on this member runs.
    auto& seat = place_.control.seat(place_.rank);
    register_fence(seat);
    auto expected = State::starting;
    seat.state.compare_exchange_strong(expected, State::running, std::memory_order_acq_rel);
}

Seated::~Seated() { fail("its membership was destroyed before it was left", false); }

void Seated::leave() noexcept { go(State::finished); }

void Seated::fail(std::string_view what, bool consequence) noexcept {
    if (left_) return;
    place_.control.report_failure(member_.index, what, consequence);
    go(State::failed);
}

void Seated::go(State state) noexcept {
    if (std::exchange(left_, true)) return;
    place_.control.end(member_.index, state);
    // A forked child may have the connection too, so closing it here would not tell the host.
    shutdown(place_.connection.get(), SHUT_RDWR);
    place_.connection.reset();
    if (processors_before_ && pinned_ == this_thread())
        sched_setaffinity(0, sizeof *processors_before_, &*processors_before_);
}

void EndAtHome::operator()(Seated* seated) const noexcept {
    if (seated->process() == getpid()) delete seated;
}

void EndAtHome::operator()(Gathering* gathering) const noexcept {
    if (gathering->process() == getpid()) delete gathering;
}

}  // namespace team

// ---- errors ----

namespace {

std::string in_quotes(const std::string& name) { return "team '" + name + "'"; }

std::string list(const std::vector<int>& ranks) {
    return trace::list_of(ranks, ", ", [](int rank) { return std::to_string(rank); });
}

}  // namespace

TeamNameTaken::TeamNameTaken(const std::string& team)
    : TeamError(team, "somebody stands host for " + in_quotes(team) +
                          " already; take another name, or wait until that team has ended") {}

HostMissing::HostMissing(const std::string& team, const std::string& what)
    : TeamError(team, in_quotes(team) + " has no host: " + what) {}

WrongHost::WrongHost(const std::string& team, uid_t expected, uid_t actual)
    : TeamError(team, "the host of " + in_quotes(team) + " runs as user " + std::to_string(actual) + ", but user " +
                          std::to_string(expected) +
                          " was expected; nothing was handed over (JoinOptions::owner says who may be host)"),
      expected_(expected), actual_(actual) {}

JoinRefused::JoinRefused(const std::string& team, Reason reason, const std::string& what)
    : TeamError(team, "the host of " + in_quotes(team) + " refuses this process: " + what), reason_(reason) {}

MembersMissing::MembersMissing(const std::string& team, std::vector<int> missing, int size)
    : TeamError(team, in_quotes(team) + " never came together: of its " + std::to_string(size) +
                          " ranks these did not come in time: " + list(missing) +
                          "; start them all, or allow more time (HostOptions::within)"),
      missing_(std::move(missing)), size_(size) {}

// ---- membership ----

Membership::Membership(std::string_view name, JoinOptions options)
    : seated_(new team::Seated(team::ask_for_admission(name, options), options)),
      exceptions_(std::uncaught_exceptions()) {}

Membership::~Membership() {
    if (std::uncaught_exceptions() > exceptions_) fail("an exception ended the scope of its membership");
    else leave();
}

Membership::Membership(Membership&& other) noexcept = default;
Membership& Membership::operator=(Membership&& other) noexcept {
    Membership ended(std::move(*this));
    seated_ = std::move(other.seated_);
    exceptions_ = other.exceptions_;
    return *this;
}

Rank Membership::rank() const {
    if (!seated_ || seated_->left() || seated_->process() != getpid())
        throw UsageError(
            "this membership of a team was left (or stayed behind in the parent of a fork), so there is no rank");
    return Rank(seated_->member());
}

void Membership::leave() noexcept {
    if (seated_ && seated_->process() == getpid()) seated_->leave();
}

void Membership::fail(std::string_view what, bool consequence) noexcept {
    if (seated_ && seated_->process() == getpid()) seated_->fail(what, consequence);
}

void Membership::fail(const std::exception_ptr& cause) noexcept {
    team::tell_cause(cause, [&](const char* what, bool consequence) { fail(what, consequence); });
}

// ---- host ----

TeamHost::TeamHost(std::string_view name, int size, HostOptions options)
    : gathering_(new team::Gathering(name, size, std::move(options))) {}

const std::string& TeamHost::name() const noexcept { return gathering_->name(); }
int TeamHost::size() const noexcept { return gathering_->size(); }
int TeamHost::present() const noexcept { return gathering_->present(); }
bool TeamHost::complete() const noexcept { return gathering_->complete(); }
void TeamHost::wait() { static_cast<void>(gathering_->wait_until(team::Gathering::Time::max())); }
bool TeamHost::wait_for(std::chrono::nanoseconds limit) { return gathering_->wait_until(deadline_after(limit)); }

}  // namespace penstock
