// An H.264 encoder on 1..N processors: pictures a second of each form of it over the sequential one, beside the same by
// hand, by OpenMP and by oneTBB, two independent encoders at once, and x264.
#include "apps/h264/h264.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "apps/h264/clip.hpp"
#include "apps/h264/ranks.hpp"
#include "apps/h264/streams.hpp"
#include "h264/rivals.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include "peers/onetbb.hpp"
#endif
#include "peers/openmp.hpp"
#include "peers/ours.hpp"
#include "peers/over_ranks.hpp"
#include "peers/photograph.hpp"
#include "peers/x264.hpp"
#include "penstock/machine.hpp"

namespace {

using bench::Contestant;
using penstock::apps::h264::Clip;
using penstock::apps::h264::EncoderSettings;
using penstock::apps::h264::Job;
using penstock::apps::h264::Stream;
namespace app = penstock::apps::h264;

constexpr app::Size size{1280, 720};
constexpr int macroblocks = 8;  // of a task of the rivals

Clip film(std::size_t pictures) {
    if (const auto from = bench::photograph("coffee.png"))
        return app::made_clip({from->rgb.data(), {from->rows, 3 * from->columns}}, size, pictures, 1);
    return app::made_clip(size, pictures, 1);
}

/// A film with one kind of settings, and the bytes that everybody has to make of it.
struct Task {
    Task(std::string effort, std::size_t pictures)
        : name{std::move(effort)}, settings{app::effort(name)}, clip{film(pictures)} {
        app::serial(app::job_of(clip, settings, wanted, true));
        psnr = app::luma_psnr(clip, wanted.decoded);
    }
    void compare(const Stream& found, const std::string& who) const {
        if (found.bytes != wanted.bytes) throw std::runtime_error("h264: " + who + " makes other bytes");
    }
    /// Nanoseconds of the whole film.
    Contestant contestant(const std::string& who, std::function<void(const Job&)> encode) const {
        return {who, [this, who, encode = std::move(encode)] {
                    const bench::Pinned pinned{bench::allowed_processors().front()};
                    Stream found;
                    const Job job = app::job_of(clip, settings, found, false);
                    const auto start = bench::Clock::now();
                    encode(job);
                    const double nanoseconds = bench::nanoseconds_since(start);
                    compare(found, who);
                    return nanoseconds;
                }};
    }
    double pictures() const { return static_cast<double>(clip.count()); }

