// A receiver for frames of IEEE 802.11a: samples a second on 1..N processors as a graph of filters and over ranks, and
// the time from the last sample of a frame to its octets, beside GNU Radio.
#include "apps/ofdm/ofdm.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "apps/measure.hpp"
#include "apps/ofdm/filters.hpp"
#include "peers/gnuradio_receiver.hpp"
#include "peers/ours.hpp"
#include "peers/over_ranks.hpp"
#include "peers/speed_up.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace {

namespace ofdm = penstock::apps::ofdm;
using ofdm::Sample;

constexpr std::size_t octets = 1000;
constexpr double snr = 30;

/// Frames of one rate: what one thread finds, which is what everybody has to find.
struct Signal {
    Signal(int rate, std::size_t frames)
        : megabits{rate}, format{ofdm::Format::of(64)},
          samples{ofdm::made_signal(
              format, {frames, octets, rate, 1, {.offset = 0.0005, .noise = ofdm::noise_for(format, snr)}})},
          wanted{format, samples, frames}, found{format, samples, frames}, beside{format, samples, frames},
          file{std::filesystem::temp_directory_path() /
               ("penstock-bench-" + std::to_string(getpid()) + "-" + std::to_string(rate) + ".cf32")} {
        ofdm::serial(wanted);
        std::size_t whole = 0;
        for (std::size_t i = 0; i < wanted.found[0]; ++i) whole += wanted.frames[i].whole;
        if (whole != frames) throw std::runtime_error("ofdm: the signal has frames that are not received whole");
        ofdm::write_samples(file, samples, "cf32");
    }
    ~Signal() { std::filesystem::remove(file); }
    Signal(const Signal&) = delete;

    /// Nanoseconds of body(), which fills `found`; then compares all frames.
    template <class Body>
    double timed(Body body) {
        forget(found);
        const auto start = bench::Clock::now();
        body();
        const double nanoseconds = bench::nanoseconds_since(start);
        compare(found);
        return nanoseconds;
    }
    /// Half the nanoseconds of two receivers that have nothing to do with one another, each on its processor.
    double two_at_once() {
        forget(found);
        forget(beside);
        const auto& processors = bench::allowed_processors();
        const std::array<const ofdm::Problem*, 2> problems{&found, &beside};
        const auto start = bench::Clock::now();
        {
            std::array<std::jthread, 2> threads;
            for (std::size_t i = 0; i < 2; ++i)
                threads[i] = std::jthread([&, i] {
                    bench::pin_this_thread(processors[i % processors.size()]);
                    ofdm::serial(*problems[i]);
                });
        }
        const double nanoseconds = bench::nanoseconds_since(start);
        for (const auto* const problem : problems) compare(*problem);
        return nanoseconds / 2;
    }
    /// What was found last must not be taken for what is found next.
    static void forget(const ofdm::Problem& problem) {
        problem.found[0] = 0;
        for (ofdm::Frame& frame : problem.frames.span()) frame.whole = false;
    }
    void compare(const ofdm::Problem& problem) const {
        bool same = problem.found[0] == wanted.found[0];
        for (std::size_t i = 0; same && i < wanted.found[0]; ++i)
            same = problem.frames[i].whole &&
                   std::memcmp(problem.frames[i].octets.data(), wanted.frames[i].octets.data(), octets) == 0;
        if (!same) throw std::runtime_error("ofdm: other frames than those of one thread");
    }
    std::size_t frames() const { return wanted.found[0]; }

    int megabits;
    const ofdm::Format& format;
    std::vector<Sample> samples;
    ofdm::Problem wanted, found, beside;
    std::filesystem::path file;
};

