#include <algorithm>
#include <cstddef>

#include "apps/lu/lu.hpp"
#include "apps/lu/runs.hpp"
#include "kernels/lu.hpp"
#include "penstock/dependences.hpp"

namespace penstock::apps::lu {

// The phases as before, without the barriers: the tags say which blocks a task waits for, so the diagonal of the next
// step is factored while this step's interior is still being updated.
template <class Real>
void dependent(MatrixOf<Real>& matrix, Dependences& calls) {
    const std::size_t blocks = matrix.blocks();
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(k));
        const std::span<Real> diagonal = matrix.tile(k, k);
        calls.call<kernels::lu::factor<Real>>(inout(diagonal), order);
        for (std::size_t i = k + 1; i < blocks; ++i)
            calls.call<kernels::lu::bdiv<Real>>(in(diagonal), inout(matrix.tile(i, k)), order);
        for (std::size_t j = k + 1; j < blocks; ++j)
            calls.call<kernels::lu::bmodd<Real>>(in(diagonal), inout(matrix.tile(k, j)), order);
        for (std::size_t j = k + 1; j < blocks; ++j) {
            for (std::size_t i = k + 1; i < blocks; ++i)
                calls.call<kernels::lu::bmod<Real>>(in(matrix.tile(i, k)), in(matrix.tile(k, j)),
                                                    inout(matrix.tile(i, j)), order);
        }
    }
    calls.wait();
}

// ---- the same with tags on runs ----

namespace {

// So many blocks are about 4 us, and what a call costs is a fortieth of that.
constexpr std::size_t blocks_a_run = 8;

// Of the run in which the diagonal block lies, from its row `row` on: that block, and those below it.
template <class Real>
void begin_column(std::span<Real> run, std::int32_t order, std::int32_t rows, std::int32_t row) {
    const auto across = static_cast<std::size_t>(order), at = static_cast<std::size_t>(row) * across;
    const auto diagonal = run.subspan(at, across * across);
    kernels::lu::factor<Real>(diagonal, order);
    bdiv_run<Real>(diagonal, run.subspan(at + diagonal.size()), order, rows);
}

// The others have blocks of order x order, as no column but the last has fewer.

// A further run of that column; `top` is the one with the diagonal block.
template <class Real>
void go_on_with_column(std::span<const Real> top, std::span<Real> run, std::int32_t order, std::int32_t row) {
    const auto across = static_cast<std::size_t>(order);
    bdiv_run<Real>(top.subspan(static_cast<std::size_t>(row) * across, across * across), run, order, order);
}

// Of another column the run beside the one with the diagonal block.
template <class Real>
void begin_other(std::span<const Real> left, std::span<Real> run, std::int32_t order, std::int32_t row) {
    const auto across = static_cast<std::size_t>(order), from = static_cast<std::size_t>(row);
    const std::size_t columns = run.size() / (left.size() / across);
    const auto above = run.subspan(from * columns, across * columns);
    kernels::lu::bmodd<Real>(left.subspan(from * across, across * across), above, order);
    bmod_run<Real>(left.subspan((from + across) * across), above, run.subspan((from + across) * columns), order, order);
}

// Of another column a further run; `top` is that of begin_other.
template <class Real>
void go_on_with_other(std::span<const Real> left, std::span<const Real> top, std::span<Real> run, std::int32_t order,
                      std::int32_t row) {
    const auto across = static_cast<std::size_t>(order);
    const std::size_t columns = run.size() / (left.size() / across);
    bmod_run<Real>(left, top.subspan(static_cast<std::size_t>(row) * columns, across * columns), run, order, order);
}

}  // namespace

template <class Real>
void dependent_runs(MatrixOf<Real>& matrix, Dependences& calls) {
    const std::size_t blocks = matrix.blocks();
    const auto rows = static_cast<std::int32_t>(matrix.block());
    const std::size_t runs = (blocks + blocks_a_run - 1) / blocks_a_run;
    const auto run = [&](std::size_t r, std::size_t column) {
        return matrix.run(r * blocks_a_run, std::min((r + 1) * blocks_a_run, blocks), column);
    };
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(k));
        const std::size_t top = k / blocks_a_run;
        const auto row = static_cast<std::int32_t>(k % blocks_a_run) * rows;
        calls.call<begin_column<Real>>(inout(run(top, k)), order, rows, row);
        for (std::size_t r = top + 1; r < runs; ++r)
            calls.call<go_on_with_column<Real>>(in(run(top, k)), inout(run(r, k)), order, row);
        for (std::size_t j = k + 1; j < blocks; ++j) {
            calls.call<begin_other<Real>>(in(run(top, k)), inout(run(top, j)), order, row);
            for (std::size_t r = top + 1; r < runs; ++r)
                calls.call<go_on_with_other<Real>>(in(run(r, k)), in(run(top, j)), inout(run(r, j)), order, row);
        }
    }
    calls.wait();
}

template void dependent_runs(MatrixOf<float>&, Dependences&);
template void dependent_runs(MatrixOf<double>&, Dependences&);
template void dependent(MatrixOf<float>&, Dependences&);
template void dependent(MatrixOf<double>&, Dependences&);

}  // namespace penstock::apps::lu
