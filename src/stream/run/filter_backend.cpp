#include "stream/run/filter_backend.hpp"

#include "stream/description/model.hpp"
#include "stream/isolated/isolated_run.hpp"

namespace penstock::streaming {
namespace {

constinit FilterBackend::Entry workers{&IsolatedRun::make};
/// The newest first. No lock, which a fork beside another thread could leave locked in the child.
constinit std::atomic<FilterBackend::Entry*> kinds{&workers};

}  // namespace

bool call(AnyFilter& filter, FilterCall what, const Event* event) {
    if (what == FilterCall::fire) return filter.fire();
    if (what == FilterCall::start) filter.start();
    else if (what == FilterCall::event) filter.handle(*event);
    else filter.finish();
    return true;
}

void FilterBackend::enter(Entry& kind) noexcept {
    kind.next = kinds.load(std::memory_order_relaxed);
    while (!kinds.compare_exchange_weak(kind.next, &kind, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

std::unique_ptr<FilterBackend> FilterBackend::make(RunCore& core, Machine& machine) {
    for (const Entry* kind = kinds.load(std::memory_order_acquire); kind != nullptr; kind = kind->next)
        if (auto made = kind->make(core, machine)) return made;
    return std::make_unique<FilterBackend>(machine);
}

std::vector<std::string> FilterBackend::problems(const Model& model, const Model*) const {
    std::vector<std::string> problems;
    for (const auto& filter : model.filters)
        if (filter.options.nodes.empty()) refuse_isolation(filter, problems);
    return problems;
}

void FilterBackend::refuse_isolation(const FilterModel& filter, std::vector<std::string>& problems) {
    const auto refuse = [&](const std::string& what) { problems.push_back("filter '" + filter.name + "' " + what); };
    if (filter.options.isolation == Isolation::process)
        refuse("is to live in a worker process, and the machine has none (Isolation::process)");
    if (filter.options.time_limit.count() != 0)
        refuse("has a time limit, which only worker processes keep (Isolation::process)");
}

}  // namespace penstock::streaming
