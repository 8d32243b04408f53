#include "apps/ofdm/samples.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>

namespace penstock::apps::ofdm {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are read and written as they lie in memory");

constexpr int patience = 50;  // ms

std::size_t bytes_of(SampleType type) noexcept {
    return type == SampleType::float32 ? 8 : type == SampleType::int16 ? 4 : 2;
}

/// "cf32" and so on by the ending of a name; empty where it says nothing.
std::string format_by_name(const std::string& path) {
    constexpr std::pair<const char*, const char*> endings[] = {{".wav", "wav"},    {".cf32", "cf32"}, {".fc32", "cf32"},
                                                               {".cfile", "cf32"}, {".iq", "cf32"},   {".cs16", "cs16"},
                                                               {".sc16", "cs16"},  {".cu8", "cu8"}};
    for (const auto& [ending, format] : endings)
        if (path.ends_with(ending)) return format;
    return {};
}

std::uint32_t number_at(const std::byte* bytes, std::size_t count) noexcept {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes, count);
    return number;
}

}  // namespace

SampleType sample_type(const std::string& name) {
    if (name == "cf32") return SampleType::float32;
    if (name == "cs16") return SampleType::int16;
    if (name == "cu8") return SampleType::uint8;
    throw UsageError("ofdm: there is no format of samples called '" + name +
                     "'; there are cf32, cs16, cu8, wav and auto");
}

SampleReader::SampleReader(const std::string& source, const std::string& format) : source_{source} {
    const bool socket = source.starts_with("tcp:") || source.starts_with("listen:");
    const std::string known = format != "auto" ? format : socket ? "cf32" : format_by_name(source);
    if (known.empty())
        throw BadSamples(source, "its name does not say how its samples lie; give format=cf32, cs16, cu8 or wav");
    if (known != "wav") type_ = sample_type(known);
    else if (socket) throw BadSamples(source, "a socket has no WAV header; give format=cf32, cs16 or cu8");
    if (socket) open_socket();
    else open_file();
    if (known == "wav") read_wav_header();
    else need_whole_samples();
}

void SampleReader::need_whole_samples() const {
    struct stat status{};
    if (::fstat(descriptor_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (static_cast<std::uint64_t>(status.st_size) % bytes_of(type_) != 0)
        throw BadSamples(source_, std::to_string(status.st_size) + " bytes are no whole number of samples of " +
                                      std::to_string(bytes_of(type_)) + " bytes: it was cut, or has another format");
}

void SampleReader::open_file() {
    descriptor_.reset(::open(source_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor_) throw SystemError("cannot read the samples in '" + source_ + "'", errno);
}

void SampleReader::open_socket() {
    const bool listens = source_.starts_with("listen:");
    const std::string address = source_.substr(source_.find(':') + 1);
    const auto colon = address.rfind(':');
    const std::string host = colon == address.npos ? "" : address.substr(0, colon);
    const std::string port = colon == address.npos ? address : address.substr(colon + 1);
    const bool numeric = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
    if (!numeric || std::stoi(port) > 65535 || (host.empty() && !listens))
        throw BadSamples(source_, "this is no address; it is tcp:HOST:PORT or listen:PORT, with a port up to 65535");
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV | (listens ? AI_PASSIVE : 0);
    const int failed = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &wanted, &found);
    if (failed != 0) throw BadSamples(source_, std::string("there is no such address: ") + ::gai_strerror(failed));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all{found, ::freeaddrinfo};
    int error = 0;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        OwnedDescriptor socket{::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol)};
        const int number = socket.get(), yes = 1;
        if (listens) ::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        const bool done = listens ? ::bind(number, each->ai_addr, each->ai_addrlen) == 0 && ::listen(number, 1) == 0
                                  : ::connect(number, each->ai_addr, each->ai_addrlen) == 0;
        error = errno;
        if (done) {
            (listens ? listening_ : descriptor_) = std::move(socket);
            return;
        }
    }
    throw SystemError("cannot " + std::string(listens ? "listen" : "connect") + " as '" + source_ + "' says", error);
}

void SampleReader::read_wav_header() {
    const auto refuse = [&](const std::string& why) { throw BadSamples(source_, why); };
    const auto take = [&](std::byte* to, std::size_t count) {
        std::size_t done = 0;
        while (done < count) {
            const auto got = ::read(descriptor_.get(), to + done, count - done);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) throw SystemError("cannot read the samples in '" + source_ + "'", errno);
            if (got == 0) refuse("it ends inside its WAV header");
            done += static_cast<std::size_t>(got);
        }
    };
    std::byte head[12], chunk[8], format[16];
    take(head, sizeof(head));
    if (std::memcmp(head, "RIFF", 4) != 0 || std::memcmp(head + 8, "WAVE", 4) != 0)
        refuse("it does not begin as a WAV file does; give format=cf32, cs16 or cu8 if it has no header");
    bool known = false;
    for (;;) {
        take(chunk, sizeof(chunk));
        const std::uint32_t size = number_at(chunk + 4, 4);
        if (std::memcmp(chunk, "fmt ", 4) == 0) {
            if (size < sizeof(format))
                refuse("its WAV header has a format of " + std::to_string(size) + " bytes, not 16");
            take(format, sizeof(format));
            const auto kind = number_at(format, 2), channels = number_at(format + 2, 2),
                       bits = number_at(format + 14, 2);
            if (channels != 2)
                refuse("it has " + std::to_string(channels) +
                       " channels; samples are the real part in one and the imaginary in another");
            if (kind == 3 && bits == 32) type_ = SampleType::float32;
            else if (kind == 1 && bits == 16) type_ = SampleType::int16;
            else if (kind == 1 && bits == 8) type_ = SampleType::uint8;
            else
                refuse("its numbers are of kind " + std::to_string(kind) + " with " + std::to_string(bits) +
                       " bits; float32, int16 and uint8 are read");
            known = true;
        } else if (std::memcmp(chunk, "data", 4) == 0) {
            if (!known) refuse("its WAV header has no format before its data");
            if (size % bytes_of(type_) != 0)
                refuse("its WAV header tells of " + std::to_string(size) +
                       " bytes of data, which are no whole number of samples");
            left_ = size;
            struct stat status{};
            const auto here = ::lseek(descriptor_.get(), 0, SEEK_CUR);
            if (here >= 0 && ::fstat(descriptor_.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                static_cast<std::uint64_t>(status.st_size - here) < left_)
                refuse("it was cut: its WAV header tells of " + std::to_string(size) +
                       " bytes of data, and there are " + std::to_string(status.st_size - here));
            return;
        }
        // Chunks begin at even places.
        std::uint64_t skipped =
            std::uint64_t{size} + size % 2 - (std::memcmp(chunk, "fmt ", 4) == 0 ? sizeof(format) : 0);
        for (std::byte some[512]; skipped > 0;) {
            const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(skipped, sizeof(some)));
            take(some, part);
            skipped -= part;
        }
    }
}

