#include "messages/side.hpp"

#include <atomic>
#include <cstring>

namespace messages {
namespace {

using penstock::Messenger;
using penstock::Protocol;

constexpr Protocol protocols[] = {Protocol::automatic, Protocol::ring, Protocol::pull, Protocol::push,
                                  Protocol::pure_pull};

/// The flags of the bare copy, in memory of rank 0; what is copied lies behind them.
struct Flags {
    alignas(128) std::atomic<std::uint64_t> asked{0};
    alignas(128) std::atomic<std::uint64_t> copied{0};
};

}  // namespace

Side::Side(penstock::Rank me) : me_(me), orders_(me, {.name = "orders"}), own_(largest_bytes, std::byte{1}) {
    for (const Protocol protocol : protocols)
        posts_.push_back(std::make_unique<Messenger>(
            me, penstock::MessengerOptions{.protocol = protocol, .name = std::string(penstock::name(protocol))}));
    if (me.index() == 0) {
        memory_ = me.make("bare copy", sizeof(Flags) + largest_bytes);
        new (memory_.data()) Flags;
        me.grant(memory_, 1);
    } else if (me.index() == 1) {
        memory_ = me.accept(0, "bare copy");
    }
}

void Side::serve() {
    for (;;) {
        Order order;
        orders_.recv(0, order);
        if (order.work == Work::stop) return;
        work(order);
    }
}

void Side::tell(const Order& order) {
    for (int rank = 1; rank < me_.size(); ++rank) orders_.send(rank, order);
}

void Side::stop() { tell({}); }

double Side::timed(Order order) {
    Order warm = order;
    warm.times = order.times / 4 + 1;
    tell(warm);
    work(warm);
    tell(order);
    const auto start = bench::Clock::now();
    work(order);
    return bench::nanoseconds_since(start) / order.times;
}

void Side::singles(Order order, std::vector<double>& times) {
    order.times = 200;
    tell(order);
    work(order, &times);
}

void Side::work(const Order& order, std::vector<double>* singles) {
    Messenger& post = *posts_[static_cast<std::size_t>(order.protocol)];
    if (order.work == Work::round_trips) round_trips(post, order, singles);
    if (order.work == Work::fan) fan(post, order);
    if (order.work == Work::gather) gather(post, order);
    if (order.work == Work::bare_copy) bare_copy(order);
}

void Side::round_trips(Messenger& post, const Order& order, std::vector<double>* singles) {
    const auto bytes = std::span(own_).first(order.bytes);
    const int width = static_cast<int>(order.width), me = me_.index();
    if (me < width) {
        for (std::uint32_t i = 0; i < order.times; ++i) {
            const auto start = singles ? bench::Clock::now() : bench::Clock::time_point{};
            post.send(me + width, bytes);
            post.recv(me + width, bytes);
            if (singles) singles->push_back(bench::nanoseconds_since(start) / 2);
        }
    } else if (me < 2 * width) {
        for (std::uint32_t i = 0; i < order.times; ++i) {
            post.recv(me - width, bytes);
            post.send(me - width, bytes);
        }
    }
}

void Side::fan(Messenger& post, const Order& order) {
    if (order.memory == Memory::allotted && allotted_.empty()) allotted_ = post.allocate<std::byte>(largest_bytes);
    const auto bytes = (order.memory == Memory::allotted ? allotted_.elements() : std::span(own_)).first(order.bytes);
    const int width = static_cast<int>(order.width);
    std::uint32_t end = 0;
    if (me_.index() == 0) {
        for (std::uint32_t i = 0; i < order.times; ++i)
            for (int to = 1; to <= width; ++to) post.send(to, bytes);
        for (int from = 1; from <= width; ++from) post.recv(from, end);
    } else if (me_.index() <= width) {
        for (std::uint32_t i = 0; i < order.times; ++i) post.recv(0, bytes);
        post.send(0, end);
    }
}

void Side::gather(Messenger& post, const Order& order) {
    const auto bytes = std::span(own_).first(order.bytes);
    const int width = static_cast<int>(order.width);
    if (me_.index() > width) return;
    for (std::uint32_t i = 0; i < order.times; ++i) {
        if (me_.index() != 0) post.send(0, bytes);
        else
            for (int from = 1; from <= width; ++from) post.recv(from, bytes);
    }
}

void Side::bare_copy(const Order& order) {
    if (me_.index() > 1) return;
    auto& flags = *reinterpret_cast<Flags*>(memory_.data());
    for (std::uint32_t i = 0; i < order.times; ++i) {
        ++copies_;
        if (me_.index() == 0) {
            flags.asked.store(copies_, std::memory_order_release);
            while (flags.copied.load(std::memory_order_acquire) != copies_) {
            }
        } else {
            while (flags.asked.load(std::memory_order_acquire) != copies_) {
            }
            std::memcpy(own_.data(), memory_.data() + sizeof(Flags), order.bytes);
            flags.copied.store(copies_, std::memory_order_release);
        }
    }
}

}  // namespace messages
