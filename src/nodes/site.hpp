// One process of a cluster: its endpoint, and which of its runs a frame is for.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "nodes/messages.hpp"
#include "store/far/far_team.hpp"

namespace penstock::nodes {

class Site : public wire::Events {
  public:
    explicit Site(const wire::EndpointOptions& options) : endpoint(options, *this) {}

    wire::Endpoint endpoint;

    /// From here on the run gets its frames.
    void enter(streaming::FarRun& run);
    /// It gets no more, and the wires have nothing of it.
    void leave(streaming::FarRun& run);
    /// The same for a team.
    void enter(const std::shared_ptr<team::FarTeam>& team);
    void leave(team::FarTeam& team);

    // ---- whoever has the endpoint's turn ----
    std::map<std::uint32_t, streaming::FarRun*> runs;
    std::map<std::uint32_t, std::shared_ptr<team::FarTeam>> teams;  ///< whose ranks run here

  protected:
    /// A frame that is no run's and no team's.
    virtual void control(wire::Wire& from, Control what, const About& about, std::span<const std::byte> payload) = 0;

  private:
    bool quick(const wire::FrameHead& head) const noexcept final;
    std::byte* room(wire::Wire& wire, const wire::FrameHead& head) final;
    void arrived(wire::Wire& wire, const wire::FrameHead& head, std::byte* payload) final;
    void abandoned(wire::Wire& wire, const wire::FrameHead& head, std::byte* payload) noexcept final;
    streaming::FarRun* run_of(const wire::FrameHead& head) const;
    std::shared_ptr<team::FarTeam> team_of(const wire::FrameHead& head) const;
    static bool of_run(const wire::FrameHead& head) noexcept;
    static bool of_team(const wire::FrameHead& head) noexcept;

    /// The frame that a wire reads: where its payload goes.
    struct Reading {
        streaming::FarRun* run = nullptr;  ///< null: a team's, or here
        std::shared_ptr<team::FarTeam> team{};
        std::vector<std::byte> bytes{};
        std::unique_ptr<std::byte[]> unread{};  ///< of a run that is not there
        streaming::Block* orphan = nullptr;     ///< of a run that has left meanwhile
    };
    std::map<wire::Site, Reading> reading_;
};

}  // namespace penstock::nodes
