#include <cstddef>

#include "apps/lu/lu.hpp"
#include "kernels/lu.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::lu {

template <class Real>
void called(MatrixOf<Real>& matrix, Machine& machine) {
    const std::size_t blocks = matrix.blocks();
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(k));
        const std::span<Real> diagonal = matrix.tile(k, k);
        kernels::lu::factor<Real>(diagonal, order);
        for (std::size_t i = k + 1; i < blocks; ++i)
            machine.call<kernels::lu::bdiv<Real>>(in(diagonal), inout(matrix.tile(i, k)), order);
        for (std::size_t j = k + 1; j < blocks; ++j)
            machine.call<kernels::lu::bmodd<Real>>(in(diagonal), inout(matrix.tile(k, j)), order);
        machine.barrier();
        for (std::size_t j = k + 1; j < blocks; ++j) {
            for (std::size_t i = k + 1; i < blocks; ++i)
                machine.call<kernels::lu::bmod<Real>>(in(matrix.tile(i, k)), in(matrix.tile(k, j)),
                                                      inout(matrix.tile(i, j)), order);
        }
        machine.barrier();
    }
}

template void called(MatrixOf<float>&, Machine&);
template void called(MatrixOf<double>&, Machine&);

}  // namespace penstock::apps::lu
