#include "task/backend/backend.hpp"

#include <array>
#include <string>

#include "penstock/error.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/isolated/worker_host.hpp"

namespace penstock {
namespace {

template <class Made>
std::unique_ptr<Backend> make(Core& core, const std::vector<int>& processors) {
    return std::make_unique<Made>(core, processors);
}

/// Threads of this process. Each target has its own, and what runs there needs nobody between.
class Threads final : public Backend {
  public:
    Threads(Core& core, const std::vector<int>&) : Backend(core) {}

    void start() override {
        try {
            for (int t = 0; t < core_.target_count(); ++t) core_.target(t).start();
        } catch (...) {
            stop();  // those that run look at all initiators: they end before any of these goes
            throw;
        }
    }
    void stop() noexcept override {
        for (int t = 0; t < core_.target_count(); ++t) core_.target(t).stop();
    }
    void require(Ability ability) const override {
        if (ability == Ability::time_limits)
            throw UsageError(
                "CallOptions::time_limit needs process targets (MachineOptions::isolation): a thread cannot be ended");
    }
    const trace::TargetCounters& counters(int target) noexcept override {
        return core_.target(target).runner().counters();
    }
};

constexpr std::size_t most_places = 16;

/// By the value of MachineOptions::isolation, of which the last are for those that are added.
constinit std::array<Backend::Maker, most_places> makers{
    Backend::Maker{&make<Threads>},
    Backend::Maker{&make<isolated::WorkerHost>, 1, true},
};

Backend::Maker& place_of(Isolation isolation) {
    const auto place = static_cast<std::size_t>(isolation);
    if (place >= makers.size())
        throw UsageError("MachineOptions::isolation is " + std::to_string(place) + ", which stands for nothing");
    return makers[place];
}

}  // namespace

const Backend::Maker& Backend::maker(Isolation isolation) {
    const Maker& maker = place_of(isolation);
    if (maker.make == nullptr)
        throw UsageError("MachineOptions::isolation is " + std::to_string(static_cast<int>(isolation)) +
                         ", for which no backend has been added");
    return maker;
}

void Backend::add(Isolation isolation, const Maker& maker) { place_of(isolation) = maker; }

Waiter Backend::waiter(int) { return Waiter(core_.wait_policy()); }

}  // namespace penstock
