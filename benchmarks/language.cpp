// Applications that are written down: their throughput, from XML and compiled, over that of the same graph in C++, and
// the time from a file to a running graph.
#include "harness/report.hpp"
#include "language/loading.hpp"
#include "language/throughput.hpp"

int main(int argc, char** argv) {
    const bench::About about{
        "language",
        "applications from XML and from compiled XML against the same graphs in C++, and the time from a file to a "
        "running graph, by phase",
        {"language/throughput", "language/compiled", "language/load-1000", "language/load-exponent"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    bench::measure_throughput(options, report);
    bench::measure_loading(options, report);
    return report.finish();
}
