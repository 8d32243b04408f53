#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "grain/way.hpp"
#include "peers/gnuradio_chain.hpp"
#include "peers/openmp.hpp"
#include "penstock/graph.hpp"
#include "penstock/run.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include "peers/onetbb.hpp"
#endif

namespace bench::grain {
namespace {

using penstock::Input;
using penstock::Output;

std::uint64_t through_all(std::uint64_t value, std::int32_t iterations) {
    for (std::size_t stage = 0; stage < stages; ++stage) value = piece(value, iterations);
    return value;
}

struct Source {
    Output<std::uint64_t> out{"out"};
    std::uint64_t count, next = 0;
    explicit Source(std::uint64_t items) : count(items) {}
    bool operator()() {
        if (next == count) return false;
        auto made = out.make(1);
        made.edit()[0] = next++;
        out.write(std::move(made));
        return true;
    }
};

struct Stage {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    std::int32_t iterations;
    explicit Stage(std::int32_t each) : iterations(each) {}
    void operator()() {
        auto item = in.read();
        auto values = item.edit();
        values[0] = piece(values[0], iterations);
        out.write(std::move(item));
    }
};

struct Sink {
    Input<std::uint64_t> in{"in"};
    std::uint64_t digest = 0;
    void operator()() { fold(digest, in.read()[0]); }
};

std::uint64_t by_filters(const Place& place, const Size& size) {
    penstock::Graph graph;
    auto& source = graph.add<Source>("source", {}, size.pieces);
    auto* from = &source.out;
    for (std::size_t stage = 0; stage < stages; ++stage) {
        auto& next = graph.add<Stage>("stage " + std::to_string(stage), {.copies = place.workers()}, size.iterations);
        graph.connect(*from, next.in);
        from = &next.out;
    }
    auto& sink = graph.add<Sink>("sink");
    graph.connect(*from, sink.in, {.ordered = true});
    auto run = graph.start(place.machine);
    run.finish();
    return sink.digest;
}

/// Each thread takes the next item through all stages; who has the last one puts them together.
Ran by_hand(penstock::apps::Team& team, std::vector<std::uint64_t>& made, const Size& size) {
    std::atomic<std::size_t> next{0};
    const double seconds = team.run([&](int) {
        for (auto i = next.fetch_add(1); i < size.pieces; i = next.fetch_add(1))
            made[i] = through_all(i, size.iterations);
    });
    std::uint64_t digest = 0;
    for (const auto value : made) fold(digest, value);
    return {digest, 1e9 * seconds};
}

#if defined(_OPENMP)
/// A task for each item and stage; the sink's come one after the other.
std::uint64_t by_openmp_depend(std::vector<std::uint64_t>& made, const Size& size) {
    std::uint64_t digest = 0;
    std::uint64_t* const items = made.data();
#pragma omp parallel num_threads(openmp_team_size())
#pragma omp single
    for (std::size_t i = 0; i < size.pieces; ++i) {
        items[i] = i;
        for (std::size_t stage = 0; stage < stages; ++stage) {
#pragma omp task firstprivate(i) depend(inout : items[i])
            items[i] = piece(items[i], size.iterations);
        }
#pragma omp task firstprivate(i) shared(digest) depend(in : items[i]) depend(inout : digest)
        fold(digest, items[i]);
    }
    return digest;
}

/// An item a turn of an ordered loop.
std::uint64_t by_openmp_ordered(const Size& size) {
    std::uint64_t digest = 0;
    const auto count = static_cast<std::int64_t>(size.pieces);
#pragma omp parallel for ordered schedule(dynamic) num_threads(openmp_team_size())
    for (std::int64_t i = 0; i < count; ++i) {
        const auto value = through_all(static_cast<std::uint64_t>(i), size.iterations);
#pragma omp ordered
        fold(digest, value);
    }
    return digest;
}
#endif

#if defined(PENSTOCK_BENCH_TBB)
std::uint64_t by_onetbb(const Size& size) {
    std::uint64_t digest = 0, next = 0;
    auto chain = tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order,
                                                       [&](tbb::flow_control& control) -> std::uint64_t {
                                                           if (next == size.pieces) return control.stop(), 0;
                                                           return next++;
                                                       });
    for (std::size_t stage = 0; stage < stages; ++stage)
        chain =
            chain & tbb::make_filter<std::uint64_t, std::uint64_t>(
                        tbb::filter_mode::parallel, [&](std::uint64_t value) { return piece(value, size.iterations); });
    constexpr std::size_t tokens = 16;
    tbb::parallel_pipeline(
        tokens, chain & tbb::make_filter<std::uint64_t, void>(tbb::filter_mode::serial_in_order,
                                                              [&](std::uint64_t value) { fold(digest, value); }));
    return digest;
}

/// Nodes that take any number of items at once, and one that puts them in order; made once.
class Flow {
  public:
    explicit Flow(const Size& size)
        : size_(size), order_(graph_, [](const Item& item) { return item.number; }),
          sink_(graph_, tbb::flow::serial, [this](const Item& item) {
              fold(digest_, item.value);
              return tbb::flow::continue_msg{};
          }) {
        for (std::size_t stage = 0; stage < stages; ++stage) {
            nodes_.push_back(std::make_unique<Node>(graph_, tbb::flow::unlimited, [this](Item item) {
                item.value = piece(item.value, size_.iterations);
                return item;
            }));
            if (stage != 0) tbb::flow::make_edge(*nodes_[stage - 1], *nodes_[stage]);
        }
        tbb::flow::make_edge(*nodes_.back(), order_);
        tbb::flow::make_edge(order_, sink_);
    }
    std::uint64_t run() {
        digest_ = 0;
        graph_.reset();  // or the order would go on where it was
        for (std::size_t i = 0; i < size_.pieces; ++i) nodes_.front()->try_put({i, i});
        graph_.wait_for_all();
        return digest_;
    }

