// Radix sort of 2^20 keys over ranks: remote stores and global arrays, each key by key and by whole lines.
#include "apps/radix/radix.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/measure.hpp"
#include "peers/over_ranks.hpp"

namespace {

namespace radix = penstock::apps::radix;

constexpr std::size_t keys = std::size_t{1} << 20;

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "radix",
        "radix sort of 2^20 keys over ranks: shared memory and remote stores, threads and processes, 1..N ranks",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 61;
    bench::Report report{about, options};
    const radix::Problem problem{keys};
    radix::generate(problem.keys.span(), 1);
    std::vector<radix::Key> wanted(problem.keys.span().begin(), problem.keys.span().end()), again(keys), scratch(keys);
    std::ranges::sort(wanted);
    bench::OverRanks application{
        "radix",
        [&] { return penstock::apps::seconds_of([&] { radix::serial(problem.keys.span(), again, scratch); }); },
        {}};
    for (const auto variant : radix::variants)
        application.variants.push_back({std::string(radix::name(variant)), [&, variant](const auto& ranks) {
                                            const double seconds = radix::parallel(problem, variant, ranks);
                                            if (!std::ranges::equal(problem.sorted.span(), wanted))
                                                throw std::runtime_error(
                                                    "radix: keys in another order than std::sort gives them");
                                            return seconds;
                                        }});
    bench::compare_everywhere(application, options.plan, report);
    report.note("lines, push-lines: as shared and push, but keys are gathered into whole lines first");
    report.note("every variant's keys are compared with those of std::sort, in every batch");
    return report.finish();
}
