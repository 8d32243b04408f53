// Films, by FFmpeg's libraries.
#include "components/classes.hpp"
#include "components/files/ffmpeg.hpp"
#include "components/files/picture_file.hpp"
#include "penstock/components.hpp"

#if defined(PENSTOCK_HAVE_FFMPEG)
#include <cerrno>
#include <cmath>
#include <memory>

#include "components/files/beside.hpp"

namespace penstock::components {
namespace {

/// Pointers that FFmpeg frees by their address.
template <class T, auto free>
struct Freed {
    void operator()(T* pointer) const noexcept { (Ffmpeg::here().*free)(&pointer); }
};
using Frame = std::unique_ptr<AVFrame, Freed<AVFrame, &Ffmpeg::av_frame_free>>;
using Packet = std::unique_ptr<AVPacket, Freed<AVPacket, &Ffmpeg::av_packet_free>>;
using Codec = std::unique_ptr<AVCodecContext, Freed<AVCodecContext, &Ffmpeg::avcodec_free_context>>;
using OpenFile = std::unique_ptr<AVFormatContext, Freed<AVFormatContext, &Ffmpeg::avformat_close_input>>;
struct FreeScaler {
    void operator()(SwsContext* scaler) const noexcept { Ffmpeg::here().sws_freeContext(scaler); }
};
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;

constexpr AVRational microseconds{1, 1'000'000};

struct ReadFilm {
    Output<std::uint8_t> frame{"frame"};
    Setting<std::string> path{"path", "", {.doc = "A film of any kind that FFmpeg reads."}};
    Setting<std::string> format{"format", "rgb", {.choices = {"rgb", "grey"}}};
    Setting<std::int64_t> count{
        "count", 0, {.unit = "frames", .least = 0, .doc = "Read no more than so many; 0: all."}};
    Setting<int> number{
        "number",
        0,
        {.least = 0, .most = 1 << 30, .doc = "Of the film, among several: user[1] of its frames, where it is not 0."}};
    Setting<std::int64_t> most_pixels{
        "most-pixels", 1 << 26, {.unit = "pixels", .least = 1, .doc = "Of a frame; a larger one is refused."}};

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which film is read: set `path`");
        const auto& av = Ffmpeg::here();
        (void)files_at(path, "");  // says what the system says where there is none
        AVFormatContext* opened = nullptr;
        // A path is a file: what looks like an address of the net is not followed.
        if (const int error = av.avformat_open_input(&opened, ("file:" + path.get()).c_str(), nullptr, nullptr);
            error < 0)
            refuse(error);
        file_.reset(opened);
        if (const int error = av.avformat_find_stream_info(file_.get(), nullptr); error < 0) refuse(error);
        const AVCodec* decoder = nullptr;
        stream_ = av.av_find_best_stream(file_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
        if (stream_ < 0 || decoder == nullptr)
            throw PictureError("the file '" + path.get() + "' has no pictures that FFmpeg decodes here");
        codec_.reset(av.avcodec_alloc_context3(decoder));
        packet_.reset(av.av_packet_alloc());
        decoded_.reset(av.av_frame_alloc());
        if (codec_ == nullptr || packet_ == nullptr || decoded_ == nullptr) throw std::bad_alloc();
        const auto* const parameters = file_->streams[stream_]->codecpar;
        require_size(static_cast<std::uint64_t>(std::max(parameters->height, 1)),
                     static_cast<std::uint64_t>(std::max(parameters->width, 1)),
                     static_cast<std::size_t>(most_pixels.get()));
        if (const int error = av.avcodec_parameters_to_context(codec_.get(), parameters); error < 0) refuse(error);
        codec_->thread_count = 1;  // the machine's targets are the threads
        codec_->max_pixels = most_pixels.get();
        if (const int error = av.avcodec_open2(codec_.get(), decoder, nullptr); error < 0) refuse(error);
    }
    bool operator()() {
        if ((count != 0 && static_cast<std::int64_t>(next_) >= count) || !decode()) return false;
        const auto rows = static_cast<std::size_t>(decoded_->height),
                   columns = static_cast<std::size_t>(decoded_->width);
        require_size(rows, columns, static_cast<std::size_t>(most_pixels.get()));
        const bool colours = format.get() == "rgb";
        auto made = make_picture(frame, {rows, columns, colours ? 3u : 1u});
        const auto& av = Ffmpeg::here();
        if (scaler_ == nullptr || rows != rows_ || columns != columns_ || decoded_->format != pixels_) {
            rows_ = rows, columns_ = columns, pixels_ = decoded_->format;
            scaler_.reset(av.sws_getContext(decoded_->width, decoded_->height, static_cast<AVPixelFormat>(pixels_),
                                            decoded_->width, decoded_->height,
                                            colours ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_GRAY8,
                                            SWS_BILINEAR | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
            if (scaler_ == nullptr)
                throw PictureError("the film '" + path.get() +
                                   "' has frames of a kind that FFmpeg does not make RGB of");
        }
        std::uint8_t* const to[] = {made.edit().data(), nullptr, nullptr, nullptr};
        const int pitch[] = {static_cast<int>(columns * (colours ? 3 : 1)), 0, 0, 0};
        av.sws_scale(scaler_.get(), decoded_->data, decoded_->linesize, 0, decoded_->height, to, pitch);
        const auto stamp = decoded_->best_effort_timestamp;
        const auto time =
            stamp == AV_NOPTS_VALUE ? 0 : av.av_rescale_q(stamp, file_->streams[stream_]->time_base, microseconds);
        made.edit_tags() = {.sequence = next_,
                            .time = static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0)),
                            .user = {next_, static_cast<std::uint64_t>(number.get())}};
        ++next_;
        frame.write(std::move(made));
        return true;
    }

