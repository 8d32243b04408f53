// Where who stops to scale: one loop, one pipeline and one graph of tasks of 0.5 us to 1 ms a piece, on all processors,
// beside one thread, threads by hand, OpenMP, oneTBB, and Taskflow and GNU Radio where they are installed.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/placement.hpp"
#include "grain/way.hpp"
#include "harness/plot.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include "peers/onetbb.hpp"
#endif

namespace {

using bench::Contestant;
using bench::Direction;
namespace grain = bench::grain;

/// One shape of program, and how large it is at a grain.
struct Shape {
    const char* name;
    std::vector<grain::Way> (*ways)(const grain::Place&, const grain::Size&);
    std::size_t (*size)(double ns);
    double (*pieces)(std::size_t size);
};

/// As many as make so many ns of work, between these.
std::size_t some(double work, double ns, double least, double most) {
    return static_cast<std::size_t>(std::clamp(work / ns, least, most));
}

constexpr Shape shapes[] = {
    {"pipeline", grain::pipeline_ways, [](double ns) { return some(8e6, grain::stages * ns, 32, 4000); },
     [](std::size_t items) { return static_cast<double>(items * grain::stages); }},
    {"graph", grain::graph_ways,
     [](double ns) { return static_cast<std::size_t>(std::clamp(std::sqrt(2e6 / ns), 10.0, 40.0)); },
     [](std::size_t side) { return static_cast<double>(side * side); }},
    {"loop", grain::loop_ways, [](double ns) { return some(2e6, ns, 64, 4000); },
     [](std::size_t count) { return static_cast<double>(count); }},
};

/// How many iterations take one ns.
double iterations_of_a_nanosecond() {
    constexpr std::int32_t iterations = 100'000;
    double best = 1e18;
    std::uint64_t value = 1;
    for (int i = 0; i < 50; ++i) {
        const auto start = bench::Clock::now();
        value = grain::piece(value, iterations);
        asm volatile("" : : "r"(value));
        best = std::min(best, bench::nanoseconds_since(start));
    }
    return iterations / best;
}

/// Nanoseconds a piece; the digest must be that of the serial way.
Contestant contestant(const grain::Way& way, std::uint64_t wanted, double pieces, double whole_ns) {
    const int runs = std::max(1, static_cast<int>(1e6 / whole_ns));
    const bool warm = whole_ns < 20e6;  // beyond that waking threads takes less than a hundredth
    return {way.name, [=] {
                double nanoseconds = 0;
                const auto once = [&] {
                    const auto start = bench::Clock::now();
                    const auto ran = way.run();
                    nanoseconds += ran.nanoseconds != 0 ? ran.nanoseconds : bench::nanoseconds_since(start);
                    if (ran.digest != wanted) throw std::runtime_error("grain: " + way.name + " gave other values");
                };
                way.inside([&] {
                    if (warm) once();
                    nanoseconds = 0;
                    for (int i = 0; i < runs; ++i) once();
                });
                return nanoseconds / (runs * pieces);
            }};
}

/// Whose way it is: the name up to the first hyphen.
std::string_view owner(std::string_view way) { return way.substr(0, way.find('-')); }
bool is_rival(std::string_view way) {
    return owner(way) != "penstock" && owner(way) != "hand" && owner(way) != "serial";
}
/// Our way that says the same program: a graph whose tasks are issued each time is compared with OpenMP's, which are
/// too, and one that is made once with those that are made once.
std::string ours_against(const Shape& shape, std::string_view rival) {
    if (shape.ways != grain::graph_ways || rival == "openmp-depend") return "penstock";
    return "penstock-replay";
}

struct Goals {
    bench::Ratio below, above;
};

/// For each owner of a way, the best of its ways at each grain, as time over that of the processors' full use.
class Picture {
  public:
    Picture()
        : plot_("Time over that of all processors fully used", "work of a piece", "times", bench::Plot::Unit::time,
                bench::Plot::Unit::times) {}
    void begin(std::string shape) {
        shape_ = std::move(shape);
        series_.clear();
        for (const char* const name : {"serial", "hand", "penstock", "openmp", "onetbb", "taskflow", "gnuradio"})
            series_.push_back({name, {}});
    }
    void point(const bench::Result& result, double ns, int workers) {
        for (auto& series : series_) {
            std::optional<double> best;
            for (const auto& way : result.names())
                if (owner(way) == series.name)
                    best = std::min(best.value_or(1e18), workers * result.ratio(way, "serial").usual.value);
            if (best) series.points.push_back({ns, *best});
        }
    }
    void end() {
        std::erase_if(series_,
                      [&](const bench::Series& series) { return series.points.empty() && shape_ != shapes[0].name; });
        plot_.chart(shape_, series_);
    }
    void write(const std::string& file) const {
        std::ofstream out{file};
        if (!(out << plot_.svg("each the best of its ways"))) throw std::runtime_error("cannot write " + file);
    }

