// Runs one part of an application in each rank of a team and times what they do together.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>

#include "apps/shared_array.hpp"
#include "apps/team.hpp"
#include "penstock/barrier.hpp"
#include "penstock/spmd.hpp"

namespace penstock::apps {

/// How an application is spread over ranks.
struct RankOptions {
    int ranks = 2;
    Substrate substrate = Substrate::threads;
    int passes = 2;  ///< how often it is computed; the last one is timed, the others find the pages and wake the ranks
};

/// One rank's part: what it gets ready (its input, again in each pass), what is timed, and where it leaves its result.
template <class P>
concept Part = requires(P& part) {
    part.prepare();
    part.run();
    part.collect();
};

/// The part of 0 ... count that is this rank's when all get equally many (to within one).
inline Range share(const Rank& me, std::size_t count) noexcept {
    const auto index = static_cast<std::size_t>(me.index());
    const auto size = static_cast<std::size_t>(me.size());
    return {count * index / size, count * (index + 1) / size};
}

/// One rank's share of an application: makes its part, and takes the steps that all ranks take together. Returns the
/// seconds of seconds_of_ranks().
template <class Make>
    requires Part<std::invoke_result_t<const Make&, Rank>>
double seconds_of_rank(Rank me, int passes, const Make& make) {
    auto part = make(me);
    Barrier barrier{me, "pass"};
    double seconds = 0;
    for (int pass = 0; pass < passes; ++pass) {
        part.prepare();
        barrier.arrive_and_wait();
        const auto start = std::chrono::steady_clock::now();
        part.run();
        barrier.arrive_and_wait();
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        part.collect();
        barrier.arrive_and_wait();
    }
    return seconds;
}

/// Makes `make(rank)` in each rank (regions, grants), runs all parts together `passes` times, and returns the seconds
/// from when all were ready in the last pass to when all had finished. Throws as spmd().
template <class Make>
    requires Part<std::invoke_result_t<const Make&, Rank>>
double seconds_of_ranks(const RankOptions& options, const Make& make) {
    SharedArray<double> seconds{1};
    spmd(options.ranks,
         [&](Rank me) {
             const double time = seconds_of_rank(me, options.passes, make);
             if (me.index() == 0) seconds[0] = time;
         },
         {.substrate = options.substrate});
    return seconds[0];
}

}  // namespace penstock::apps
