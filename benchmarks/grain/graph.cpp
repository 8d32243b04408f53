#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "grain/way.hpp"
#include "peers/openmp.hpp"
#include "penstock/dependences.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_group.h>

#include "peers/onetbb.hpp"
#endif
#if defined(PENSTOCK_BENCH_TASKFLOW)
#include <taskflow/taskflow.hpp>

#include "harness/processors.hpp"
#endif

namespace bench::grain {
namespace {

using One = std::span<const std::uint64_t>;

void make_cell(One above, One left, std::span<std::uint64_t> cell, std::int32_t iterations) {
    cell[0] = piece(above[0] ^ left[0], iterations);
}

/// The cells, with a row above and a column on the left that nobody makes. Each in a line of its own.
class Square {
  public:
    explicit Square(const Size& size)
        : side(size.pieces), iterations(size.iterations), cells_((side + 1) * (side + 1)) {
        for (std::size_t i = 0; i <= side; ++i) at(0, i).value = at(i, 0).value = i;
    }
    std::span<std::uint64_t> cell(std::size_t i, std::size_t j) { return {&at(i, j).value, 1}; }
    void make(std::size_t i, std::size_t j) { make_cell(cell(i - 1, j), cell(i, j - 1), cell(i, j), iterations); }
    template <class Body>
    void each(Body body) const {
        for (std::size_t i = 1; i <= side; ++i)
            for (std::size_t j = 1; j <= side; ++j) body(i, j);
    }
    std::uint64_t digest() {
        std::uint64_t all = 0;
        each([&](std::size_t i, std::size_t j) { fold(all, at(i, j).value); });
        return all;
    }
    const std::size_t side;
    const std::int32_t iterations;

  private:
    struct alignas(128) Cell {
        std::uint64_t value = 0;
    };
    Cell& at(std::size_t i, std::size_t j) { return cells_[i * (side + 1) + j]; }
    std::vector<Cell> cells_;
};

/// Every so-manyth row is one thread's; it follows the row above by the count of cells that are made there.
double by_hand(Square& square, penstock::apps::Team& team) {
    struct alignas(128) Row {
        std::atomic<std::size_t> made{0};
    };
    std::vector<Row> rows(square.side + 1);
    rows[0].made = square.side;
    return 1e9 * team.run([&](int rank) {
        for (std::size_t i = static_cast<std::size_t>(rank) + 1; i <= square.side;
             i += static_cast<std::size_t>(team.size()))
            for (std::size_t j = 1; j <= square.side; ++j) {
                while (rows[i - 1].made.load(std::memory_order_acquire) < j) {
                }
                square.make(i, j);
                rows[i].made.store(j, std::memory_order_release);
            }
    });
}

void issue(Square& square, penstock::Dependences& order) {
    square.each([&](std::size_t i, std::size_t j) {
        order.call<make_cell>(penstock::in(square.cell(i - 1, j)), penstock::in(square.cell(i, j - 1)),
                              penstock::inout(square.cell(i, j)), square.iterations);
    });
    order.wait();
}

struct Ours {
    explicit Ours(penstock::Machine& machine) : order(machine) {}
    penstock::Dependences order;
    std::optional<penstock::Recording> recording;
};

void by_replay(Square& square, Ours& ours) {
    if (!ours.recording) {
        ours.recording = ours.order.record([&] { issue(square, ours.order); });
        ours.recording->replay();  // the first measures
    }
    ours.recording->replay();
}

#if defined(_OPENMP)
void by_openmp_depend(Square& square) {
#pragma omp parallel num_threads(openmp_team_size())
#pragma omp single
    for (std::size_t i = 1; i <= square.side; ++i)
        for (std::size_t j = 1; j <= square.side; ++j) {
            [[maybe_unused]] auto *above = square.cell(i - 1, j).data(), *left = square.cell(i, j - 1).data(),
                                  *cell = square.cell(i, j).data();
#pragma omp task firstprivate(i, j) shared(square) depend(in : above[0], left[0]) depend(inout : cell[0])
            square.make(i, j);
        }
}
#endif

#if defined(PENSTOCK_BENCH_TBB)
/// A node for each cell; made once.
class Flow {
  public:
    explicit Flow(Square& square) {
        square.each([&](std::size_t i, std::size_t j) {
            nodes_.emplace_back(graph_, [&square, i, j](const tbb::flow::continue_msg&) { square.make(i, j); });
            if (i > 1) tbb::flow::make_edge(nodes_[nodes_.size() - 1 - square.side], nodes_.back());
            if (j > 1) tbb::flow::make_edge(nodes_[nodes_.size() - 2], nodes_.back());
        });
    }
    void run() {
        nodes_.front().try_put(tbb::flow::continue_msg{});
        graph_.wait_for_all();
    }

