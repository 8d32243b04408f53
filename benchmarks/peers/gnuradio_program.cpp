// gnuradio_chain BLOCKS ITEMS: runs a chain of GNU Radio, and prints nanoseconds an item. A program of its own: GNU
// Radio starts threads before main().
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int item_bytes = 64;

gr::io_signature::sptr one() { return gr::io_signature::make(1, 1, item_bytes); }
gr::io_signature::sptr none() { return gr::io_signature::make(0, 0, 0); }

class Source final : public gr::sync_block {
  public:
    explicit Source(int items) : gr::sync_block("source", none(), one()), left_(items) {}
    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& outputs) override {
        if (began == Clock::time_point{}) began = Clock::now();
        if (left_ == 0) return WORK_DONE;
        const int count = std::min(room, left_);
        std::memset(outputs[0], 0, static_cast<std::size_t>(count) * item_bytes);
        left_ -= count;
        return count;
    }
    Clock::time_point began{};

  private:
    int left_;
};

class Pass final : public gr::sync_block {
  public:
    Pass() : gr::sync_block("pass", one(), one()) {}
    int work(int items, gr_vector_const_void_star& inputs, gr_vector_void_star& outputs) override {
        // all that wait at once, as its blocks do
        std::memcpy(outputs[0], inputs[0], static_cast<std::size_t>(items) * item_bytes);
        return items;
    }
};

class Sink final : public gr::sync_block {
  public:
    Sink() : gr::sync_block("sink", one(), none()) {}
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override {
        count += items;
        last = Clock::now();
        return items;
    }
    int count = 0;
    Clock::time_point last{};
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return std::fprintf(stderr, "gnuradio_chain BLOCKS ITEMS\n"), 2;
    const int blocks = std::atoi(arguments[1]), items = std::atoi(arguments[2]);
    const auto graph = gr::make_top_block("chain");
    const auto source = gnuradio::get_initial_sptr(new Source(items));
    const auto sink = gnuradio::get_initial_sptr(new Sink());
    gr::basic_block_sptr before = source;
    for (int i = 0; i < blocks; ++i) {
        const gr::basic_block_sptr pass = gnuradio::get_initial_sptr(new Pass());
        graph->connect(before, 0, pass, 0);
        before = pass;
    }
    graph->connect(before, 0, sink, 0);
    graph->run();
    if (sink->count != items) return std::fprintf(stderr, "%d items came, of %d\n", sink->count, items), 1;
    std::printf("%.3f\n", std::chrono::duration<double, std::nano>(sink->last - source->began).count() / items);
}
