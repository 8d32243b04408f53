#include "nodes/figure_21.hpp"

#if defined(PENSTOCK_BENCH_TISSUE)

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/tissue/tissue.hpp"
#include "components/files/picture_file.hpp"
#include "harness/measure.hpp"
#include "nodes/quarters.hpp"
#include "peers/photograph.hpp"
#include "penstock/cluster.hpp"

namespace bench {
namespace {

namespace tissue = penstock::apps::tissue;
using penstock::apps::Picture;

Picture input(std::size_t side, Report& report) {
    if (const auto ihc = photograph("ihc.png"))
        return penstock::apps::mirrored({ihc->rgb.data(), {ihc->rows, 3 * ihc->columns}}, side, side);
    report.note("the picture of a tissue was not found (scikit-image is not installed): a made one instead");
    return penstock::apps::spots(side, side, 1);
}

std::string name_of(int nodes) { return "decoded on " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes"); }

/// The program has one thread for the analysis, beside that of its wires.
std::unique_ptr<penstock::Cluster> cluster_of(int nodes, const Quarters& quarters) {
    penstock::ClusterOptions options;
    options.nodes = {{"decoders", nodes}};
    options.listen = "tcp:127.0.0.1:0";
    options.encryption = penstock::Encryption::none;
    options.machine.targets = 0;
    options.node_machine.targets = 1;
    auto made = std::make_unique<penstock::Cluster>(options);
    std::size_t which = 0;
    for (const auto& agent : made->agents()) quarters.put(agent.process, which++);
    return made;
}

}  // namespace

void figure_21(Report& report, const Options& options) {
    std::string why;
    const auto quarters = Quarters::make(4, why);
    if (quarters == nullptr) return report.note("without figure 21: " + why);
    const std::size_t side = options.quick ? 2048 : 4096;
    try {
        const Picture picture = input(side, report);
        const tissue::Slide slide{picture, {side, side, 128, 128}, 90, tissue::Stored::tiff};
        tissue::Analysis wanted{slide.tiling()}, found{slide.tiling()};
        tissue::published_serial(slide, wanted);
        const auto tiles = static_cast<double>(slide.tiling().count());
        const auto timed = [&](const auto& body) {
            std::ranges::fill(found.features, tissue::Features{});
            const auto start = Clock::now();
            body();
            const double nanoseconds = nanoseconds_since(start);
            if (found.features != wanted.features || found.classes != wanted.classes ||
                !std::ranges::equal(found.overview.rgb.span(), wanted.overview.rgb.span()))
                throw std::runtime_error("figure 21: another result than that of one thread");
            return nanoseconds / tiles;
        };
        std::vector<std::unique_ptr<penstock::Cluster>> clusters;
        std::vector<Contestant> contestants;
        for (const int nodes : {1, 2, 4}) {
            auto& cluster = *clusters.emplace_back(cluster_of(nodes, *quarters));
            contestants.push_back({name_of(nodes), [&, nodes] {
                                       return timed([&] { (void)tissue::published(slide, found, cluster, nodes); });
                                   }});
        }
        contestants.push_back({"one thread", [&] { return timed([&] { tissue::published_serial(slide, found); }); }});
        auto plan = options.plan;
        plan.rounds = options.quick ? 6 : 11;
        plan.attempts = 1;
        const auto result = measure(contestants, plan);
        report.conditions(result);
        for (const auto& name : result.names()) {
            const auto faster = result.ratio(name_of(1), name).usual;
            report.row(std::to_string(slide.tiling().count()) + " tiles, TIFF: " + name,
                       {{"tiles_a_second", 1e9 / result.median(name)},
                        {"speed_up", faster.value},
                        {"low", faster.low},
                        {"high", faster.high}});
        }
        report.note("figure 21: each node has a quarter of a processor; speed_up: over one node");
    } catch (const penstock::components::PictureError& error) {
        report.note(std::string("without figure 21: ") + error.what());
    }
}

}  // namespace bench

#else

namespace bench {

void figure_21(Report& report, const Options&) {
    report.note("without figure 21: this build has no applications that read pictures");
}

}  // namespace bench

#endif
