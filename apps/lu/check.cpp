// What the factors are checked against: the residual, the known solution, and figures of the same definition computed
// elsewhere.
#include <algorithm>
#include <cmath>

#include "apps/compare.hpp"
#include "apps/lu/lu.hpp"
#include "apps/random.hpp"

namespace penstock::apps::lu {
namespace {

constexpr std::size_t largest_product = 1024;  // forming L U takes 2/3 n^3 operations: 0.5 s there

// y := U x, with U unit-upper.
template <class Real>
std::vector<double> times_upper(const MatrixOf<Real>& factors, const std::vector<double>& x) {
    std::vector<double> y = x;
    for (std::size_t j = 1; j < x.size(); ++j) {
        for (std::size_t i = 0; i < j; ++i) y[i] += factors(i, j) * x[j];
    }
    return y;
}

// y := L x, with the pivots on the diagonal of L.
template <class Real>
std::vector<double> times_lower(const MatrixOf<Real>& factors, const std::vector<double>& x) {
    std::vector<double> y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
        for (std::size_t i = j; i < x.size(); ++i) y[i] += factors(i, j) * x[j];
    }
    return y;
}

template <class Real>
std::vector<double> times(const MatrixOf<Real>& matrix, const std::vector<double>& x) {
    std::vector<double> y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
        for (std::size_t i = 0; i < x.size(); ++i) y[i] += matrix(i, j) * x[j];
    }
    return y;
}

template <class Real>
double norm(std::span<const Real> values) {
    double sum = 0;
    for (const Real value : values) sum += static_cast<double>(value) * value;
    return std::sqrt(sum);
}

template <class Real>
double residual_of_vector(const MatrixOf<Real>& original, const MatrixOf<Real>& factors) {
    Random random{1};
    std::vector<double> v(original.order());
    for (double& value : v) value = 2 * random.real() - 1;
    std::vector<double> difference = times(original, v);
    const std::vector<double> product = times_lower(factors, times_upper(factors, v));
    for (std::size_t i = 0; i < v.size(); ++i) difference[i] -= product[i];
    return norm<double>(difference) / (norm(original.elements()) * norm<double>(v));
}

// Column j of L U is L times column j of U.
template <class Real>
double residual_of_product(const MatrixOf<Real>& original, const MatrixOf<Real>& factors) {
    const std::size_t n = original.order();
    std::vector<double> lower(n * n);
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = k; i < n; ++i) lower[k * n + i] = factors(i, k);
    }
    double sum = 0;
    std::vector<double> difference(n);
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) difference[i] = original(i, j);
        for (std::size_t k = 0; k <= j; ++k) {
            const double upper = k == j ? 1.0 : factors(k, j);
            for (std::size_t i = k; i < n; ++i) difference[i] -= lower[k * n + i] * upper;
        }
        for (const double value : difference) sum += value * value;
    }
    return std::sqrt(sum) / norm(original.elements());
}

}  // namespace

template <class Real>
double residual(const MatrixOf<Real>& original, const MatrixOf<Real>& factors) {
    return original.order() <= largest_product ? residual_of_product(original, factors)
                                               : residual_of_vector(original, factors);
}

template <class Real>
double backward_error(const MatrixOf<Real>& original, const MatrixOf<Real>& factors) {
    const std::size_t n = original.order();
    MatrixOf<Real> sizes{n, factors.block()};
    std::ranges::transform(factors.elements(), sizes.elements().begin(),
                           [](Real element) { return std::abs(element); });
    Random random{1};
    std::vector<double> v(n), size(n);
    for (std::size_t i = 0; i < n; ++i) {
        v[i] = 2 * random.real() - 1;
        size[i] = std::abs(v[i]);
    }
    const std::vector<double> wanted = times(original, v), made = times_lower(factors, times_upper(factors, v)),
                              bound = times_lower(sizes, times_upper(sizes, size));
    double error = 0;
    for (std::size_t i = 0; i < n; ++i) error = worse(std::abs(wanted[i] - made[i]) / bound[i], error);
    return error;
}

template <class Real>
std::vector<double> solve(const MatrixOf<Real>& factors, std::vector<double> b) {
    const std::size_t n = factors.order();
    for (std::size_t j = 0; j < n; ++j) {
        b[j] /= factors(j, j);
        for (std::size_t i = j + 1; i < n; ++i) b[i] -= factors(i, j) * b[j];
    }
    for (std::size_t j = n; j-- > 1;) {
        for (std::size_t i = 0; i < j; ++i) b[i] -= factors(i, j) * b[j];
    }
    return b;
}

template <class Real>
double solution_error(const MatrixOf<Real>& original, const MatrixOf<Real>& factors) {
    const std::vector<double> ones(original.order(), 1.0);
    double error = 0;
    for (const double x : solve(factors, times(original, ones))) {
        error = worse(std::abs(x - 1), error);
    }
    return error;
}

template double residual(const MatrixOf<float>&, const MatrixOf<float>&);
template double residual(const MatrixOf<double>&, const MatrixOf<double>&);
template double backward_error(const MatrixOf<float>&, const MatrixOf<float>&);
template double backward_error(const MatrixOf<double>&, const MatrixOf<double>&);
template std::vector<double> solve(const MatrixOf<float>&, std::vector<double>);
template std::vector<double> solve(const MatrixOf<double>&, std::vector<double>);
template double solution_error(const MatrixOf<float>&, const MatrixOf<float>&);
template double solution_error(const MatrixOf<double>&, const MatrixOf<double>&);

}  // namespace penstock::apps::lu
