// LU as Tagged Procedure Calls ran it: every bdiv, bmodd and bmod of a matrix in blocks is a tagged call
// (calls/published.hpp). The paper's matrix is 4096 x 4096 in float, its blocks 64 x 64 and 16 x 16.
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "apps/lu/lu.hpp"
#include "calls/published.hpp"

namespace {

namespace lu = penstock::apps::lu;
using Matrix = lu::MatrixOf<float>;

void compare(std::size_t order, std::size_t block, const bench::Options& options, bench::Report& report) {
    Matrix original{order, block}, factors{order, block}, work{order, block};
    lu::generate(original, 1);
    factors.copy_from(original);
    lu::serial(factors);
    const auto check = [&] {
        const std::span<const float> made = std::as_const(work).elements(), wanted = std::as_const(factors).elements();
        if (std::memcmp(made.data(), wanted.data(), made.size_bytes()) != 0)
            throw std::runtime_error("lu-calls: factors that differ from those of the serial way");
    };
    bench::compare_ways_of_calling({.name = std::to_string(order) + " in blocks of " + std::to_string(block),
                                    .prepare = [&] { work.copy_from(original); },
                                    .serial = [&] { lu::serial(work); },
                                    .called = [&](penstock::Machine& machine) { lu::called(work, machine); },
                                    .check = check,
                                    .calls = lu::calls(original)},
                                   options, report);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "lu-calls",
        "LU with every block a tagged call, as the paper ran it: lanes of 1 to 64, prefetch on and off",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 6;
    options.plan.attempts = 1;
    bench::Report report{about, options};
    for (const std::size_t block : {std::size_t{64}, std::size_t{16}})
        compare(options.quick ? 512 : 4096, block, options, report);
    report.note(
        "in float; every way's factors are compared with the serial ones bit for bit, and its calls are counted");
    report.note("the thread that issues has a processor of its own: so many targets are one processor more");
    return report.finish();
}
