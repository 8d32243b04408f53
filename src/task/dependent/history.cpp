#include "penstock/detail/task/history.hpp"

namespace penstock {
namespace {

Bounds bounds_of(const Footprint& footprint) {
    Bounds bounds;
    if (footprint.is_list) {
        for (const Bounds& piece : footprint.pieces) {
            bounds.low = bounds.high == 0 ? piece.low : std::min(bounds.low, piece.low);
            bounds.high = std::max(bounds.high, piece.high);
        }
        return bounds;
    }
    bounds = {footprint.base, footprint.base + footprint.element};
    for (std::size_t d = 0; d < footprint.rank; ++d) {
        if (footprint.extents[d] == 0) return {};
        const auto reach = static_cast<std::intptr_t>(footprint.extents[d] - 1) * footprint.strides[d];
        (reach < 0 ? bounds.low : bounds.high) += static_cast<std::uintptr_t>(reach);
    }
    return bounds;
}

}  // namespace

// ---- one access ----

template <bool alone>
inline void History::read(Spot& spot, Block& block) {
    come_after(spot, block.writer);
    if constexpr (!alone)
        for (const Neighbour& neighbour : block.neighbours) come_after(spot, neighbour.block->writer);
    if (block.readers.size() >= block.next_look) [[unlikely]]
        drop_completed_readers(block);
    block.readers.push({spot.ring, spot.number});
}

template <bool alone>
inline void History::write(Spot& spot, Block& block) {
    const auto after_all = [&](const Block& one) {
        // Who read it came after its last writer, so they stand for that one too.
        if (one.readers.empty() || one.mixed) come_after(spot, one.writer);
        one.readers.each([&](const TaskReference& reader) { come_after(spot, reader); });
    };
    after_all(block);
    if constexpr (!alone)
        for (const Neighbour& neighbour : block.neighbours) {
            after_all(*neighbour.block);
            // Whoever touches a byte of one that is covered shares this byte with the block that is being written, and
            // finds the writer there.
            if (neighbour.covered) begin_anew(*neighbour.block, {});
        }
    begin_anew(block, {spot.ring, spot.number});
}

void History::touch_block(Spot& spot, Access access, const Key& key) {
    const auto hash = hash_of(key);
    for (auto i = hash >> shift_;; ++i) {
        const Bucket& place = table_[i & (table_.size() - 1)];
        if (place.block == nullptr) [[unlikely]]
            return touch_found(spot, access, add(key, footprint_of(key)));
        if (place.hash == hash && place.block->key == key) [[likely]]
            return touch_found(spot, access, *place.block);
    }
}

inline void History::touch_found(Spot& spot, Access access, Block& block) {
    if (!block.alone) [[unlikely]]
        return touch_several(spot, access, block);
    access == Access::in ? read<true>(spot, block) : write<true>(spot, block);
}

void History::touch_several(Spot& spot, Access access, Block& block) {
    if (block.parts.empty()) {
        access == Access::in ? read<false>(spot, block) : write<false>(spot, block);
    } else {
        for (Block* part : block.parts) access == Access::in ? read<false>(spot, *part) : write<false>(spot, *part);
    }
}

bool History::complete(const TaskReference& reference) noexcept {
    if (reference.ring == nullptr) return true;
    const DependentNote& note = reference.ring->note(reference.number);
    return note.number != reference.number || note.complete || reference.ring->pending().completed(reference.number);
}

void History::drop_completed_readers(Block& block) {
    if (recorded_ != nullptr) return;  // what has completed now will not have in the next replay
    // One that failed must still be found: what comes after it is not to run.
    block.readers.erase_if(
        [](const TaskReference& reader) { return !reader.ring->may_have_failed(reader.number) && complete(reader); });
    block.next_look = std::max(first_look, 2 * block.readers.size());
    if (block.readers.size() >= most_readers) crowded_ = &block;
}

// ---- recording ----

void History::note_edge(const Spot& spot, const TaskReference& reference) {
    if (reference.ring == spot.ring && reference.number == spot.number) return;
    const auto known = recorded_->numbers.find({reference.ring, reference.number});
    if (known != recorded_->numbers.end()) recorded_->edges.push_back(known->second);
}

void History::keep(const Spot& spot, std::vector<AddressPlace> addresses) {
    RecordedTask task;
    task.payload = spot.record->payload;
    if ((task.payload.flags & TaskPayload::boxed) != 0) {
        recorded_->edges.clear();
        throw UsageError("task " + std::string(entry_of(task.payload.entry).name) +
                         " cannot be recorded: its arguments do not fit a descriptor (owned values, boxed closures, "
                         "arrays of 2^32 elements), "
                         "and the first run uses them up; give it spans, views and scalars");
    }
    task.extension = spot.ring->extensions()[spot.record - spot.ring->slots()];
    task.addresses = std::move(addresses);
    task.target = spot.node->target();
    task.predecessors.swap(recorded_->edges);
    recorded_->numbers[{spot.ring, spot.number}] = static_cast<std::uint32_t>(recorded_->tasks.size());
    recorded_->tasks.push_back(std::move(task));
}

std::vector<RecordedTask> History::stop_recording() {
    auto tasks = std::move(recorded_->tasks);
    recorded_.reset();
    return tasks;
}

// ---- blocks ----

Footprint History::footprint_of(const Key& key) {
    return {.base = key.base,
            .rank = 2,
            .extents = {key.rows, key.row_bytes},
            .strides = {key.rows > 1 ? key.pitch : 0, 1}};
}

void History::touch_irregular(Spot& spot, Access access, Footprint&& irregular) {
    if (bounds_of(irregular).high == 0) return;
    const auto known = std::find_if(irregular_.begin(), irregular_.end(),
                                    [&](const Block* block) { return block->footprint == irregular; });
    if (known != irregular_.end()) return touch_found(spot, access, **known);
    const Key key{0, 0, 0, static_cast<std::ptrdiff_t>(irregular_.size())};
    Block& block = add(key, std::move(irregular));
    irregular_.push_back(&block);
    touch_found(spot, access, block);
}

History::Block& History::add(const Key& key, Footprint&& footprint) {
    auto fresh = std::make_unique<Block>();
    Block& block = *fresh;
    block.key = key;
    block.footprint = std::move(footprint);
    block.bounds = bounds_of(block.footprint);
    blocks_.push_back(std::move(fresh));
    find_neighbours(block);
    by_size_[static_cast<std::size_t>(std::bit_width(block.bounds.high - block.bounds.low - 1))].emplace(
        block.bounds.low, &block);
    if (key.rows != 0) {
        if (4 * blocks_.size() > table_.size()) {
            clear_table(2 * table_.size());
            for (auto& one : blocks_) enter(*one);
        } else {
            enter(block);
        }
    }
    compose(block);
    // Those that it lies in may be made up of smaller ones now.
    for (std::size_t i = 0; i < block.neighbours.size(); ++i) compose(*block.neighbours[i].block);
    return block;
}

void History::clear_table(std::size_t places) {
    table_.assign(places, {});
    shift_ = 64 - std::countr_zero(places);
}

void History::enter(Block& block) {
    if (block.key.rows == 0) return;
    const auto hash = hash_of(block.key);
    auto i = hash >> shift_;
    while (table_[i & (table_.size() - 1)].block != nullptr) ++i;
    table_[i & (table_.size() - 1)] = {hash, &block};
}

void History::find_neighbours(Block& block) {
    const auto covers = [](const Block& outer, const Block& inner) {
        return outer.key.rows == 1 && outer.bounds.low <= inner.bounds.low && inner.bounds.high <= outer.bounds.high;
    };
    for (std::size_t i = 0; i < by_size_.size(); ++i) {
        const auto& same_size = by_size_[i];
        if (same_size.empty()) continue;
        const auto longest =
            i >= 63 ? block.bounds.low : std::min<std::uintptr_t>(block.bounds.low, std::uintptr_t{1} << i);
        for (auto one = same_size.lower_bound(block.bounds.low - longest);
             one != same_size.end() && one->first < block.bounds.high; ++one) {
            Block& other = *one->second;
            if (!other.bounds.meets(block.bounds) || !overlap(other.footprint, block.footprint)) continue;
            block.neighbours.push_back({&other, covers(block, other)});
            other.neighbours.push_back({&block, covers(other, block)});
            block.alone = other.alone = false;
        }
    }
}

/// Makes the block stand for smaller ones, if these cover it without gap or overlap. What it knows goes to them: they
/// were all read by whoever read it.
void History::compose(Block& block) {
    if (block.key.rows != 1 || !block.parts.empty() || block.writer.ring != nullptr) return;
    std::vector<Block*> inside;
    for (const Neighbour& neighbour : block.neighbours)
        if (neighbour.covered && neighbour.block->key.rows == 1 && neighbour.block->parts.empty() &&
            neighbour.block->key != block.key)
            inside.push_back(neighbour.block);
    std::sort(inside.begin(), inside.end(), [](const Block* a, const Block* b) {
        return a->bounds.low != b->bounds.low ? a->bounds.low < b->bounds.low : a->bounds.high < b->bounds.high;
    });
    std::vector<Block*> parts;
    auto end = block.bounds.low;
    for (Block* one : inside) {
        if (one->bounds.low != end) continue;
        parts.push_back(one);
        end = one->bounds.high;
    }
    if (end != block.bounds.high) return;
    for (Block* part : parts) {
        block.readers.each([part](const TaskReference& reader) { part->readers.push(reader); });
        part->mixed = true;
    }
    block.readers.clear();
    block.parts = std::move(parts);
}

/// Keeps the blocks that unfinished tasks touch, as if only they had been seen.
void History::forget_completed() {
    auto all = std::move(blocks_);
    blocks_.clear();
    irregular_.clear();
    clear_table(first_table);
    for (auto& same_size : by_size_) same_size.clear();
    for (auto& one : all) {
        const auto failed = [](const TaskReference& reference) {
            return reference.ring != nullptr && reference.ring->may_have_failed(reference.number);
        };
        const auto done = [&](const TaskReference& reference) { return complete(reference) && !failed(reference); };
        one->readers.erase_if(done);
        if (one->readers.empty() && done(one->writer)) continue;
        Key key = one->key;
        if (key.rows == 0) key.pitch = static_cast<std::ptrdiff_t>(irregular_.size());
        Block& kept = add(key, std::move(one->footprint));
        if (key.rows == 0) irregular_.push_back(&kept);
        kept.writer = one->writer;
        kept.mixed = one->mixed;
        one->readers.each([&](const TaskReference& reader) { kept.readers.push(reader); });
    }
    most_blocks_ = std::max<std::size_t>(1u << 17, 2 * blocks_.size());
}

}  // namespace penstock
