// Pictures in pictures that come and go under load: an application of the general classes, in which each frame of the
// film in the background says which number it has, so that one that is lost, repeated or out of its turn is seen.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {
class Machine;
}

namespace penstock::apps::jpip {

struct Changed {
    std::uint64_t frames = 0;   ///< that came to the screen
    std::uint64_t wrong = 0;    ///< lost, repeated or out of their turn
    std::uint64_t changes = 0;  ///< pictures that were laid over the film, or taken away
    double seconds = 0;
};

/// A motion detector for each film shows it when something moves in it and hides it when nothing does, until there have
/// been so many changes.
Changed change_by_motion(Machine& machine, std::size_t films, std::uint64_t changes);

/// A picture comes or goes at every `every`-th frame, `changes` times, by events of a component.
Changed change_by_count(Machine& machine, std::size_t films, std::uint64_t changes, std::uint64_t every);
/// The same by a control: the whole graph ends at each change, and another one goes on.
Changed change_by_stopping(Machine& machine, std::size_t films, std::uint64_t changes, std::uint64_t every);

}  // namespace penstock::apps::jpip
