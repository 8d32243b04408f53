// FFmpeg's libraries, found when the program first needs them, and never part of it: those of many systems are built
// under the GPL. They must be of the versions whose headers Penstock was built with.
#pragma once

#if defined(PENSTOCK_HAVE_FFMPEG)
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
}

#include <string>

namespace penstock::components {

// library, function
#define PENSTOCK_FFMPEG(each)                                                                                         \
    each(avutil, av_frame_alloc) each(avutil, av_frame_free) each(avutil, av_frame_get_buffer) each(                  \
        avutil, av_frame_make_writable) each(avutil, av_freep) each(avutil, av_log_set_level) each(avutil, av_malloc) \
        each(avutil, av_rescale_q) each(avutil, av_strerror) each(avcodec, av_packet_alloc)                           \
            each(avcodec, av_packet_free) each(avcodec, av_packet_rescale_ts) each(avcodec, av_packet_unref)          \
                each(avcodec, avcodec_alloc_context3) each(avcodec, avcodec_find_encoder)                             \
                    each(avcodec, avcodec_find_encoder_by_name) each(avcodec, avcodec_free_context) each(             \
                        avcodec, avcodec_open2) each(avcodec, avcodec_parameters_from_context)                        \
                        each(avcodec, avcodec_parameters_to_context) each(avcodec, avcodec_receive_frame) each(       \
                            avcodec, avcodec_receive_packet) each(avcodec, avcodec_send_frame)                        \
                            each(avcodec, avcodec_send_packet) each(avformat, av_find_best_stream) each(              \
                                avformat, av_guess_format) each(avformat, av_interleaved_write_frame)                 \
                                each(avformat, av_read_frame) each(avformat, av_write_trailer) each(                  \
                                    avformat, avformat_alloc_output_context2) each(avformat, avformat_close_input)    \
                                    each(avformat, avformat_find_stream_info) each(avformat, avformat_free_context)   \
                                        each(avformat, avformat_new_stream) each(avformat, avformat_open_input)       \
                                            each(avformat, avformat_write_header) each(avformat, avio_alloc_context)  \
                                                each(avformat, avio_context_free) each(avformat, avio_flush)          \
                                                    each(swscale, sws_freeContext) each(swscale, sws_getContext)      \
                                                        each(swscale, sws_scale)

struct Ffmpeg {
#define PENSTOCK_FFMPEG_MEMBER(library, function) decltype(&::function) function = nullptr;
    PENSTOCK_FFMPEG(PENSTOCK_FFMPEG_MEMBER)
#undef PENSTOCK_FFMPEG_MEMBER

    /// Loaded by the first call. Throws UsageError, which says which library was not found, and how to get it.
    static const Ffmpeg& here();
    std::string words_of(int error) const;
};

}  // namespace penstock::components
#endif
