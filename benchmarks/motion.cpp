// Full-search motion estimation, 720 x 480, blocks of 16 x 16, range 7: strips stored to the ranks ahead, and whole
// frames by multicast, against global frames, each in step by a barrier and by flags.
#include "apps/motion/motion.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/measure.hpp"
#include "peers/over_ranks.hpp"

namespace {

namespace motion = penstock::apps::motion;

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "motion",
        "full-search motion estimation over ranks: shared memory and remote stores, threads and processes, 1..N ranks",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 31;
    bench::Report report{about, options};
    motion::Problem problem{motion::Shape{.frames = options.quick ? 3u : 9u}};
    motion::generate(problem, 1);
    std::vector<motion::Match> wanted(problem.matches.size()), again(problem.matches.size());
    motion::serial(problem, wanted);
    bench::OverRanks application{
        "motion", [&] { return penstock::apps::seconds_of([&] { motion::serial(problem, again); }); }, {}};
    for (const auto variant : motion::variants)
        application.variants.push_back({std::string(motion::name(variant)), [&, variant](const auto& ranks) {
                                            const double seconds = motion::parallel(problem, variant, ranks);
                                            if (!std::ranges::equal(problem.matches.span(), wanted))
                                                throw std::runtime_error(
                                                    "motion: other matches than those of the serial way");
                                            return seconds;
                                        }});
    bench::compare_everywhere(application, options.plan, report);
    report.note(
        "all variants take each frame in at rank 0, as from a decoder; every variant's matches are compared with the "
        "serial "
        "ones");
    return report.finish();
}
