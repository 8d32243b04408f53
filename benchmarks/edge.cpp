// Edges of pictures over 36 angles, as filters: 1..N processors against one thread, oneTBB's parallel_pipeline and
// OpenMP, by both algorithms.
#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/edge/streams.hpp"
#include "apps/random.hpp"
#include "kernels/maximum.hpp"
#include "peers/pipeline.hpp"
#include "peers/speed_up.hpp"

namespace {

namespace edge = penstock::apps::edge;
using edge::Algorithm;
using penstock::view;

constexpr std::size_t angles = 36;

struct Bench {
    Bench(Algorithm by, std::size_t count, std::size_t side)
        : algorithm{by}, extents{count, side, side}, pixels(count * side * side), wanted(pixels.size()),
          found(pixels.size()) {
        penstock::apps::Random random{1};
        penstock::apps::fill(pixels, nullptr, random, 0.0f, 1.0f);
        edge::serial(algorithm, pictures(), {wanted.data(), extents}, angles);
    }
    view<const float, 3> pictures() const { return {pixels.data(), extents}; }
    view<float, 3> result() { return {found.data(), extents}; }

    /// Nanoseconds of body(), which fills `found`; then compares all that came out.
    template <class Body>
    double timed(Body body) {
        std::ranges::fill(found, 0.0f);
        const auto start = bench::Clock::now();
        body();
        const double nanoseconds = bench::nanoseconds_since(start);
        if (found != wanted) throw std::runtime_error("edge: other pixels than those of the serial way");
        return nanoseconds;
    }

    Algorithm algorithm;
    std::array<std::size_t, 3> extents;
    std::vector<float> pixels, wanted, found;
};

/// One angle of one picture, with a detector of its own.
struct Item {
    std::size_t number = 0;
    edge::Detector detect;
    std::vector<float> response;

    explicit Item(const Bench& bench)
        : detect{bench.algorithm, angles}, response(bench.extents[1] * bench.extents[2]) {}
    view<float, 2> image(const Bench& bench) { return {response.data(), {bench.extents[1], bench.extents[2]}}; }
};

void by(bench::Rival rival, Bench& bench, std::vector<Item>& items) {
    std::size_t next = 0;
    // The whole of an angle is one stage: what is handed from stage to stage stays with the thread anyway.
    const bench::Pipeline<Item> pipeline{[&](Item& item) {
                                             item.number = next++;
                                             return item.number < bench.extents[0] * angles;
                                         },
                                         {[&](Item& item) {
                                             item.detect(edge::picture_of(bench.pictures(), item.number / angles),
                                                         item.number % angles, item.image(bench));
                                         }},
                                         [&](Item& item) {
                                             const auto strongest =
                                                 edge::picture_of(bench.result(), item.number / angles);
                                             penstock::kernels::maximum<float>(item.image(bench), strongest, strongest);
                                         }};
    bench::run_by(rival, pipeline, items);
}

bench::SpeedUp compare(Bench& bench, const std::string& prefix, const bench::Options& options, bench::Report& report) {
    bench::Filters filters;
    filters.unit = "pictures";
    filters.units = static_cast<double>(bench.extents[0]);
    filters.serial = [&] {
        return bench.timed([&] { edge::serial(bench.algorithm, bench.pictures(), bench.result(), angles); });
    };
    filters.streamed = [&](penstock::Machine& machine, int processors) {
        return bench.timed(
            [&] { edge::streams(bench.algorithm, bench.pictures(), bench.result(), angles, machine, {processors}); });
    };
    std::vector<Item> items(8, Item{bench});
    filters.rival = [&](bench::Rival rival) { return bench.timed([&] { by(rival, bench, items); }); };
    return bench::measure_speed_up(filters, prefix, options, report);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "edge",
        "edges over 36 angles, as filters: pictures a second on 1..N processors against one thread, oneTBB and OpenMP",
        {"edge/speedup-2", "edge/over-best"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 15;
    bench::Report report{about, options};
    Bench turned{Algorithm::turned, 2, options.quick ? 96u : 160u},
        dense{Algorithm::dense, 2, options.quick ? 48u : 96u};
    auto both = compare(turned, "turned pictures: ", options, report);
    const auto by_kernels = compare(dense, "turned kernels: ", options, report);
    both.add(by_kernels);
    bench::judge_speed_up("edge", both, 1.9, report);
    report.note(
        "2 pictures of 160 x 160 by turned pictures (Edge-Rot), of 96 x 96 by turned kernels (Edge-2D); the goals "
        "judge "
        "both");
    report.note(
        "making and ending the graph included; every way's pixels are compared with the serial ones bit for bit, in "
        "every batch");
    return report.finish();
}
