// The application for the gallery.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "apps/compare.hpp"
#include "apps/fft6/fft6.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::fft6 {
namespace {

constexpr std::size_t default_points = 65'536;
constexpr std::size_t default_block = 32;
constexpr std::size_t checked_coefficients = 16;

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_points;
    if (settings.block_rows == 0) settings.block_rows = default_block;
    for (const Array& input : settings.inputs) {
        if (input.name != "x") continue;
        if (input.shape.size() == 1) settings.rows = input.shape[0];
        if (settings.block_columns == 0 && std::holds_alternative<std::vector<Complex<float>>>(input.values))
            settings.block_columns = sizeof(float);
    }
    if (settings.block_columns == 0) settings.block_columns = sizeof(double);
    settings.columns = 1;
    return settings;
}

double all(const Seconds& seconds) { return seconds.all(); }
double of_transposes(const Seconds& seconds) { return seconds.transposes; }
double of_rows(const Seconds& seconds) { return seconds.rows; }

/// All numbers of a matrix, row after row.
template <class T>
std::vector<Complex<T>> numbers(const Square<T>& matrix, std::size_t side) {
    std::vector<Complex<T>> all;
    all.reserve(side * side);
    for (std::size_t row = 0; row < side; ++row) all.insert(all.end(), matrix.row(row), matrix.row(row) + side);
    return all;
}

// The sums of srand48(0)'s numbers for 2^16 points, as computed from SPLASH-2's definition, with pi for pi, by other
// programs.
template <class T>
void add_published(std::vector<Check>& checks, const Problem<T>& problem, const std::vector<Complex<T>>& x,
                   const Square<T>& result) {
    const std::string source = "SPLASH-2's definition";
    const double tolerance = sizeof(T) == sizeof(double) ? 1e-6 : 0.02;
    long double squares = 0;
    for (const auto value : x) squares += std::norm(std::complex<long double>{value});
    checks.push_back({"sum of |x|^2", 43625.939409, static_cast<double>(squares), tolerance, source});
    const Complex<T> first = result.row(0)[0], second = result.row(1 / problem.side)[1 % problem.side];
    checks.push_back({"X[0], real", 32811.774740, static_cast<double>(first.real()), tolerance, source});
    checks.push_back({"X[0], imaginary", 32685.456742, static_cast<double>(first.imag()), tolerance, source});
    checks.push_back({"X[1], real", -38.727905, static_cast<double>(second.real()), tolerance, source});
    checks.push_back({"X[1], imaginary", -33.317513, static_cast<double>(second.imag()), tolerance, source});
}

template <class T>
RunResult run_in(Machine& machine, Settings settings, const Progress& progress) {
    Problem<T> problem{settings.rows, settings.block_rows};
    const std::size_t side = problem.side;
    settings.block_rows = problem.block;
    const auto* given = given_input<Complex<T>>("fft6", settings, "x", {problem.points});
    generate(problem, settings.seed);
    if (given != nullptr)
        for (std::size_t row = 0; row < side; ++row)
            std::copy_n(given->data() + row * side, side, problem.input.row(row));

    Work<T> by_one{side}, by_hand{side}, by_tasks{side};
    const Square<T> in_place{side};
    std::uint64_t issued = 0;  // by the way "called"
    Team team{processors_of(machine)};
    // Each way computes once before it is timed, so that none finds its memory in the caches because the one before it
    // used the same.
    std::vector<Way> ways;
    const auto add = [&ways](const char* name, double (*figure)(const Seconds&), auto compute, auto prepare) {
        ways.push_back({name,
                        [=] {
                            prepare();
                            compute();
                            prepare();
                        },
                        [=] { return figure(compute()); }});
    };
    const auto nothing = [] {};
    const auto input_in_place = [&] { in_place.copy_from(problem.input); };
    const auto by_serial = [&] { return serial(problem, by_one); };
    const auto by_calls = [&] { return tagged(problem, by_tasks, machine); };
    const auto as_published = [&] {
        issued = calls_of(machine);
        const Seconds seconds = called(problem, in_place, machine);
        issued = calls_of(machine) - issued;
        return seconds;
    };
    add("serial", all, by_serial, nothing);
    add("serial transposes", of_transposes, by_serial, nothing);
    add("serial rows", of_rows, by_serial, nothing);
    add("hand", all, [&] { return hand(problem, by_hand, team); }, nothing);
    add("called transposes", of_transposes, as_published, input_in_place);
    add("called rows", of_rows, as_published, input_in_place);
    add("called", all, as_published, input_in_place);
    add("tagged transposes", of_transposes, by_calls, nothing);
    add("tagged rows", of_rows, by_calls, nothing);
    add("tagged", all, by_calls, nothing);

    RunResult result;
    result.app = "fft6";
    result.workers = team.size();
    result.tasks = problem.tasks();
    result.timings = measure(ways, settings.repetitions, progress);
    auto x = numbers(problem.input, side), wanted = numbers(by_one.result, side),
         found = numbers(by_tasks.result, side);
    const double tolerance = sizeof(T) == sizeof(double) ? 1e-14 : 1e-5;
    result.checks = {
        {"relative error", 0, relative_error(problem, by_tasks.result, checked_coefficients), tolerance,
         "the sum in long double"},
        same_bits<Complex<T>>("coefficients of hand that differ", numbers(by_hand.result, side), wanted, "serial"),
        same_bits<Complex<T>>("coefficients of called that differ", numbers(in_place, side), wanted, "serial"),
        {"tagged calls of called", static_cast<double>(problem.calls()), static_cast<double>(issued), 0,
         "tiles and rows"},
        same_bits<Complex<T>>("coefficients of tagged that differ", found, wanted, "serial")};
    if (given == nullptr && settings.seed == 0 && problem.points == default_points)
        add_published(result.checks, problem, x, by_tasks.result);
    if (settings.keep_arrays)
        result.arrays = {{"x", {problem.points}, std::move(x)}, {"result", {problem.points}, std::move(found)}};
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("fft6", settings, {"x"});
    if (settings.block_columns == sizeof(float)) return run_in<float>(machine, std::move(settings), progress);
    if (settings.block_columns == sizeof(double)) return run_in<double>(machine, std::move(settings), progress);
    throw SettingError("fft6", "block_columns", "ask for 8 bytes a real number, or for 4");
}

}  // namespace penstock::apps::fft6
