#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "machine/said_by.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "process/local_socket.hpp"
#include "store/team/seated.hpp"

namespace penstock::team {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;
using Reason = JoinRefused::Reason;

/// How often the caller may interrupt.
constexpr auto slice = 50ms;
/// What the host may need beyond the time that it announced.
constexpr auto grace = 10s;

std::string describe(Reason reason, const JoinOptions& options, int size) {
    switch (reason) {
        case Reason::user:
            return "it does not admit user " + std::to_string(geteuid()) + " (HostOptions::users names who may join)";
        case Reason::rank_taken:
            return "rank " + std::to_string(options.rank) + " is taken; ask for another, or for any_rank";
        case Reason::no_such_rank:
            return "the team has no rank " + std::to_string(options.rank) + ", only 0 to " + std::to_string(size - 1);
        case Reason::size:
            return "the team has " + std::to_string(size) + " ranks and not " + std::to_string(options.size);
        case Reason::complete:
            return "the team is complete";
        case Reason::version:
            return "the two programs were built with different versions of Penstock; build both with the same";
        case Reason::namespaces:
            return "the two processes number processes differently, as in different containers; a team needs one pid "
                   "namespace";
        case Reason::resources:
            return "it has no descriptor left; raise its limit (ulimit -n)";
        default:
            return "it did not understand what was said";
    }
}

/// One attempt to join, and what it has so far.
class Newcomer {
  public:
    Newcomer(std::string_view name, const JoinOptions& options)
        : name_(name), options_(options), owner_(options.owner.value_or(geteuid())),
          until_(deadline_after(options.within)) {}

    Admission come() {
        while (!be_admitted()) {
            if (std::chrono::steady_clock::now() >= until_)
                throw HostMissing(name_, "nobody stood host for it as user " + std::to_string(owner_) + " for " +
                                             std::to_string(options_.within.count() / 1'000'000) +
                                             " ms; start the host, or allow more time (JoinOptions::within)");
            pause();
        }
        try {
            while (!whole()) take_part();
        } catch (const std::exception& error) {
            tell(said_by(error));
            throw;
        }
        return std::move(place_);
    }

  private:
    void pause() {
        std::this_thread::sleep_for(
            std::min<std::chrono::nanoseconds>(wait_, until_ - std::chrono::steady_clock::now()));
        wait_ = std::min<std::chrono::nanoseconds>(wait_ * 2, 20ms);
        if (options_.meanwhile) options_.meanwhile();
    }

    /// False when there is no host just now.
    bool be_admitted() {
        auto& connection = place_.connection;
        connection = connect_to(name_, owner_);
        if (!connection) return false;
        // Before anything is said: who listens here was told by the kernel when it began to listen.
        if (const auto host = process::peer_of(connection.get()).uid; host != owner_)
            throw WrongHost(name_, owner_, host);
        const Hello hello{.process = getpid(), .rank = options_.rank, .size = options_.size};
        // When it cannot be said the host has gone or has refused unheard, which the answer tells.
        process::send_with_descriptors(connection.get(), std::as_bytes(std::span(&hello, 1)), {}, MSG_DONTWAIT);
        const auto notice = receive(until_);
        if (!notice) return false;
        if (notice->subject != Subject::admitted || notice->size < 1 || notice->size > most_ranks || notice->rank < 0 ||
            notice->rank >= notice->size)
            throw_nonsense();
        place_.rank = notice->rank;
        place_.size = notice->size;
        place_.processor = notice->processor;
        until_ = deadline_after(std::chrono::nanoseconds(std::clamp<std::int64_t>(notice->within, 0, INT64_MAX / 2)) +
                                grace);
        return true;
    }

    /// The others need not wait for one that will never begin.
    void tell(const char* what) noexcept {
        if (!place_.control) return;
        place_.control.report_failure(place_.rank, what, false);
        place_.control.end(place_.rank, State::failed);
    }

    bool whole() const { return std::ssize(place_.processes) == place_.size; }

