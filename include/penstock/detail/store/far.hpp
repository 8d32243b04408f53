// store layer: what a rank has of ranks on other nodes (spmd over a Cluster), as the headers above need it.
// src/store/far has the rest.
//
// Memory of a rank on another node is not mapped here. What is stored there is gathered, and goes over the wire between
// the two processes before anything that publishes it. Frames of one wire are applied in the order in which they were
// sent, by one thread at a time, and each word by a release store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "penstock/detail/machine/memory.hpp"

namespace penstock::team {

/// What may be done with a word of another node's, so that it says what it was before.
enum class WordChange : std::uint32_t { load, exchange, add, compare_exchange };

/// A word of another node's, before it was changed.
struct Changed {
    std::uint64_t before = 0;
    bool written = true;  ///< of a compare_exchange: was it as expected?
};

/// Memory of a rank on another node, as one rank has it. What is mapped is a shadow, zero at first, of which nothing is
/// sent by itself.
class FarMemory : public Mapping {
  public:
    virtual ~FarMemory() = default;

    /// Bytes for there, as soon as something is released (Far::release). Any thread of the rank.
    virtual void store(std::size_t offset, const void* from, std::size_t bytes) = 0;
    /// Releases, then gives the word there a value and wakes its owner.
    virtual void publish(std::size_t offset, std::uint64_t value) = 0;
    /// Releases, then changes the first word there. Costs a round trip. Throws RankDied when that node is lost.
    virtual Changed change(WordChange what, std::uint64_t value, std::uint64_t expected = 0) = 0;

    // ---- for structures that lie in such memory (barriers, mailboxes). They release by themselves ----

    static constexpr std::size_t no_word = ~std::size_t{0};
    /// Copies a part of the shadow to its owner at once, then a word of 4 or 8 bytes with release, and wakes him.
    virtual void copy(std::size_t offset, std::size_t bytes, std::size_t word = no_word,
                      std::size_t word_bytes = 8) = 0;
    std::size_t offset_of(const void* address) const noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(address) - data());
    }

  protected:
    using Mapping::Mapping;
};

/// What a rank has besides where its team is spread over several nodes.
class Far {
  public:
    /// Is that rank on another node?
    virtual bool elsewhere(int rank) const noexcept = 0;
    /// The node that it is on.
    virtual std::string node_of(int rank) const = 0;
    /// Before this rank publishes something to `to` (everybody: on its own node): what it has stored on other nodes is
    /// on its way to that of `to`, and has arrived at the others.
    virtual void release(int to = everybody) = 0;
    static constexpr int everybody = -1;
    /// Copies a part of this rank's own memory, 4 bytes, to the shadow that another rank has of it, and wakes him.
    virtual void copy_back(const std::byte* memory, std::size_t offset, int to) = 0;
    /// Takes in what waits at the wires. True: something has come.
    virtual bool look() noexcept = 0;
    /// This rank will not look for a while.
    virtual void look_away() noexcept = 0;

  protected:
    ~Far() = default;
};

}  // namespace penstock::team
