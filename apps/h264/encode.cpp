#include "apps/h264/encode.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace penstock::apps::h264 {
namespace {

constexpr std::size_t most_side = Size::most;

/// A picture in RGB or grey.
struct Pixels {
    explicit Pixels(const Buffer<std::uint8_t>& picture)
        : values{picture.span().data()}, rows{picture.rank() >= 2 ? picture.extent(0) : 0},
          columns{rows != 0 ? picture.extent(1) : 0}, channels{picture.rank() == 3 ? picture.extent(2) : 1} {
        if (rows == 0 || columns == 0 || rows > most_side || columns > most_side || (channels != 1 && channels != 3))
            throw UsageError(
                "h264: pictures are rows x columns x 3 bytes (RGB) or rows x columns (grey), of at most 8192 x 8192 "
                "pixels, and this buffer is none");
    }
    /// Sides are even in a film: the last row and column are repeated.
    Size size() const noexcept { return {static_cast<int>(columns + columns % 2), static_cast<int>(rows + rows % 2)}; }
    std::array<int, 3> at(int y, int x) const noexcept {
        const auto* const pixel = values + (std::min<std::size_t>(static_cast<std::size_t>(y), rows - 1) * columns +
                                            std::min<std::size_t>(static_cast<std::size_t>(x), columns - 1)) *
                                               channels;
        return channels == 3 ? std::array{int{pixel[0]}, int{pixel[1]}, int{pixel[2]}}
                             : std::array{int{pixel[0]}, int{pixel[0]}, int{pixel[0]}};
    }
    const std::uint8_t* values;
    std::size_t rows, columns, channels;
};

/// BT.601, 16 to 235, with the mean of four pixels for chrominance.
void put_planes(const Pixels& from, std::uint8_t* to) {
    const Size size = from.size();
    const auto weighed = [](const std::array<int, 3>& rgb, const std::array<int, 3>& by) {
        return rgb[0] * by[0] + rgb[1] * by[1] + rgb[2] * by[2];
    };
    for (int y = 0; y < size.rows; ++y)
        for (int x = 0; x < size.columns; ++x)
            *to++ = static_cast<std::uint8_t>((weighed(from.at(y, x), {66, 129, 25}) + 128 + (16 << 8)) >> 8);
    for (const std::array<int, 3>& by : {std::array{-38, -74, 112}, std::array{112, -94, -18}})
        for (int y = 0; y < size.rows; y += 2)
            for (int x = 0; x < size.columns; x += 2) {
                const int sum = weighed(from.at(y, x), by) + weighed(from.at(y, x + 1), by) +
                                weighed(from.at(y + 1, x), by) + weighed(from.at(y + 1, x + 1), by);
                *to++ = static_cast<std::uint8_t>((sum + 512 + (128 << 10)) >> 10);
            }
}

Rate rate_of(double pictures_a_second) {
    const auto thousandths = static_cast<std::uint32_t>(std::lround(pictures_a_second * 1000));
    const std::uint32_t common = std::gcd(thousandths, 1000u);
    return {thousandths / common, 1000 / common};
}

}  // namespace

EncoderSettings EncoderParameters::settings() const {
    std::map<std::string, std::string> given{{"effort", effort.get()}, {"loop_filter", loop_filter ? "1" : "0"}};
    if (!search.get().empty()) given["search"] = search.get();
    for (const auto& [name, value] : {std::pair<const char*, int>{"quantiser", quantiser},
                                      {"period", period},
                                      {"b_pictures", b_pictures},
                                      {"smallest", smallest},
                                      {"range", range},
                                      {"fraction", fraction},
                                      {"transformed", transformed},
                                      {"intra4", intra4}})
        if (value != -1) given[name] = std::to_string(value);
    return settings_of(given);
}

Size size_of_planes(const Buffer<std::uint8_t>& planes) {
    const std::size_t rows = planes.rank() == 2 ? planes.extent(0) : 0, columns = rows != 0 ? planes.extent(1) : 0;
    if (rows == 0 || rows % 3 != 0 || rows / 3 * 2 > most_side || columns % 2 != 0 || columns > most_side)
        throw UsageError(
            "h264: planes are 3/2 rows x columns bytes, of even sides up to 8192, and this buffer is none");
    return {static_cast<int>(columns), static_cast<int>(rows / 3 * 2)};
}

void ToPlanes::operator()() {
    const auto read = picture.read();
    const Pixels pixels{read};
    const Size size = pixels.size();
    auto made = planes.make(static_cast<std::size_t>(size.rows) / 2 * 3, static_cast<std::size_t>(size.columns));
    put_planes(pixels, made.edit().data());
    const Rate pictures = rate_of(rate);
    made.edit_tags().user = {pictures.pictures, pictures.seconds};
    planes.write(std::move(made));
}

/// A film that has begun.
struct Encode::Film {
    Film(const Job& job, const std::string& path)
        : size{job.size}, writer{path, job.size, job.rate, job.settings}, encoder{with(job)} {}
    Job with(Job job) {
        job.push = [this](const Encoded& encoded, const Picture&) { writer.write(encoded); };
        return job;
    }
    Size size;
    StreamWriter writer;
    Encoder encoder;
};

void Encode::operator()() {
    const auto read = picture.read();
    std::vector<std::uint8_t> whole;
    Size size;
    if (planes) {
        size = size_of_planes(read);
        whole.assign(read.span().begin(), read.span().end());
    } else {
        const Pixels pixels{read};
        size = pixels.size();
        whole.resize(size.bytes());
        put_planes(pixels, whole.data());
    }
    if (film_ == nullptr) {
        const Job job{size, rate_of(rate), parameters.settings(), {}, {}};
        check(job);
        film_ = std::make_shared<Film>(job, output.get());
    }
    if (size != film_->size) throw UsageError("h264: all pictures of a film must have one size");
    film_->encoder.add(std::move(whole));
}

void Encode::finish() {
    if (film_ != nullptr) {
        film_->encoder.finish();
        film_->writer.finish();
    }
    auto found = bytes.make(1);
    found.edit()[0] = film_ != nullptr ? static_cast<double>(film_->writer.bytes()) : 0;
    bytes.write(std::move(found));
    film_.reset();
}

}  // namespace penstock::apps::h264
