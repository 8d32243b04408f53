// How StoreWays::measure() finds out.
#include <chrono>
#include <cstring>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/memory.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/topology.hpp"
#include "store/ways/ways.hpp"

namespace penstock {
namespace {

/// Each way several times in a row, in turn with the others: what one leaves in the caches is not what the next one
/// finds when it is the only one. (1 MiB took 148 us plainly behind stores that went round the caches, and 38 behind
/// its own.)
constexpr int turns = 3;
/// Of a turn: enough to be sure of 5 %, few enough for a tenth of a second in all.
constexpr std::array<int, StoreWays::sizes.size()> rounds{31, 31, 15, 11, 11, 7, 7, 4, 2};
/// So many in a row are timed together: of short ones the clock would take too large a part.
constexpr std::array<int, StoreWays::sizes.size()> exchanges{16, 16, 8, 1, 1, 1, 1, 1, 1};
constexpr std::array<int, StoreWays::sizes.size()> rounds_to_warm_up{3, 3, 3, 3, 3, 3, 3, 2, 2};
constexpr int lines = 51;
/// Beside other programs that keep the processors busy each exchange waits for the end of somebody's time slice, and
/// all of them together take minutes. What is measured so says nothing.
constexpr std::chrono::milliseconds longest_round_trips{20};
struct TooBusy {};
constexpr double worth_a_change = 0.95;

void read(const volatile std::byte* block, std::size_t bytes) {
    const auto* const words = reinterpret_cast<const volatile std::uint64_t*>(block);
    for (std::size_t i = 0; i < bytes / sizeof *words; ++i) static_cast<void>(words[i]);
}

/// What the two that measure exchange.
struct Blocks {
    LocalMemory source{StoreWays::sizes.back()}, there{StoreWays::sizes.back()};
    LocalMemory source_of_reader{StoreWays::sizes.back()}, back{StoreWays::sizes.back()};
};

/// A reader on another processor: reads each block that is published, and stores as many bytes back by the same way, as
/// ranks do that exchange something. (Stores that go one way only find other caches: 1 MiB took 150 us plainly and 90
/// past the caches so, and 40 and 90 each way of an exchange.)
class Reader {
  public:
    /// Without blocks only for exchanges of nothing.
    Reader(Blocks* blocks, int processor, std::chrono::milliseconds longest)
        : until_(std::chrono::steady_clock::now() + longest),
          thread_([this, blocks, processor] { serve(blocks, processor); }) {}
    ~Reader() {
        published_.store(stop, std::memory_order_release);
        thread_.join();
    }

    /// Publishes the block and waits until it was read, and as much came back. Throws TooBusy.
    void take(std::size_t bytes, StoreWay way) {
        bytes_ = bytes;
        way_ = way;
        published_.store(++number_, std::memory_order_release);
        spin_until([&] { return taken_.load(std::memory_order_acquire) == number_; }, [&] { look_at_the_clock(); });
    }
    void look_at_the_clock() const {
        if (std::chrono::steady_clock::now() > until_) throw TooBusy{};
    }

  private:
    static constexpr std::uint64_t stop = ~std::uint64_t{0};

    static void spin_until(auto&& poll, auto&& when_it_takes_long) {
        for (int looks = 0; !poll(); ++looks) {
            if (looks < 20'000) {
                relax();
            } else {
                when_it_takes_long();
                waiting::yield();
            }
        }
    }

    void serve(Blocks* blocks, int processor) {
        waiting::be_always_brief();
        static_cast<void>(pin_this_thread(processor));
        for (std::uint64_t next = 1;; ++next) {
            std::uint64_t seen = 0;
            spin_until([&] { return (seen = published_.load(std::memory_order_acquire)) >= next; }, [] {});
            if (seen == stop) return;
            if (bytes_ != 0) {
                read(blocks->there.data(), bytes_);
                store_bytes(blocks->back.data(), blocks->source_of_reader.data(), bytes_, way_);
            }
            taken_.store(next, std::memory_order_release);
        }
    }