  private:
    [[noreturn]] void refuse(int error) const {
        throw PictureError("the film '" + path.get() + "' cannot be read: " + Ffmpeg::here().words_of(error));
    }
    /// The next frame; false at the end. A damaged packet is an error, as a damaged picture is.
    bool decode() {
        const auto& av = Ffmpeg::here();
        while (true) {
            const int got = av.avcodec_receive_frame(codec_.get(), decoded_.get());
            if (got == 0) return true;
            if (got == AVERROR_EOF) return false;
            if (got != AVERROR(EAGAIN)) refuse(got);
            const int read = av.av_read_frame(file_.get(), packet_.get());
            if (read < 0 && read != AVERROR_EOF) refuse(read);
            if (read == 0 && packet_->stream_index != stream_) {
                av.av_packet_unref(packet_.get());
                continue;
            }
            const int sent = av.avcodec_send_packet(codec_.get(), read == 0 ? packet_.get() : nullptr);
            av.av_packet_unref(packet_.get());
            if (sent < 0 && sent != AVERROR_EOF) refuse(sent);
        }
    }

    OpenFile file_;
    Codec codec_;
    Packet packet_;
    Frame decoded_;
    Scaler scaler_;
    int stream_ = -1, pixels_ = -1;
    std::size_t rows_ = 0, columns_ = 0;
    std::uint64_t next_ = 0;
};

struct WriteFilm {
    Input<std::uint8_t> frame{"frame"};
    Setting<std::string> path{"path", "", {.doc = "A film; its ending says of which kind: .mp4, .mkv, .avi, .webm."}};
    Setting<double> rate{"rate", 25, {.unit = "frames/s", .least = 0.01, .most = 1000}};
    Setting<std::string> codec{
        "codec",
        "",
        {.doc = "An encoder of FFmpeg's, such as mpeg4, libx264, mjpeg or ffv1; empty: what the kind of file has."}};
    Setting<int> bit_rate{
        "bit-rate",
        4000,
        {.unit = "kbit/s", .least = 1, .most = 1 << 20, .doc = "On the average, where the encoder takes it."}};

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which film is written: set `path`");
        const auto& av = Ffmpeg::here();
        if (av.av_guess_format(nullptr, path.get().c_str(), nullptr) == nullptr)
            throw UsageError("the name '" + path.get() +
                             "' does not say of which kind the film is: end it in .mp4, .mkv, .avi or .webm");
        beside_ = std::make_unique<FileBeside>(path);
    }
    void operator()() {
        const auto read = frame.read();
        const auto shape = shape_of(read);
        if (shape.channels != 1 && shape.channels != 3)
            throw UsageError("frames have 1 or 3 channels, not " + std::to_string(shape.channels));
        if (codec_ == nullptr) open(shape);
        if (shape != shape_)
            throw UsageError("a frame of " + text_of(shape) + " came behind one of " + text_of(shape_) +
                             ": a film's frames have one size");
        const auto& av = Ffmpeg::here();
        check(av.av_frame_make_writable(picture_.get()));
        const std::uint8_t* const from[] = {read.span().data(), nullptr, nullptr, nullptr};
        const int pitch[] = {static_cast<int>(shape.columns * shape.channels), 0, 0, 0};
        av.sws_scale(scaler_.get(), from, pitch, 0, static_cast<int>(shape.rows), picture_->data, picture_->linesize);
        picture_->pts = written_++;
        encode(picture_.get());
    }
    void finish() {
        if (codec_ == nullptr) throw UsageError("no frame came for the film '" + path.get() + "': it is not written");
        encode(nullptr);
        const auto& av = Ffmpeg::here();
        check(av.av_write_trailer(file_.get()));
        av.avio_flush(output_);
        if (failed_ != 0) beside_->refuse(failed_);
        beside_->put_in_place();
    }
    ~WriteFilm() {
        if (output_ == nullptr) return;
        const auto& av = Ffmpeg::here();
        av.av_freep(&output_->buffer);
        av.avio_context_free(&output_);
    }

