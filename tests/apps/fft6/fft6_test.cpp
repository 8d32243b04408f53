#include "apps/fft6/fft6.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numbers>
#include <utility>

#include "apps/gallery.hpp"
#include "apps/measure.hpp"
#include "apps/team.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::apps::Team;
using namespace penstock::apps::fft6;

template <class T>
class Fft6 : public testing::Test {
  protected:
    static constexpr double tolerance = sizeof(T) == sizeof(double) ? 1e-14 : 1e-5;

    static bool same(const Square<T>& a, const Square<T>& b, std::size_t side) {
        for (std::size_t row = 0; row < side; ++row)
            if (std::memcmp(a.row(row), b.row(row), side * sizeof(Complex<T>)) != 0) return false;
        return true;
    }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Fft6, Precisions);

TYPED_TEST(Fft6, a_wave_has_one_coefficient_at_its_frequency) {
    constexpr std::size_t points = 256, frequency = 37;
    Problem<TypeParam> problem{points, 5};
    for (std::size_t j = 0; j < points; ++j) {
        const auto wave = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(j * frequency % points) / points);
        problem.input.row(j / 16)[j % 16] = Complex<TypeParam>(wave);
    }
    Work<TypeParam> work{16};
    serial(problem, work);
    for (std::size_t k = 0; k < points; ++k)
        EXPECT_NEAR(std::abs(work.result.row(k / 16)[k % 16]), k == frequency ? points : 0, 256 * this->tolerance) << k;
}

TYPED_TEST(Fft6, single_coefficients_agree_with_their_sum) {
    for (const std::size_t points : {4u, 16u, 1024u, 65536u}) {
        Problem<TypeParam> problem{points, 32};
        generate(problem, 3);
        Work<TypeParam> work{problem.side};
        serial(problem, work);
        EXPECT_LE(relative_error(problem, work.result, 16), this->tolerance) << points;
    }
}

TYPED_TEST(Fft6, every_way_and_every_size_of_a_task_has_the_bits_of_one_thread) {
    penstock::Machine machine{{.targets = 2}};
    Team team{3};
    Problem<TypeParam> whole{4096, 64};
    generate(whole, 5);
    Work<TypeParam> wanted{64};
    serial(whole, wanted);
    for (const std::size_t block : {1u, 7u, 32u, 1000u}) {
        Problem<TypeParam> problem{4096, block};
        generate(problem, 5);
        Work<TypeParam> by_one{64}, by_hand{64}, by_tasks{64};
        serial(problem, by_one);
        hand(problem, by_hand, team);
        const Seconds seconds = tagged(problem, by_tasks, machine);
        EXPECT_TRUE(this->same(by_one.result, wanted.result, 64)) << block;
        EXPECT_TRUE(this->same(by_hand.result, wanted.result, 64)) << block;
        EXPECT_TRUE(this->same(by_tasks.result, wanted.result, 64)) << block;
        EXPECT_GT(seconds.transposes, 0.0);
        EXPECT_GT(seconds.rows, 0.0);
        EXPECT_DOUBLE_EQ(seconds.all(), seconds.transposes + seconds.rows);
    }
}

TYPED_TEST(Fft6, called_in_place_has_the_bits_of_one_thread_and_as_many_calls_as_told) {
    using penstock::MachineOptions;
    using penstock::Prefetch;
    Problem<TypeParam> whole{1024, 32};
    generate(whole, 5);
    Work<TypeParam> wanted{32};
    serial(whole, wanted);
    const Square<TypeParam> matrix{32};
    for (const MachineOptions& options : {MachineOptions{.targets = 0}, MachineOptions{.targets = 2},
                                          MachineOptions{.targets = 1,
                                                         .depth = 1,
                                                         .distribution = penstock::Distribution::round_robin,
                                                         .when_full = penstock::WhenFull::wait},
                                          MachineOptions{.targets = 1,
                                                         .depth = 16,
                                                         .distribution = penstock::Distribution::round_robin,
                                                         .when_full = penstock::WhenFull::wait,
                                                         .prefetch = Prefetch::always}}) {
        penstock::Machine machine{options};
        for (const std::size_t block : {7u, 16u, 1000u}) {
            Problem<TypeParam> problem{1024, block};
            generate(problem, 5);
            matrix.copy_from(problem.input);
            const auto before = penstock::apps::calls_of(machine);
            const Seconds seconds = called(problem, matrix, machine);
            EXPECT_EQ(penstock::apps::calls_of(machine) - before, problem.calls()) << block;
            EXPECT_TRUE(this->same(matrix, wanted.result, 32)) << block << " on " << options.targets;
            EXPECT_GT(seconds.transposes, 0.0);
            EXPECT_GT(seconds.rows, 0.0);
        }
    }
    EXPECT_EQ((Problem<TypeParam>{1024, 16}.calls()), 3u * 3 + 2 * 32);
}

TYPED_TEST(Fft6, the_check_notices_coefficients_in_other_places_and_what_is_not_a_number) {
    Problem<TypeParam> problem{256, 16};
    generate(problem, 3);
    Work<TypeParam> work{16};
    serial(problem, work);
    std::swap(work.result.row(5)[3], work.result.row(3)[5]);
    for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t j = 0; j < i; ++j) std::swap(work.result.row(i)[j], work.result.row(j)[i]);
    EXPECT_GT(relative_error(problem, work.result, 16), 0.01);
    work.result.row(9)[9] = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_FALSE(relative_error(problem, work.result, 16) <= this->tolerance);
}

TEST(Fft6Sizes, that_are_no_power_of_four_and_tasks_of_nothing_are_refused) {
    for (const std::size_t points : {0u, 1u, 2u, 8u, 70u, 1u << 29})
        EXPECT_THROW((Problem<float>{points, 4}), penstock::UsageError) << points;
    EXPECT_THROW((Problem<double>{16, 0}), penstock::UsageError);
    EXPECT_EQ((Problem<double>{16, 3}).tasks(), 3u * 4 + 2 * 2);
}

TEST(Fft6App, has_the_published_sums_in_both_precisions) {
    penstock::Machine machine{{.targets = 1}};
    for (const std::size_t bytes : {4u, 8u}) {
        penstock::apps::Settings settings;
        settings.seed = 0;
        settings.block_columns = bytes;
        settings.repetitions = 1;
        const auto result = penstock::apps::run(penstock::apps::find_app("fft6"), machine, settings);
        EXPECT_TRUE(result.ok());
        EXPECT_EQ(result.checks.size(), 10u);
        EXPECT_EQ(result.settings.block_columns, bytes);
    }
    penstock::apps::Settings settings;
    settings.block_columns = 2;
    EXPECT_THROW(penstock::apps::run(penstock::apps::find_app("fft6"), machine, settings),
                 penstock::apps::SettingError);
}

}  // namespace
