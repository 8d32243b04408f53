#include <algorithm>
#include <cstddef>

#include "apps/lu/lu.hpp"
#include "apps/lu/runs.hpp"
#include "kernels/lu.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::lu {
namespace {

/// Deals out 0 .. count - 1 in one run of numbers for each target and one for the caller, so that a block stays, from
/// step to step, in the cache of whoever worked on it last: `issue(target, share)`, and `work(share)` for the caller's.
template <class Issue, class Work>
void deal(Machine& machine, std::size_t count, Issue&& issue, Work&& work) {
    const auto targets = static_cast<std::size_t>(machine.targets());
    const auto share = [&](std::size_t rank) {
        return Range{rank * count / (targets + 1), (rank + 1) * count / (targets + 1)};
    };
    for (std::size_t target = 0; target < targets; ++target) issue(static_cast<int>(target), share(target));
    work(share(targets));
    machine.barrier();
}

/// Calls visit(column, first, last) for each column in a share of the interior of rest x rest blocks, which are
/// numbered column by column.
template <class Visit>
void each_run(Range share, std::size_t rest, Visit&& visit) {
    while (share.begin < share.end) {
        const std::size_t first = share.begin % rest;
        const std::size_t last = std::min(rest, first + share.end - share.begin);
        visit(share.begin / rest, first, last);
        share.begin += last - first;
    }
}

}  // namespace

// The diagonal block is on the critical path and everybody waits for it: whoever issues the rest factors it at once.
template <class Real>
void tagged(MatrixOf<Real>& matrix, Machine& machine) {
    const std::size_t blocks = matrix.blocks();
    const auto rows = static_cast<std::int32_t>(matrix.block());
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(k));
        const std::span<Real> diagonal = matrix.tile(k, k);
        const std::size_t next = k + 1, rest = blocks - next;
        kernels::lu::factor<Real>(diagonal, order);
        const auto right = [&](std::size_t j) { return matrix.tile(k, next + j); };
        const auto run = [&](std::size_t column, std::size_t first, std::size_t last) {
            return matrix.run(next + first, next + last, column);
        };
        deal(
            machine, rest,
            [&](int target, Range share) {
                auto calls = machine.on(target);
                if (share.begin == share.end) return;
                calls.template call<bdiv_run<Real>>(in(diagonal), inout(run(k, share.begin, share.end)), order, rows);
                for (std::size_t j = share.begin; j < share.end; ++j)
                    calls.template call<kernels::lu::bmodd<Real>>(in(diagonal), inout(right(j)), order);
            },
            [&](Range share) {
                bdiv_run<Real>(diagonal, run(k, share.begin, share.end), order, rows);
                for (std::size_t j = share.begin; j < share.end; ++j)
                    kernels::lu::bmodd<Real>(diagonal, right(j), order);
            });
        deal(
            machine, rest * rest,
            [&](int target, Range share) {
                auto calls = machine.on(target);
                each_run(share, rest, [&](std::size_t j, std::size_t first, std::size_t last) {
                    calls.template call<bmod_run<Real>>(in(run(k, first, last)), in(right(j)),
                                                        inout(run(next + j, first, last)), order, rows);
                });
            },
            [&](Range share) {
                each_run(share, rest, [&](std::size_t j, std::size_t first, std::size_t last) {
                    bmod_run<Real>(run(k, first, last), right(j), run(next + j, first, last), order, rows);
                });
            });
    }
}

template void tagged(MatrixOf<float>&, Machine&);
template void tagged(MatrixOf<double>&, Machine&);

}  // namespace penstock::apps::lu
