// A chain's image as worker processes see it: a copy in the shared heap of their machine.
#include <algorithm>
#include <cstring>
#include <new>

#include "penstock/detail/task/carrier.hpp"
#include "penstock/detail/task/chain_image.hpp"
#include "penstock/detail/task/pack.hpp"

namespace penstock::chain {
namespace {

constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + SharedHeap::alignment - 1) / SharedHeap::alignment * SharedHeap::alignment;
}

}  // namespace

Image::~Image() {
    for (const auto& copy : copies_) copy.heap->release(copy.program);
}

const Program& Image::share(isolated::Carrier& carrier) {
    const std::lock_guard lock(mutex_);
    const auto heap = carrier.heap();
    const auto made = std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.heap == heap; });
    if (made != copies_.end()) return *made->program;
    for (const auto& step : steps_) {
        const auto its = carrier.for_step(step.entry);
        if (step.check_carried == nullptr) its.refuse_what_stays(0);
        step.check_carried(step.packed, its);
    }
    copies_.reserve(copies_.size() + 1);
    std::vector<resident::SharedVersion*> versions;
    for (const auto& place : residents_) versions.push_back(&place.version->share(heap));
    const auto steps_at = rounded(sizeof(Program));
    const auto patches_at = steps_at + rounded(steps_.size() * sizeof(Step));
    const auto name_at = patches_at + rounded(patches_.size() * sizeof(Patch));
    std::byte* const block = heap->allocate(name_at + name_.size() + 1);
    auto* const program = new (block) Program(program_);
    auto* const steps = reinterpret_cast<Step*>(block + steps_at);
    std::uninitialized_copy(steps_.begin(), steps_.end(), steps);
    for (std::size_t i = 0; i < residents_.size(); ++i)
        packing::Codec<resident::Argument<Access::in, std::byte>>::store(
            reinterpret_cast<std::byte*>(&steps[residents_[i].step].packed) + residents_[i].to,
            {nullptr, false, versions[i]});
    auto* const patches = reinterpret_cast<Patch*>(block + patches_at);
    std::uninitialized_copy(patches_.begin(), patches_.end(), patches);
    auto* const name = reinterpret_cast<char*>(block + name_at);
    std::copy(name_.begin(), name_.end(), name);
    program->steps = steps;
    program->patches = patches;
    program->name = name;
    program->image = nullptr;
    copies_.push_back({heap, program});
    return *program;
}

}  // namespace penstock::chain
