// 1-D Jacobi relaxation, n = 57,344, 100 sweeps: edges stored into the neighbours' regions, against a global array,
// each with a barrier and with flags between the sweeps.
#include "apps/jacobi/jacobi.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/measure.hpp"
#include "peers/over_ranks.hpp"

namespace {

namespace jacobi = penstock::apps::jacobi;

constexpr std::size_t points = 57'344;
constexpr std::size_t sweeps = 100;

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "jacobi",
        "1-D Jacobi relaxation over ranks: shared memory and remote stores, threads and processes, 1..N ranks",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 61;
    bench::Report report{about, options};
    jacobi::Problem problem{points};
    jacobi::generate(problem, 1);
    std::vector<float> wanted(points + 2), again(points + 2), scratch(points + 2);
    const auto serial = [&](std::vector<float>& into) {
        return penstock::apps::seconds_of(
            [&] { jacobi::serial(problem.start.span(), problem.source.span(), into, scratch, sweeps); });
    };
    serial(wanted);
    bench::OverRanks application{"jacobi", [&] { return serial(again); }, {}};
    for (const auto variant : jacobi::variants)
        application.variants.push_back(
            {std::string(jacobi::name(variant)), [&, variant](const auto& ranks) {
                 const double seconds = jacobi::parallel(problem, sweeps, variant, ranks);
                 if (std::memcmp(problem.result.data(), wanted.data(), wanted.size() * sizeof(float)) != 0)
                     throw std::runtime_error("jacobi: a result that differs from that of the serial way");
                 return seconds;
             }});
    bench::compare_everywhere(application, options.plan, report);
    report.note("every variant's result is compared with the serial one bit for bit, in every batch");
    return report.finish();
}