  private:
    tbb::flow::graph graph_;
    std::deque<tbb::flow::continue_node<tbb::flow::continue_msg>> nodes_;
};

/// A cell's task counts down those of its two successors, and runs one of those that became ready itself.
class Countdown {
  public:
    explicit Countdown(Square& square) : square_(square), left_((square.side + 2) * (square.side + 2)) {}
    void run() {
        square_.each([&](std::size_t i, std::size_t j) {
            left(i, j).store((i > 1 ? 1 : 0) + (j > 1 ? 1 : 0), std::memory_order_relaxed);
        });
        group_.run([this] { from(1, 1); });
        group_.wait();
    }

  private:
    std::atomic<int>& left(std::size_t i, std::size_t j) { return left_[i * (square_.side + 2) + j]; }
    void from(std::size_t i, std::size_t j) {
        for (;;) {
            square_.make(i, j);
            const bool below = i < square_.side && left(i + 1, j).fetch_sub(1, std::memory_order_acq_rel) == 1,
                       beside = j < square_.side && left(i, j + 1).fetch_sub(1, std::memory_order_acq_rel) == 1;
            if (below && beside) group_.run([this, i, j] { from(i + 1, j); });
            if (beside) ++j;
            else if (below) ++i;
            else return;
        }
    }
    Square& square_;
    std::vector<std::atomic<int>> left_;
    tbb::task_group group_;
};
#endif

#if defined(PENSTOCK_BENCH_TASKFLOW)
class Tasks {
  public:
    explicit Tasks(Square& square) {
        std::vector<tf::Task> all;
        square.each([&](std::size_t i, std::size_t j) {
            all.push_back(flow_.emplace([&square, i, j] { square.make(i, j); }));
            if (i > 1) all[all.size() - 1 - square.side].precede(all.back());
            if (j > 1) all[all.size() - 2].precede(all.back());
        });
    }
    void run() {
        static tf::Executor executor{allowed_processors().size()};
        executor.run(flow_).wait();
    }

  private:
    tf::Taskflow flow_;
};
#endif

}  // namespace

std::vector<Way> graph_ways(const Place& place, const Size& size) {
    const auto square = std::make_shared<Square>(size);
    const auto ours = std::make_shared<Ours>(place.machine);
    const auto way = [square](auto body) {
        return [square, body]() mutable {
            Ran ran;
            if constexpr (std::is_void_v<decltype(body(*square))>) body(*square);
            else ran.nanoseconds = body(*square);
            ran.digest = square->digest();
            return ran;
        };
    };
    /// A program that is made at the first run, by whoever runs it.
    [[maybe_unused]] const auto kept = [square]<class Program>(std::shared_ptr<Program> program) {
        return [square, program]() mutable {
            if (!program) program = std::make_shared<Program>(*square);
            program->run();
            return Ran{square->digest()};
        };
    };
    std::vector<Way> ways;
    ways.push_back({"serial", way([](Square& all) { all.each([&](std::size_t i, std::size_t j) { all.make(i, j); }); }),
                    on_the_first});
    ways.push_back({"hand", way([&team = place.team](Square& all) { return by_hand(all, team); }), on_the_first});
    ways.push_back({"penstock", way([ours](Square& all) { issue(all, ours->order); }), on_the_first});
    ways.push_back({"penstock-replay", way([ours](Square& all) { by_replay(all, *ours); }), on_the_first});
#if defined(_OPENMP)
    ways.push_back({"openmp-depend", way(by_openmp_depend), in_openmp});
#endif
#if defined(PENSTOCK_BENCH_TBB)
    ways.push_back({"onetbb-flow", kept(std::shared_ptr<Flow>()), in_onetbb_arena});
    ways.push_back({"onetbb-task", kept(std::shared_ptr<Countdown>()), in_onetbb_arena});
#endif
#if defined(PENSTOCK_BENCH_TASKFLOW)
    ways.push_back({"taskflow", kept(std::shared_ptr<Tasks>()), on_the_first});
#endif
    return ways;
}

}  // namespace bench::grain
