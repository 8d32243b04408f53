// Kernels: those of the gallery for 1..N processors, those of images against OpenCV, scikit-image and SciPy.
//
// The gallery's: serial, threaded by hand, OpenMP, SciPy, tagged calls on the papers' tiles, and on parts that the
// runtime chooses (split). What is done by hand is done with tiles and with bands where it is not plain which is
// faster.
//
// Sizes are those of the gallery. All but SciPy call the same kernels, and what they computed is compared bit for bit.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/addition/addition.hpp"
#include "apps/conv2d/conv2d.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "apps/saxpy/saxpy.hpp"
#include "apps/sgemv/sgemv.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "images/images.hpp"
#include "kernels/add.hpp"
#include "kernels/blas.hpp"
#include "kernels/correlate.hpp"
#include "peers/openmp.hpp"
#include "peers/ours.hpp"
#include "peers/scipy.hpp"

namespace {

namespace apps = penstock::apps;
using apps::Buffer;
using apps::Team;
using bench::Contestant;

/// One kernel: each way writes `result`, which holds the input (or anything) before.
struct Kernel {
    std::string name;
    std::size_t scipy_size;
    std::function<void(std::span<float> result)> prepare, serial;
    std::function<double(std::span<float> result, Team&)> hand;
    std::function<void(std::span<float> result, penstock::Machine&)> tagged, split;
    /// Part `i` of `parts`, for OpenMP.
    std::size_t parts;
    std::function<void(std::span<float> result, std::size_t i)> part;
    std::size_t result_size;
    std::function<double(std::span<float> result, Team&)> hand_in_bands{};
};

Buffer<float> numbers(std::size_t size, unsigned seed) {
    Buffer<float> made{size};
    for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<float>((i * 7919 + seed) % 1024) / 1024.0f;
    return made;
}

Kernel saxpy_kernel() {
    constexpr std::size_t size = std::size_t{1} << 20, part = 2048;
    const auto x = std::make_shared<Buffer<float>>(numbers(size, 1)),
               y = std::make_shared<Buffer<float>>(numbers(size, 2));
    return {"saxpy",
            size,
            [y](auto result) { std::copy_n(y->data(), size, result.data()); },
            [x](auto result) { apps::saxpy::serial(x->span(), result, 1.7f); },
            [x](auto result, Team& team) { return apps::saxpy::hand(x->span(), result, 1.7f, team); },
            [x](auto result, auto& machine) { apps::saxpy::tagged(x->span(), result, 1.7f, part, machine); },
            [x](auto result, auto& machine) { apps::saxpy::split(x->span(), result, 1.7f, machine); },
            size / part,
            [x](auto result, std::size_t i) {
                penstock::kernels::saxpy(x->span().subspan(i * part, part), result.subspan(i * part, part), 1.7f);
            },
            size};
}

Kernel sgemv_kernel() {
    constexpr std::size_t size = 2048, rows = 16;
    const auto a = std::make_shared<Buffer<float>>(numbers(size * size, 1));
    const auto x = std::make_shared<Buffer<float>>(numbers(size, 2)),
               y = std::make_shared<Buffer<float>>(numbers(size, 3));
    return {"sgemv",
            size,
            [y](auto result) { std::copy_n(y->data(), size, result.data()); },
            [a, x](auto result) { apps::sgemv::serial(a->span(), x->span(), result); },
            [a, x](auto result, Team& team) { return apps::sgemv::hand(a->span(), x->span(), result, team); },
            [a, x](auto result, auto& machine) { apps::sgemv::tagged(a->span(), x->span(), result, rows, machine); },
            [a, x](auto result, auto& machine) { apps::sgemv::split(a->span(), x->span(), result, machine); },
            size / rows,
            [a, x](auto result, std::size_t i) {
                penstock::kernels::sgemv(a->span().subspan(i * rows * size, rows * size), x->span(),
                                         result.subspan(i * rows, rows), apps::sgemv::alpha, apps::sgemv::beta);
            },
            size};
}

Kernel addition_kernel() {
    constexpr std::size_t rows = 1024, columns = 512;
    constexpr apps::Tiling tiling{rows, columns, 32, 64};
    const auto a = std::make_shared<Buffer<float>>(numbers(rows * columns, 1));
    const auto b = std::make_shared<Buffer<float>>(numbers(rows * columns, 2));
    const auto whole = [](auto* data) {
        return penstock::view<std::remove_reference_t<decltype(*data)>, 2>{data, {rows, columns}};
    };
    return {"addition",
            rows,
            [](auto) {},
            [=](auto result) { apps::addition::serial(whole(a->data()), whole(b->data()), whole(result.data())); },
            [=](auto result, Team& team) {
                return apps::addition::hand(whole(a->data()), whole(b->data()), whole(result.data()), team);
            },
            [=](auto result, auto& machine) {
                apps::addition::tagged(whole(a->data()), whole(b->data()), whole(result.data()), tiling, machine);
            },
            [=](auto result, auto& machine) {
                apps::addition::split(whole(a->data()), whole(b->data()), whole(result.data()), machine);
            },
            tiling.count(),
            [=](auto result, std::size_t i) {
                penstock::kernels::add(apps::part(whole(a->data()), tiling[i]), apps::part(whole(b->data()), tiling[i]),
                                       apps::part(whole(result.data()), tiling[i]));
            },
            rows * columns};
}

Kernel conv2d_kernel(std::size_t side) {
    const apps::Tiling tiling{side, side, 64, 64};
    const auto filter = std::make_shared<apps::conv2d::Filter>(apps::conv2d::binomial());
    const Buffer<float> pixels = numbers(side * side, 1);
    const auto plane = std::make_shared<apps::conv2d::PaddedPlane>(pixels.span(), side, side, *filter);
    const auto whole = [side](std::span<float> result) {
        return penstock::view<float, 2>{result.data(), {side, side}};
    };
    return {
        "conv2d",
        side,
        [](auto) {},
        [=](auto result) { apps::conv2d::serial(plane->window(), *filter, whole(result), tiling); },
        [=](auto result, Team& team) {
            return apps::conv2d::hand(plane->window(), *filter, whole(result), tiling, team);
        },
        [=](auto result, auto& machine) {
            apps::conv2d::tagged(plane->window(), *filter, whole(result), tiling, machine);
            machine.barrier();
        },
        [=](auto result, auto& machine) { apps::conv2d::split(plane->window(), *filter, whole(result), machine); },
        tiling.count(),
        [=](auto result, std::size_t i) {
            penstock::kernels::correlate(apps::part(plane->window(), tiling[i], filter->rows - 1, filter->columns - 1),
                                         filter->weights, apps::part(whole(result), tiling[i]));
        },
        side * side,
        [=](auto result, Team& team) {
            return team.run([&](int rank) {
                const auto rows = team.share(rank, side);
                const apps::Tile band{rows.begin, 0, rows.end - rows.begin, side};
                penstock::kernels::correlate(apps::part(plane->window(), band, filter->rows - 1, filter->columns - 1),
                                             filter->weights, apps::part(whole(result), band));
            });
        }};
}

template <class Body>
double seconds_of(Body body) {
    const auto start = bench::Clock::now();
    body();
    return bench::nanoseconds_since(start) * 1e-9;
}

/// Runs a way twice (the first wakes its threads) and compares what it made with `wanted`.
template <class Run>
Contestant contestant(std::string name, const Kernel& kernel, std::shared_ptr<const std::vector<float>> wanted,
                      Run run) {
    const auto result = std::make_shared<Buffer<float>>(kernel.result_size);
    return {std::move(name), [&kernel, wanted, result, run] {
                double seconds = 0;
                for (int pass = 0; pass < 2; ++pass) {
                    kernel.prepare(result->span());
                    seconds = run(result->span());
                }
                if (std::memcmp(result->data(), wanted->data(), wanted->size() * sizeof(float)) != 0)
                    throw std::runtime_error(kernel.name + ": a result that differs from that of the serial way");
                return seconds * 1e9;
            }};
}

/// Gives the time of the split calls over the best that is done by hand.
bench::Ratio compare(const Kernel& kernel, int workers, const bench::Options& options, bench::Report& report) {
    bench::Scipy scipy{workers};
    const auto machine = bench::make_machine({.targets = workers - 1});
    const auto wanted = std::make_shared<std::vector<float>>(kernel.result_size);
    kernel.prepare(*wanted);
    kernel.serial(*wanted);
#if defined(_OPENMP)
    bench::bind_openmp_team();
#endif
    Team team{apps::processors_of(*machine)};
    // The targets are awake at the start, as the threads by hand are: preparing takes longer than they wait for work.
    const auto awake = [&](auto run) {
        return [&machine, run](std::span<float> result) {
            apps::wake(*machine);
            return seconds_of([&] { run(result); });
        };
    };
    std::vector<Contestant> contestants{
        contestant("hand", kernel, wanted, [&](auto result) { return kernel.hand(result, team); }),
        contestant("serial", kernel, wanted, [&](auto result) { return seconds_of([&] { kernel.serial(result); }); }),
        contestant("tagged", kernel, wanted, awake([&](auto result) { kernel.tagged(result, *machine); })),
        contestant("split", kernel, wanted, awake([&](auto result) { kernel.split(result, *machine); }))};
    if (kernel.hand_in_bands)
        contestants.push_back(
            contestant("hand, bands", kernel, wanted, [&](auto result) { return kernel.hand_in_bands(result, team); }));
#if defined(_OPENMP)
    contestants.push_back(contestant("openmp", kernel, wanted, [&, workers](auto result) {
        return seconds_of([&] {
#pragma omp parallel for schedule(static) num_threads(workers)
            for (std::size_t i = 0; i < kernel.parts; ++i) kernel.part(result, i);
        });
    }));
#endif
    if (scipy.available()) contestants.push_back(scipy.contestant(kernel.name, kernel.scipy_size));
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    for (const auto& name : result.names()) {
        const auto over = result.ratio(name, "hand").usual;
        report.row(kernel.name + ", " + std::to_string(workers) + " workers, " + name,
                   {{"median_us", result.median(name) / 1000},
                    {"over_hand", over.value},
                    {"low", over.low},
                    {"high", over.high},
                    {"speed_up", result.ratio("serial", name).usual.value}});
    }
    const bool bands = kernel.hand_in_bands && result.median("hand, bands") < result.median("hand");
    return result.ratio("split", bands ? "hand, bands" : "hand");
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "kernels",
        "the gallery's kernels for 1..N processors; kernels of images against OpenCV, scikit-image and SciPy",
        {bench::worst_kernel, "kernels/tagged-over-hand"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 31;
    bench::Report report{about, options};
    bench::measure_images(options, report);
    const int most = std::max(2, static_cast<int>(bench::allowed_processors().size()));
    bench::Ratio over_hand;
    for (const Kernel& kernel :
         {saxpy_kernel(), sgemv_kernel(), addition_kernel(), conv2d_kernel(options.quick ? 512 : 4096)}) {
        for (int workers = 1; workers < most; workers *= 2) (void)compare(kernel, workers, options, report);
        over_hand.add(compare(kernel, most, options, report));
    }
    report.goal("kernels/tagged-over-hand", over_hand, bench::Direction::at_most, 1.05, bench::Judged::by_interval);
    report.note("scipy: BLAS for saxpy and sgemv, numpy.add, ndimage.correlate; LU is a benchmark of its own");
    return report.finish();
}
