#include "apps/lu/lu.hpp"
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

template void dependent(MatrixOf<float>&, Dependences&);
template void dependent(MatrixOf<double>&, Dependences&);

}  // namespace penstock::apps::lu
