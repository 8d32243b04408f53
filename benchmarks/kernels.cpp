// The other applications of the gallery, with their own sizes: time of tagged calls beside serial and hand-threaded, for 1..N processors.
// The applications measure themselves, interleaved, and check what they computed.
#include <algorithm>
#include <stdexcept>

#include "apps/gallery.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"

namespace {

const std::vector<double>& seconds_of(const penstock::apps::RunResult& run, const char* way) { return run.timing(way).seconds; }

void check(const penstock::apps::RunResult& run) {
    for (const auto& check : run.checks)
        if (!check.ok()) throw std::runtime_error(run.app + ": " + check.name + " is not what " + check.source + " says");
}

void measure(const penstock::apps::App& app, int workers, const bench::Options& options, bench::Report& report) {
    const auto machine = bench::make_machine({.targets = workers - 1});
    penstock::apps::Settings settings;
    settings.repetitions = options.quick ? 3 : 31;
    const auto run = penstock::apps::run(app, *machine, settings);
    check(run);
    const auto& hand = seconds_of(run, "hand");
    for (const char* way : {"serial", "hand", "tagged"}) {
        const auto over = bench::bootstrap_ratio(seconds_of(run, way), hand);
        report.row(app.name + ", " + std::to_string(workers) + " workers, " + way,
                   {{"median_us", bench::median(seconds_of(run, way)) * 1e6},
                    {"over_hand", over.value},
                    {"low", over.low},
                    {"high", over.high},
                    {"speed_up", bench::bootstrap_ratio(seconds_of(run, "serial"), seconds_of(run, way)).value}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"kernels", "the gallery's kernels: serial, by hand and by tagged calls, for 1..N processors", {}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const int most = std::max(2, static_cast<int>(bench::allowed_processors().size()));
    for (const auto& app : penstock::apps::gallery()) {
        for (int workers = 1; workers < most; workers *= 2) measure(app, workers, options, report);
        measure(app, most, options, report);
    }
    report.note("each application checks its results against references that it names; a wrong one ends this program");
    return report.finish();
}
