// How StoreWays::measure() finds out.
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/memory.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/topology.hpp"
#include "store/ways/ways.hpp"

namespace penstock {
namespace {

/// Enough to be sure of 5 %, few enough for a few milliseconds in all.
constexpr std::array<int, StoreWays::sizes.size()> rounds{31, 31, 15, 15, 7, 5};
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

}  // namespace

std::optional<int> reader_processor() {
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

std::optional<double> measure_round_trip() {
    const auto processor = reader_processor();
    if (!processor) return std::nullopt;
    constexpr int round_trips = 201;
    try {
        Reader reader(nullptr, *processor);
        std::vector<double> times;
        for (int i = -round_trips / 4; i < round_trips; ++i) {
            const auto begin = Clock::ticks();
            reader.take(0);
            if (i >= 0) times.push_back(Clock::nanoseconds(Clock::ticks() - begin));
        }
        return median(std::move(times));
    } catch (const std::system_error&) {
        return std::nullopt;  // no thread to measure with
    }
}

StoreWays StoreWays::measure() {
    StoreWays found;
    const auto processor = reader_processor();
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

}  // namespace penstock
