#include <memory>
#include <type_traits>
#include <vector>

#include "grain/way.hpp"
#include "peers/openmp.hpp"
#include "penstock/for_each.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include "peers/onetbb.hpp"
#endif

namespace bench::grain {
namespace {

/// Everybody writes what a piece made to its place.
struct Loop {
    explicit Loop(const Size& size) : iterations(size.iterations), made(size.pieces) {}
    void do_one(std::size_t i) { made[i] = piece(i, iterations); }
    std::uint64_t digest() const {
        std::uint64_t all = 0;
        for (const auto value : made) fold(all, value);
        return all;
    }
    std::int32_t iterations;
    std::vector<std::uint64_t> made;
};

}  // namespace

std::vector<Way> loop_ways(const Place& place, const Size& size) {
    const auto loop = std::make_shared<Loop>(size);
    const auto count = size.pieces;
    const auto way = [loop](auto body) {
        return [loop, body] {
            Ran ran;
            if constexpr (std::is_void_v<decltype(body(*loop))>) body(*loop);
            else ran.nanoseconds = body(*loop);
            ran.digest = loop->digest();
            return ran;
        };
    };
    std::vector<Way> ways;
    ways.push_back({"serial", way([count](Loop& all) {
                        for (std::size_t i = 0; i < count; ++i) all.do_one(i);
                    }),
                    on_the_first});
    ways.push_back({"hand", way([count, &team = place.team](Loop& all) {
                        return 1e9 * team.run([&](int rank) {
                            const auto share = team.share(rank, count);
                            for (std::size_t i = share.begin; i < share.end; ++i) all.do_one(i);
                        });
                    }),
                    on_the_first});
    ways.push_back({"penstock", way([count, &machine = place.machine](Loop& all) {
                        machine.for_each(count, [&](std::size_t i) { all.do_one(i); });
                    }),
                    on_the_first});
#if defined(_OPENMP)
    const auto number = static_cast<std::int64_t>(count);
    ways.push_back({"openmp-for", way([number](Loop& all) {
#pragma omp parallel for schedule(static) num_threads(openmp_team_size())
                        for (std::int64_t i = 0; i < number; ++i) all.do_one(static_cast<std::size_t>(i));
                    }),
                    in_openmp});
    ways.push_back({"openmp-dynamic", way([number](Loop& all) {
#pragma omp parallel for schedule(dynamic) num_threads(openmp_team_size())
                        for (std::int64_t i = 0; i < number; ++i) all.do_one(static_cast<std::size_t>(i));
                    }),
                    in_openmp});
    ways.push_back({"openmp-task", way([number](Loop& all) {
#pragma omp parallel num_threads(openmp_team_size())
#pragma omp single
                        for (std::int64_t i = 0; i < number; ++i) {
#pragma omp task shared(all) firstprivate(i)
                            all.do_one(static_cast<std::size_t>(i));
                        }
                    }),
                    in_openmp});
#endif
#if defined(PENSTOCK_BENCH_TBB)
    ways.push_back({"onetbb-for", way([count](Loop& all) {
                        tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { all.do_one(i); });
                    }),
                    in_onetbb_arena});
    ways.push_back({"onetbb-task", way([count](Loop& all) {
                        tbb::task_group group;
                        for (std::size_t i = 0; i < count; ++i) group.run([&all, i] { all.do_one(i); });
                        group.wait();
                    }),
                    in_onetbb_arena});
#endif
    return ways;
}

}  // namespace bench::grain
