#include "peers/x264.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace bench {

X264::X264(const penstock::apps::h264::Clip& clip) : server_(PENSTOCK_BENCH_X264_SERVER, 1) {
    if (!server_.available()) return;
    const auto path = std::filesystem::temp_directory_path() / ("penstock-bench-" + std::to_string(getpid()) + ".yuv");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(clip.pictures.data()), static_cast<std::streamsize>(clip.pictures.size()));
    const std::string answer = server_.ask("film " + path.string() + " " + std::to_string(clip.size.columns) + " " +
                                           std::to_string(clip.size.rows));
    std::filesystem::remove(path);
    available_ = std::atol(answer.c_str()) == static_cast<long>(clip.count());
    if (available_) available_ = quality("ultrafast", 26).bytes > 0;
}

Contestant X264::contestant(const std::string& name, const std::string& preset, int quantiser, Threads threads) {
    const std::string request = "encode " + std::to_string(quantiser) + " " + preset +
                                (threads == Threads::one      ? " 1 0"
                                 : threads == Threads::sliced ? " 2 1"
                                                              : " 2 0");
    return {name, [this, request] { return server_.nanoseconds(request); }};
}

X264::Quality X264::quality(const std::string& preset, int quantiser) {
    std::istringstream answer{server_.ask("quality " + std::to_string(quantiser) + " " + preset)};
    Quality quality;
    answer >> quality.bytes >> quality.decibels;
    return quality;
}

double X264::decibels_at(const std::string& preset, double bytes) {
    constexpr int finest = 14, coarsest = 44;
    Quality finer = quality(preset, finest);
    for (int quantiser = finest + 2; quantiser <= coarsest && finer.bytes >= bytes; quantiser += 2) {
        const Quality coarser = quality(preset, quantiser);
        if (coarser.bytes <= bytes) {
            const double part = std::log(bytes / coarser.bytes) / std::log(finer.bytes / coarser.bytes);
            return coarser.decibels + part * (finer.decibels - coarser.decibels);
        }
        finer = coarser;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace bench
