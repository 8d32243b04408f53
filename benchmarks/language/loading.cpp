#include "language/loading.hpp"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/measure.hpp"
#include "penstock/application.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "src/language/xml/document.hpp"

namespace bench {
namespace {

using namespace penstock;

/// A chain, every component and stream of which is written out.
std::string chain_of(std::size_t components) {
    std::string text =
        "<application xmlns=\"urn:penstock:application:1\" name=\"chain\">\n"
        "  <component name=\"stage-0\" class=\"numbers\"><set name=\"count\" value=\"1\"/></component>\n";
    const auto stage = [](std::size_t i) { return "stage-" + std::to_string(i); };
    for (std::size_t i = 1; i < components; ++i) {
        text +=
            "  <component name=\"" + stage(i) + "\" class=\"scale\"><set name=\"factor\" value=\"0.5\"/></component>\n";
        text += "  <stream from=\"" + stage(i - 1) + ".out\" to=\"" + stage(i) + ".in\"/>\n";
    }
    return text + "</application>\n";
}

/// Milliseconds of each phase, one a round.
struct Times {
    std::vector<double> parse, check, build, start, all;
};

struct File {
    std::string path = std::filesystem::temp_directory_path() / ("penstock-load-" + std::to_string(getpid()) + ".xml");
    ~File() { std::filesystem::remove(path); }
};

void load(const std::string& path, Machine& machine, Times& times) {
    ApplicationOptions options;
    options.limits.components = 200'000;
    options.limits.elements = 1'000'000;
    const auto ms = [](Clock::time_point since) { return nanoseconds_since(since) / 1e6; };
    auto begin = Clock::now();
    std::vector<Finding> findings;
    auto document =
        language::read_document(language::read_file(path, options.limits.bytes), path, options.limits, findings);
    const double parse = ms(begin);
    if (document == nullptr) throw std::runtime_error("language: the application could not be parsed");
    document.reset();

    begin = Clock::now();
    const auto application = Application::read(path, options);
    const double read = ms(begin);
    Graph graph;
    begin = Clock::now();
    application.build(graph);
    const double build = ms(begin);
    begin = Clock::now();
    auto run = graph.start(machine);
    const double start = ms(begin);
    run.finish();
    times.parse.push_back(parse);
    times.check.push_back(read - parse);
    times.build.push_back(build);
    times.start.push_back(start);
    times.all.push_back(read + build + start);
}

}  // namespace

void measure_loading(const Options& options, Report& report) {
    const std::vector<std::size_t> sizes = options.quick ? std::vector<std::size_t>{10, 100, 1000}
                                                         : std::vector<std::size_t>{10, 100, 1000, 10'000, 100'000};
    const int rounds = options.quick ? 5 : 7;
    std::vector<Times> times(sizes.size());
    const File file;
    Machine machine{{.targets = 2}};
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            std::ofstream(file.path) << chain_of(sizes[i]);
            // Small ones several times, so that the round does not hang on one of them.
            const int again = sizes[i] <= 1000 ? 5 : 1;
            Times some;
            for (int k = 0; k < again; ++k) load(file.path, machine, some);
            for (auto part : {&Times::parse, &Times::check, &Times::build, &Times::start, &Times::all})
                (times[i].*part).push_back(median(some.*part));
        }
    for (std::size_t i = 0; i < sizes.size(); ++i)
        report.row(std::to_string(sizes[i]) + " components",
                   {{"parse_ms", median(times[i].parse)},
                    {"check_ms", median(times[i].check)},
                    {"build_ms", median(times[i].build)},
                    {"start_ms", median(times[i].start)},
                    {"all_ms", median(times[i].all)},
                    {"us_a_component", 1e3 * median(times[i].all) / static_cast<double>(sizes[i])}});
    report.note(
        "loading: from the file to Graph::start()'s return, on a machine with 2 targets; a chain, every component "
        "written out; check: expressions, "
        "names, settings and everything that is wrong with a graph");
    report.goal("language/load-1000", median_interval(times[2].all), Direction::at_most, 20);
    if (sizes.back() != 100'000)
        return report.missing("language/load-exponent", Direction::at_most, 1.1,
                              "--quick loads 1,000 components at most");
    std::vector<double> exponents;
    for (std::size_t round = 0; round < times[2].all.size(); ++round)
        exponents.push_back(std::log(times[4].all[round] / times[2].all[round]) / std::log(100.0));
    report.goal("language/load-exponent", median_interval(exponents), Direction::at_most, 1.1);
}

}  // namespace bench
