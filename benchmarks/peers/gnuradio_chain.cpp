#include "peers/gnuradio_chain.hpp"

#ifdef PENSTOCK_BENCH_GNURADIO
#include <cstdio>
#include <stdexcept>
#include <string>

std::function<double(int)> bench::gnuradio_chain(int blocks) {
    return [blocks](int items) {
        const auto command =
            std::string(PENSTOCK_BENCH_GNURADIO) + " " + std::to_string(blocks) + " " + std::to_string(items);
        auto* const program = ::popen(command.c_str(), "r");
        if (program == nullptr) throw std::runtime_error("cannot run " + command);
        double nanoseconds = 0;
        const bool printed = std::fscanf(program, "%lf", &nanoseconds) == 1;
        if (::pclose(program) != 0 || !printed) throw std::runtime_error(command + " failed");
        return nanoseconds;
    };
}
#else
std::function<double(int)> bench::gnuradio_chain(int) { return {}; }
#endif
