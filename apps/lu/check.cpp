// What the factors are checked against: the residual, the known solution, and figures of the same definition computed
// elsewhere.
#include <cmath>

#include "apps/compare.hpp"
#include "apps/lu/lu.hpp"
#include "apps/random.hpp"

namespace penstock::apps::lu {
namespace {

constexpr std::size_t largest_product = 1024;  // forming L U takes 2/3 n^3 operations: 0.5 s there

// y := U x, with U unit-upper.
std::vector<double> times_upper(const Matrix& factors, const std::vector<double>& x) {
    std::vector<double> y = x;
    for (std::size_t j = 1; j < x.size(); ++j) {
        for (std::size_t i = 0; i < j; ++i) y[i] += factors(i, j) * x[j];
    }
    return y;
}

// y := L x, with the pivots on the diagonal of L.
std::vector<double> times_lower(const Matrix& factors, const std::vector<double>& x) {
    std::vector<double> y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
        for (std::size_t i = j; i < x.size(); ++i) y[i] += factors(i, j) * x[j];
    }
    return y;
}

std::vector<double> times(const Matrix& matrix, const std::vector<double>& x) {
    std::vector<double> y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
        for (std::size_t i = 0; i < x.size(); ++i) y[i] += matrix(i, j) * x[j];
    }
    return y;
}

double norm(std::span<const double> values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum);
}

double residual_of_vector(const Matrix& original, const Matrix& factors) {
    Random random{1};
    std::vector<double> v(original.order());
    for (double& value : v) value = 2 * random.real() - 1;
    std::vector<double> difference = times(original, v);
    const std::vector<double> product = times_lower(factors, times_upper(factors, v));
    for (std::size_t i = 0; i < v.size(); ++i) difference[i] -= product[i];
    return norm(difference) / (norm(original.elements()) * norm(v));
}

// Column j of L U is L times column j of U.
double residual_of_product(const Matrix& original, const Matrix& factors) {
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

double residual(const Matrix& original, const Matrix& factors) {
    return original.order() <= largest_product ? residual_of_product(original, factors)
                                               : residual_of_vector(original, factors);
}

std::vector<double> solve(const Matrix& factors, std::vector<double> b) {
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

double solution_error(const Matrix& original, const Matrix& factors) {
    const std::vector<double> ones(original.order(), 1.0);
    double error = 0;
    for (const double x : solve(factors, times(original, ones))) {
        error = worse(std::abs(x - 1), error);
    }
    return error;
}

}  // namespace penstock::apps::lu
