// Radix sort over ranks: in each round every rank counts the digits of its keys, learns the counts of all others, and
// sends each key to its place, wherever that lies. All-to-all in the smallest pieces there are.
//
// Key by key is the quicker way wherever the keys fit the caches: the line of a digit stays in the writer's cache until
// it is full, so the processor gathers by itself, and gathering in the program besides costs about 0.6 ns a key
// (./bench radix has both).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "apps/ranks.hpp"
#include "apps/report.hpp"
#include "apps/shared_array.hpp"
#include "kernels/radix.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::radix {

using kernels::radix::Key;

/// Where the keys lie and how they get to their places.
enum class Variant : std::uint8_t {
    shared,  ///< in global arrays, key by key; everybody loads the counts of all
    lines,   ///< in global arrays too, but keys are gathered into whole lines first
    /// In regions of the rank that has the place, key by key; the counts are stored there too, nobody loads from afar
    push,
    push_lines,  ///< the same, but keys are gathered into whole lines first, which may then go past the caches
};

inline constexpr Variant variants[] = {Variant::shared, Variant::lines, Variant::push, Variant::push_lines};

/// The word for it in reports.
std::string_view name(Variant variant) noexcept;

/// Keys to sort; at least one and fewer than 2^32.
struct Problem {
    explicit Problem(std::size_t n) : keys{n}, sorted{n} {}

    SharedArray<Key> keys;
    SharedArray<Key> sorted;
};

/// Random keys over the whole range.
void generate(std::span<Key> keys, std::uint32_t seed);

/// One thread. `sorted` and `keys` have the same size and do not overlap.
void serial(std::span<const Key> keys, std::span<Key> sorted);
/// The same with memory for what lies between, as large as `sorted`: nothing is allocated, so this is what is timed.
void serial(std::span<const Key> keys, std::span<Key> sorted, std::span<Key> scratch);

/// Sorts problem.keys into problem.sorted by ranks. Returns seconds. Throws as spmd().
double parallel(const Problem& problem, Variant variant, const RankOptions& options);

/// One rank's share, for ranks that share no memory (nodes of a cluster): each has the whole problem, made from the
/// same numbers, and leaves its part of the result there. Only by variants without a global array. Throws UsageError
/// for others; RankLost.
void of_rank(Rank me, const Problem& problem, Variant variant, int passes = 2);

/// The application for the gallery. Settings: columns (keys, 2^20), seed. Input "keys" (n, uint32). Arrays kept:
/// "keys", "result". Ranks are threads, as many as the machine has workers.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::radix
