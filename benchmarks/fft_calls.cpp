// The six-step FFT as Tagged Procedure Calls ran it: a tagged call for each row, and for each two tiles that change
// places when the matrix is transposed in place (calls/published.hpp). The paper has 64 K and 4 M complex numbers in
// float, and does not say how large its tiles are.
#include <cstring>
#include <stdexcept>
#include <string>

#include "apps/fft6/fft6.hpp"
#include "calls/published.hpp"

namespace {

namespace fft = penstock::apps::fft6;
constexpr std::size_t side_of_a_tile = 32;

void compare(std::size_t points, const bench::Options& options, bench::Report& report) {
    fft::Problem<float> problem{points, side_of_a_tile};
    fft::generate(problem, 1);
    fft::Work<float> wanted{problem.side}, work{problem.side};
    fft::serial(problem, wanted);
    const auto check = [&] {
        for (std::size_t row = 0; row < problem.side; ++row)
            if (std::memcmp(work.result.row(row), wanted.result.row(row), problem.side * sizeof(fft::Complex<float>)) !=
                0)
                throw std::runtime_error("fft-calls: coefficients that differ from those of the serial way");
    };
    bench::compare_ways_of_calling(
        {.name = std::to_string(points) + " points",
         .prepare = [&] { work.result.copy_from(problem.input); },
         .serial = [&] { fft::serial(problem, work); },
         .called = [&](penstock::Machine& machine) { fft::called(problem, work.result, machine); },
         .check = check,
         .calls = problem.calls()},
        options, report);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "fft-calls",
        "the six-step FFT with a call a row and transposes in place, as the paper ran it: lanes of 1 to 64, prefetch "
        "on and off",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 15;
    options.plan.attempts = 1;
    bench::Report report{about, options};
    for (const std::size_t points : {std::size_t{1} << 16, std::size_t{1} << (options.quick ? 18 : 22)})
        compare(points, options, report);
    report.note(
        "in float; every way's coefficients are compared with the serial ones bit for bit, and its calls are "
        "counted; one thread transposes from one matrix to another");
    report.note("the thread that issues has a processor of its own: so many targets are one processor more");
    return report.finish();
}
