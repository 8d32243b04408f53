#include "penstock/store_way.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "penstock/clock.hpp"
#include "penstock/error.hpp"
#include "penstock/memory.hpp"
#include "penstock/relax.hpp"
#include "penstock/topology.hpp"
#include "store/team.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace penstock {

std::string_view name(StoreWay way) noexcept {
    switch (way) {
        case StoreWay::demote:
            return "demote";
        case StoreWay::stream:
            return "stream";
        default:
            return "plain";
    }
}

std::optional<StoreWay> store_way_of(std::string_view text) noexcept {
    for (const auto way : {StoreWay::plain, StoreWay::demote, StoreWay::stream})
        if (text == name(way)) return way;
    return std::nullopt;
}

// ---- storing ----

namespace {

#if defined(__x86_64__)
constexpr std::size_t line = 64;

/// Bytes up to the next line.
std::size_t to_line(const std::byte* address) noexcept {
    return (line - reinterpret_cast<std::uintptr_t>(address) % line) % line;
}

/// A processor that does not know this instruction takes it for one that does nothing.
void demote_line(const std::byte* address) noexcept {
    asm volatile(".byte 0x0f, 0x1c, 0x07" : : "D"(address) : "memory");  // cldemote (%rdi)
}

void store_demoting(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    const std::size_t head = std::min(bytes, to_line(to));
    std::memcpy(to, from, head);
    std::size_t done = head;
    for (; bytes - done >= line; done += line) {
        std::memcpy(to + done, from + done, line);
        demote_line(to + done);
    }
    std::memcpy(to + done, from + done, bytes - done);
}

void store_streaming(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    const std::size_t head = std::min(bytes, to_line(to));
    std::memcpy(to, from, head);
    std::size_t done = head;
    for (; bytes - done >= line; done += line)
        for (std::size_t part = 0; part < line; part += sizeof(__m128i))
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + done + part),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done + part)));
    std::memcpy(to + done, from + done, bytes - done);
    _mm_sfence();  // such stores are not ordered by a release store
}
#else
void store_demoting(std::byte* to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }
void store_streaming(std::byte* to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }
#endif

}  // namespace

void store_bytes(std::byte* to, const std::byte* from, std::size_t bytes, StoreWay way) noexcept {
    switch (way) {
        case StoreWay::demote:
            return store_demoting(to, from, bytes);
        case StoreWay::stream:
            return store_streaming(to, from, bytes);
        default:
            std::memcpy(to, from, bytes);
    }
}

// ---- measuring ----

namespace {

/// Enough to be sure of 5 %, few enough for a few milliseconds in all.
constexpr std::array<int, 3> rounds{31, 15, 7};
constexpr int rounds_to_warm_up = 2;
constexpr double worth_a_change = 0.95;

/// A reader on another processor: reads each block that is published, and says so.
class Reader {
  public:
    Reader(const std::byte* block, int processor) : thread_([this, block, processor] { read(block, processor); }) {}
    ~Reader() {
        published_.store(stop, std::memory_order_release);
        thread_.join();
    }

    /// Publishes the block and waits until it was read.
    void take(std::size_t bytes) {
        bytes_ = bytes;
        published_.store(++number_, std::memory_order_release);
        spin_until([&] { return taken_.load(std::memory_order_acquire) == number_; });
    }

  private:
    static constexpr std::uint64_t stop = ~std::uint64_t{0};

    template <class Poll>
    static void spin_until(Poll&& poll) {
        for (int looks = 0; !poll(); ++looks) looks < 20'000 ? relax() : std::this_thread::yield();
    }

    void read(const std::byte* block, int processor) {
        static_cast<void>(pin_this_thread(processor));
        for (std::uint64_t next = 1;; ++next) {
            std::uint64_t seen = 0;
            spin_until([&] { return (seen = published_.load(std::memory_order_acquire)) >= next; });
            if (seen == stop) return;
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < bytes_; i += sizeof sum) {
                std::uint64_t word;
                std::memcpy(&word, block + i, sizeof word);
                sum += word;
            }
            sum_ = sum;
            taken_.store(next, std::memory_order_release);
        }
    }

    alignas(128) std::atomic<std::uint64_t> published_{0};
    std::size_t bytes_ = 0;  ///< published with the number
    alignas(128) std::atomic<std::uint64_t> taken_{0};
    volatile std::uint64_t sum_ = 0;  ///< so that the loads are not left out
    std::uint64_t number_ = 0;
    std::thread thread_;  ///< last: it uses the others
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// A processor for the reader: of another core where there is one.
std::optional<int> another_processor() {
    const auto& topology = Topology::here();
    if (topology.usable() < 2) return std::nullopt;
    const auto* own = topology.find(current_processor());
    std::optional<int> other;
    for (const auto& processor : topology.processors()) {
        if (own == nullptr || processor.index == own->index) continue;
        if (processor.core != own->core) return processor.index;
        other = processor.index;
    }
    return other;
}

}  // namespace

StoreWays StoreWays::measure() {
    StoreWays found;
    const auto processor = another_processor();
    if (!processor) return found;
    const LocalMemory source(sizes.back());
    const LocalMemory block(sizes.back());
    std::vector<StoreWay> candidates{StoreWay::plain};
    if (Topology::here().has_cldemote()) candidates.push_back(StoreWay::demote);
#if defined(__x86_64__)
    candidates.push_back(StoreWay::stream);
#endif
    if (candidates.size() == 1) return found;
    try {
        Reader reader(block.data(), *processor);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            std::vector<std::vector<double>> times(candidates.size());
            for (int round = -rounds_to_warm_up; round < rounds[i]; ++round)
                for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
                    const auto begin = Clock::ticks();
                    store_bytes(block.data(), source.data(), sizes[i], candidates[candidate]);
                    reader.take(sizes[i]);
                    if (round >= 0) times[candidate].push_back(static_cast<double>(Clock::ticks() - begin));
                }
            double best = median(times[0]) * worth_a_change;
            for (std::size_t candidate = 1; candidate < candidates.size(); ++candidate)
                if (const double time = median(times[candidate]); time < best) {
                    best = time;
                    found.ways_[i] = candidates[candidate];
                }
        }
    } catch (const std::system_error&) {
        return StoreWays{};  // no thread to measure with
    }
    return found;
}

namespace {

std::optional<StoreWays>& inherited() {
    static std::optional<StoreWays> ways;
    return ways;
}

}  // namespace

namespace team {

void inherit(const StoreWays& ways) { inherited() = ways; }

}  // namespace team

const StoreWays& StoreWays::here() {
    static const StoreWays ways = [] {
        if (inherited()) return *inherited();
        const char* wish = std::getenv("PENSTOCK_STORES");
        if (wish == nullptr || *wish == '\0') return measure();
        const auto way = store_way_of(wish);
        if (!way)
            throw UsageError("PENSTOCK_STORES is '" + std::string(wish) + "'; it takes plain, demote or stream, or nothing "
                             "for what measures best");
        return StoreWays(*way);
    }();
    return ways;
}

std::string StoreWays::description() const {
    std::string text(name(smaller_));
    StoreWay last = smaller_;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (ways_[i] == last) continue;
        last = ways_[i];
        text += ", " + std::string(name(last)) + " from " + std::to_string(sizes[i] >> 10) + " KiB";
    }
    return text;
}

}  // namespace penstock
