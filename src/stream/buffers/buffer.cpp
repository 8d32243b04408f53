#include "penstock/buffer.hpp"

#include "stream/buffers/block_cache.hpp"
#include "stream/run/run_core.hpp"

namespace penstock::streaming {
namespace {

void give_values(Storage& storage) noexcept {
    if (storage.data == nullptr) return;
    if (storage.memory != nullptr) storage.memory->give(storage.data);
    else BlockCache::of_program().give(storage.data, storage.capacity);
}

void take_storage(Block& block, std::size_t bytes) {
    constexpr auto alignment = BlockCache::alignment;
    auto capacity = block.own.memory != nullptr ? (bytes + alignment - 1) / alignment * alignment : bytes;
    if (capacity < bytes) throw std::bad_alloc();
    std::byte* const data =
        block.own.memory != nullptr ? block.own.memory->take(capacity) : BlockCache::of_program().take(capacity);
    give_values(block.own);
    block.own.data = data;
    block.own.capacity = capacity;
    block.own.owner = &block;
}

Block* new_block() {
    return new (Recycled<Block>::operator new(sizeof(Block), std::align_val_t{alignof(Block)})) Block;
}

void delete_block(Block* block) noexcept {
    block->~Block();
    Recycled<Block>::operator delete(block, sizeof(Block), std::align_val_t{alignof(Block)});
}

void destroy(Block* block) noexcept {
    give_values(block->own);
    delete_block(block);
}

/// A reader less. True for the last.
bool leave(Storage& storage) noexcept {
    return storage.readers.load(std::memory_order_acquire) == 1 ||
           storage.readers.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void recycle(Block* block) noexcept {
    if (block->own.wrapped != nullptr) [[unlikely]]
        block->own.wrapped.reset();
    if (block->pool != nullptr) block->pool->put(block);
    else destroy(block);
}

}  // namespace

Block* make_block(Pool* pool, std::size_t bytes) {
    if (pool != nullptr) return pool->get(bytes);
    return make_block_in(nullptr, bytes);
}

Block* make_block_in(std::shared_ptr<BlockMemory> memory, std::size_t bytes) {
    std::unique_ptr<Block, decltype([](Block* unmade) { delete_block(unmade); })> block(new_block());
    block->own.memory = std::move(memory);
    take_storage(*block, bytes);
    block->storage = &block->own;
    block->data = block->own.data;
    block->bytes = bytes;
    block->extents[0] = bytes;
    return block.release();
}

void wrap(Block& block, std::span<const std::byte> values, std::shared_ptr<const void> holder) noexcept {
    // The const goes for the length of the way: own_values() comes before any writing.
    block.data = const_cast<std::byte*>(values.data());
    block.bytes = values.size();
    block.own.wrapped = std::move(holder);
}

void give_back(Block* block) noexcept {
    Storage* const storage = block->storage;
    const bool last = leave(*storage);
    if (last) recycle(storage->owner);
    if (storage != &block->own) recycle(block);
}

/// Makes `other` read the values of `block`.
static Block* share_with(Block* other, Block* block) {
    other->kind = block->kind;
    other->order = block->order;
    other->data = block->data;
    other->bytes = block->bytes;
    other->rank = block->rank;
    other->tagged = block->tagged;
    other->tags = block->tags;
    other->written = block->written;
    other->extents = block->extents;
    other->storage = block->storage;
    block->storage->readers.fetch_add(1, std::memory_order_relaxed);
    return other;
}

Block* share(Block* block, Pool& pool) {
    return share_with(patiently([&] { return pool.get_envelope(); }), block);
}

Block* share(Block* block) { return share_with(patiently(new_block), block); }

void own_values(Block* block) {
    // A block that others share is never in anybody's hands itself (outlet.cpp), so this one reads another's storage,
    // or what it wraps.
    Storage* const shared = block->storage == &block->own ? nullptr : block->storage;
    const auto bytes = block->capacity();
    if (shared != nullptr) block->own.memory = shared->memory;
    if (shared != nullptr || block->own.capacity < bytes) take_storage(*block, bytes);
    if (block->bytes != 0) std::memcpy(block->own.data, block->data, block->bytes);
    block->data = block->own.data;
    if (shared == nullptr) return block->own.wrapped.reset();
    block->own.readers.store(1, std::memory_order_relaxed);
    block->storage = &block->own;
    if (leave(*shared)) recycle(shared->owner);
}

void throw_gone(const char* what) {
    throw UsageError(std::string("cannot ") + what +
                     " that this handle does not hold: it was written to a stream or moved away, or none was made");
}

void throw_overrun(bool appending, std::size_t asked, std::size_t there) {
    throw BufferOverrun(appending ? "appending " + std::to_string(asked) + " bytes to a buffer that has room for " +
                                        std::to_string(there) + " more; reserve() more"
                                  : "extracting " + std::to_string(asked) + " bytes from a buffer that has " +
                                        std::to_string(there) + " left");
}

// ---- pool ----

void Pool::keep(Block* block) noexcept {
    const bool has_values = block->storage == &block->own;
    abroad_ -= has_values && budgets_ != nullptr;
    block->next = std::exchange(has_values ? local_ : envelopes_, block);
}

/// The last that came back is the first to go out again: its memory is the warmest.
void Pool::take_in_returned() noexcept {
    if (!returned_.any_relaxed()) return;
    Mail* oldest = nullptr;
    for (Mail* block = returned_.take_all(); block != nullptr;) {
        Mail* const older = std::exchange(block->next, oldest);
        oldest = std::exchange(block, older);
    }
    while (oldest != nullptr) keep(static_cast<Block*>(std::exchange(oldest, oldest->next)));
}

void Pool::count_in(Block& block) noexcept {
    if (budgets_ == nullptr) return;
    ++abroad_;
    block.counted = block.own.capacity;
    block.counted_at = target_;
    budgets_->take(block.counted_at, block.counted);
}

void Pool::count_out(Block& block) noexcept {
    if (budgets_ != nullptr) budgets_->give_back(block.counted_at, std::exchange(block.counted, 0));
}

Block* Pool::get_envelope() {
    if (limited()) return new_block();
    take_in_returned();
    if (envelopes_ != nullptr) return std::exchange(envelopes_, static_cast<Block*>(envelopes_->next));
    Block* const block = new_block();
    block->pool = this;
    ++made_;
    return block;
}

Block* Pool::get(std::size_t bytes) {
    // there they stay should it not grow
    take_in_returned();
    Block* block = local_;
    if (block != nullptr) {
        if (block->own.capacity < bytes) [[unlikely]]
            take_storage(*block, bytes);
        local_ = static_cast<Block*>(block->next);
        block->own.readers.store(1, std::memory_order_relaxed);
        block->kind = MailKind::buffer;  // it may have been a skip
        block->tagged = false;
        block->tags = {};
    } else {
        block = make_block_in(memory_, bytes);
        block->pool = this;
        ++made_;
    }
    block->data = block->own.data;
    block->bytes = bytes;
    count_in(*block);
    return block;
}

void Pool::put(Block* block) noexcept {
    count_out(*block);
    if (Server* const home = home_.load(std::memory_order_acquire); home != nullptr && home == Server::current) {
        keep(block);
        if (limited() && starvation_.must_tell()) [[unlikely]]
            station_.run().post(station_, &room_mail_);
        return;
    }
    // As soon as the block lies in the list the pool may be closed and gone, unless it stays for this thread.
    const bool bounded = limited();
    if (bounded) returned_.stay();
    const bool open = returned_.give_back(block);
    if (!open) {
        destroy(block);
        if (returned_.leave()) return delete this;
    }
    if (!bounded) return;
    if (open && starvation_.must_tell()) station_.run().post(station_, &room_mail_);
    if (returned_.leave()) delete this;
}

/// A reader may need two buffers before it drops one.
bool Pool::over_budget() noexcept {
    constexpr std::int64_t free_of_budget = 2;
    for (;;) {
        take_in_returned();
        if (abroad_ < free_of_budget || !budgets_->spent(target_)) return false;
        if (!starvation_.starve([this] { return returned_.any(); })) return true;
    }
}

bool Pool::exhausted() noexcept {
    if (budgets_ != nullptr && over_budget()) return true;
    if (most_ == 0 || local_ != nullptr || made_ < static_cast<std::int64_t>(most_)) [[likely]]
        return false;
    const auto room = [this] { return returned_.any(); };
    return !room() && !starvation_.starve(room);
}

void Pool::close() noexcept {
    std::int64_t home = 0;
    const auto end = [&](Mail* first) {
        for (Mail* block = first; block != nullptr; ++home)
            destroy(static_cast<Block*>(std::exchange(block, block->next)));
    };
    end(std::exchange(local_, nullptr));
    end(std::exchange(envelopes_, nullptr));
    end(returned_.close());
    if (returned_.expect(made_ - home)) delete this;
}

}  // namespace penstock::streaming
