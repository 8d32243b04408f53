// What is measured, as data: stages of contestants, each a piece of work that all ranks of a team do together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/options.hpp"
#include "penstock/message.hpp"
#include "penstock/rank.hpp"

namespace messages {

enum class Work : std::uint32_t {
    stop,
    two_lines,    ///< floor: two lines bounced, no message
    bare_copy,    ///< floor: rank 1 copies from memory of rank 0, told by a flag and answering by one
    round_trips,  ///< `width` pairs at once: rank r and rank r + width
    fan,          ///< rank 0 sends one after another to ranks 1 to `width`; the last ones are answered
    gather,       ///< ranks 1 to `width` send to rank 0, which takes one from each in turn
    rival_trips,  ///< the same by Open MPI
    rival_fan,
};

/// Where the bytes lie that are sent: anywhere, or where Messenger::allocate puts them.
enum class Memory : std::uint32_t { ordinary, allotted };

/// One batch. Rank 0 sends it to the others, then all do their part.
struct Order {
    Work work = Work::stop;
    penstock::Protocol protocol = penstock::Protocol::automatic;
    Memory memory = Memory::ordinary;
    std::uint32_t times = 1;  ///< fitted to each contestant before it is measured
    std::uint32_t width = 1;
    std::uint64_t bytes = 0;
};

struct Entry {
    std::string name;
    Order order;
};

/// Contestants that are measured interleaved; the first is what the others are compared with.
struct Stage {
    enum Kind { latency, bandwidth, several };
    std::string title;
    Kind kind = latency;
    std::vector<Entry> entries;
    bench::Plan plan;
    std::size_t bytes = 0;
    bool judged = false;  ///< a goal stands on it
};

/// All that one team does.
struct Team {
    penstock::Substrate substrate = penstock::Substrate::threads;
    int ranks = 2;
    std::vector<Stage> stages;
};

/// Everything, in the order in which it is done. `rivals`: how many ranks Open MPI has; 0 without it.
std::vector<Team> teams(const bench::Options& options, int processors, int rivals);

inline constexpr std::size_t latency_bytes = 8;
inline constexpr std::size_t bandwidth_bytes = std::size_t{1} << 20;
inline constexpr std::size_t largest_bytes = std::size_t{16} << 20;

}  // namespace messages
