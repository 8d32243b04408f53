// 2-D FFT, 256 x 256 and 1024 x 1024, over ranks in the paper's four ways, by blocks of 8 x 8 pushed or pulled, and as
// calibration chose; and 256 x 256 with rows whose numbers leave from the registers in which they are computed.
#include "apps/fft2d/fft2d.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/measure.hpp"
#include "peers/over_ranks.hpp"

namespace {

namespace fft2d = penstock::apps::fft2d;
using penstock::Substrate;

bench::OverRanks application(const fft2d::Problem& problem) {
    const auto bytes = problem.result.size() * sizeof(fft2d::Complex);
    const auto wanted = std::make_shared<std::vector<fft2d::Complex>>(problem.result.size());
    const auto again = std::make_shared<std::vector<fft2d::Complex>>(problem.result.size());
    const auto scratch = std::make_shared<std::vector<fft2d::Complex>>(problem.result.size());
    fft2d::serial(problem, *wanted);
    const bool halves = problem.plan.rows() == fft2d::Transform::halves;
    bench::OverRanks result{"n=" + std::to_string(problem.n) + (halves ? " by halves" : ""),
                            [&problem, again, scratch] {
                                return penstock::apps::seconds_of([&] { fft2d::serial(problem, *again, *scratch); });
                            },
                            {}};
    for (const auto variant : fft2d::variants)
        result.variants.push_back(
            {std::string(fft2d::name(variant)), [&problem, variant, wanted, bytes](const auto& ranks) {
                 const double seconds = fft2d::parallel(problem, variant, ranks);
                 if (std::memcmp(problem.result.data(), wanted->data(), bytes) != 0)
                     throw std::runtime_error("fft2d: a result that differs from that of the serial way");
                 return seconds;
             }});
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "fft2d",
        "2-D FFT over ranks: shared memory, bulk and pencils (by the rank or an engine), remote stores, tiled pull and "
        "the calibrated choice",
        {"fft2d/choice", "fft2d/push-over-shared"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 61;
    bench::Report report{about, options};
    bench::Ratio choice, push_over_shared;  // of several widths: a goal must hold for all
    for (const std::size_t n : {256u, 1024u}) {
        fft2d::Problem problem{n};
        fft2d::generate(problem, 1);
        const auto tested = application(problem);
        for (const int ranks : bench::widths())
            for (const auto substrate : {Substrate::threads, Substrate::processes}) {
                const auto chosen = fft2d::chosen(problem, {.ranks = ranks, .substrate = substrate});
                const auto result = bench::compare(tested, ranks, substrate, options.plan, report);
                const std::string better = result.median("push") < result.median("pull") ? "push" : "pull";
                report.note("n=" + std::to_string(n) + ", " + std::to_string(ranks) + " " +
                            std::string(penstock::name(substrate)) + ": chose " + std::string(fft2d::name(chosen)) +
                            ", better was " + better);
                if (ranks == 1) continue;  // nothing is exchanged
                choice.add(result.ratio(better, "choice"));
                if (n == 1024) push_over_shared.add(result.ratio("shared", "push"));
            }
    }
    fft2d::Problem halves{256, fft2d::Transform::halves};
    fft2d::generate(halves, 1);
    const auto tested = application(halves);
    for (const auto substrate : {Substrate::threads, Substrate::processes})
        bench::compare(tested, bench::widths().back(), substrate, options.plan, report);
    report.goal("fft2d/choice", choice, bench::Direction::at_least, 0.95, bench::Judged::by_interval);
    report.goal("fft2d/push-over-shared", push_over_shared, bench::Direction::at_least, 1.1);
    report.note(
        "the goals are the worst of all widths from 2 ranks on and of both substrates; push-over-shared of n = 1024");
    report.note(
        "'dma': a thread beside each rank copies, which stands for a DMA engine; 'by halves': the last pass of a row "
        "is "
        "ours, so that 'shared' and 'elements' store each number from the registers in which it was computed");
    report.note("every variant's result is compared with the serial one bit for bit, in every batch");
    return report.finish();
}