    void take_part() {
        const auto notice = receive(until_);
        if (!notice) throw HostMissing(name_, "it went away before the team was complete");
        switch (notice->subject) {
            case Subject::control:
                if (place_.control || arrived_.descriptors.size() != 2) throw_nonsense();
                place_.control = ControlBlock::adopt(arrived_.descriptors[0].take(), place_.size);
                place_.inbox = std::move(arrived_.descriptors[1]);
                break;
            case Subject::outboxes:
                take_descriptors(place_.outboxes, notice->first);
                break;
            case Subject::processes:
                take_descriptors(place_.processes, notice->first);
                break;
            default:
                throw_nonsense();
        }
        until_ = deadline_after(grace);
        const std::byte confirmation{1};
        process::send_with_descriptors(place_.connection.get(), {&confirmation, 1}, {}, MSG_DONTWAIT);
    }

    void take_descriptors(std::vector<OwnedDescriptor>& into, std::uint32_t first) {
        auto& from = arrived_.descriptors;
        if (!place_.control || from.empty() || first != into.size() ||
            into.size() + from.size() > static_cast<std::size_t>(place_.size))
            throw_nonsense();
        std::ranges::move(from, std::back_inserter(into));
    }

    /// What the host says next, with its descriptors in `arrived_`; nothing when it has gone. Throws when it refuses,
    /// gives up or says nothing until `until`.
    std::optional<HostReply> receive(Time until) {
        await(until);
        HostReply notice;
        arrived_ = {};
        const auto length = process::receive_with_descriptors(
            place_.connection.get(), std::as_writable_bytes(std::span(&notice, 1)), MSG_DONTWAIT, arrived_);
        if (length <= 0) return std::nullopt;
        if (arrived_.control_cut)
            throw SystemError("this process has too few descriptors left to be a member of team '" + name_ +
                                  "'; raise the limit (ulimit -n)",
                              EMFILE);
        if (length != sizeof notice || arrived_.text_cut || notice.magic != HostReply::valid) throw_nonsense();
        if (notice.subject == Subject::refused)
            throw JoinRefused(name_, notice.reason, describe(notice.reason, options_, notice.size));
        if (notice.subject == Subject::missing) throw MembersMissing(name_, ranks_of(notice), place_.size);
        return notice;
    }

    void await(Time until) {
        for (;;) {
            const auto left = until - std::chrono::steady_clock::now();
            if (left.count() <= 0) throw HostMissing(name_, "the process that stands there does not answer");
            pollfd entry{place_.connection.get(), POLLIN, 0};
            const auto time =
                std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::nanoseconds>(left, slice));
            if (poll(&entry, 1, static_cast<int>(time.count())) == 1) return;
            if (options_.meanwhile) options_.meanwhile();
        }
    }

    std::vector<int> ranks_of(const HostReply& notice) const {
        std::vector<int> ranks;
        for (int rank = 0; rank < place_.size; ++rank)
            if ((notice.missing[rank / 64] >> rank % 64 & 1) != 0) ranks.push_back(rank);
        return ranks;
    }

    [[noreturn]] void throw_nonsense() const {
        throw HostMissing(
            name_, "the process that stands there says what no host says; it may have another version of Penstock");
    }

    std::string name_;
    const JoinOptions& options_;
    uid_t owner_;
    Time until_;
    std::chrono::nanoseconds wait_ = 1ms;
    process::Arrived arrived_;
    Admission place_;
};

}  // namespace

Admission ask_for_admission(std::string_view name, const JoinOptions& options) {
    if (options.within.count() <= 0) throw UsageError("JoinOptions::within must be more than 0");
    if (options.accept_within.count() <= 0) throw UsageError("JoinOptions::accept_within must be more than 0");
    if (options.rank < any_rank || options.size < 0)
        throw UsageError("JoinOptions::rank is a rank or any_rank, and JoinOptions::size a size or 0");
    if (getuid() != geteuid())
        throw UsageError("a process that runs as another user than it was started by (set-user-id) cannot join a team");
    return Newcomer(name, options).come();
}

}  // namespace penstock::team