  private:
    struct FreeFile {
        void operator()(AVFormatContext* file) const noexcept { Ffmpeg::here().avformat_free_context(file); }
    };
    void check(int result) const {
        if (failed_ != 0) beside_->refuse(failed_);
        if (result < 0)
            throw PictureError("the film '" + path.get() + "' cannot be written: " + Ffmpeg::here().words_of(result));
    }
    void open(const PictureShape& shape) {
        const auto& av = Ffmpeg::here();
        shape_ = shape;
        AVFormatContext* made = nullptr;
        check(av.avformat_alloc_output_context2(&made, nullptr, nullptr, path.get().c_str()));
        file_.reset(made);
        const auto* const encoder = codec.get().empty() ? av.avcodec_find_encoder(file_->oformat->video_codec)
                                                        : av.avcodec_find_encoder_by_name(codec.get().c_str());
        if (encoder == nullptr || encoder->type != AVMEDIA_TYPE_VIDEO)
            throw UsageError("FFmpeg has no encoder '" + codec.get() + "' for '" + path.get() +
                             "' here: set another `codec`, or another ending");
        codec_.reset(av.avcodec_alloc_context3(encoder));
        picture_.reset(av.av_frame_alloc());
        packet_.reset(av.av_packet_alloc());
        if (codec_ == nullptr || picture_ == nullptr || packet_ == nullptr) throw std::bad_alloc();
        const auto format = pixels_for(*encoder);
        const bool halves = format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P;
        codec_->width = static_cast<int>(shape.columns);
        codec_->height = static_cast<int>(shape.rows);
        if (halves && (codec_->width % 2 != 0 || codec_->height % 2 != 0))
            throw UsageError("frames of " + text_of(shape) + " cannot be encoded by " + encoder->name +
                             ", which halves colours: give even sides (`crop`, `resize`), or set `codec`");
        codec_->pix_fmt = format;
        const auto per_second = static_cast<int>(std::lround(rate * 1000));
        codec_->time_base = {1000, per_second};
        codec_->framerate = {per_second, 1000};
        codec_->bit_rate = static_cast<std::int64_t>(bit_rate) * 1000;
        codec_->gop_size = 12;
        codec_->thread_count = 1;  // the machine's targets are the threads
        if ((file_->oformat->flags & AVFMT_GLOBALHEADER) != 0) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
        check(av.avcodec_open2(codec_.get(), encoder, nullptr));
        stream_ = av.avformat_new_stream(file_.get(), nullptr);
        if (stream_ == nullptr) throw std::bad_alloc();
        stream_->time_base = codec_->time_base;
        check(av.avcodec_parameters_from_context(stream_->codecpar, codec_.get()));
        constexpr std::size_t buffer = 1 << 16;
        auto* const memory = static_cast<unsigned char*>(av.av_malloc(buffer));
        output_ = memory == nullptr
                      ? nullptr
                      : av.avio_alloc_context(memory, static_cast<int>(buffer), 1, this, nullptr, &write_some, &seek);
        if (output_ == nullptr) throw std::bad_alloc();
        file_->pb = output_;
        check(av.avformat_write_header(file_.get(), nullptr));
        picture_->format = format;
        picture_->width = codec_->width;
        picture_->height = codec_->height;
        check(av.av_frame_get_buffer(picture_.get(), 0));
        scaler_.reset(av.sws_getContext(
            codec_->width, codec_->height, shape.channels == 3 ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_GRAY8, codec_->width,
            codec_->height, format, SWS_BILINEAR | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
        if (scaler_ == nullptr)
            throw PictureError("FFmpeg does not make frames for " + std::string(encoder->name) + " of these pictures");
    }
    static AVPixelFormat pixels_for(const AVCodec& encoder) {
        if (encoder.pix_fmts == nullptr) return AV_PIX_FMT_YUV420P;
        for (const auto* each = encoder.pix_fmts; *each != AV_PIX_FMT_NONE; ++each)
            if (*each == AV_PIX_FMT_YUV420P || *each == AV_PIX_FMT_YUVJ420P || *each == AV_PIX_FMT_RGB24) return *each;
        return encoder.pix_fmts[0];
    }
    void encode(const AVFrame* given) {
        const auto& av = Ffmpeg::here();
        check(av.avcodec_send_frame(codec_.get(), given));
        while (true) {
            const int got = av.avcodec_receive_packet(codec_.get(), packet_.get());
            if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return;
            check(got);
            if (packet_->duration == 0) packet_->duration = 1;  // else some kinds of files end before the last frame
            av.av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
            packet_->stream_index = stream_->index;
            check(av.av_interleaved_write_frame(file_.get(), packet_.get()));
        }
    }
    // FFmpeg's own way to a file would leave a half-written one: what it writes goes beside the path.
    static int write_some(void* self, std::uint8_t* from, int count) {
        auto& film = *static_cast<WriteFilm*>(self);
        try {
            film.beside_->write_at(film.at_, std::as_bytes(std::span(from, static_cast<std::size_t>(count))));
        } catch (const SystemError& error) {
            film.failed_ = error.number();
            return AVERROR(error.number());
        }
        film.at_ += static_cast<std::size_t>(count);
        film.end_ = std::max(film.end_, film.at_);
        return count;
    }
    static std::int64_t seek(void* self, std::int64_t offset, int whence) {
        auto& film = *static_cast<WriteFilm*>(self);
        if (whence == AVSEEK_SIZE) return static_cast<std::int64_t>(film.end_);
        const auto base = whence == SEEK_CUR ? film.at_ : whence == SEEK_END ? film.end_ : 0;
        return static_cast<std::int64_t>(film.at_ = base + static_cast<std::size_t>(offset));
    }

    std::unique_ptr<FileBeside> beside_;
    std::unique_ptr<AVFormatContext, FreeFile> file_;
    AVIOContext* output_ = nullptr;
    AVStream* stream_ = nullptr;
    Codec codec_;
    Frame picture_;
    Packet packet_;
    Scaler scaler_;
    PictureShape shape_;
    std::size_t at_ = 0, end_ = 0;
    int failed_ = 0;
    std::int64_t written_ = 0;
};

}  // namespace

void add_films(Components& components) {
    components.add<ReadFilm>(
        "read-film", "The frames of a film, by FFmpeg; the time is in microseconds, user[0] the frame's number.");
    components.add<WriteFilm>("write-film",
                              "Frames of one size as a film, by FFmpeg, which appears when it is complete.");
}

}  // namespace penstock::components
#else

namespace penstock::components {

void add_films(Components&) {}

}  // namespace penstock::components
#endif
