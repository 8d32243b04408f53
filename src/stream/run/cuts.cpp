#include "stream/run/cuts.hpp"

#include <algorithm>

#include "penstock/machine.hpp"

namespace penstock::streaming {
namespace {

constexpr std::size_t buffers_a_store = 4;   // what is read, two buffers of it, and what is written
constexpr std::size_t buffers_a_thread = 8;  // the last ones are what a thread may wait for

}  // namespace

Cuts::Cuts(Machine& machine)
    : threads(static_cast<std::size_t>(machine.targets()) + 1),
      most_bytes(machine.initiator().local_store_bytes() / buffers_a_store) {}

std::size_t Cuts::units(std::size_t total, std::size_t unit_bytes) const noexcept {
    const auto fit = most_bytes / std::max<std::size_t>(unit_bytes, 1);
    const auto share = threads == 1 ? total : total / (threads * buffers_a_thread);
    return std::max<std::size_t>(std::min(fit, share), 1);
}

}  // namespace penstock::streaming
