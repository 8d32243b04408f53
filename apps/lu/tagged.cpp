#include "apps/lu/lu.hpp"
#include "kernels/lu.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::lu {

// The diagonal block is on the critical path and everybody waits for it: whoever issues the rest factors it at once.
void tagged(Matrix& matrix, Machine& machine) {
    const std::size_t blocks = matrix.blocks();
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(k));
        const std::span<double> diagonal = matrix.tile(k, k);
        kernels::lu::factor(diagonal, order);
        for (std::size_t i = k + 1; i < blocks; ++i) {
            machine.call<kernels::lu::bdiv>(in(diagonal), inout(matrix.tile(i, k)), order);
        }
        for (std::size_t j = k + 1; j < blocks; ++j) {
            machine.call<kernels::lu::bmodd>(in(diagonal), inout(matrix.tile(k, j)), order);
        }
        machine.barrier();
        for (std::size_t j = k + 1; j < blocks; ++j) {
            for (std::size_t i = k + 1; i < blocks; ++i) {
                machine.call<kernels::lu::bmod>(in(matrix.tile(i, k)), in(matrix.tile(k, j)), inout(matrix.tile(i, j)),
                                                order);
            }
        }
        machine.barrier();
    }
}

}  // namespace penstock::apps::lu
