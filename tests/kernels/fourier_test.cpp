#include "kernels/fourier.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

namespace kernels = penstock::kernels;

template <class T>
std::vector<std::complex<T>> roots(std::size_t n) {
    std::vector<std::complex<T>> all(n);
    kernels::fourier_roots<T>(all, n);
    return all;
}

template <class T>
std::vector<std::complex<T>> transform(std::vector<std::complex<T>> row) {
    std::vector<std::complex<T>> scratch(row.size());
    const auto all = roots<T>(row.size());
    kernels::fourier<T>(row, all, scratch);
    return row;
}

template <class T>
std::vector<std::complex<T>> numbers(std::size_t n) {
    std::mt19937 random{7};
    std::uniform_real_distribution<double> between{-1, 1};
    std::vector<std::complex<T>> row(n);
    for (auto& x : row) x = {static_cast<T>(between(random)), static_cast<T>(between(random))};
    return row;
}

/// The root of the mean square error against the definition, over that of the transform.
template <class T>
double error(const std::vector<std::complex<T>>& row) {
    const auto found = transform(row);
    const std::size_t n = row.size();
    long double errors = 0, squares = 0;
    for (std::size_t k = 0; k < n; ++k) {
        std::complex<long double> exact;
        for (std::size_t j = 0; j < n; ++j)
            exact += std::complex<long double>{row[j]} *
                     std::polar(1.0L, -2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % n) /
                                          static_cast<long double>(n));
        errors += std::norm(exact - std::complex<long double>{found[k]});
        squares += std::norm(exact);
    }
    return static_cast<double>(std::sqrt(errors / squares));
}

TEST(Fourier, agrees_with_its_definition_for_every_power_of_two) {
    for (std::size_t n = 1; n <= 1024; n *= 2) {
        EXPECT_LE(error(numbers<double>(n)), 1e-15) << n;
        EXPECT_LE(error(numbers<float>(n)), 3e-7) << n;
    }
}

TEST(Fourier, a_wave_has_one_coefficient_at_its_frequency) {
    for (const std::size_t n : {8u, 64u, 512u}) {
        std::vector<std::complex<double>> wave(n);
        for (std::size_t j = 0; j < n; ++j)
            wave[j] = std::polar(1.0, 2 * std::numbers::pi * 3.0 * static_cast<double>(j) / static_cast<double>(n));
        const auto found = transform(wave);
        for (std::size_t k = 0; k < n; ++k)
            EXPECT_NEAR(std::abs(found[k] - (k == 3 ? static_cast<double>(n) : 0.0)), 0, 1e-11) << n << ", " << k;
    }
}

TEST(Fourier, the_roots_run_clockwise_from_one) {
    const auto all = roots<double>(8);
    EXPECT_EQ(all[0], std::complex<double>(1, 0));
    EXPECT_NEAR(std::abs(all[2] - std::complex<double>(0, -1)), 0, 1e-16);
    EXPECT_NEAR(std::abs(all[7] - std::complex<double>(std::sqrt(0.5), std::sqrt(0.5))), 0, 2e-16);
}

TEST(Fourier, refuses_other_lengths_and_tables_that_do_not_fit) {
    std::vector<std::complex<float>> row(12), scratch(12);
    const auto twelve = roots<float>(12), eight = roots<float>(8);
    EXPECT_THROW(kernels::fourier<float>(row, twelve, scratch), std::invalid_argument);
    row.resize(8);
    EXPECT_THROW(kernels::fourier<float>(row, eight, scratch), std::invalid_argument);
    scratch.resize(8);
    EXPECT_THROW(kernels::fourier<float>(row, twelve, scratch), std::invalid_argument);
    EXPECT_NO_THROW(kernels::fourier<float>(row, eight, scratch));
    EXPECT_THROW(kernels::fourier_roots<float>(row, 4), std::invalid_argument);
}

}  // namespace
