#include "peers/gnuradio_receiver.hpp"

#ifdef PENSTOCK_BENCH_GNURADIO_RECEIVER
#include <cstdio>
#include <stdexcept>

namespace {

/// The numbers that the program prints.
template <class... Numbers>
void run(const std::string& arguments, const char* format, Numbers*... numbers) {
    const auto command = std::string(PENSTOCK_BENCH_GNURADIO_RECEIVER) + " " + arguments;
    auto* const program = ::popen(command.c_str(), "r");
    if (program == nullptr) throw std::runtime_error("cannot run " + command);
    const bool printed = std::fscanf(program, format, numbers...) == static_cast<int>(sizeof...(numbers));
    if (::pclose(program) != 0 || !printed) throw std::runtime_error(command + " failed");
}

}  // namespace

bench::GnuRadioReceiver bench::gnuradio_receiver() {
    return {[](const std::string& file, int passes, std::size_t frames) {
                double nanoseconds = 0;
                unsigned long long whole = 0;
                run(file + " " + std::to_string(passes), "%lf %llu", &nanoseconds, &whole);
                if (whole != frames * static_cast<std::size_t>(passes))
                    throw std::runtime_error("gnuradio: " + std::to_string(whole) + " frames came whole, of " +
                                             std::to_string(frames * static_cast<std::size_t>(passes)));
                return nanoseconds;
            },
            [](const std::string& file, int items, std::size_t frames) {
                double nanoseconds = 0;
                run(file + " latency " + std::to_string(items) + " " + std::to_string(frames), "%lf", &nanoseconds);
                return nanoseconds;
            }};
}
#else
bench::GnuRadioReceiver bench::gnuradio_receiver() { return {}; }
#endif
