#include "apps/synthetic/synthetic.hpp"

#include <array>
#include <utility>
#include <vector>

namespace penstock::apps::synthetic {
namespace {

using Job = void (*)(ConstWords, ConstWords, Words, std::uint32_t);
using TwoBlocks = std::array<std::vector<std::uint32_t>, 2>;

TwoBlocks two_blocks(const Work& work) {
    return {std::vector<std::uint32_t>(work.words), std::vector<std::uint32_t>(work.words)};
}

// Block number b of many.
template <class T>
std::span<T> block(std::span<T> blocks, const Work& work, std::size_t b) {
    return blocks.subspan(b * work.words, work.words);
}

// What a job reads of a block beside the table.
ConstWords rest_of(ConstWords words, const Work& work) { return words.subspan(work.table.size()); }

// The jobs of one block. What lies between two of them goes through the two blocks in turn.
template <Job one_job>
void whole_block(const Work& work, ConstWords words, Words result, TwoBlocks& between) {
    for (std::size_t j = 0; j < work.jobs; ++j) {
        const Words to = j + 1 == work.jobs ? result : Words(between[j % 2]);
        one_job(work.table, rest_of(words, work), to, work.cycles);
        words = to;
    }
}

template <Job one_job>
void all_blocks(const Work& work, ConstWords blocks, Words results) {
    TwoBlocks between = two_blocks(work);
    for (std::size_t b = 0; b < blocks.size() / work.words; ++b)
        whole_block<one_job>(work, block(blocks, work, b), block(results, work, b), between);
}

template <class Table>
void job_by_job(const Work& work, const Table& table, ConstWords blocks, Words results, Words between,
                Machine& machine) {
    ConstWords from = blocks;
    for (std::size_t j = 0; j < work.jobs; ++j) {
        // The last job writes the results; so those before it take turns backwards from there.
        const Words to = (work.jobs - j) % 2 == 1 ? results : between;
        for (std::size_t b = 0; b < blocks.size() / work.words; ++b) {
            machine.call<job>(in(table), in(rest_of(block(from, work, b), work)), out(block(to, work, b)), work.cycles);
        }
        machine.barrier();
        from = to;
    }
}

template <class Table>
JobChain chain_with(const Work& work, const Table& table) {
    JobChain chain("of " + std::to_string(work.jobs) + " jobs");
    auto [words, result] = chain.parameters();
    const std::size_t shared = work.table.size();
    auto from = words.subspan(shared, work.words - shared);
    const auto add = [&](auto what, auto to) { chain.add<job>(in(table), in(what), out(to), work.cycles); };
    if (work.jobs == 1) {
        add(from, result.first(work.words));
        return chain;
    }
    auto between = chain.local<std::uint32_t>(work.words);
    add(from, between);
    for (std::size_t j = 1; j + 1 < work.jobs; ++j) {
        auto to = chain.local<std::uint32_t>(work.words);
        add(between.subspan(shared, work.words - shared), to);
        between = to;
    }
    add(between.subspan(shared, work.words - shared), result.first(work.words));
    return chain;
}

}  // namespace

void serial(const Work& work, ConstWords blocks, Words results) { all_blocks<job>(work, blocks, results); }

void in_closed_form(const Work& work, ConstWords blocks, Words results) {
    all_blocks<job_in_closed_form>(work, blocks, results);
}

double hand(const Work& work, ConstWords blocks, Words results, Team& team) {
    std::vector<TwoBlocks> between;
    for (int rank = 0; rank < team.size(); ++rank) between.push_back(two_blocks(work));
    return team.run([&](int rank) {
        const Range share = team.share(rank, blocks.size() / work.words);
        for (std::size_t b = share.begin; b < share.end; ++b) {
            whole_block<job>(work, block(blocks, work, b), block(results, work, b),
                             between[static_cast<std::size_t>(rank)]);
        }
    });
}

void tagged(const Work& work, ConstWords blocks, Words results, Words between, Machine& machine) {
    job_by_job(work, work.table, blocks, results, between, machine);
}

void resident(const Work& work, const Resident<std::uint32_t>& table, ConstWords blocks, Words results, Words between,
              Machine& machine) {
    job_by_job(work, table, blocks, results, between, machine);
}

JobChain chain_of(const Work& work) { return chain_with(work, work.table); }

JobChain chain_of(const Work& work, const Resident<std::uint32_t>& table) { return chain_with(work, table); }

void chains(const JobChain& chain, const Work& work, ConstWords blocks, Words results, Machine& machine) {
    for (std::size_t b = 0; b < blocks.size() / work.words; ++b)
        machine.call(chain, in(block(blocks, work, b)), out(block(results, work, b)));
    machine.barrier();
}

}  // namespace penstock::apps::synthetic
