#include "components/files/ffmpeg.hpp"

#if defined(PENSTOCK_HAVE_FFMPEG)
#include <dlfcn.h>

#include "penstock/error.hpp"

namespace penstock::components {
namespace {

void* library(const char* name, int version) {
    const auto file = std::string("lib") + name + ".so." + std::to_string(version);
    if (void* const found = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return found;
    throw UsageError("films are read and written by FFmpeg's libraries, and " + file + " was not found (" +
                     std::string(dlerror()) + "): install FFmpeg " +
                     "(apt install ffmpeg), in the version that this Penstock was built for");
}

Ffmpeg loaded() {
    Ffmpeg made;
    void* const avutil = library("avutil", LIBAVUTIL_VERSION_MAJOR);
    void* const avcodec = library("avcodec", LIBAVCODEC_VERSION_MAJOR);
    void* const avformat = library("avformat", LIBAVFORMAT_VERSION_MAJOR);
    void* const swscale = library("swscale", LIBSWSCALE_VERSION_MAJOR);
#define PENSTOCK_FFMPEG_LOAD(of, function)                                           \
    made.function = reinterpret_cast<decltype(made.function)>(dlsym(of, #function)); \
    if (made.function == nullptr) throw UsageError("FFmpeg's lib" #of " has no function " #function);
    PENSTOCK_FFMPEG(PENSTOCK_FFMPEG_LOAD)
#undef PENSTOCK_FFMPEG_LOAD
    made.av_log_set_level(AV_LOG_QUIET);  // what goes wrong is said by errors
    return made;
}

}  // namespace

const Ffmpeg& Ffmpeg::here() {
    static const Ffmpeg all = loaded();
    return all;
}

std::string Ffmpeg::words_of(int error) const {
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    av_strerror(error, text, sizeof text);
    return text;
}

}  // namespace penstock::components
#endif
