// Who of a team has died, seen by somebody who is not the parent: through a descriptor of each process (pidfd).
//
// Every member watches all others, so that a death is noticed whoever else is gone. Several may mark one seat: they
// write the same facts, and the first change of the state stands. Happens-before: exit_code.store, signal.store ->
// state (release) -> state (acquire) by whoever asks how the rank ended.
#pragma once

#include <thread>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "store/team/control_block.hpp"

namespace penstock::team {

/// The process behind one rank.
struct Watched {
    int rank = -1;
    int process = -1;  ///< a pidfd
};

/// Writes down how these processes ended, as far as the kernel tells: it tells the parent at once, others when the
/// parent has reaped it (from Linux 6.15 on), and older kernels nobody else. False when nothing is known of one that
/// may be known later.
bool learn_ends(const ControlBlock& control, std::span<const Watched> ended);

/// Marks those of these ended processes dead that had not come to the end of their function. Waits up to 20 ms for the
/// kernel to tell how they ended.
void mark_dead(const ControlBlock& control, std::span<const Watched> ended);

/// A thread that marks the seats of members that die.
class DeathWatch {
  public:
    /// `processes`: a pidfd for each rank, of which `own` is not watched. `control` must outlive this. Throws
    /// SystemError.
    DeathWatch(const ControlBlock& control, int own, std::vector<OwnedDescriptor> processes);
    ~DeathWatch();

  private:
    void watch();

    const ControlBlock& control_;
    std::vector<OwnedDescriptor> processes_;  ///< of those that are watched; none: this one, and those that have ended
    OwnedDescriptor stop_;                    ///< an eventfd
    std::thread thread_;                      ///< last: it uses the others
};

}  // namespace penstock::team
