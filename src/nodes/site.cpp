#include "nodes/site.hpp"

namespace penstock::nodes {
namespace {

constexpr std::uint64_t most_of_control = std::uint64_t{256} << 20;

}  // namespace

void Site::enter(streaming::FarRun& run) {
    endpoint.call([&] { runs[run.number()] = &run; });
}

void Site::leave(streaming::FarRun& run) {
    endpoint.call([&] {
        runs.erase(run.number());
        for (auto& [site, reading] : reading_)
            if (reading.run == &run) {
                reading.run = nullptr;
                run.give_incoming(site, reading.orphan, reading.bytes);
            }
        run.leave();
    });
}

void Site::enter(const std::shared_ptr<team::FarTeam>& team) {
    endpoint.call([&] { teams[team->plan.number] = team; });
}

void Site::leave(team::FarTeam& team) {
    endpoint.call([&] {
        team.close();
        teams.erase(team.plan.number);
    });
}

static_assert(streaming::number(streaming::FarKind::close_all) < team::first_far_frame);
static_assert(static_cast<std::uint16_t>(team::FarFrame::last) <=
              streaming::number(streaming::FarKind::first_of_cluster));

bool Site::of_run(const wire::FrameHead& head) noexcept { return head.kind < team::first_far_frame; }
bool Site::of_team(const wire::FrameHead& head) noexcept {
    return !of_run(head) && head.kind < streaming::number(streaming::FarKind::first_of_cluster);
}

/// Null: it is over here.
std::shared_ptr<team::FarTeam> Site::team_of(const wire::FrameHead& head) const {
    if (!of_team(head)) return nullptr;
    const auto found = teams.find(head.as<team::TeamHead>().team);
    return found == teams.end() ? nullptr : found->second;
}

/// Null: it is over here, or has not begun.
streaming::FarRun* Site::run_of(const wire::FrameHead& head) const {
    if (!of_run(head)) return nullptr;
    const auto found = runs.find(head.as<streaming::RunHead>().run);
    return found == runs.end() ? nullptr : found->second;
}

/// Buffers and credits, and all of a team; not what ends something, nor what the cluster says.
bool Site::quick(const wire::FrameHead& head) const noexcept {
    return (streaming::FarRun::quick(head) && run_of(head) != nullptr) || team_of(head) != nullptr;
}

std::byte* Site::room(wire::Wire& wire, const wire::FrameHead& head) {
    auto& reading = reading_[wire.site];
    reading = {};  // of one whose memory was refused
    if ((reading.run = run_of(head)) != nullptr) return reading.run->room(wire, head);
    if ((reading.team = team_of(head)) != nullptr) return reading.team->room(wire, head);
    if (!of_run(head) && head.payload_bytes > most_of_control) throw Error("a frame is too long");
    if (of_run(head)) {  // for nobody: its memory is touched only as far as it comes
        reading.unread = std::make_unique_for_overwrite<std::byte[]>(head.payload_bytes);
        return reading.unread.get();
    }
    reading.bytes.resize(head.payload_bytes);
    return reading.bytes.data();
}

void Site::arrived(wire::Wire& wire, const wire::FrameHead& head, std::byte*) {
    auto reading = std::exchange(reading_[wire.site], {});
    if (reading.orphan != nullptr) return streaming::give_back(reading.orphan);
    if (reading.run == nullptr && head.payload_bytes == 0) reading.run = run_of(head);
    if (reading.run != nullptr) return reading.run->arrived(wire, head);
    if (reading.team == nullptr && head.payload_bytes == 0) reading.team = team_of(head);
    if (reading.team != nullptr) return reading.team->arrived(wire, head);
    if (of_run(head) || of_team(head)) return;  // of one that is over
    if (head.kind >= static_cast<std::uint16_t>(Control::last)) throw Error("a frame is of no kind that there is");
    control(wire, static_cast<Control>(head.kind), head.as<About>(), reading.bytes);
}

void Site::abandoned(wire::Wire& wire, const wire::FrameHead&, std::byte*) noexcept {
    const auto reading = std::exchange(reading_[wire.site], {});
    if (reading.orphan != nullptr) streaming::give_back(reading.orphan);
    if (reading.run != nullptr) reading.run->abandoned(wire);
    if (reading.team != nullptr) reading.team->abandoned(wire);
}

}  // namespace penstock::nodes