    std::string name;
    EncoderSettings settings;
    Clip clip;
    Stream wanted;
    double psnr = 0;
};

/// One encoder on each of two processors: half the time of both is that of one film where nothing is lost.
Contestant two_at_once(const Task& task) {
    return {"two encoders at once", [&task] {
                const auto& processors = bench::allowed_processors();
                std::array<Stream, 2> found;
                const auto start = bench::Clock::now();
                {
                    std::array<std::jthread, 2> threads;
                    for (std::size_t i = 0; i < 2; ++i)
                        threads[i] = std::jthread([&, i] {
                            bench::pin_this_thread(processors[i % processors.size()]);
                            app::serial(app::job_of(task.clip, task.settings, found[i], false));
                        });
                }
                const double nanoseconds = bench::nanoseconds_since(start);
                for (const Stream& each : found) task.compare(each, "one of two encoders");
                return nanoseconds / 2;
            }};
}

void rows(const Task& task, const std::string& prefix, const bench::Result& result, bench::Report& report) {
    for (const auto& name : result.names()) {
        const auto over = result.ratio("serial", name).usual;
        report.row(prefix + name, {{"pictures_a_second", task.pictures() * 1e9 / result.median(name)},
                                   {"speed_up", over.value},
                                   {"low", over.low},
                                   {"high", over.high}});
    }
    report.conditions(result);
}

/// What a form reaches on two processors, and what it has to.
struct SpeedUp {
    bench::Ratio reached;
    double wanted = 0;
    double share() const { return reached.usual.value / wanted; }
};

/// The forms on two processors and their rivals. Gives the slower one of those that are to be fast.
SpeedUp on_two(const Task& task, const bench::Plan& plan, bench::Report& report) {
    const auto machine = bench::make_machine({.targets = 1});
    std::vector<Contestant> contestants{
        task.contestant("serial", app::serial),
        two_at_once(task),
        task.contestant("wavefront", [&](const Job& job) { app::wavefront(job, *machine); }),
        task.contestant("dependent", [&](const Job& job) { app::dependent(job, *machine); }),
        task.contestant("streams", [&](const Job& job) { app::streamed(job, *machine, 2); }),
        task.contestant("hand", [&](const Job& job) { bench::by_hand(job, 2); }),
#if defined(_OPENMP)
        task.contestant("OpenMP, tasks", [&](const Job& job) { bench::by_openmp_tasks(job, macroblocks, 2); }),
        task.contestant("OpenMP, diagonals", [&](const Job& job) { bench::by_openmp_diagonals(job, 2); }),
#endif
#if defined(PENSTOCK_BENCH_TBB)
        task.contestant("oneTBB", [&](const Job& job) { bench::by_onetbb(job, macroblocks); }),
#endif
    };
    const auto result = bench::measure(contestants, plan);
    rows(task, task.name + ", 2 processors, ", result, report);
    // What two encoders that have nothing to do with one another reach is the machine's limit.
    const double limit = result.ratio("serial", "two encoders at once").usual.value;
    const SpeedUp tasks{result.ratio("serial", "dependent"), std::min(1.85, 0.95 * limit)},
        filters{result.ratio("serial", "streams"), tasks.wanted};
    return tasks.share() < filters.share() ? tasks : filters;
}

/// More than two processors, where there are any.
void on_more(const Task& task, const bench::Plan& plan, bench::Report& report) {
    for (const int width : bench::widths()) {
        if (width <= 2) continue;
        const auto machine = bench::make_machine({.targets = width - 1});
        const auto result =
            bench::measure({task.contestant("serial", app::serial),
                            task.contestant("dependent", [&](const Job& job) { app::dependent(job, *machine); }),
                            task.contestant("streams", [&](const Job& job) { app::streamed(job, *machine, width); }),
                            task.contestant("hand", [&](const Job& job) { bench::by_hand(job, width); })},
                           plan);
        rows(task, task.name + ", " + std::to_string(width) + " processors, ", result, report);
    }
}

void beside_x264(const Task& task, bench::X264& x264, const bench::Plan& plan, bench::Report& report) {
    constexpr double wanted = 0.25;
    const char* const goal = "h264/of-x264";
    if (!x264.available())
        return report.missing(goal, bench::Direction::at_least, wanted,
                              "x264 was not found (install PyAV: pip install av)");
    using Threads = bench::X264::Threads;
    const auto result =
        bench::measure({task.contestant("serial", app::serial),
                        x264.contestant("x264", "ultrafast", task.settings.quantiser, Threads::one),
                        x264.contestant("x264, 2 slices", "ultrafast", task.settings.quantiser, Threads::sliced),
                        x264.contestant("x264, 2 pictures", "ultrafast", task.settings.quantiser, Threads::frames)},
                       plan);
    for (const auto& name : result.names()) {
        const auto over = result.ratio("x264", name).usual;
        report.row("x264 ultrafast, baseline; " + name,
                   {{"pictures_a_second", task.pictures() * 1e9 / result.median(name)},
                    {"over_x264", over.value},
                    {"low", over.low},
                    {"high", over.high}});
    }
    report.conditions(result);
    const auto bytes = static_cast<double>(task.wanted.bytes.size());
    const auto theirs = x264.quality("ultrafast", task.settings.quantiser);
    const double at_our_rate = x264.decibels_at("ultrafast", bytes);
    const auto quality = [&](const std::string& who, double of_bytes, double decibels) {
        report.row(who, {{"kbit_a_second", of_bytes * 8 * 25 / task.pictures() / 1000}, {"psnr_dB", decibels}});
    };
    quality("ours, " + task.name + ", quantiser 26", bytes, task.psnr);
    quality("x264 ultrafast, quantiser 26", theirs.bytes, theirs.decibels);
    quality("x264 ultrafast at our rate", bytes, at_our_rate);
    if (!(task.psnr > at_our_rate - 1))
        return report.missing(goal, bench::Direction::at_least, wanted,
                              "our pictures are more than 1 dB worse at the same rate");
    report.goal(goal, result.ratio("x264", "serial"), bench::Direction::at_least, wanted);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "h264",
        "an H.264 encoder on 1..N processors: pictures a second of each form over the sequential one, "
        "beside OpenMP, oneTBB, two encoders at once, and x264",
        {"h264/speedup-2", "h264/of-x264"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const Task fast{"fast", options.quick ? 20u : 50u}, good{"good", options.quick ? 10u : 24u};
    bench::Plan plan = options.plan;
    plan.attempts = 1;  // a batch takes half a second

    // First, for ranks are forked where there is no other thread.
    plan.rounds = options.quick ? 3 : 7;
    bench::OverRanks over_ranks{"ranks", [&] { return fast.contestant("serial", app::serial).batch() / 1e9; }, {}};
    for (const auto variant : {app::Variant::shared, app::Variant::bulk, app::Variant::push, app::Variant::multicast})
        over_ranks.variants.push_back({std::string(app::name(variant)), [&, variant](const auto& ranks) {
                                           Stream found;
                                           const double seconds =
                                               app::over_ranks(fast.clip, fast.settings, variant, ranks, found);
                                           fast.compare(found, std::string(app::name(variant)));
                                           return seconds;
                                       }});
    for (const int ranks : bench::widths())
        if (ranks > 1)
            for (const auto substrate : {penstock::Substrate::threads, penstock::Substrate::processes})
                bench::compare(over_ranks, ranks, substrate, plan, report);

    bench::X264 x264{fast.clip};
#if defined(_OPENMP)
    bench::bind_openmp_team();
#endif
#if defined(PENSTOCK_BENCH_TBB)
    bench::in_onetbb_arena([] {});  // its workers start before this thread is pinned
#endif
    plan.rounds = options.quick ? 7 : 9;
    std::optional<SpeedUp> worst;
    for (const Task* const task : {&fast, &good}) {
        const SpeedUp found = on_two(*task, plan, report);
        if (!worst || found.share() < worst->share()) worst = found;
        on_more(*task, plan, report);
    }
    report.goal("h264/speedup-2", worst->reached, bench::Direction::at_least, worst->wanted,
                bench::Judged::by_interval);
    report.note(
        "h264/speedup-2: the slower of dependent and streams, of both kinds of settings, over one thread; 1.85, or "
        "0.95 "
        "of what two encoders at once reach");
    beside_x264(fast, x264, plan, report);
    return report.finish();
}
