// A chain's description: what is kept of each step while it grows, and what is refused.

#include "penstock/detail/task/chain_image.hpp"

namespace penstock::chain {
namespace {

std::atomic<std::uint64_t> next_id{1};

std::string described(const std::string& name) { return name.empty() ? "a chain" : "chain " + name; }

}  // namespace

void check_part(std::size_t offset, std::size_t count, std::size_t size) {
    if (offset <= size && count <= size - offset) return;
    throw UsageError("a part of a chain's memory reaches from element " + std::to_string(offset) + " over " +
                     std::to_string(count) + " elements, but there are " + std::to_string(size) +
                     "; only local blocks of several dimensions can be flat()");
}

Description::Description(std::string name, std::size_t parameters)
    : id_(next_id.fetch_add(1, std::memory_order_relaxed)), name_(std::move(name)), requirements_(parameters) {}

Location Description::add_local(std::size_t count, std::size_t element) {
    if (count > UINT32_MAX)
        throw UsageError("a local block of " + std::to_string(count) +
                         " elements fits no local store; cut the work into smaller pieces");
    locals_.push_back({count * element, static_cast<std::size_t>(-1), 0, false});
    return {id_, true, static_cast<std::uint32_t>(locals_.size() - 1), 0};
}

void Description::use(const Location& place, Access access, std::string_view task, int argument) {
    if (place.chain != id_)
        throw UsageError(
            "argument " + std::to_string(argument) + " of " + std::string(task) +
            " is a parameter or a local block of another chain; take it from the chain that the step is added to");
    if (!place.local) {
        auto& requirement = requirements_[place.index];
        if (!requirement.used) requirement.read_first = access != Access::out;
        requirement.used = true;
        return;
    }
    auto& local = locals_[place.index];
    if (access != Access::out && !local.written)
        throw ArgumentError(std::string(task), argument,
                            "reads a local block that no step before it has written; local memory begins undefined, so "
                            "write it with out() first");
    local.written = true;
    local.first = std::min(local.first, steps_.size());
    local.last = steps_.size();
}

void Description::require(const Location& place, std::size_t least, std::size_t most) {
    auto& requirement = requirements_[place.index];
    requirement.least = std::max(requirement.least, least);
    requirement.most = std::min(requirement.most, most);
}

void Description::add_step(std::uint32_t entry, const Packed& packed, bool extended,
                           void (*check_carried)(const Packed&, const isolated::Carrier&)) {
    steps_.push_back({entry, static_cast<std::uint32_t>(step_patches_),
                      static_cast<std::uint32_t>(patches_.size() - step_patches_), extended, check_carried, packed});
    step_patches_ = patches_.size();
    step_hazards_ = hazards_.size();
}

void Description::give_up_step() noexcept {
    patches_.resize(step_patches_);
    std::erase_if(residents_, [this](const ResidentPlace& place) { return place.step == steps_.size(); });
    hazards_.erase(hazards_.begin() + static_cast<std::ptrdiff_t>(step_hazards_), hazards_.end());
}

void Description::refuse_size(std::size_t number, std::size_t size) const {
    const auto& wanted = requirements_[number];
    refuse(number, "has " + std::to_string(size) + " elements, but the steps need " +
                       (wanted.least == wanted.most ? std::to_string(wanted.least)
                        : size < wanted.least       ? "at least " + std::to_string(wanted.least)
                                                    : "at most " + std::to_string(wanted.most)));
}

void Description::refuse(std::size_t number, const std::string& what) const {
    throw ArgumentError(described(name_), static_cast<int>(number) + 1, what);
}

void Description::refuse_overlap(const Hazard& hazard) const {
    refuse(hazard.parameter, "overlaps memory that is argument of the same step (argument " +
                                 std::to_string(hazard.argument) + " of " + std::string(entry_of(hazard.entry).name) +
                                 " stands for parameter " + std::to_string(hazard.parameter + 1) +
                                 "), and one of the two is written");
}

}  // namespace penstock::chain
