#include "apps/lu/lu.hpp"
#include "kernels/lu.hpp"
#include "penstock/dependences.hpp"

namespace penstock::apps::lu {

// The phases as before, without the barriers: the tags say which blocks a task waits for, so the diagonal of the next step is factored
// while this step's interior is still being updated.
void dependent(Matrix& matrix, Dependences& calls) {
    const std::size_t blocks = matrix.blocks();
    for (std::size_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(k));
        const std::span<double> diagonal = matrix.tile(k, k);
        calls.call<kernels::lu::factor>(inout(diagonal), order);
        for (std::size_t i = k + 1; i < blocks; ++i) calls.call<kernels::lu::bdiv>(in(diagonal), inout(matrix.tile(i, k)), order);
        for (std::size_t j = k + 1; j < blocks; ++j) calls.call<kernels::lu::bmodd>(in(diagonal), inout(matrix.tile(k, j)), order);
        for (std::size_t j = k + 1; j < blocks; ++j) {
            for (std::size_t i = k + 1; i < blocks; ++i)
                calls.call<kernels::lu::bmod>(in(matrix.tile(i, k)), in(matrix.tile(k, j)), inout(matrix.tile(i, j)), order);
        }
    }
    calls.wait();
}

}  // namespace penstock::apps::lu