/// Nanoseconds from the last symbol of a frame to its octets: everything before it comes first, then nothing for a
/// millisecond, as with GNU Radio.
double latency(const Signal& signal, std::size_t frames, const penstock::MachineOptions& options) {
    const auto machine = bench::make_machine(options);
    const bench::Pinned pinned{bench::allowed_processors().front()};
    penstock::Graph graph;
    auto& air = graph.add_writer<Sample>("air");
    auto& synchronise = graph.add<ofdm::Synchronise>("synchronise");
    auto& demodulate = graph.add<ofdm::Demodulate>("demodulate");
    auto& decode = graph.add<ofdm::Decode>("decode");
    auto& octets_of = graph.add_reader<ofdm::Frame>("octets");
    graph.connect(air.output, synchronise.samples);
    graph.connect(synchronise.pieces, demodulate.pieces);
    graph.connect(synchronise.symbols, demodulate.symbols);
    graph.connect(demodulate.out, decode.in);
    graph.connect(decode.out, octets_of.input);
    auto run = graph.start(*machine);
    constexpr std::size_t behind = 48;
    const std::size_t symbol = signal.format.symbol;
    std::vector<double> times;
    std::size_t at = 0;
    const auto send = [&](std::size_t until) {
        auto buffer = air.make(until - at);
        std::copy(signal.samples.begin() + static_cast<std::ptrdiff_t>(at),
                  signal.samples.begin() + static_cast<std::ptrdiff_t>(until), buffer.edit().begin());
        air.write(std::move(buffer));
        at = until;
    };
    for (std::size_t i = 0; i < std::min(frames, signal.frames()); ++i) {
        const ofdm::FrameHead& head = signal.wanted.frames[i].head;
        const std::size_t end = head.position + 2 * signal.format.size + (1 + head.symbols) * symbol;
        while (at < end - symbol) send(std::min(end - symbol, at + 1024));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto start = bench::Clock::now();
        send(end + behind);
        const auto frame = octets_of.read();
        times.push_back(bench::nanoseconds_since(start));
        if (!frame || !(*frame)[0].whole ||
            std::memcmp((*frame)[0].octets.data(), signal.wanted.frames[i].octets.data(), octets) != 0)
            throw std::runtime_error("ofdm: another frame than that of one thread");
    }
    run.finish();
    return bench::median(times);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "ofdm",
        "a receiver for frames of IEEE 802.11a: samples a second as a graph of filters and over ranks "
        "on 1..N processors, and the time from a frame's last sample to its octets, beside GNU Radio",
        {"ofdm/speedup-2", "ofdm/over-gnuradio", "ofdm/latency-over-gnuradio"}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 21;
    bench::Report report{about, options};
    // Some 20 ms for one thread each.
    Signal fast{54, options.quick ? 100u : 200u}, slow{6, options.quick ? 40u : 90u};

    // First, for ranks are forked where there is no other thread.
    bench::OverRanks over_ranks{
        "ofdm", [&] { return penstock::apps::seconds_of([&] { ofdm::serial(fast.found); }); }, {}};
    for (const auto variant : ofdm::variants)
        over_ranks.variants.push_back({std::string(ofdm::name(variant)), [&, variant](const auto& ranks) {
                                           Signal::forget(fast.found);
                                           const double seconds = ofdm::parallel(fast.found, variant, ranks);
                                           fast.compare(fast.found);
                                           return seconds;
                                       }});
    bench::Plan plan = options.plan;
    plan.rounds = options.quick ? 7 : 15;
    for (const int ranks : bench::widths())
        if (ranks > 1)
            for (const auto substrate : {penstock::Substrate::threads, penstock::Substrate::processes})
                bench::compare(over_ranks, ranks, substrate, plan, report);

    std::optional<bench::Ratio> faster;
    for (Signal* const signal : {&fast, &slow}) {
        const std::string prefix = std::to_string(signal->megabits) + " Mbit/s, ";
        bench::Filters filters;
        filters.unit = "samples";
        filters.units = static_cast<double>(signal->samples.size());
        filters.serial = [&] { return signal->timed([&] { ofdm::serial(signal->found); }); };
        filters.streamed = [&](penstock::Machine& machine, int processors) {
            return signal->timed([&] { ofdm::streamed(signal->found, machine, processors); });
        };
        filters.two_at_once = [&] { return signal->two_at_once(); };
        const auto measured = bench::measure_speed_up(filters, prefix, options, report);
        if (faster) faster->add(measured.on_two);
        else faster = measured.on_two;
    }
    report.goal("ofdm/speedup-2", *faster, bench::Direction::at_least, 1.7);

    const auto gnuradio = bench::gnuradio_receiver();
    if (!gnuradio.samples) {
        const char* const why = "GNU Radio was not found when this was built (install gnuradio-dev)";
        report.missing("ofdm/over-gnuradio", bench::Direction::at_least, 3, why);
        report.missing("ofdm/latency-over-gnuradio", bench::Direction::at_most, 0.1, why);
        return report.finish();
    }
    const int processors = static_cast<int>(bench::allowed_processors().size());
    const auto machine = bench::make_machine({.targets = processors - 1});
    std::optional<bench::Ratio> over;
    plan.rounds = options.quick ? 7 : 11;
    for (Signal* const signal : {&fast, &slow}) {
        const auto samples = static_cast<double>(signal->samples.size());
        const auto result = bench::measure(
            {{"streamed",
              [&] {
                  const bench::Pinned pinned{bench::allowed_processors().front()};
                  return signal->timed([&] { ofdm::streamed(signal->found, *machine, processors); }) / samples;
              }},
             {"gnuradio", [&] { return gnuradio.samples(signal->file, 2, signal->frames()); }}},
            plan);
        report.rows(std::to_string(signal->megabits) + " Mbit/s, ns a sample on all processors, ", result);
        const auto ratio = result.ratio("gnuradio", "streamed");
        if (over) over->add(ratio);
        else over = ratio;
    }
    report.goal("ofdm/over-gnuradio", *over, bench::Direction::at_least, 3);

    // GNU Radio takes part with the limit with which it is quickest: each batch of it starts a process, which takes
    // seconds.
    const std::size_t timed = options.quick ? 10 : 20;
    const auto of_limit = [&](int items) {
        return bench::median({gnuradio.latency(fast.file, items, timed), gnuradio.latency(fast.file, items, timed),
                              gnuradio.latency(fast.file, items, timed)});
    };
    int quickest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const int items : {64, 512, 4096})
        if (const double took = of_limit(items); took < least) least = took, quickest = items;
    const std::string rival = "gnuradio, " + std::to_string(quickest) + " items at most";
    const std::vector<bench::Contestant> contestants{
        {"streamed", [&] { return latency(fast, timed, {}); }},
        {"streamed, targets that stay awake",
         [&] { return latency(fast, timed, {.spin = std::chrono::milliseconds(5)}); }},
        {rival, [&] { return gnuradio.latency(fast.file, quickest, timed); }}};
    plan.rounds = options.quick ? 9 : 21;
    const auto result = bench::measure(contestants, plan);
    report.rows("last sample to octets, ", result);
    report.goal("ofdm/latency-over-gnuradio", result.ratio("streamed", rival), bench::Direction::at_most, 0.1);
    report.note(
        "frames of 1000 octets, 30 dB, an offset of 10 kHz at 20 million samples a second; each way's frames are "
        "compared with those of one thread in every batch");
    report.note(
        "gnuradio: the chain of gr-ieee802-11 out of GNU Radio's own blocks, and kernels of ours where it has none; "
        "its latency is that of the quickest of three max_noutput_items, found by three batches of each before");
    return report.finish();
}
