#include "apps/likelihood/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace penstock::apps::likelihood {
namespace {

constexpr std::size_t n = 4;
using Matrix = std::array<std::array<double, n>, n>;

/// Jacobi's method: turns `matrix`, which is symmetric, into a diagonal one, and `vectors` into its eigenvectors, one a
/// column.
void diagonalise(Matrix& matrix, Matrix& vectors) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) vectors[i][j] = i == j ? 1 : 0;
    constexpr int enough = 60;
    for (int sweep = 0; sweep < enough; ++sweep) {
        double off = 0;
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) {
                off += std::abs(matrix[p][q]);
                if (matrix[p][q] == 0) continue;
                const double theta = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q]);
                const double tangent = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
                const double cosine = 1 / std::hypot(tangent, 1.0), sine = tangent * cosine;
                for (std::size_t k = 0; k < n; ++k) {
                    const double a = matrix[k][p], b = matrix[k][q];
                    matrix[k][p] = cosine * a - sine * b;
                    matrix[k][q] = sine * a + cosine * b;
                }
                for (std::size_t k = 0; k < n; ++k) {
                    const double a = matrix[p][k], b = matrix[q][k];
                    matrix[p][k] = cosine * a - sine * b;
                    matrix[q][k] = sine * a + cosine * b;
                }
                matrix[p][q] = matrix[q][p] = 0;
                for (auto& row : vectors) {
                    const double a = row[p], b = row[q];
                    row[p] = cosine * a - sine * b;
                    row[q] = sine * a + cosine * b;
                }
            }
        }
        if (off == 0) return;
    }
}

/// The series for small x, and the continued fraction (by Lentz's method) for the share above a large one.
double lower_by_series(double shape, double x) {
    double term = 1 / shape, sum = term;
    for (double k = shape + 1; term > sum * 1e-17; ++k) sum += term *= x / k;
    return sum * std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

double upper_by_fraction(double shape, double x) {
    constexpr double tiny = 1e-300;
    double b = x + 1 - shape, c = 1 / tiny, d = 1 / b, product = d;
    for (int i = 1; i < 10'000; ++i) {
        const double a = -i * (i - shape);
        b += 2;
        d = a * d + b;
        if (std::abs(d) < tiny) d = tiny;
        c = b + a / c;
        if (std::abs(c) < tiny) c = tiny;
        d = 1 / d;
        const double factor = d * c;
        product *= factor;
        if (std::abs(factor - 1) < 1e-16) break;
    }
    return product * std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

}  // namespace

std::string_view name(Kind kind) noexcept {
    switch (kind) {
        case Kind::jc69:
            return "JC69";
        case Kind::hky85:
            return "HKY85";
        default:
            return "GTR";
    }
}

kernels::likelihood::Spectrum Model::spectrum() const {
    // Entries (i, j), i < j, in the order of the rates; A-G and C-T are the transitions.
    constexpr std::array<std::pair<std::size_t, std::size_t>, 6> pairs{
        {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};
    std::array<double, 4> shares_in_use{0.25, 0.25, 0.25, 0.25};
    std::array<double, 6> rates_in_use{1, 1, 1, 1, 1, 1};
    if (kind != Kind::jc69) shares_in_use = shares;
    if (kind == Kind::hky85) rates_in_use[1] = rates_in_use[4] = kappa;
    if (kind == Kind::gtr) rates_in_use = rates;

    // D^(1/2) Q D^(-1/2) is symmetric for a reversible Q, D being the shares.
    Matrix symmetric{}, turned{};
    double changes = 0;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        const auto [i, j] = pairs[k];
        symmetric[i][j] = symmetric[j][i] = rates_in_use[k] * std::sqrt(shares_in_use[i] * shares_in_use[j]);
        symmetric[i][i] -= rates_in_use[k] * shares_in_use[j];
        symmetric[j][j] -= rates_in_use[k] * shares_in_use[i];
        changes += 2 * rates_in_use[k] * shares_in_use[i] * shares_in_use[j];
    }
    diagonalise(symmetric, turned);
    // The greatest is 0, apart from rounding: nothing changes in the long run.
    std::size_t greatest = 0;
    for (std::size_t k = 1; k < n; ++k)
        if (symmetric[k][k] > symmetric[greatest][greatest]) greatest = k;
    symmetric[greatest][greatest] = 0;
    kernels::likelihood::Spectrum result{};
    for (std::size_t k = 0; k < n; ++k) {
        result.values[k] = std::min(symmetric[k][k] / changes, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            result.vectors[k * n + i] = turned[i][k] / std::sqrt(shares_in_use[i]);
            result.inverse[k * n + i] = turned[i][k] * std::sqrt(shares_in_use[i]);
        }
    }
    return result;
}

double gamma_share(double shape, double x) {
    if (x <= 0) return 0;
    return x < shape + 1 ? lower_by_series(shape, x) : 1 - upper_by_fraction(shape, x);
}

double gamma_quantile(double shape, double share) {
    if (share <= 0) return 0;
    // Of small shapes most lies near 0, and the first term of the series says where; Newton's steps in the logarithm of
    // x, halved where they leave what is known to hold it.
    double low = 0, high = std::numeric_limits<double>::infinity();
    double x = std::exp((std::log(share) + std::lgamma(shape + 1)) / shape);
    if (shape > 1) x = shape;
    if (x < std::numeric_limits<double>::min()) return 0;
    for (int step = 0; step < 200; ++step) {
        const double error = gamma_share(shape, x) - share;
        (error > 0 ? high : low) = x;
        const double slope = std::exp(shape * std::log(x) - x - std::lgamma(shape));  // of the share over log x
        double next = x * std::exp(std::clamp(-error / slope, -5.0, 5.0));
        if (!(next > low && next < high)) next = std::isinf(high) ? 2 * x : (low + high) / 2;
        if (std::abs(next - x) <= 1e-15 * x) return next;
        x = next;
    }
    return x;
}

std::vector<double> Model::category_rates() const {
    if (categories == 1) return {1.0};
    const auto count = static_cast<double>(categories);
    std::vector<double> rates_of(categories);
    double below = 0;
    for (std::size_t i = 0; i < categories; ++i) {
        const bool last = i + 1 == categories;
        const double above =
            last ? 1 : gamma_share(alpha + 1, gamma_quantile(alpha, static_cast<double>(i + 1) / count));
        rates_of[i] = (above - below) * count;
        below = above;
    }
    return rates_of;
}

}  // namespace penstock::apps::likelihood
