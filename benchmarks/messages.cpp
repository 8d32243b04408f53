// Messages between two ranks: half a round trip and bandwidth over sizes, protocols and substrates, beside F2 and a
// bare memcpy.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "penstock/message.hpp"
#include "penstock/spmd.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::Messenger;
using penstock::Protocol;
using penstock::Rank;
using penstock::Substrate;

constexpr Protocol protocols[] = {Protocol::automatic, Protocol::ring, Protocol::pull, Protocol::push,
                                  Protocol::pure_pull};
constexpr std::size_t latency_bytes = 8;
constexpr std::size_t bandwidth_bytes = std::size_t{1} << 20;
constexpr std::size_t largest_bytes = std::size_t{16} << 20;

/// What rank 0 asks rank 1 to do next, by a message. The work itself is symmetric: both call the same function.
struct Order {
    enum Work : std::uint32_t { stop, ping_pong, stream, bare_copy };
    Work work = stop;
    Protocol protocol = Protocol::automatic;
    std::uint32_t times = 0;
    std::uint64_t bytes = 0;
};

/// A flag of each rank and the memory that the bare copy reads: shared with threads and processes alike.
struct Shared {
    alignas(128) std::atomic<std::uint64_t> asked{0};
    alignas(128) std::atomic<std::uint64_t> copied{0};
};

/// One rank's side of every exchange.
class Side {
  public:
    explicit Side(Rank me) : me_(me), orders_(me, {.name = "orders"}), own_(largest_bytes, std::byte{1}) {
        for (const Protocol protocol : protocols)
            posts_.push_back(std::make_unique<Messenger>(
                me, penstock::MessengerOptions{.protocol = protocol, .name = std::string(penstock::name(protocol))}));
        if (me.index() == 0) {
            memory_ = me.make("bare copy", sizeof(Shared) + bandwidth_bytes);
            new (memory_.data()) Shared;
            me.grant(memory_, 1);
        } else {
            memory_ = me.accept(0, "bare copy");
        }
    }

    /// Rank 1: does what it is asked until it is told to stop.
    void serve() {
        for (;;) {
            Order order;
            orders_.recv(0, order);
            if (order.work == Order::stop) return;
            work(order);
        }
    }
    void stop() { orders_.send(1, Order{}); }

    /// Rank 0: nanoseconds of one of `times`, after a quarter as many to warm up.
    double timed(Order order) {
        Order warm = order;
        warm.times = order.times / 4 + 1;
        orders_.send(1, warm);
        work(warm);
        orders_.send(1, order);
        const auto start = bench::Clock::now();
        work(order);
        return bench::nanoseconds_since(start) / order.times;
    }

  private:
    void work(const Order& order) {
        Messenger& post = *posts_[static_cast<std::size_t>(order.protocol)];
        const auto bytes = std::span(own_).first(order.bytes);
        switch (order.work) {
            case Order::ping_pong:
                return ping_pong(post, bytes, order.times);
            case Order::stream:
                return stream(post, bytes, order.times);
            case Order::bare_copy:
                return bare_copy(order.bytes, order.times);
            case Order::stop:
                break;
        }
    }

    void ping_pong(Messenger& post, std::span<std::byte> bytes, std::uint32_t times) {
        for (std::uint32_t i = 0; i < times; ++i) {
            if (me_.index() == 0) {
                post.send(1, bytes);
                post.recv(1, bytes);
            } else {
                post.recv(0, bytes);
                post.send(0, bytes);
            }
        }
    }

    /// One way; the last message is answered.
    void stream(Messenger& post, std::span<std::byte> bytes, std::uint32_t times) {
        std::uint32_t end = 0;
        for (std::uint32_t i = 0; i < times; ++i) {
            if (me_.index() == 0)
                post.send(1, bytes);
            else
                post.recv(0, bytes);
        }
        if (me_.index() == 0)
            post.recv(1, end);
        else
            post.send(0, end);
    }

    /// The same with two flags in place of messages: rank 1 copies from memory of rank 0.
    void bare_copy(std::size_t bytes, std::uint32_t times) {
        auto& shared = *reinterpret_cast<Shared*>(memory_.data());
        for (std::uint32_t i = 0; i < times; ++i) {
            ++copies_;
            if (me_.index() == 0) {
                shared.asked.store(copies_, std::memory_order_release);
                while (shared.copied.load(std::memory_order_acquire) != copies_) {
                }
            } else {
                while (shared.asked.load(std::memory_order_acquire) != copies_) {
                }
                std::memcpy(own_.data(), memory_.data() + sizeof(Shared), bytes);
                shared.copied.store(copies_, std::memory_order_release);
            }
        }
    }

    Rank me_;
    Messenger orders_;
    std::vector<std::unique_ptr<Messenger>> posts_;
    std::vector<std::byte> own_;
    penstock::RankMemory memory_;
    std::uint64_t copies_ = 0;
};

std::string words(std::size_t bytes) {
    if (bytes >= std::size_t{1} << 20) return std::to_string(bytes >> 20) + " MiB";
    if (bytes >= 1024) return std::to_string(bytes >> 10) + " KiB";
    return std::to_string(bytes) + " B";
}

std::uint32_t times_for(std::size_t bytes, bool quick) {
    const std::size_t most = quick ? 200 : 2000;
    return static_cast<std::uint32_t>(std::max<std::size_t>(4, std::min(most, (std::size_t{32} << 20) / (bytes + 1))));
}

/// Half a round trip.
Contestant latency(Side& side, Protocol protocol, std::size_t bytes, bool quick) {
    const Order order{Order::ping_pong, protocol, times_for(16 * bytes, quick), bytes};
    return {std::string(penstock::name(protocol)), [&side, order] { return side.timed(order) / 2; }};
}

