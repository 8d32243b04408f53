// The application for the gallery.
#include <charconv>
#include <cmath>
#include <string>

#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "apps/ofdm/capture.hpp"
#include "apps/ofdm/ofdm.hpp"
#include "apps/ofdm/receiver.hpp"
#include "apps/ofdm/samples.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::ofdm {
namespace {

constexpr std::size_t most_frames = std::size_t{1} << 20;

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = 64;
    if (settings.columns == 0) settings.columns = 1000;
    if (settings.block_rows == 0) settings.block_rows = 54;
    if (settings.block_columns == 0) settings.block_columns = 64;
    return settings;
}

std::string text_of(const Settings& settings, const std::string& name, const std::string& otherwise) {
    const auto found = settings.texts.find(name);
    return found == settings.texts.end() ? otherwise : found->second;
}

double number_of(const Settings& settings, const std::string& name, double otherwise, double least, double most) {
    const auto found = settings.texts.find(name);
    if (found == settings.texts.end()) return otherwise;
    const std::string& text = found->second;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most))
        throw SettingError("ofdm", name,
                           "'" + text + "' is no number from " + std::to_string(least) + " to " + std::to_string(most));
    return value;
}

std::vector<Sample> signal_of(const Settings& settings, const Format& format,
                              std::vector<std::vector<std::uint8_t>>& sent) {
    if (const auto* const given = given_input<Sample>("ofdm", settings, "samples", {0})) {
        for (const Sample sample : *given)
            if (!std::isfinite(sample.real()) || !std::isfinite(sample.imag()))
                throw SettingError("ofdm", "input samples", "one of them is not a finite number");
        return *given;
    }
    if (const std::string path = text_of(settings, "input", ""); !path.empty())
        return read_samples(path, text_of(settings, "format", "auto"));
    if (settings.rows > most_frames || settings.columns > longest_frame)
        throw SettingError("ofdm", settings.rows > most_frames ? "rows" : "columns",
                           "ask for at most " + std::to_string(most_frames) + " frames of " +
                               std::to_string(longest_frame) + " octets");
    const double snr = number_of(settings, "snr", 30, -50, 1000);
    ChannelModel channel;
    channel.noise = snr >= 1000 ? 0 : noise_for(format, snr);
    channel.offset = number_of(settings, "offset", 0.0005, -0.5, 0.5);
    channel.echoes = static_cast<int>(number_of(settings, "echoes", 0, 0, 64));
    channel.seed = settings.seed;
    return made_signal(format,
                       {settings.rows, settings.columns, static_cast<int>(settings.block_rows), settings.seed, channel},
                       &sent);
}

/// Frames of a problem as arrays; empty places are left out.
struct Octets {
    explicit Octets(const Problem& problem) {
        for (std::size_t i = 0; i < std::min<std::size_t>(problem.found[0], problem.frames.size()); ++i) {
            const Frame& frame = problem.frames[i];
            starts.push_back(static_cast<std::uint32_t>(all.size()));
            whole.push_back(frame.whole);
            all.insert(all.end(), frame.octets.begin(), frame.octets.begin() + frame.head.octets);
        }
        starts.push_back(static_cast<std::uint32_t>(all.size()));
    }
    std::vector<std::uint8_t> all, whole;
    std::vector<std::uint32_t> starts;
};

/// Frames that differ in anything: what is known of them, and their octets.
double differing(const Problem& problem, const Problem& wanted) {
    if (problem.found[0] != wanted.found[0]) return static_cast<double>(wanted.found[0] + 1);
    double count = 0;
    for (std::size_t i = 0; i < wanted.found[0]; ++i) {
        const Frame &one = problem.frames[i], &other = wanted.frames[i];
        count += std::memcmp(&one.head, &other.head, sizeof(FrameHead)) != 0 || one.whole != other.whole ||
                 !std::equal(one.octets.begin(), one.octets.begin() + other.head.octets, other.octets.begin());
    }
    return count;
}

std::string decibels(float ratio) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f dB", 10 * std::log10(ratio));
    return text;
}

/// What came out, in words.
void tell(const Problem& problem, RunResult& result) {
    const std::size_t frames = problem.found[0];
    std::size_t whole = 0, octets = 0;
    for (std::size_t i = 0; i < frames; ++i) {
        whole += problem.frames[i].whole;
        octets += problem.frames[i].whole ? problem.frames[i].head.octets : 0;
    }
    result.findings.emplace_back("samples", std::to_string(problem.count));
    result.findings.emplace_back("frames", std::to_string(frames) + ", " + std::to_string(whole) + " of them whole, " +
                                               std::to_string(octets) + " octets");
    for (std::size_t i = 0; i < std::min<std::size_t>(frames, 5); ++i) {
        const FrameHead& head = problem.frames[i].head;
        result.findings.emplace_back("frame " + std::to_string(i),
                                     "at sample " + std::to_string(head.position) + ", " +
                                         std::to_string(rates[head.rate].megabits) + " Mbit/s, " +
                                         std::to_string(head.octets) + " octets, " + decibels(head.snr) +
                                         (problem.frames[i].whole ? ", whole" : ", damaged"));
    }
}

