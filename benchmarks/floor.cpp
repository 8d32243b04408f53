// The physical floors between each pair of processors: what every other benchmark is a ratio to.
#include <string>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"

int main(int argc, char** argv) {
    const bench::About about{"floor", "F1, F2 and the bare ring between each pair of processors, and memcpy", {}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};

    const auto& processors = bench::allowed_processors();
    for (std::size_t i = 0; i < processors.size(); ++i) {
        for (std::size_t j = i + 1; j < processors.size(); ++j) {
            bench::Floors floors{processors[i], processors[j]};
            report.rows(std::to_string(processors[i]) + "-" + std::to_string(processors[j]) + " ",
                        bench::measure({floors.one_line(), floors.two_lines(), floors.ring()}, options.plan));
        }
    }
    for (const std::size_t kib : {16, 256, 4096, 65536}) {
        const auto copied = bench::measure({bench::memcpy_floor(kib * 1024)}, options.plan);
        report.row("memcpy " + std::to_string(kib) + " KiB",
                   {{"ns_a_KiB", copied.median("memcpy")}, {"GB_a_second", 1024 / copied.median("memcpy")}});
        report.conditions(copied);
    }
    if (processors.size() < 2) report.note("one processor: there is no pair to measure between");
    report.note("F1 and F2 in ns a round trip, ring in ns a slot");
    return report.finish();
}