Contestant bandwidth(Side& side, Protocol protocol, std::size_t bytes, bool quick) {
    const Order order{Order::stream, protocol, times_for(16 * bytes, quick), bytes};
    return {std::string(penstock::name(protocol)), [&side, order] { return side.timed(order); }};
}

Contestant copied(Side& side, std::size_t bytes, bool quick) {
    const Order order{Order::bare_copy, Protocol::automatic, times_for(16 * bytes, quick), bytes};
    return {"memcpy", [&side, order] { return side.timed(order); }};
}

/// What rank 0 found, in memory that the program has too: with processes rank 0 is a process of its own.
struct Found {
    struct Row {
        std::array<char, 96> name;
        std::array<double, 4> figures;
        bool latency;
    };
    struct Substrate {
        bench::Interval latency, bandwidth;
    };
    std::array<Substrate, 2> of;
    std::size_t rows;
    std::array<Row, 512> row;

    void add(const std::string& name, bool latency, std::array<double, 4> figures) {
        Row& next = row.at(rows++);
        next = {{}, figures, latency};
        name.copy(next.name.data(), next.name.size() - 1);
    }
};

void measure(Found& found, const bench::Options& options, Side& side, bench::Floors& floors, Substrate substrate) {
    const std::string ranks = std::string(penstock::name(substrate)) + ", ";
    auto& goals = found.of.at(static_cast<std::size_t>(substrate));
    for (const std::size_t bytes :
         {std::size_t{1}, latency_bytes, std::size_t{64}, std::size_t{1024}, std::size_t{4096}, std::size_t{16384},
          std::size_t{65536}, bandwidth_bytes, largest_bytes}) {
        if (options.quick && bytes > bandwidth_bytes) continue;
        std::vector<Contestant> contestants{floors.two_lines()};
        for (const Protocol protocol : protocols) contestants.push_back(latency(side, protocol, bytes, options.quick));
        const auto result = bench::measure(contestants, options.plan);
        for (const auto& name : result.names()) {
            const auto over = result.ratio(name, "F2");
            found.add("half a round trip of " + words(bytes) + ", " + ranks + name, true,
                      {result.median(name), over.value, over.low, over.high});
        }
        const auto noise = result.noise();
        found.add("half a round trip of " + words(bytes) + ", " + ranks + "F2 over itself", true,
                  {result.median("F2"), noise.value, noise.low, noise.high});
        if (bytes == latency_bytes) goals.latency = result.ratio("automatic", "F2");
    }
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{65536}, bandwidth_bytes}) {
        std::vector<Contestant> contestants{copied(side, bytes, options.quick)};
        for (const Protocol protocol : protocols)
            contestants.push_back(bandwidth(side, protocol, bytes, options.quick));
        const auto result = bench::measure(contestants, options.plan);
        for (const auto& name : result.names()) {
            const auto of = result.ratio("memcpy", name);
            found.add("stream of " + words(bytes) + ", " + ranks + name, false,
                      {static_cast<double>(bytes) / result.median(name), of.value, of.low, of.high});
        }
        if (bytes == bandwidth_bytes) goals.bandwidth = result.ratio("memcpy", "automatic");
    }
}

/// The worse of threads and processes is what a user can rely on.
bench::Interval worse(const bench::Interval& a, const bench::Interval& b, bool larger_is_worse) {
    return (a.value > b.value) == larger_is_worse ? a : b;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"messages",
                             "half a round trip and bandwidth of messages by each protocol, threads and processes",
                             {"messages/latency-8", "messages/latency-over-openmpi", "messages/bandwidth",
                              "messages/bandwidth-over-openmpi"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const auto& processors = bench::allowed_processors();
    const auto memory = penstock::SharedMemory::create("figures", sizeof(Found));
    auto& found = *new (memory.data()) Found{};

    for (const Substrate substrate : {Substrate::processes, Substrate::threads}) {
        const auto program = [&](Rank me) {
            bench::pin_this_thread(processors[static_cast<std::size_t>(me.index()) % processors.size()]);
            Side side(me);
            if (me.index() == 1) return side.serve();
            bench::Floors floors{processors.front(), processors[processors.size() > 1 ? 1 : 0]};
            measure(found, options, side, floors, substrate);
            side.stop();
        };
        penstock::spmd(2, program, {.substrate = substrate, .pin = false});
    }

    for (std::size_t i = 0; i < found.rows; ++i) {
        const auto& [name, figures, latency] = found.row[i];
        report.row(name.data(), {{latency ? "median_ns" : "GB_a_second", figures[0]},
                                 {latency ? "over_F2" : "of_memcpy", figures[1]},
                                 {"low", figures[2]},
                                 {"high", figures[3]}});
    }
    report.goal("messages/latency-8", worse(found.of[0].latency, found.of[1].latency, true), Direction::at_most, 0.75,
                bench::Judged::by_interval);
    report.goal("messages/bandwidth", worse(found.of[0].bandwidth, found.of[1].bandwidth, false), Direction::at_least,
                0.9, bench::Judged::by_interval);
    const std::string why = "no comparison with Open MPI has been written yet";
    report.missing("messages/latency-over-openmpi", Direction::at_least, 1, why);
    report.missing("messages/bandwidth-over-openmpi", Direction::at_least, 1, why);
    report.note("each goal is judged by the worse of threads and processes; the rows F2 over itself are the noise");
    report.note("memcpy: the receiver copies from memory of the sender, told by a flag and answering by one");
    if (processors.size() < 2) report.note("one processor: both ranks share it, so the figures are those of switching");
    return report.finish();
}
