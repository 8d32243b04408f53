// task layer: who touched which bytes last, so that the order of tasks follows from their tags.
//
// For each block of memory that tasks were given it keeps the last task that writes it and those that read it since. A
// task that reads a block comes after its last writer; one that writes it comes after all that read it since, or after
// the last writer when nobody did. A block that is given again in exactly the same way is found by its address and
// shape. When a block is seen for the first time, the blocks with which it shares bytes are looked up, by their
// bounding boxes first and then exactly (footprint.hpp), and from then on each task looks at these neighbours too. A
// block that known smaller blocks cover without a gap or an overlap is not kept at all: who touches it touches these.
// The idea of deriving the order from tags is that of CellSs and its successors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "penstock/argument.hpp"
#include "penstock/detail/task/dependents.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/detail/task/footprint.hpp"
#include "penstock/recording.hpp"

namespace penstock {

/// A dependent task as its issuer remembers it: where it is kept, and its number there.
struct TaskReference {
    Ring* ring = nullptr;
    std::uint64_t number = 0;
};

/// The tasks that read a block since it was last written. The first few lie in the block's own lines: where they lay on
/// the heap, each task that writes touched a line more.
class ReaderList {
  public:
    static constexpr std::uint32_t near_readers = 8;

    std::uint32_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    void push(const TaskReference& reader) {
        if (count_ < near_readers) [[likely]]
            near_[count_] = reader;
        else more_.push_back(reader);
        ++count_;
    }
    void clear() noexcept {
        if (count_ > near_readers) more_.clear();
        count_ = 0;
    }
    template <class Visit>
    void each(Visit&& visit) const {
        const auto near = std::min(count_, near_readers);
        for (std::uint32_t i = 0; i < near; ++i) visit(near_[i]);
        for (std::uint32_t i = near; i < count_; ++i) visit(more_[i - near_readers]);
    }
    template <class Condition>
    void erase_if(Condition&& condition) {
        const ReaderList all = *this;
        clear();
        all.each([&](const TaskReference& reader) {
            if (!condition(reader)) push(reader);
        });
    }

  private:
    std::uint32_t count_ = 0;
    std::array<TaskReference, near_readers> near_{};
    std::vector<TaskReference> more_;
};

/// Used by one thread, the one that issues the tasks.
class History {
  public:
    explicit History(Dependents& dependents) : dependents_(dependents) { clear_table(first_table); }
    History(const History&) = delete;
    History& operator=(const History&) = delete;

    using Spot = Dependents::Spot;

    /// The task being issued does this with these bytes. Nothing to do for what is no tagged argument.
    template <Access access, class Shape, bool staged>
    void touch(Spot& spot, const Tagged<access, Shape, staged>& argument) {
        if constexpr (!tagging::is_pieces<Shape>) {
            if (argument.value.empty()) return;
            if (ArgumentBlock block; describe_block(block, access, argument.value)) return touch(spot, block);
        }
        touch_irregular(spot, access, footprint::of(argument.value));
    }
    template <class A>
    void touch(Spot&, const A&) noexcept {}
    /// The same of a block that is named beside the arguments.
    void touch(Spot& spot, const ArgumentBlock& block) {
        if (block.rows == 0 || block.row_bytes == 0) return;
        const bool whole = block.rows == 1 || block.pitch == static_cast<std::ptrdiff_t>(block.row_bytes);
        const auto base = reinterpret_cast<std::uintptr_t>(block.base);
        touch_block(spot, block.access,
                    whole ? Key{base, block.rows * block.row_bytes, 1, 0}
                          : Key{base, block.row_bytes, block.rows, block.pitch});
    }

    /// Between two calls: makes room where too much is remembered. True when a task has more readers to wait for than
    /// it may have: then join() must be called for each.
    bool crowded() const noexcept { return crowded_ != nullptr || (blocks_.size() > most_blocks_ && !recording()); }
    template <class Issue>
    void tidy(Issue&& issue) {
        if (crowded_ != nullptr) {
            // One task that comes after all the readers, and reads in their place.
            Block& block = *crowded_;
            TaskReference joined;
            issue([&](Spot& spot) {
                block.readers.each([&](const TaskReference& reader) { come_after(spot, reader); });
                joined = {spot.ring, spot.number};
            });
            block.readers.clear();
            block.readers.push(joined);
            crowded_ = nullptr;
        }
        // A recording needs the blocks of completed tasks too: their order is what it keeps.
        if (blocks_.size() > most_blocks_ && !recording()) forget_completed();
    }
    /// Keeps what is issued from here on, until stop_recording().
    void start_recording() { recorded_ = std::make_unique<Recorded>(); }
    std::vector<RecordedTask> stop_recording();
    bool recording() const noexcept { return recorded_ != nullptr; }
    /// Keeps the task that is being issued. `addresses`: where its packed arguments hold addresses. Throws UsageError
    /// when its arguments lie on the heap.
    void keep(const Spot& spot, std::vector<AddressPlace> addresses);