/// The carriers of the first symbols of data, as a constellation shows them.
std::vector<Sample> first_carriers(const Problem& problem, std::size_t symbols) {
    Synchroniser synchroniser{problem.format};
    Demodulator demodulator{problem.format};
    const auto piece = std::make_unique<SamplePiece>();
    std::vector<Sample> found;
    const std::size_t data = problem.format.data.size(), side = kernels::ofdm::side;
    std::vector<float> re(demodulator.rows() * side), im(re);
    for (std::size_t at = 0; at < problem.count; at += usual_portion) {
        synchroniser.push({problem.samples.data() + at, std::min(usual_portion, problem.count - at)});
        for (auto samples = synchroniser.next(*piece); !samples.empty(); samples = synchroniser.next(*piece)) {
            const PieceHead& head = piece->head;
            if (head.first == 0) demodulator.begin(head.frame, piece->channel.data());
            for (std::size_t s = 0; s < head.count; ++s) {
                if (found.size() == symbols * data) return found;
                demodulator.block(samples.data() + s * problem.format.symbol, 1, head.first + s + 1,
                                  {re.data(), im.data()});
                for (std::size_t i = 0; i < data; ++i) {
                    const float power = demodulator.power()[i], by = power > 0 ? 1 / power : 0;
                    found.emplace_back(re[i * side] * by, im[i * side] * by);
                }
            }
        }
    }
    return found;
}

void save(const Problem& problem, const Settings& settings) {
    const std::string path = text_of(settings, "output", "");
    if (path.empty()) return;
    Capture capture{path, number_of(settings, "samples_a_second", 20e6, 1, 1e12)};
    for (std::size_t i = 0; i < problem.found[0]; ++i)
        if (problem.frames[i].whole) capture.add(problem.frames[i]);
    capture.flush();
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("ofdm", settings, {"samples"});
    const Format& format = Format::of(settings.block_columns);
    static_cast<void>(rate_of(static_cast<int>(std::min<std::size_t>(settings.block_rows, 1000))));
    std::vector<std::vector<std::uint8_t>> sent;
    const auto signal = signal_of(settings, format, sent);

    std::size_t frames = 0, pieces = 0;
    {
        const auto receiver = std::make_unique<Receiver>(format);
        receiver->push(signal, [&](const Frame& frame) {
            ++frames;
            pieces += parts(frame.head.symbols, piece_symbols(format, rates[frame.head.rate]));
        });
    }
    const RankOptions options{.ranks = machine.targets() + 1};
    const Problem by_one{format, signal, frames}, other{format, signal, frames};
    std::vector<double> differ(std::size(variants) + 2);
    const auto forget = [&] { other.found[0] = 0; };
    const auto compared = [&](std::size_t place, auto timed) {
        return [&, place, timed] {
            const double seconds = timed();
            differ[place] = std::max(differ[place], differing(other, by_one));
            return seconds;
        };
    };
    std::vector<Way> ways{{"serial", [] {}, [&] { return seconds_of([&] { serial(by_one); }); }}};
    std::size_t place = 0;
    for (const Variant variant : variants)
        ways.push_back({std::string(name(variant)), forget,
                        compared(place++, [&, variant] { return parallel(other, variant, options); })});
    ways.push_back({"streamed", forget,
                    compared(place++, [&] { return seconds_of([&] { streamed(other, machine, options.ranks); }); })});
#if defined(PENSTOCK_APPS_WRITTEN)
    ways.push_back({"written", forget,
                    compared(place++, [&] { return seconds_of([&] { written(other, machine, options.ranks); }); })});
#endif

    RunResult result;
    result.app = "ofdm";
    result.workers = options.ranks;
    result.tasks = std::max<std::size_t>(pieces, 1);
    result.timings = measure(ways, settings.repetitions, progress);
    for (std::size_t i = 1; i < ways.size(); ++i)
        result.checks.push_back({"frames of " + ways[i].name + " that differ", 0, differ[i - 1], 0, "serial"});
    const Octets found{by_one};
    if (!sent.empty()) {
        double wrong = 0;
        for (std::size_t i = 0; i + 1 < found.starts.size(); ++i) {
            const std::vector<std::uint8_t> octets(found.all.begin() + found.starts[i],
                                                   found.all.begin() + found.starts[i + 1]);
            wrong += found.whole[i] && std::ranges::find(sent, octets) == sent.end();
        }
        result.checks.push_back({"whole frames that were not sent", 0, wrong, 0, "the transmitter"});
    }
    tell(by_one, result);
    save(by_one, settings);
    if (settings.keep_arrays) {
        const auto carriers = first_carriers(by_one, 64);
        result.arrays = {keep<Sample>("samples", {signal.size()}, signal),
                         keep<Sample>("carriers", {carriers.size()}, carriers),
                         keep<std::uint8_t>("whole", {found.whole.size()}, found.whole),
                         keep<std::uint32_t>("starts", {found.starts.size()}, found.starts),
                         keep<std::uint8_t>("result", {found.all.size()}, found.all)};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::ofdm
