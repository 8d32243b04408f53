#include "apps/gallery.hpp"

#include <algorithm>

#include "apps/addition/addition.hpp"
#include "apps/colour/colour.hpp"
#include "apps/conv2d/conv2d.hpp"
#include "apps/edge/edge.hpp"
#include "apps/fft6/fft6.hpp"
#include "apps/graphs.hpp"
#if defined(PENSTOCK_APPS_FFT2D)
#include "apps/fft2d/fft2d.hpp"
#endif
#include "apps/h264/h264.hpp"
#include "apps/jacobi/jacobi.hpp"
#if defined(PENSTOCK_APPS_JPEG)
#include "apps/jpip/jpip.hpp"
#endif
#include "apps/likelihood/app.hpp"
#include "apps/lu/lu.hpp"
#include "apps/motion/motion.hpp"
#include "apps/ofdm/ofdm.hpp"
#include "apps/pipeline/pipeline.hpp"
#include "apps/radix/radix.hpp"
#include "apps/saxpy/saxpy.hpp"
#include "apps/sgemv/sgemv.hpp"
#include "apps/synthetic/synthetic.hpp"
#if defined(PENSTOCK_APPS_JPEG)
#include "apps/tissue/tissue.hpp"
#endif

namespace penstock::apps {
namespace {

/// Throws SettingError for a setting that the application does not have.
void check_texts(const App& app, const Settings& settings) {
    for (const auto& [name, value] : settings.texts) {
        if (std::ranges::find(app.texts, name, &App::Text::name) != app.texts.end()) continue;
        std::string own;
        for (const App::Text& text : app.texts) own += ", " + text.name;
        throw SettingError(
            app.name, name,
            "there is no such setting; there are rows, columns, block_rows, block_columns, seed, repetitions" + own);
    }
}

std::vector<App::Text> texts_of_h264() {
    std::vector<App::Text> texts = {
        {"input", "a film: .y4m, or raw planes of luminance and both colours with rows and columns; else a made one"},
        {"output", "where the whole film is written to: .mp4, or the stream alone (.264)"},
        {"pictures", "how many of the film are timed and checked; 12"}};
    for (const auto& each : h264::setting_names()) texts.push_back({each.name, each.meaning});
    return texts;
}

}  // namespace

std::span<const App> gallery() {
    const std::vector<std::string> split{"serial", "hand", "split", "tagged"};
    static const App apps[] = {
        {"saxpy", "y := a x + y: contiguous parts of long vectors", split, saxpy::run},
        {"sgemv", "y := alpha A x + beta y: rows of a matrix, one vector that all tasks read", split, sgemv::run},
        {"addition",
         "sum of two matrices in strided tiles; in streams of rows, and of large buffers",
         {"serial", "hand", "rows", "large", "split", "tagged"},
         addition::run},
        {"conv2d", "a dense filter over an image, in strided tiles with a halo", split, conv2d::run},
        {"lu",
         "LU factorisation in contiguous blocks: thousands of tasks of half a microsecond",
         {"serial", "hand", "called", "tagged", "dependent"},
         lu::run},
        {"likelihood",
         "likelihoods of phylogenetic trees over an alignment: tasks over ranges of its patterns, or the tree's nodes",
         {"serial", "hand", "loops", "dependent", "replayed", "automatic", "tagged"},
         likelihood::run,
         likelihood::texts()},
        {"fft6",
         "six-step FFT, in double or float: transposes, which only move memory, and rows, which only compute",
         {"serial", "serial transposes", "serial rows", "hand", "called transposes", "called rows", "called",
          "tagged transposes", "tagged rows", "tagged"},
         fft6::run},
        {"synthetic",
         "jobs of so many cycles a byte, several for each block: with and without chains and resident data",
         {"serial", "hand", "tagged", "resident", "chains", "both"},
         synthetic::run},
        {"pipeline",
         "the greater of two images, filtered and turned, in tiles: one chain a tile against a barrier behind each "
         "stage",
         {"serial", "hand", "tagged", "chains"},
         pipeline::run},
        {"colour",
         "RGB to CIELAB with statistics over the tiles of a photograph, by filters in copies",
         {"serial", "tagged", "streamed"},
         colour::run},
#if defined(PENSTOCK_APPS_JPEG)
        {"tissue",
         "JPEG tiles of a stained tissue: decoded, measured and classified by filters in copies, and an overview",
         {"serial", "hand", "streamed", "written"},
         tissue::run},
#endif
        {"jacobi",
         "relaxation on a line over ranks: one element from each neighbour before each sweep",
         {"serial", "shared", "shared-flags", "push-barrier", "push", "push-word"},
         jacobi::run},
        {"radix",
         "radix sort over ranks: all keys to all ranks, four times",
         {"serial", "shared", "lines", "push-lines", "push"},
         radix::run},
        {"motion",
         "motion estimation over ranks: strips of each frame go out one frame ahead",
         {"serial", "shared", "shared-flags", "push-barrier", "push", "multicast"},
         motion::run},
        {"h264",
         "an H.264 encoder: macroblocks as tasks, bands of the picture over ranks, and as a graph of filters",
         {"serial", "wavefront", "shared", "bulk", "push", "multicast", "streams", "dependent"},
         h264::run,
         texts_of_h264()},
        {"ofdm",
         "a radio receiver for frames of IEEE 802.11a: over ranks by stages or by frames, and as a graph of filters",
         {"serial", "shared", "stages", "push", "streamed",
#if defined(PENSTOCK_APPS_WRITTEN)
          "written"
#endif
         },
         ofdm::run,
         {{"input", "a file of samples to receive from (.cf32, .cs16, .cu8, .wav); without one, a made signal"},
          {"format", "how its samples lie: cf32, cs16, cu8, wav; auto goes by the ending of its name"},
          {"output", "a file for the whole frames (.pcap), which Wireshark reads"},
          {"samples_a_second", "for the times there: 20000000 where nothing is said"},
          {"snr", "of the made signal's channel, in dB: 30; 1000 is without noise"},
          {"offset", "of its frequency, in cycles a sample: 0.0005"},
          {"echoes", "there: 0"}}},
        {"edge",
         "edges of pictures over 36 angles, as graphs of filters: kernels turned (2d), or pictures turned, filtered "
         "and turned back",
         {"serial", "serial 2d", "streams 2d", "streams"},
         edge::run},
#if defined(PENSTOCK_APPS_JPEG)
        {"jpip",
         "sixteen films in motion JPEG, decoded, made smaller and laid side by side, as a graph of filters",
         {"serial", "serial scaled", "streams scaled", "streams"},
         jpip::run},
#endif
#if defined(PENSTOCK_APPS_FFT2D)
        {"fft2d",
         "2-D FFT over ranks: the exchange between rows and columns in nine ways",
         {"serial", "shared", "bulk", "pencils", "dma-bulk", "dma-pencils", "elements", "push", "pull", "choice"},
         fft2d::run},
#endif
    };
    return apps;
}

const App& find_app(std::string_view name) {
    std::string names;
    for (const App& app : gallery()) {
        if (app.name == name) return app;
        names += (names.empty() ? "" : ", ") + app.name;
    }
    throw UsageError("there is no application called " + std::string(name) + "; the gallery has " + names);
}

RunResult run(const App& app, Machine& machine, const Settings& settings, const Progress& progress) {
    check_texts(app, settings);
    const NotedGraph noted;
    auto result = app.entry(machine, settings, progress);
    result.graph = noted.json();
    return result;
}

}  // namespace penstock::apps
