// Sounds (WAV), and radio samples (IQ) as bytes.
#include <cmath>
#include <complex>
#include <cstring>
#include <tuple>

#include "components/classes.hpp"
#include "components/files/beside.hpp"
#include "components/files/npy.hpp"
#include "components/files/wav.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

struct ReadSound {
    Output<float> samples{"samples"};
    Setting<std::string> path{"path", "", {.doc = "A RIFF WAVE file (.wav)."}};
    Setting<std::int64_t> block{"block",
                                4096,
                                {.unit = "samples",
                                 .least = 1,
                                 .most = 1 << 24,
                                 .doc = "Of each channel in a buffer; the last one may have fewer."}};
    std::uint64_t next = 0;
    auto state() { return std::tie(next); }

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which sound is read: set `path`");
        file_ = std::make_unique<MappedFile>(path);
        wav_ = parsed_wav(file_->bytes(), path);
    }
    bool operator()() {
        const auto& format = wav_.format;
        const std::size_t length = static_cast<std::size_t>(block.get()), first = next * length,
                          all = wav_.samples.size() / format.frame();
        if (first >= all) return false;
        const auto count = std::min(length, all - first);
        auto buffer = samples.make(count, format.channels);
        samples_of(wav_.samples.substr(first * format.frame()), format, buffer.edit());
        buffer.edit_tags() = {.sequence = next, .time = first, .user = {next, format.rate}};
        ++next;
        samples.write(std::move(buffer));
        return true;
    }

  private:
    std::unique_ptr<MappedFile> file_;
    Wav wav_;
};

struct WriteSound {
    Input<float> samples{"samples"};
    Setting<std::string> path{"path", "", {.doc = "A RIFF WAVE file (.wav)."}};
    Setting<int> rate{
        "rate", 0, {.unit = "samples/s", .least = 0, .most = 1 << 30, .doc = "0: that of the source (user[1])."}};
    Setting<std::string> kind{
        "kind", "16", {.choices = {"16", "24", "32", "float"}, .doc = "Bits of whole numbers, or floats of 32 bits."}};

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which sound is written: set `path`");
        file_ = std::make_unique<FileBeside>(path);
        format_.floats = kind.get() == "float";
        format_.bytes = format_.floats ? 4 : kind.get() == "16" ? 2 : kind.get() == "24" ? 3 : 4;
    }
    void operator()() {
        const auto read = samples.read();
        const std::size_t channels = read.rank() == 2 ? read.extent(1) : 1;
        if (written_ == 0) {
            format_.channels = channels;
            format_.rate =
                rate != 0 ? static_cast<std::size_t>(rate.get()) : static_cast<std::size_t>(read.tags().user[1]);
            if (format_.rate == 0) throw UsageError("nothing says how many samples a second the sound has: set `rate`");
        }
        if (channels != format_.channels)
            throw UsageError("a sound of " + std::to_string(format_.channels) + " channels goes on with " +
                             std::to_string(channels));
        file_->write_at(wav_head_bytes + written_, bytes_of(read.span(), format_));
        written_ += read.size() * format_.bytes;
    }
    void finish() {
        if (written_ == 0) format_.rate = rate != 0 ? static_cast<std::size_t>(rate.get()) : 44100;
        const auto head = wav_head(format_, written_);
        file_->write_at(0, std::as_bytes(std::span(head)));
        file_->put_in_place();
    }

  private:
    std::unique_ptr<FileBeside> file_;
    WavFormat format_;
    std::size_t written_ = 0;
};

// ---- samples of radios: pairs of in-phase and quadrature, without a header ----

SettingLimits iq_kinds() {
    return {
        .choices = {"cu8", "cs8", "cs16", "cf32"},
        .doc = "A pair: whole numbers of 8 bits without and with a sign, of 16 bits with one, or floats of 32 bits."};
}

std::size_t iq_bytes(const std::string& kind) { return kind == "cf32" ? 4 : kind == "cs16" ? 2 : 1; }

struct IqSamples {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> bytes{"bytes"};
    Output<std::complex<float>> samples{"samples"};
    Setting<std::string> kind{"kind", "cu8", iq_kinds()};

    void operator()() {
        const auto read = bytes.read();
        const auto width = iq_bytes(kind);
        if (read.size() % (2 * width) != 0)
            throw UsageError("a block of " + std::to_string(read.size()) + " bytes has no whole number of " +
                             kind.get() + " samples: is it of another kind, or cut off?");
        auto made = samples.make(read.size() / (2 * width));
        auto* const to = reinterpret_cast<float*>(made.edit().data());
        const auto* const from = read.span().data();
        for (std::size_t i = 0; i < read.size() / width; ++i) {
            if (width == 4) std::memcpy(to + i, from + 4 * i, 4);
            else if (width == 2) {
                std::int16_t value;
                std::memcpy(&value, from + 2 * i, 2);
                to[i] = static_cast<float>(value) / 32768;
            } else if (kind.get() == "cs8") to[i] = static_cast<float>(static_cast<std::int8_t>(from[i])) / 128;
            else to[i] = (static_cast<float>(from[i]) - 127.5f) / 127.5f;
        }
        samples.write(std::move(made));
    }
};

struct IqBytes {
    static constexpr bool may_be_copied = true;
    Input<std::complex<float>> samples{"samples"};
    Output<std::uint8_t> bytes{"bytes"};
    Setting<std::string> kind{"kind", "cf32", iq_kinds()};

    void operator()() {
        const auto read = samples.read();
        const auto width = iq_bytes(kind);
        auto made = bytes.make(2 * width * read.size());
        const auto* const from = reinterpret_cast<const float*>(read.span().data());
        auto* const to = made.edit().data();
        const auto whole = [](float value, float scale, float offset, float least, float most) {
            const auto rounded = std::nearbyint((std::isnan(value) ? 0 : value) * scale + offset);
            return static_cast<int>(std::clamp(rounded, least, most));
        };
        for (std::size_t i = 0; i < 2 * read.size(); ++i) {
            if (width == 4) std::memcpy(to + 4 * i, from + i, 4);
            else if (width == 2) {
                const auto value = static_cast<std::int16_t>(whole(from[i], 32768, 0, -32768, 32767));
                std::memcpy(to + 2 * i, &value, 2);
            } else if (kind.get() == "cs8") to[i] = static_cast<std::uint8_t>(whole(from[i], 128, 0, -128, 127));
            else to[i] = static_cast<std::uint8_t>(whole(from[i], 127.5f, 127.5f, 0, 255));
        }
        bytes.write(std::move(made));
    }
};

}  // namespace

void add_sounds(Components& components) {
    components.add<ReadSound>("read-sound",
                              "A WAV file in blocks of samples x channels, between -1 and 1; the time is the first "
                              "sample's number, user[1] the samples a second.");
    components.add<WriteSound>(
        "write-sound",
        "Samples as a WAV file, which appears when it is complete; samples beyond -1 and 1 are cut off.");
    components.add<IqSamples>("iq-samples", "Bytes of a radio's IQ samples as complex numbers.");
    components.add<IqBytes>("iq-bytes", "Complex numbers as bytes of IQ samples.");
}

}  // namespace penstock::components
