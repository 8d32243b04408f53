// The application for the gallery, with the figures that others computed from the same definition.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "apps/compare.hpp"
#include "apps/lu/lu.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "penstock/dependences.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::lu {
namespace {

constexpr std::size_t default_order = 512;
constexpr std::size_t default_block = 16;
constexpr std::uint32_t splash_seed = 1;
constexpr double residual_tolerance = 1e-12;
constexpr double solution_tolerance = 1e-8;

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_order;
    if (settings.block_rows == 0) settings.block_rows = default_block;
    for (const Array& input : settings.inputs) {
        if (input.name != "A") continue;
        if (input.shape.size() == 2) settings.rows = input.shape[0];
        if (settings.block_columns == 0 && std::holds_alternative<std::vector<float>>(input.values))
            settings.block_columns = sizeof(float);
    }
    settings.columns = settings.rows;
    if (settings.block_columns == 0) settings.block_columns = sizeof(double);
    return settings;
}

template <class Real>
void fill(MatrixOf<Real>& matrix, const Settings& settings) {
    const std::size_t n = matrix.order();
    const auto* given = given_input<Real>("lu", settings, "A", {n, n});
    if (given == nullptr) return generate(matrix, settings.seed);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) matrix(i, j) = (*given)[i * n + j];
    }
}

// The generated matrix of seed 1 and its factors, as computed from the definition with other programs.
void add_published(std::vector<Check>& checks, const Matrix& original, const Matrix& factors) {
    const std::string source = "SPLASH-2's definition";
    const std::size_t n = original.order();
    constexpr double last_digit = 1e-11;
    checks.push_back({"A[0, 0]", 27283.695181127354, original(0, 0), last_digit, source});
    if (n > 1) checks.push_back({"A[1, 0]", 29786.525864436782, original(1, 0), last_digit, source});
    long double sum = 0;
    for (const double element : original.elements()) sum += element;
    if (n == 64) checks.push_back({"sum of A", 153204427.6487, static_cast<double>(sum), 1e-4, source});
    if (n != 512) return;
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) smallest = std::min(smallest, std::abs(factors(i, i)));
    checks.push_back({"sum of A", 8741629860.489, static_cast<double>(sum), 1e-3, source});
    checks.push_back({"last pivot", 676541.5421, factors(n - 1, n - 1), 1e-4, source});
    checks.push_back({"smallest |pivot|", 813.1313, smallest, 1e-4, source});
}

template <class Real>
Array row_major(std::string name, const MatrixOf<Real>& matrix) {
    const std::size_t n = matrix.order();
    std::vector<Real> values(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) values[i * n + j] = matrix(i, j);
    }
    return {std::move(name), {n, n}, std::move(values)};
}

template <class Real>
RunResult run_in(Machine& machine, Settings settings, const Progress& progress) {
    using Matrix = MatrixOf<Real>;
    const std::size_t n = settings.rows;
    const std::size_t block = settings.block_rows;

    Matrix original{n, block};
    fill(original, settings);
    Matrix by_one{n, block}, by_hand{n, block}, by_calls{n, block}, by_tasks{n, block}, by_order{n, block};
    Dependences ordered{machine};
    std::uint64_t issued = 0;  // by the way "called"
    Team team{processors_of(machine)};
    const Way ways[] = {
        {"serial", [&] { by_one.copy_from(original); }, [&] { return seconds_of([&] { serial(by_one); }); }},
        {"hand", [&] { by_hand.copy_from(original); }, [&] { return hand(by_hand, team); }},
        {"called",
         [&] {
             by_calls.copy_from(original);
             wake(machine);
             issued = calls_of(machine);
         },
         [&] {
             const double seconds = seconds_of([&] { called(by_calls, machine); });
             issued = calls_of(machine) - issued;
             return seconds;
         }},
        {"tagged",
         [&] {
             by_tasks.copy_from(original);
             wake(machine);
         },
         [&] { return seconds_of([&] { tagged(by_tasks, machine); }); }},
        {"dependent",
         [&] {
             by_order.copy_from(original);
             wake(machine);
         },
         [&] { return seconds_of([&] { dependent(by_order, ordered); }); }}};

    RunResult result;
    result.app = "lu";
    result.workers = team.size();
    result.tasks = procedures(original);
    result.timings = measure(ways, settings.repetitions, progress);
    const bool generated = settings.inputs.empty();
    // Without pivoting the elements grow by as much as floats can tell apart: what holds for them is relative to that
    // growth.
    if constexpr (sizeof(Real) == sizeof(double)) {
        if (generated && settings.seed == splash_seed) add_published(result.checks, original, by_tasks);
        result.checks.push_back({"|A - LU| / |A|", 0, residual(original, by_tasks), residual_tolerance, "A"});
        result.checks.push_back(
            {"largest |x - 1|", 0, solution_error(original, by_tasks), solution_tolerance, "row sums of A"});
    }
    // Theorem 9.3 is of the factors; the two products in double that compare them round as well.
    const double rounding = static_cast<double>(n) * std::numeric_limits<Real>::epsilon() / 2 +
                            static_cast<double>(2 * n + 2) * std::numeric_limits<double>::epsilon() / 2;
    result.checks.push_back({"|Av - LUv| / |L||U||v|", 0, backward_error(original, by_tasks), rounding / (1 - rounding),
                             "Higham, theorem 9.3"});
    result.checks.push_back(
        same_bits<Real>("elements of hand that differ", by_hand.elements(), by_one.elements(), "serial"));
    result.checks.push_back(
        same_bits<Real>("elements of called that differ", by_calls.elements(), by_one.elements(), "serial"));
    result.checks.push_back({"tagged calls of called", static_cast<double>(calls(original)),
                             static_cast<double>(issued), 0, "blocks beside the diagonal"});
    result.checks.push_back(
        same_bits<Real>("elements of tagged that differ", by_tasks.elements(), by_one.elements(), "serial"));
    result.checks.push_back(
        same_bits<Real>("elements of dependent that differ", by_order.elements(), by_one.elements(), "serial"));
    if (settings.keep_arrays) result.arrays = {row_major("A", original), row_major("LU", by_tasks)};
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("lu", settings, {"A"});
    if (settings.block_columns == sizeof(float)) return run_in<float>(machine, std::move(settings), progress);
    if (settings.block_columns == sizeof(double)) return run_in<double>(machine, std::move(settings), progress);
    throw SettingError("lu", "block_columns", "ask for 8 bytes a real number, or for 4");
}

}  // namespace penstock::apps::lu
