// The ring behind a timeline; the argument for its orders is in trace_timeline.hpp.
#include <algorithm>
#include <array>
#include <bit>
#include <penstock/detail/trace/timeline.hpp>
#include <penstock/error.hpp>

namespace penstock::trace {

struct Timeline::Ring {
    using Words = std::array<std::uint64_t, sizeof(Event) / sizeof(std::uint64_t)>;
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> sequence{0};
        std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words{};
    };
    static_assert(sizeof(Slot) == 64);

    explicit Ring(std::size_t capacity) : mask(capacity - 1), slots(std::make_unique<Slot[]>(capacity)) {}

    std::size_t capacity() const noexcept { return mask + 1; }

    const std::size_t mask;
    const std::unique_ptr<Slot[]> slots;
    std::uint64_t first = 0;              // number of the recording's first event; under control_
    std::atomic<std::uint64_t> count{0};  // events ever written here; by the writer
};

Timeline::Timeline() = default;
Timeline::~Timeline() = default;

void Timeline::start(std::size_t capacity) {
    if (capacity == 0 || capacity > max_capacity)
        throw UsageError("a timeline of " + std::to_string(capacity) + " events was asked for; give 1 to " +
                         std::to_string(max_capacity));
    capacity = std::bit_ceil(capacity);
    const std::lock_guard lock(control_);
    auto found = std::find_if(rings_.begin(), rings_.end(),
                              [capacity](const auto& ring) { return ring->capacity() == capacity; });
    if (found == rings_.end()) found = rings_.insert(rings_.end(), std::make_unique<Ring>(capacity));
    latest_ = found->get();
    latest_->first = latest_->count.load(std::memory_order_acquire);
    active_.store(latest_, std::memory_order_release);
}

void Timeline::stop() noexcept { active_.store(nullptr, std::memory_order_release); }

void Timeline::write(Ring& ring, const Event& event) noexcept {
    const std::uint64_t number = ring.count.load(std::memory_order_relaxed);
    auto& slot = ring.slots[number & ring.mask];
    slot.sequence.store(2 * number + 1, std::memory_order_relaxed);
    const auto words = std::bit_cast<Ring::Words>(event);
    for (std::size_t i = 0; i < words.size(); ++i) slot.words[i].store(words[i], std::memory_order_release);
    slot.sequence.store(2 * number + 2, std::memory_order_release);
    ring.count.store(number + 1, std::memory_order_release);
}

Recording Timeline::snapshot() const {
    Recording recording;
    const std::lock_guard lock(control_);
    if (latest_ == nullptr) return recording;
    const Ring& ring = *latest_;
    const std::uint64_t last = ring.count.load(std::memory_order_acquire);
    const std::uint64_t oldest = std::max(ring.first, last - std::min<std::uint64_t>(last, ring.capacity()));
    recording.events.reserve(last - oldest);
    for (std::uint64_t number = oldest; number < last; ++number) {
        const auto& slot = ring.slots[number & ring.mask];
        if (slot.sequence.load(std::memory_order_acquire) != 2 * number + 2) continue;
        Ring::Words words;
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = slot.words[i].load(std::memory_order_acquire);
        if (slot.sequence.load(std::memory_order_relaxed) != 2 * number + 2) continue;
        recording.events.push_back(std::bit_cast<Event>(words));
    }
    recording.dropped = last - ring.first - recording.events.size();
    return recording;
}

}  // namespace penstock::trace
