// gnuradio_chain BLOCKS ITEMS ITERATIONS: runs a chain of GNU Radio whose items hold their numbers, and prints
// nanoseconds an item and a digest of what came. Each block works on the number so many times. A program of its own:
// GNU Radio starts threads before main().
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "grain/piece.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int item_bytes = 64;

gr::io_signature::sptr one() { return gr::io_signature::make(1, 1, item_bytes); }
gr::io_signature::sptr none() { return gr::io_signature::make(0, 0, 0); }

void* place(void* items, int i) { return static_cast<char*>(items) + static_cast<std::ptrdiff_t>(i) * item_bytes; }
const void* place(const void* items, int i) { return place(const_cast<void*>(items), i); }

class Source final : public gr::sync_block {
  public:
    explicit Source(int items) : gr::sync_block("source", none(), one()), left_(items) {}
    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& outputs) override {
        if (began == Clock::time_point{}) began = Clock::now();
        if (left_ == 0) return WORK_DONE;
        const int count = std::min(room, left_);
        std::memset(outputs[0], 0, static_cast<std::size_t>(count) * item_bytes);
        for (int i = 0; i < count; ++i) std::memcpy(place(outputs[0], i), &number_, sizeof number_), ++number_;
        left_ -= count;
        return count;
    }
    Clock::time_point began{};

  private:
    int left_;
    std::uint64_t number_ = 0;
};

class Pass final : public gr::sync_block {
  public:
    explicit Pass(int iterations) : gr::sync_block("pass", one(), one()), iterations_(iterations) {}
    int work(int items, gr_vector_const_void_star& inputs, gr_vector_void_star& outputs) override {
        // all that wait at once, as its blocks do
        std::memcpy(outputs[0], inputs[0], static_cast<std::size_t>(items) * item_bytes);
        if (iterations_ == 0) return items;
        for (int i = 0; i < items; ++i) {
            std::uint64_t value;
            std::memcpy(&value, place(outputs[0], i), sizeof value);
            value = bench::grain::piece(value, iterations_);
            std::memcpy(place(outputs[0], i), &value, sizeof value);
        }
        return items;
    }

  private:
    int iterations_;
};

class Sink final : public gr::sync_block {
  public:
    Sink() : gr::sync_block("sink", one(), none()) {}
    int work(int items, gr_vector_const_void_star& inputs, gr_vector_void_star&) override {
        count += items;
        for (int i = 0; i < items; ++i) {
            std::uint64_t value;
            std::memcpy(&value, place(inputs[0], i), sizeof value);
            bench::grain::fold(digest, value);
        }
        last = Clock::now();
        return items;
    }
    int count = 0;
    std::uint64_t digest = 0;
    Clock::time_point last{};
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) return std::fprintf(stderr, "gnuradio_chain BLOCKS ITEMS ITERATIONS\n"), 2;
    const int blocks = std::atoi(arguments[1]), items = std::atoi(arguments[2]), iterations = std::atoi(arguments[3]);
    const auto graph = gr::make_top_block("chain");
    const auto source = gnuradio::get_initial_sptr(new Source(items));
    const auto sink = gnuradio::get_initial_sptr(new Sink());
    gr::basic_block_sptr before = source;
    for (int i = 0; i < blocks; ++i) {
        const gr::basic_block_sptr pass = gnuradio::get_initial_sptr(new Pass(iterations));
        graph->connect(before, 0, pass, 0);
        before = pass;
    }
    graph->connect(before, 0, sink, 0);
    graph->run();
    if (sink->count != items) return std::fprintf(stderr, "%d items came, of %d\n", sink->count, items), 1;
    std::printf("%.3f %" PRIu64 "\n",
                std::chrono::duration<double, std::nano>(sink->last - source->began).count() / items, sink->digest);
}