  private:
    std::string shape_;
    std::vector<bench::Series> series_;
    bench::Plot plot_;
};

void compare(const Shape& shape, double ns, double iterations_a_ns, const grain::Place& place,
             const bench::Options& options, Goals& goals, Picture& picture, bench::Report& report) {
    const grain::Size size{shape.size(ns), static_cast<std::int32_t>(std::lround(ns * iterations_a_ns))};
    const double pieces = shape.pieces(size.pieces);
    const auto ways = shape.ways(place, size);
    const auto wanted = ways.front().run().digest;
    std::vector<Contestant> contestants;
    for (const auto& way : ways)
        if (!(options.quick && way.name == "gnuradio"))  // a process a batch
            contestants.push_back(contestant(way, wanted, pieces, pieces * ns));
    auto plan = options.plan;
    if (ns > 200e3) plan.rounds = std::min(plan.rounds, 13);
    const auto result = bench::measure(contestants, plan);
    report.conditions(result);
    picture.point(result, ns, place.workers());
    bench::Report::Figures figures{{"piece_us", result.median("serial") / 1000}};
    for (const auto& way : result.names())
        if (way != "serial") figures.emplace_back(way, result.ratio("serial", way).usual.value / place.workers());
    report.row(std::string(shape.name) + ", " + std::to_string(size.pieces), figures);
    for (const auto& way : result.names())
        if (is_rival(way)) (ns <= 50e3 ? goals.below : goals.above).add(result.ratio(way, ours_against(shape, way)));
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "grain",
        "a loop, a pipeline and a graph of tasks of 0.5 us to 1 ms a piece, beside OpenMP, oneTBB and the others",
        {"grain/below-50us", "grain/above-50us"},
        true};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 21;
    options.plan.attempts = 1;  // of each grain: there are many
    bench::Report report{about, options};
#if defined(PENSTOCK_BENCH_TBB)
    bench::in_onetbb_arena([] {});  // counts the processors that this thread may use now: later it is kept on one
#endif
    const auto machine = bench::make_machine();
    penstock::apps::Team team{penstock::apps::processors_of(*machine)};
    const grain::Place place{*machine, team};
    const double iterations = iterations_of_a_nanosecond();
    const std::vector<double> grains =
        options.quick ? std::vector<double>{500, 5e3, 50e3}
                      : std::vector<double>{500, 1e3, 2e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6};
    Goals goals;
    Picture picture;
    for (const auto& shape : shapes) {
        picture.begin(shape.name);
        for (const double ns : grains) compare(shape, ns, iterations, place, options, goals, picture, report);
        picture.end();
    }
    report.goal("grain/below-50us", goals.below, Direction::at_least, 1.1);
    if (goals.above.standings.empty())
        report.missing("grain/above-50us", Direction::at_least, 0.99, "quick runs have no pieces above 50 us");
    else report.goal("grain/above-50us", goals.above, Direction::at_least, 0.99);
    report.note(
        "figures of a way: the serial time over workers times its own; 1 is full use of all processors. The number "
        "behind a shape: items, cells of a side, pieces");
    report.note(
        "goals: the best rival's time over ours, in the worst shape, grain and standing; serial and hand are no "
        "rivals. "
        "Of the graph: tasks issued each time against OpenMP's, replayed ones against what is made once as well");
    if (!options.plot.empty()) picture.write(options.plot);
    return report.finish();
}