    alignas(128) std::atomic<std::uint64_t> published_{0};
    std::size_t bytes_ = 0;  ///< published with the number
    StoreWay way_ = StoreWay::plain;
    alignas(128) std::atomic<std::uint64_t> taken_{0};
    std::uint64_t number_ = 0;
    const waiting::Brief brief_{};
    const std::chrono::steady_clock::time_point until_;
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
    constexpr int round_trips = 201, enough = 21;
    std::vector<double> times;
    try {
        Reader reader(nullptr, *processor, longest_round_trips);
        for (int i = -round_trips / 4; i < round_trips; ++i) {
            const auto begin = Clock::ticks();
            reader.take(0, StoreWay::plain);
            if (i >= 0) times.push_back(Clock::nanoseconds(Clock::ticks() - begin));
        }
    } catch (const std::system_error&) {
        return std::nullopt;  // no thread to measure with
    } catch (const TooBusy&) {
        if (times.size() < enough) return std::nullopt;
    }
    return median(std::move(times));
}

/// Nanoseconds in which a line comes back that the reader has had, as ReaderDistance will see it; 0 where it cannot be
/// told.
static double measure_line(Reader& reader, const Blocks& blocks) {
    std::vector<double> times;
    for (int i = 0; i < lines; ++i) {
        store_bytes(blocks.there.data(), blocks.source.data(), ReaderDistance::seen_in, StoreWay::plain);
        reader.take(ReaderDistance::seen_in, StoreWay::plain);
        if (const auto time = time_of_a_line(blocks.there.data())) times.push_back(*time);
    }
    return times.size() < lines / 2 ? 0 : median(std::move(times));
}

std::optional<StoreWays> StoreWays::measure(std::chrono::milliseconds longest) {
    StoreWays found;
    const auto processor = reader_processor();
    if (!processor) return found;
    std::vector<StoreWay> candidates{StoreWay::plain};
    if (Topology::here().has_cldemote()) candidates.push_back(StoreWay::demote);
#if defined(__x86_64__)
    candidates.push_back(StoreWay::stream);
#endif
    if (candidates.size() == 1) return found;
    try {
        Blocks blocks;
        Reader reader(&blocks, *processor, longest);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            // Past the caches stands last.
            const std::size_t count = candidates.size() - (sizes[i] < ReaderDistance::seen_in ? 1 : 0);
            if (count == 1) continue;
            std::vector<std::vector<double>> times(count);
            for (std::size_t turn = 0; turn < turns * count; ++turn) {
                const auto candidate = turn % count;
                for (int round = -rounds_to_warm_up[i]; round < rounds[i]; ++round) {
                    reader.look_at_the_clock();
                    const auto begin = Clock::ticks();
                    for (int exchange = 0; exchange < exchanges[i]; ++exchange) {
                        store_bytes(blocks.there.data(), blocks.source.data(), sizes[i], candidates[candidate]);
                        reader.take(sizes[i], candidates[candidate]);
                        read(blocks.back.data(), sizes[i]);
                    }
                    if (round >= 0) times[candidate].push_back(static_cast<double>(Clock::ticks() - begin));
                }
            }
            double best = std::numeric_limits<double>::max();
            for (std::size_t candidate = 1; candidate < count; ++candidate)
                if (const double time = median(times[candidate]); time < best) {
                    best = time;
                    const double from = time / (median(times[0]) * worth_a_change) * 1000;
                    found.choices_[i] = {candidates[candidate], static_cast<std::uint32_t>(std::min(from, 1e9))};
                }
        }
        found.line_picoseconds_ = static_cast<std::uint32_t>(std::min(1000 * measure_line(reader, blocks), 1e9));
    } catch (const std::system_error&) {
        return StoreWays{};  // no thread to measure with
    } catch (const TooBusy&) {
        return std::nullopt;
    }
    return found;
}

}  // namespace penstock
