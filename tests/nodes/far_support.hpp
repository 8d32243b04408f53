// A graph that runs on two sites, both in this process: two machines, two endpoints, and the same description twice.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "stream/far/far_run.hpp"
#include "stream/run/run_state.hpp"
#include "wire/pair.hpp"

namespace penstock::streaming {

class TwoSites : wire::Events {
  public:
    /// `describe` is called for each site. `elsewhere`: names of filters that site 1 runs.
    TwoSites(const std::function<void(Graph&)>& describe, const std::vector<std::string>& elsewhere,
             const MachineOptions& options = {.targets = 1}) {
        const auto secret = wire::Secret::random();
        for (wire::Site site = 0; site < 2; ++site) {
            auto& here = *(sites_[site] = std::make_unique<Site>());
            here.machine = std::make_unique<Machine>(options);
            describe(here.graph);
            Placement placement;
            for (const auto& filter : here.graph.model().filters)
                if (std::ranges::find(elsewhere, filter.name) != elsewhere.end()) placement.sites[filter.id] = {1};
            EXPECT_EQ(FarRun::problems(here.graph.model(), placement), std::vector<std::string>{});
            here.state = RunState::make(*here.machine, here.graph.model(), {},
                                        [&](RunState& state) { state.spread_over(placement, site, 1); });
            here.endpoint = std::make_unique<wire::Endpoint>(
                wire::EndpointOptions{.secret = secret, .run = 9, .site = site, .patience = std::chrono::seconds(10)},
                static_cast<wire::Events&>(*this));
        }
        const auto at = sites_[0]->endpoint->listen(
            {.local = true, .host = "far" + std::to_string(getpid()) + "." + std::to_string(++made)});
        for (auto& site : sites_) site->endpoint->begin();
        sites_[0]->state->far->set_wire(1, sites_[0]->wire = sites_[0]->endpoint->expect(1, 1));
        sites_[1]->state->far->set_wire(0, sites_[1]->wire = sites_[1]->endpoint->dial(0, 1, at));
    }
    ~TwoSites() {
        for (auto& site : sites_) site->endpoint->close();
    }

    void begin() {
        for (auto& site : sites_) {
            site->state->begin();
            site->endpoint->call([&] { site->state->far->open(); });
        }
        other_ = std::async(std::launch::async, [this] { end(1); });
    }
    /// Waits for the end of both.
    void finish() {
        end(0);
        other_.get();
    }
    void end(wire::Site site) {
        sites_[site]->state->help_to_the_end(true);
        sites_[site]->state->core.throw_failure();
    }
    template <class F>
    F& filter(wire::Site site, const std::string& name) {
        return *static_cast<F*>(sites_[site]->graph.model().named(name)->first->object());
    }
    RunState& state(wire::Site site) { return *sites_[site]->state; }
    /// Keeps the site's endpoint busy so long.
    void call(wire::Site site, std::function<void()> work) { sites_[site]->endpoint->call(std::move(work)); }
    void cut() { sites_[0]->endpoint->cut(1); }

  private:
    struct Site {
        std::unique_ptr<Machine> machine;
        Graph graph;
        std::unique_ptr<RunState> state;
        std::unique_ptr<wire::Endpoint> endpoint;
        std::shared_ptr<wire::Wire> wire;
    };
    RunState& at(wire::Wire& wire) { return *sites_[1 - wire.site]->state; }
    std::byte* room(wire::Wire& wire, const wire::FrameHead& head) override { return at(wire).far->room(wire, head); }
    void arrived(wire::Wire& wire, const wire::FrameHead& head, std::byte*) override {
        at(wire).far->arrived(wire, head);
    }
    void abandoned(wire::Wire& wire, const wire::FrameHead&, std::byte*) noexcept override {
        at(wire).far->abandoned(wire);
    }
    void changed(wire::Wire&) noexcept override {}

    static inline int made = 0;
    std::array<std::unique_ptr<Site>, 2> sites_;
    std::future<void> other_;
};

}  // namespace penstock::streaming
