#include "scale/rehearsal.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "harness/measure.hpp"
#include "penstock/dependences.hpp"
#include "penstock/graph.hpp"
#include "penstock/run.hpp"
#include "penstock/spread.hpp"

namespace bench {
namespace {

using namespace penstock;

std::atomic<std::size_t> slept{0};

void body(double nanoseconds) {
    nap(nanoseconds);
    slept.fetch_add(1, std::memory_order_relaxed);
}

/// ns of work(); all bodies must have run.
template <class Work>
double timed(std::size_t bodies, Work work) {
    slept = 0;
    const auto start = Clock::now();
    work();
    const double nanoseconds = nanoseconds_since(start);
    if (slept != bodies)
        throw std::runtime_error("scale: " + std::to_string(slept) + " bodies ran, of " + std::to_string(bodies));
    return nanoseconds;
}

std::string named(const std::string& what, int workers) { return what + ", " + std::to_string(workers) + " workers"; }

// ---- LU ----

using Block = std::span<std::uint64_t>;
using Read = std::span<const std::uint64_t>;
void on_one(Block, double nanoseconds) { body(nanoseconds); }
void on_two(Read, Block, double nanoseconds) { body(nanoseconds); }
void on_three(Read, Read, Block, double nanoseconds) { body(nanoseconds); }

void issue_lu(std::vector<std::uint64_t>& matrix, std::size_t blocks, const LuTimes& times, Dependences& order) {
    const auto tile = [&](std::size_t i, std::size_t j) { return Block(&matrix[i * blocks + j], 1); };
    for (std::size_t k = 0; k < blocks; ++k) {
        order.call<on_one>(inout(tile(k, k)), times.factor);
        for (std::size_t i = k + 1; i < blocks; ++i) order.call<on_two>(in(tile(k, k)), inout(tile(i, k)), times.bdiv);
        for (std::size_t j = k + 1; j < blocks; ++j) order.call<on_two>(in(tile(k, k)), inout(tile(k, j)), times.bmodd);
        for (std::size_t j = k + 1; j < blocks; ++j)
            for (std::size_t i = k + 1; i < blocks; ++i)
                order.call<on_three>(in(tile(i, k)), in(tile(k, j)), inout(tile(i, j)), times.bmod);
    }
    order.wait();
}

// ---- streams ----

struct Source {
    Output<std::uint64_t> out{"out"};
    std::uint64_t count, next = 0;
    double nanoseconds;
    Source(std::uint64_t buffers, double each) : count(buffers), nanoseconds(each) {}
    bool operator()() {
        if (next == count) return false;
        body(nanoseconds);
        auto made = out.make(1);
        made.edit()[0] = next;
        made.edit_tags().user = {next++, 0};
        out.write(std::move(made));
        return true;
    }
};

struct Stage {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    double nanoseconds;
    explicit Stage(double each) : nanoseconds(each) {}
    void operator()() {
        const auto read = in.read();
        body(nanoseconds);
        auto made = out.make(1);
        made.edit()[0] = read[0];
        out.write(std::move(made));
    }
};

/// Takes two that belong together, and gives one.
struct Both {
    Input<std::uint64_t> left{"left"}, right{"right"};
    Output<std::uint64_t> out{"out"};
    double nanoseconds;
    explicit Both(double each) : nanoseconds(each) {}
    void operator()() {
        const auto read = left.read(), other = right.read();
        if (read[0] != other[0]) throw std::runtime_error("scale: two tiles do not belong together");
        body(nanoseconds);
        auto made = out.make(1);
        made.edit()[0] = read[0];
        out.write(std::move(made));
    }
};

struct Overview {
    Input<std::uint64_t> small{"small"}, verdict{"verdict"};
    double nanoseconds;
    explicit Overview(double each) : nanoseconds(each) {}
    void operator()() {
        (void)small.read();
        (void)verdict.read();
        body(nanoseconds);
    }
};

constexpr std::size_t films = 16;

/// The files of a frame, which sixteen jobs decode.
struct Mosaic {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> file{"file"};
    Output<std::uint64_t> mosaic{"mosaic"};
    Spread tasks;
    double nanoseconds;
    std::map<std::uint64_t, std::size_t> begun;
    explicit Mosaic(double each) : nanoseconds(each) {}
    void operator()() {
        const auto read = file.read();
        if (++begun[read[0]] < films) return;
        begun.erase(read[0]);
        for (std::size_t film = 0; film < films; ++film) tasks.call([each = nanoseconds] { body(each); });
        mosaic.write(mosaic.make(1));
    }
};

struct Store {
    Input<std::uint64_t> mosaic{"mosaic"};
    double nanoseconds;
    explicit Store(double each) : nanoseconds(each) {}
    void operator()() {
        (void)mosaic.read();
        body(nanoseconds);
    }
};

}  // namespace

void nap(double nanoseconds) {
    static thread_local const int exact = ::prctl(PR_SET_TIMERSLACK, 1UL);
    (void)exact;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::llround(nanoseconds)));
}

