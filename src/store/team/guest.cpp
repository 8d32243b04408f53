#include "store/team/guest.hpp"

#include <cerrno>

namespace penstock::team {
namespace {

/// One part of a place in the team.
struct Part {
    Subject subject = Subject::control;
    std::size_t first = 0;
    std::vector<int> descriptors;
};

/// The control block with the inbox, then outboxes, then processes, as many at once as one message carries.
std::vector<Part> parts_of(const Hoard& hoard, int rank) {
    std::vector<Part> parts{{Subject::control, 0, {hoard.control.descriptor(), hoard.boxes.receiving[rank].get()}}};
    for (const auto& [subject, all] :
         {std::pair(Subject::outboxes, &hoard.boxes.sending), std::pair(Subject::processes, &hoard.processes)})
        for (std::size_t i = 0; i < all->size(); ++i) {
            if (i % process::most_descriptors == 0) parts.push_back({subject, i, {}});
            parts.back().descriptors.push_back((*all)[i].get());
        }
    return parts;
}

}  // namespace

/// The length of a message that has come; nothing when none has. Descriptors that came with it are closed.
std::optional<std::size_t> Guest::receive(std::span<std::byte> text) {
    process::Arrived arrived;
    const auto length = process::receive_with_descriptors(connection_.get(), text, MSG_DONTWAIT, arrived);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    if (length <= 0) {
        forget();
        return std::nullopt;
    }
    return arrived.text_cut ? text.size() + 1 : static_cast<std::size_t>(length);
}

std::optional<Hello> Guest::hear_hello() {
    Hello hello;
    const auto length = receive(std::as_writable_bytes(std::span(&hello, 1)));
    if (!length) return std::nullopt;
    if (*length != sizeof hello) hello.magic = 0;
    return hello;
}

void Guest::ignore() {
    std::byte byte{};
    static_cast<void>(receive({&byte, 1}));
}

bool Guest::hear_confirmation() {
    std::array<std::byte, 2> text{};
    const auto length = receive(text);
    if (!length) return true;
    if (*length != 1 || !under_way_) return false;
    under_way_ = false;
    ++part_;
    return true;
}

void Guest::say(const HostReply& notice) {
    if (process::send_with_descriptors(connection_.get(), std::as_bytes(std::span(&notice, 1)), {}, MSG_DONTWAIT) < 0)
        forget();
}

void Guest::refuse(JoinRefused::Reason reason, Time until) {
    stage_ = Stage::refused;
    rank_ = -1;
    until_ = until;
    say({.subject = Subject::refused, .size = team_size_, .reason = reason});
}

void Guest::admit(int rank, const HostReply& notice) {
    stage_ = Stage::admitted;
    rank_ = rank;
    until_ = Time::max();
    say(notice);
}

void Guest::start(const Hoard& hoard, Time until) {
    stage_ = Stage::starting;
    until_ = until;
    hand_over(hoard);
}

void Guest::hand_over(const Hoard& hoard) {
    blocked_ = false;
    if (stage_ != Stage::starting || under_way_) return;
    const auto parts = parts_of(hoard, rank_);
    if (part_ == parts.size()) {
        stage_ = Stage::seated;
        until_ = Time::max();
        return;
    }
    const auto& part = parts[part_];
    const HostReply notice{.subject = part.subject,
                           .rank = rank_,
                           .size = hoard.control.size(),
                           .first = static_cast<std::uint32_t>(part.first)};
    if (process::send_with_descriptors(connection_.get(), std::as_bytes(std::span(&notice, 1)), part.descriptors,
                                       MSG_DONTWAIT) > 0) {
        under_way_ = true;
        return;
    }
    // Too many descriptors of this user are under way, or the system is short of memory: both pass. The end of the
    // guest is noticed elsewhere.
    blocked_ = errno == EAGAIN || errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM;
}

void Guest::forget() noexcept {
    stage_ = Stage::gone;
    connection_.reset();
}

}  // namespace penstock::team
