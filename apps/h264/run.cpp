// The application for the gallery.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "apps/compare.hpp"
#include "apps/h264/film.hpp"
#include "apps/h264/h264.hpp"
#include "apps/h264/ranks.hpp"
#include "apps/h264/streams.hpp"
#include "apps/measure.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::h264 {
namespace {

constexpr std::size_t default_rows = 288, default_columns = 352, default_pictures = 12, most_pictures = 1 << 20;

std::string text_of(const Settings& settings, const char* name) {
    const auto at = settings.texts.find(name);
    return at == settings.texts.end() ? std::string() : at->second;
}

std::size_t pictures_of(const Settings& settings) {
    const std::string text = text_of(settings, "pictures");
    if (text.empty()) return default_pictures;
    if (text.size() > 7 || text.find_first_not_of("0123456789") != text.npos || std::stoul(text) == 0 ||
        std::stoul(text) > most_pictures)
        throw SettingError("h264", "pictures", "ask for 1 to " + std::to_string(most_pictures));
    return std::stoul(text);
}

Size size_of(const Settings& settings) {
    for (const auto& [name, side] : {std::pair{"rows", settings.rows}, std::pair{"columns", settings.columns}})
        if (side > Size::most) throw SettingError("h264", name, "ask for at most " + std::to_string(Size::most));
    return {static_cast<int>(settings.columns), static_cast<int>(settings.rows)};
}

Clip clip_of(Settings& settings) {
    const std::string input = text_of(settings, "input");
    if (!input.empty()) {
        Clip clip = read_clip(input, pictures_of(settings), size_of(settings));
        settings.rows = static_cast<std::size_t>(clip.size.rows);
        settings.columns = static_cast<std::size_t>(clip.size.columns);
        return clip;
    }
    if (settings.rows == 0) settings.rows = default_rows;
    if (settings.columns == 0) settings.columns = default_columns;
    const Size size = size_of(settings);
    if (const auto* pictures = given_input<std::uint8_t>("h264", settings, "pictures", {0, size.bytes()}))
        return {size, {}, *pictures};
    if (size.rows * size.columns > 1 << 24)
        throw SettingError("h264", "rows", "ask for pictures of at most 2^24 pixels");
    const std::size_t count = pictures_of(settings);
    if (const auto* photograph = given_input<std::uint8_t>("h264", settings, "photograph", {0, 0, 3})) {
        const auto& shape = std::ranges::find(settings.inputs, "photograph", &Array::name)->shape;
        return made_clip({photograph->data(), {shape[0], 3 * shape[1]}}, size, count, settings.seed);
    }
    return made_clip(size, count, settings.seed);
}

/// The whole file, not only the pictures that were timed.
std::size_t encode_file(const Settings& settings, const EncoderSettings& how,
                        const std::function<void(const Job&)>& form) {
    FilmReader reader{text_of(settings, "input"), size_of(settings)};
    StreamWriter writer{text_of(settings, "output"), reader.size(), reader.rate(), how};
    form({reader.size(), reader.rate(), how, [&](std::vector<std::uint8_t>& picture) { return reader.read(picture); },
          [&](const Encoded& picture, const Picture&) { writer.write(picture); }});
    writer.finish();
    return reader.count();
}

/// Slices behind start codes: one a picture.
Check slices(const Clip& clip, std::span<const std::uint8_t> bytes) {
    double found = 0;
    for (std::size_t i = 0; i + 4 < bytes.size(); ++i) {
        if (bytes[i] != 0 || bytes[i + 1] != 0 || bytes[i + 2] != 0 || bytes[i + 3] != 1) continue;
        const int kind = bytes[i + 4] & 31;
        found += kind == 1 || kind == 5 ? 1 : 0;
    }
    return {"slices in the stream", static_cast<double>(clip.count()), found, 0, "pictures"};
}

std::string number(double value, const char* format) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    check_settings("h264", given, {"photograph", "pictures"});
    Settings settings = given;
    const EncoderSettings how = settings_of(settings.texts);
    const Clip clip = clip_of(settings);
    if (clip.count() == 0) throw SettingError("h264", "input", "give it a film with at least one picture");

    struct Form {
        std::string name;
        std::function<double(Stream&)> encode;  ///< gives the seconds that it took
        Stream stream;
    };
    const auto timed = [&](const std::function<void(const Job&)>& encode, bool keep_decoded = false) {
        return [&, encode, keep_decoded](Stream& stream) {
            const Job job = job_of(clip, how, stream, keep_decoded);
            return seconds_of([&] { encode(job); });
        };
    };
    const auto by_tasks = [&](const Job& job) { dependent(job, machine); };
    std::vector<Form> forms = {{"serial", timed(serial, true), {}},
                               {"wavefront", timed([&](const Job& job) { wavefront(job, machine); }), {}}};
    const RankOptions ranks{.ranks = machine.targets() + 1};
    for (const auto variant : {Variant::shared, Variant::bulk, Variant::push, Variant::multicast})
        forms.push_back({std::string(name(variant)),
                         [&, variant](Stream& stream) { return over_ranks(clip, how, variant, ranks, stream); },
                         {}});
    forms.push_back({"streams", timed([&](const Job& job) { streamed(job, machine, machine.targets() + 1); }), {}});
    forms.push_back({"dependent", timed(by_tasks), {}});
    std::vector<Way> ways;
    for (Form& form : forms) ways.push_back({form.name, [] {}, [&] { return form.encode(form.stream); }});
    RunResult result;
    result.app = "h264";
    result.workers = machine.targets() + 1;
    result.tasks = clip.count() * clip.size.macroblocks();
    result.timings = measure(ways, settings.repetitions, progress);
    const Stream& stream = forms.front().stream;
    for (std::size_t i = 1; i < forms.size(); ++i)
        result.checks.push_back(same_bits<std::uint8_t>("bytes of " + forms[i].name + " that differ",
                                                        forms[i].stream.bytes, stream.bytes, "serial"));
    const double seconds = static_cast<double>(clip.count()) * clip.rate.seconds / clip.rate.pictures;
    result.checks.push_back(slices(clip, stream.bytes));
    result.findings = {{"pictures", std::to_string(clip.count()) + " of " + std::to_string(clip.size.columns) + " x " +
                                        std::to_string(clip.size.rows)},
                       {"rate", number(static_cast<double>(8 * stream.bytes.size()) / seconds / 1000, "%.1f kbit/s")},
                       {"PSNR of luminance", number(luma_psnr(clip, stream.decoded), "%.2f dB")}};
    if (!text_of(settings, "output").empty()) {
        if (text_of(settings, "input").empty()) throw SettingError("h264", "output", "name an input, too");
        const std::size_t written = encode_file(settings, how, by_tasks);
        result.findings.push_back({"written", std::to_string(written) + " pictures to " + text_of(settings, "output")});
    }
    if (settings.keep_arrays) {
        const std::size_t bytes = clip.size.bytes();
        result.arrays = {keep<std::uint8_t>("pictures", {clip.count(), bytes}, clip.pictures),
                         keep<std::uint8_t>("decoded", {clip.count(), bytes}, stream.decoded),
                         keep<std::uint8_t>("result", {stream.bytes.size()}, stream.bytes)};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::h264