    /// How many blocks it knows.
    std::size_t size() const noexcept { return blocks_.size(); }

  private:
    static constexpr std::size_t first_table = 256;
    /// Readers of one block before those that are complete are dropped
    static constexpr std::uint32_t first_look = 16;
    static constexpr std::uint32_t most_readers = 16'384;  ///< before they are joined

    /// A block as it is given: rows of bytes at a pitch. No rows: an irregular one, known by its number.
    struct Key {
        std::uintptr_t base = 0;
        std::size_t row_bytes = 0;
        std::size_t rows = 0;
        std::ptrdiff_t pitch = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Block;
    struct Neighbour {
        Block* block;
        bool covered;  ///< has no byte outside
    };
    /// What is looked at for each argument is the first line; a task that writes also reads the readers, four to a
    /// line.
    struct alignas(64) Block {
        Key key;
        TaskReference writer;
        std::uint32_t next_look = first_look;
        bool alone = true;  ///< no neighbours, and no parts
        /// Readers that came with a block which this one is a part of may be older than the writer
        bool mixed = false;
        ReaderList readers;                 ///< since the last write
        std::vector<Neighbour> neighbours;  ///< those with which it shares bytes
        std::vector<Block*> parts;          ///< when not empty: they make up this block, which keeps nothing itself
        Bounds bounds;
        Footprint footprint;
    };
    struct Recorded {
        std::vector<RecordedTask> tasks;
        std::map<std::pair<const Ring*, std::uint64_t>, std::uint32_t> numbers;
        std::vector<std::uint32_t> edges;  ///< of the task that is being issued
    };
    struct Bucket {
        std::uint64_t hash = 0;
        Block* block = nullptr;
    };

    static std::uint64_t hash_of(const Key& key) noexcept {
        // The highest bits choose the place: blocks at one distance from one another, as tiles are, then hardly ever
        // meet.
        return (key.base + key.row_bytes * 0xc2b2ae3d27d4eb4fu + key.rows * 0x165667b19e3779f9u +
                static_cast<std::uint64_t>(key.pitch) * 0x27d4eb2f165667c5u) *
               0x9e3779b97f4a7c15u;
    }
    void touch_block(Spot& spot, Access access, const Key& key);
    void touch_found(Spot& spot, Access access, Block& block);
    void touch_several(Spot& spot, Access access, Block& block);
    void touch_irregular(Spot& spot, Access access, Footprint&& irregular);
    template <bool alone>
    void read(Spot& spot, Block& block);
    template <bool alone>
    void write(Spot& spot, Block& block);
    static void begin_anew(Block& block, const TaskReference& writer) {
        block.writer = writer;
        block.readers.clear();
        block.mixed = false;
    }
    void come_after(Spot& spot, const TaskReference& reference) {
        if (reference.ring == nullptr) return;
        dependents_.come_after(spot, *reference.ring, reference.number);
        if (recorded_ != nullptr) [[unlikely]]
            note_edge(spot, reference);
    }
    void note_edge(const Spot& spot, const TaskReference& reference);
    static bool complete(const TaskReference& reference) noexcept;
    void drop_completed_readers(Block& block);

    static Footprint footprint_of(const Key& key);
    Block& add(const Key& key, Footprint&& footprint);
    void clear_table(std::size_t places);
    void enter(Block& block);
    void find_neighbours(Block& block);
    void compose(Block& block);
    void forget_completed();

    Dependents& dependents_;
    std::vector<Bucket> table_;  ///< open addressing; a power of two, at most a quarter full
    int shift_ = 0;              ///< a hash shifted by this is a place
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<Block*> irregular_;
    /// By size: all that are at most 2^i bytes long and longer than half of that, by where they begin.
    std::array<std::multimap<std::uintptr_t, Block*>, 65> by_size_;
    Block* crowded_ = nullptr;
    std::unique_ptr<Recorded> recorded_;
    std::size_t most_blocks_ = 1u << 17;
};

}  // namespace penstock