std::size_t SampleReader::read(std::span<Sample> to) {
    if (ended_ || to.empty()) return 0;
    pollfd ready{(listening_ ? listening_ : descriptor_).get(), POLLIN, 0};
    if (::poll(&ready, 1, patience) <= 0) return 0;
    if (listening_) {
        descriptor_.reset(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!descriptor_) throw SystemError("cannot take a connection as '" + source_ + "' says", errno);
        listening_.reset();
        return 0;
    }
    const std::size_t before = bytes_.size();
    const std::size_t wanted = std::min<std::uint64_t>(to.size() * bytes_of(type_) - before, left_);
    bytes_.resize(before + wanted);
    const auto got = wanted == 0 ? 0 : ::read(descriptor_.get(), bytes_.data() + before, wanted);
    if (got < 0) {
        bytes_.resize(before);
        if (errno == EINTR || errno == EAGAIN) return 0;
        throw SystemError("cannot read the samples in '" + source_ + "'", errno);
    }
    bytes_.resize(before + static_cast<std::size_t>(got));
    if (left_ != ~std::uint64_t{0}) left_ -= static_cast<std::uint64_t>(got);
    if (got == 0) {
        ended_ = true;
        if (!bytes_.empty())
            throw BadSamples(source_, "it ends inside a sample, after " + std::to_string(position_) +
                                          " whole ones: it was cut, or has another format");
        return 0;
    }
    return convert(to);
}

std::size_t SampleReader::convert(std::span<Sample> to) {
    const std::size_t size = bytes_of(type_), count = bytes_.size() / size;
    switch (type_) {
        case SampleType::float32:
            std::memcpy(static_cast<void*>(to.data()), bytes_.data(), count * size);
            for (std::size_t i = 0; i < count; ++i)
                if (!std::isfinite(to[i].real()) || !std::isfinite(to[i].imag()))
                    throw BadSamples(source_, "sample " + std::to_string(position_ + i) + " is not a finite number");
            break;
        case SampleType::int16:
            for (std::size_t i = 0; i < count; ++i) {
                std::int16_t parts[2];
                std::memcpy(parts, bytes_.data() + i * size, size);
                to[i] = {static_cast<float>(parts[0]) / 32768.0f, static_cast<float>(parts[1]) / 32768.0f};
            }
            break;
        case SampleType::uint8:
            for (std::size_t i = 0; i < count; ++i)
                to[i] = {(static_cast<float>(bytes_[2 * i]) - 127.5f) / 127.5f,
                         (static_cast<float>(bytes_[2 * i + 1]) - 127.5f) / 127.5f};
            break;
    }
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(count * size));
    position_ += count;
    return count;
}

std::vector<Sample> read_samples(const std::string& path, const std::string& format, std::size_t most) {
    SampleReader reader{path, format};
    std::vector<Sample> samples, part(std::size_t{1} << 16);
    while (!reader.ended()) {
        const std::size_t count = reader.read(part);
        if (samples.size() + count > most)
            throw BadSamples(path, "it holds more than " + std::to_string(most) + " samples; read it in portions");
        samples.insert(samples.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return samples;
}

void write_samples(const std::string& path, std::span<const Sample> samples, const std::string& format) {
    const std::string by_name = format == "auto" ? format_by_name(path) : format;
    const SampleType type = sample_type(by_name.empty() ? "cf32" : by_name);
    std::vector<std::byte> bytes(samples.size() * bytes_of(type));
    if (type == SampleType::float32) std::memcpy(bytes.data(), samples.data(), bytes.size());
    for (std::size_t i = 0; i < samples.size() && type != SampleType::float32; ++i) {
        const float parts[2] = {samples[i].real(), samples[i].imag()};
        for (std::size_t p = 0; p < 2; ++p) {
            if (type == SampleType::int16) {
                const auto value = static_cast<std::int16_t>(std::clamp(std::lrint(parts[p] * 32768), -32768L, 32767L));
                std::memcpy(bytes.data() + 4 * i + 2 * p, &value, 2);
            } else {
                bytes[2 * i + p] = static_cast<std::byte>(std::clamp(std::lrint(parts[p] * 127.5f + 127.5f), 0L, 255L));
            }
        }
    }
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw SystemError("cannot write the file '" + path + "'", errno != 0 ? errno : EIO);
}

}  // namespace penstock::apps::ofdm
