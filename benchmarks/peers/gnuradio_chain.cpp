#include "peers/gnuradio_chain.hpp"

#ifdef PENSTOCK_BENCH_GNURADIO
#include <cinttypes>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace bench {
namespace {

std::pair<double, std::uint64_t> run_program(int blocks, int items, int iterations) {
    const auto command = std::string(PENSTOCK_BENCH_GNURADIO) + " " + std::to_string(blocks) + " " +
                         std::to_string(items) + " " + std::to_string(iterations);
    auto* const program = ::popen(command.c_str(), "r");
    if (program == nullptr) throw std::runtime_error("cannot run " + command);
    double nanoseconds = 0;
    std::uint64_t digest = 0;
    const bool printed = std::fscanf(program, "%lf %" SCNu64, &nanoseconds, &digest) == 2;
    if (::pclose(program) != 0 || !printed) throw std::runtime_error(command + " failed");
    return {nanoseconds, digest};
}

}  // namespace

std::function<double(int)> gnuradio_chain(int blocks) {
    return [blocks](int items) { return run_program(blocks, items, 0).first; };
}

std::function<std::pair<double, std::uint64_t>(int)> gnuradio_stages(int blocks, int iterations) {
    return [=](int items) { return run_program(blocks, items, iterations); };
}

}  // namespace bench
#else
std::function<double(int)> bench::gnuradio_chain(int) { return {}; }
std::function<std::pair<double, std::uint64_t>(int)> bench::gnuradio_stages(int, int) { return {}; }
#endif
