#include <algorithm>
#include <cstddef>

#include "apps/lu/lu.hpp"
#include "kernels/lu.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::lu {
namespace {

/// Deals out 0 .. count - 1 in one run of numbers for each target and one for the caller, so that a block stays, from
/// step to step, in the cache of whoever worked on it last: `issue(target, number)`, and `work(number)` for those of
/// the caller.
template <class Issue, class Work>
void deal(Machine& machine, std::size_t count, Issue&& issue, Work&& work) {
    const auto targets = static_cast<std::size_t>(machine.targets());
    const auto begin = [&](std::size_t rank) { return rank * count / (targets + 1); };
    const std::size_t most = (count + targets) / (targets + 1);
    for (std::size_t turn = 0; turn < most; ++turn) {
        for (std::size_t target = 0; target < targets; ++target)
            if (begin(target) + turn < begin(target + 1)) issue(static_cast<int>(target), begin(target) + turn);
        if (begin(targets) + turn < count) work(begin(targets) + turn);
    }
    machine.barrier();
}

}  // namespace

// The diagonal block is on the critical path and everybody waits for it: whoever issues the rest factors it at once.
template <class Real>
void tagged(MatrixOf<Real>& matrix, Machine& machine) {
    const std::size_t blocks = matrix.blocks();
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(k));
        const std::span<Real> diagonal = matrix.tile(k, k);
        const std::size_t rest = blocks - k - 1;
        kernels::lu::factor<Real>(diagonal, order);
        const auto below = [&](std::size_t n) { return matrix.tile(k + 1 + n, k); };
        const auto right = [&](std::size_t n) { return matrix.tile(k, k + 1 + n); };
        deal(
            machine, rest,
            [&](int target, std::size_t n) {
                machine.on(target).call<kernels::lu::bdiv<Real>>(in(diagonal), inout(below(n)), order);
                machine.on(target).call<kernels::lu::bmodd<Real>>(in(diagonal), inout(right(n)), order);
            },
            [&](std::size_t n) {
                kernels::lu::bdiv<Real>(diagonal, below(n), order);
                kernels::lu::bmodd<Real>(diagonal, right(n), order);
            });
        deal(
            machine, rest * rest,
            [&](int target, std::size_t n) {
                machine.on(target).call<kernels::lu::bmod<Real>>(in(below(n % rest)), in(right(n / rest)),
                                                                 inout(matrix.tile(k + 1 + n % rest, k + 1 + n / rest)),
                                                                 order);
            },
            [&](std::size_t n) {
                kernels::lu::bmod<Real>(below(n % rest), right(n / rest),
                                        matrix.tile(k + 1 + n % rest, k + 1 + n / rest), order);
            });
    }
}

template void tagged(MatrixOf<float>&, Machine&);
template void tagged(MatrixOf<double>&, Machine&);

}  // namespace penstock::apps::lu