Rehearsal rehearse_lu(const LuTimes& recorded, std::size_t blocks, int workers, double least) {
    const double stretch = least / std::min({recorded.factor, recorded.bdiv, recorded.bmodd, recorded.bmod});
    const LuTimes times{recorded.factor * stretch, recorded.bdiv * stretch, recorded.bmodd * stretch,
                        recorded.bmod * stretch};
    Rehearsal made{named("LU, " + std::to_string(blocks) + " x " + std::to_string(blocks) + " blocks", workers)};
    double work = 0, path = 0;
    for (std::size_t left = 0; left < blocks; ++left) {
        const auto rest = static_cast<double>(left);
        work += times.factor + rest * (times.bdiv + times.bmodd) + rest * rest * times.bmod;
        path += times.factor + (left == 0 ? 0 : std::max(times.bdiv, times.bmodd) + times.bmod);
        made.bodies += 1 + 2 * left + left * left;
    }
    made.bound = std::max(work / workers, path);
    made.run = [times, blocks, bodies = made.bodies](Machine& machine) {
        std::vector<std::uint64_t> matrix(blocks * blocks);
        Dependences order{machine};
        return timed(bodies, [&] { issue_lu(matrix, blocks, times, order); });
    };
    return made;
}

Rehearsal rehearse_tissue(const TissueTimes& recorded, std::size_t tiles, int workers, double tile) {
    const double stretch = tile / recorded.all();
    const TissueTimes times{recorded.read * stretch,    recorded.decode * stretch, recorded.colour * stretch,
                            recorded.pattern * stretch, recorded.shrink * stretch, recorded.classify * stretch,
                            recorded.overview * stretch};
    const auto count = static_cast<double>(tiles);
    Rehearsal made{named("tissue", workers)};
    made.bodies = 7 * tiles;
    const double path = times.read + times.decode +
                        std::max(std::max(times.colour, times.pattern) + times.classify, times.shrink) + times.overview;
    const double in_copies = std::max({times.decode, times.colour, times.pattern, times.shrink}) / workers;
    made.bound = std::max({count * times.all() / workers, path, count * in_copies,
                           count * std::max({times.read, times.classify, times.overview})});
    made.run = [times, tiles, workers, bodies = made.bodies](Machine& machine) {
        Graph graph;
        auto& read = graph.add<Source>("read", {}, tiles, times.read);
        auto& decode = graph.add<Stage>("decode", {.copies = workers}, times.decode);
        auto& colour = graph.add<Stage>("colour", {.copies = workers}, times.colour);
        auto& pattern = graph.add<Stage>("pattern", {.copies = workers}, times.pattern);
        auto& shrink = graph.add<Stage>("shrink", {.copies = workers}, times.shrink);
        auto& classify = graph.add<Both>("classify", {}, times.classify);
        auto& overview = graph.add<Overview>("overview", {}, times.overview);
        graph.connect(read.out, decode.in);
        graph.connect(decode.out, colour.in);
        graph.connect(decode.out, pattern.in);
        graph.connect(decode.out, shrink.in);
        graph.connect(colour.out, classify.left, {.ordered = true});
        graph.connect(pattern.out, classify.right, {.ordered = true});
        graph.connect(shrink.out, overview.small);
        graph.connect(classify.out, overview.verdict);
        return timed(bodies, [&] { graph.start(machine).finish(); });
    };
    return made;
}

Rehearsal rehearse_jpip(const JpipTimes& recorded, std::size_t frames, int workers, double file) {
    const JpipTimes times{file, recorded.store * file / recorded.file};
    const auto count = static_cast<double>(frames);
    Rehearsal made{named("JPiP", workers)};
    made.bodies = frames * (2 * films + 1);
    made.bound =
        std::max({count * (films * times.file + times.store) / workers, times.file + times.store, count * times.store});
    made.run = [times, frames, workers, bodies = made.bodies](Machine& machine) {
        Graph graph;
        auto& mosaic = graph.add<Mosaic>("decode", {.copies = workers}, times.file);
        auto& store = graph.add<Store>("store", {}, times.store);
        for (std::size_t film = 0; film < films; ++film) {
            auto& camera = graph.add<Source>("camera-" + std::to_string(film), {}, frames, 0.0);
            graph.connect(camera.out, mosaic.file, {.policy = Policy::by_key, .capacity = 2, .name = "films"});
        }
        graph.connect(mosaic.mosaic, store.mosaic);
        return timed(bodies, [&] { graph.start(machine).finish(); });
    };
    return made;
}

Rehearsal rehearse_uneven(std::size_t jobs, int workers, double least) {
    std::mt19937 random{7};
    std::vector<double> times(jobs);
    for (double& time : times) time = least * std::pow(8, static_cast<double>(random()) / 4294967296.0);
    Rehearsal made{named("uneven jobs", workers)};
    made.bodies = jobs;
    double work = 0;
    for (const double time : times) work += time;
    made.bound = std::max(work / workers, *std::ranges::max_element(times));
    made.run = [times](Machine& machine) {
        return timed(times.size(), [&] {
            for (const double time : times) machine.call<body>(time);
            machine.barrier();
        });
    };
    return made;
}

}  // namespace bench