  private:
    struct Item {
        std::size_t number;
        std::uint64_t value;
    };
    using Node = tbb::flow::function_node<Item, Item>;
    Size size_;
    tbb::flow::graph graph_;
    std::uint64_t digest_ = 0;
    std::vector<std::unique_ptr<Node>> nodes_;
    tbb::flow::sequencer_node<Item> order_;
    tbb::flow::function_node<Item> sink_;
};
#endif

}  // namespace

std::vector<Way> pipeline_ways(const Place& place, const Size& size) {
    const auto made = std::make_shared<std::vector<std::uint64_t>>(size.pieces);
    std::vector<Way> ways;
    ways.push_back({"serial",
                    [size] {
                        std::uint64_t digest = 0;
                        for (std::size_t i = 0; i < size.pieces; ++i) fold(digest, through_all(i, size.iterations));
                        return Ran{digest};
                    },
                    on_the_first});
    ways.push_back({"hand", [made, size, &team = place.team] { return by_hand(team, *made, size); }, on_the_first});
    ways.push_back({"penstock", [place, size] { return Ran{by_filters(place, size)}; }, on_the_first});
#if defined(_OPENMP)
    ways.push_back({"openmp-depend", [made, size] { return Ran{by_openmp_depend(*made, size)}; }, in_openmp});
    ways.push_back({"openmp-ordered", [size] { return Ran{by_openmp_ordered(size)}; }, in_openmp});
#endif
#if defined(PENSTOCK_BENCH_TBB)
    ways.push_back({"onetbb-pipeline", [size] { return Ran{by_onetbb(size)}; }, in_onetbb_arena});
    ways.push_back({"onetbb-flow",
                    [size, flow = std::shared_ptr<Flow>()]() mutable {
                        if (!flow) flow = std::make_shared<Flow>(size);  // inside the arena, whose threads it takes
                        return Ran{flow->run()};
                    },
                    in_onetbb_arena});
#endif
    if (const auto program = gnuradio_stages(stages, size.iterations))
        ways.push_back({"gnuradio",
                        [program, size] {
                            const auto [nanoseconds, digest] = program(static_cast<int>(size.pieces));
                            return Ran{digest, nanoseconds * static_cast<double>(size.pieces)};
                        },
                        [](const auto& batch) { batch(); }});
    return ways;
}

}  // namespace bench::grain
