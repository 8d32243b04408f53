#include "images/images.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "images/cases.hpp"
#include "peers/images.hpp"
#include "penstock/detail/machine/clock.hpp"

namespace bench {
namespace {

struct Size {
    std::size_t rows, columns;
    const char* where;
};

/// A batch of ours: as many calls as fill two milliseconds.
Contestant ours(std::function<void()> call) {
    return {"penstock", [call = std::move(call)] {
                auto start = Clock::now();
                call();
                const int calls = std::max(1, static_cast<int>(2e6 / std::max(1.0, nanoseconds_since(start))));
                start = Clock::now();
                for (int i = 0; i < calls; ++i) call();
                return nanoseconds_since(start) / calls;
            }};
}

/// One case at one size: the libraries are timed once, and the fastest is then measured in turn with ours.
class Comparison {
  public:
    Comparison(const ImageCase& image_case, Size size, ImageLibraries& libraries)
        : case_(image_case), size_(size), libraries_(libraries) {
        for (const std::string& library : libraries.names()) {
            const double once = libraries.nanoseconds(request(library));
            if (once > 0) once_[library] = once;
        }
    }

    std::string name() const {
        return case_.kernel + " " + case_.type + ", " + std::to_string(size_.rows) + " x " +
               std::to_string(size_.columns) + " (" + size_.where + ")";
    }

    /// Adds a row; gives the time of ours over that of the fastest library, where there is one.
    std::optional<Ratio> run(const Plan& plan, Report& report) {
        std::vector<Contestant> contestants{ours(case_.make(size_.rows, size_.columns))};
        const auto best = std::min_element(once_.begin(), once_.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (best != once_.end())
            contestants.push_back(
                {best->first, [this, line = request(best->first)] { return libraries_.nanoseconds(line); }});
        const Result result = measure(contestants, plan);
        report.conditions(result);
        const double pixels = static_cast<double>(size_.rows * size_.columns), nanoseconds = result.median("penstock");
        const double cycles = nanoseconds / penstock::Clock::nanoseconds(1) / pixels;
        std::optional<Ratio> over;
        if (best != once_.end()) over = result.ratio("penstock", best->first);
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        Report::Figures figures{{"us", nanoseconds / 1000},
                                {"cycles_a_byte", cycles / case_.bytes_a_pixel},
                                {"cycles_a_byte_moved", cycles / (case_.bytes_a_pixel + case_.bytes_written_a_pixel)},
                                {"cycles_a_pixel", cycles},
                                {"over_best", over ? over->usual.value : none},
                                {"low", over ? over->usual.low : none},
                                {"high", over ? over->usual.high : none}};
        for (const char* library : {"opencv", "scipy", "scikit-image", "numpy"})
            figures.emplace_back(std::string(library) + "_us", once_.contains(library) ? once_[library] / 1000 : none);
        report.row(name(), std::move(figures));
        return over;
    }

  private:
    std::string request(const std::string& library) const {
        std::ostringstream line;
        line << case_.kernel << ' ' << case_.type << ' ' << size_.rows << ' ' << size_.columns << ' ' << library;
        return line.str();
    }

    const ImageCase& case_;
    Size size_;
    ImageLibraries& libraries_;
    std::map<std::string, double> once_;  // nanoseconds
};

}  // namespace

void measure_images(const Options& options, Report& report) {
    constexpr double goal = 1.1;
    ImageLibraries libraries;
    Plan plan = options.plan;
    plan.rounds = options.quick ? 5 : 11;
    plan.attempts = 4;  // of each of 44 cases: one that is too noisy voids them all
    plan.settle_ms = 1;
    std::vector<Size> sizes{{1080, 1920, "from memory"}, {128, 256, "in cache"}};
    if (options.quick) sizes.erase(sizes.begin());
    Ratio all;
    std::optional<Ratio> worst;
    std::string which;
    for (const Size size : sizes) {
        for (const ImageCase& image_case : image_cases()) {
            Comparison comparison{image_case, size, libraries};
            const auto over = comparison.run(plan, report);
            if (!over) continue;
            all.add(*over);
            if (worst && !worse(*over, *worst, Direction::at_most, Judged::by_value)) continue;
            worst = over;
            which = comparison.name();
        }
    }
    report.note(
        "images: over_best is our time over that of the fastest library, measured in turn; the libraries' own columns "
        "are one "
        "batch "
        "each. Cycles are those of the time stamp counter, bytes those that the kernel reads, or, moved, reads and "
        "writes. Installed: " +
        libraries.list());
    report.note(
        "OpenCV computes 8-bit convolutions and bilinear interpolation with other roundings than these kernels, and "
        "CIELAB up to "
        "0.43 "
        "off; SciPy and scikit-image agree with them as the tests say");
    if (worst) {
        report.note(std::string(worst_kernel) + " is the case '" + which + "'");
        report.goal(worst_kernel, all, Direction::at_most, goal);
    } else {
        report.missing(worst_kernel, Direction::at_most, goal,
                       "no Python with OpenCV, SciPy, scikit-image or NumPy was found");
    }
}

}  // namespace bench
