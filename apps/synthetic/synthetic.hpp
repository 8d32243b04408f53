// The synthetic job of Cell-Space: blocks of 64 KiB, each of which goes through several jobs of a fixed number of
// cycles a byte. A fifth of what each job reads is the same for all of them. How much of the time is left for the jobs
// themselves says what chains (the words between two jobs of a block stay in the local store) and resident data (the
// common part is sent to each target once) are worth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "apps/report.hpp"
#include "apps/synthetic/job.hpp"
#include "apps/team.hpp"
#include "penstock/chain.hpp"
#include "penstock/resident.hpp"

namespace penstock {
class Components;
}

namespace penstock::apps::synthetic {

/// What is done with each block. A block's first job reads its words, each other job what the one before it wrote; the
/// words of the table stand in for the first ones of each job's input.
struct Work {
    std::size_t words = 0;     ///< of a block
    std::size_t jobs = 0;      ///< that a block goes through, at least one
    std::uint32_t cycles = 0;  ///< a byte
    ConstWords table;          ///< at most `words`
};

// Below, `blocks` and `results` are as many blocks as fit, one after the other, and `between` is memory of the same
// size.

/// One thread, block by block.
void serial(const Work& work, ConstWords blocks, Words results);

/// The same with the closed form of each job.
void in_closed_form(const Work& work, ConstWords blocks, Words results);

/// Each thread of the team takes equally many blocks. Returns seconds.
double hand(const Work& work, ConstWords blocks, Words results, Team& team);

/// A call for each job: the first ones of all blocks, a barrier, the second ones, and so on.
void tagged(const Work& work, ConstWords blocks, Words results, Words between, Machine& machine);

/// The same with the table's words where each target keeps them.
void resident(const Work& work, const Resident<std::uint32_t>& table, ConstWords blocks, Words results, Words between,
              Machine& machine);

/// All jobs of a block: what it reads, and where the last one writes.
using JobChain = Chain<ConstWords, Words>;

/// The chain, with the table in the caller's memory, or where each target keeps it.
JobChain chain_of(const Work& work);
JobChain chain_of(const Work& work, const Resident<std::uint32_t>& table);

/// The chain for each block, then a barrier.
void chains(const JobChain& chain, const Work& work, ConstWords blocks, Words results, Machine& machine);

/// A graph of filters, one job behind the other, with so many copies of each; it takes the blocks `passes` times.
void streamed(const Work& work, ConstWords blocks, Words results, Machine& machine, int copies, std::size_t passes = 1);

/// The filters by name, for that graph written down (synthetic.xml): with files at its ends, or with the program's
/// memory.
void add_components(Components& components);
void add_components(Components& components, const Work& work, ConstWords blocks, Words results);

/// The application for the gallery. Settings: rows (blocks, 256), columns (words of 4 bytes of a block, 16,384),
/// block_rows (jobs that a block goes through, 16), block_columns (cycles a byte, 1), seed. Inputs "blocks" (rows x
/// columns, uint32) and "table" (up to columns words, uint32; by default a fifth of them). Arrays kept: "blocks",
/// "table", "result" (as blocks).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::synthetic
