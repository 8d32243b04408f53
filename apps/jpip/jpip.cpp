#include "apps/jpip/jpip.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "apps/graphs.hpp"
#include "apps/measure.hpp"
#include "kernels/shrink.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::jpip {
namespace {

std::size_t size(std::uint64_t tag) noexcept { return static_cast<std::size_t>(tag); }

view<std::uint8_t, 2> frame_of(view<std::uint8_t, 3> frames, std::size_t f) noexcept {
    return {frames.data() + static_cast<std::ptrdiff_t>(f) * frames.stride(0), {frames.extent(1), frames.extent(2)}};
}

std::size_t shrunk(std::size_t side, std::size_t factor) noexcept { return (side + factor - 1) / factor; }

}  // namespace

void copy(view<const std::uint8_t, 2> from, view<std::uint8_t, 2> to) {
    for (std::size_t i = 0; i < from.extent(0); ++i) std::ranges::copy(from.row(i), to.row(i).begin());
}

void serial(const Films& films, int divisor, view<std::uint8_t, 3> result) {
    JpegDecoder decoder;
    std::vector<std::uint8_t> memory;
    for (std::size_t frame = 0; frame < films.frames; ++frame) {
        for (std::size_t film = 0; film < films.count; ++film) {
            const auto file = films.file(film, frame);
            const PictureSize decoded = decoder.size(file, divisor);
            memory.resize(decoded.rows * decoded.columns * channels);
            const view<std::uint8_t, 2> rgb{memory.data(), {decoded.rows, decoded.columns * channels}};
            decoder.decode(file, rgb, divisor);
            kernels::shrink(rgb, tile_in(frame_of(result, frame), film), smaller / static_cast<std::size_t>(divisor), channels);
        }
    }
}

bool Camera::operator()() {
    if (next_ == films_->frames) return false;
    const auto file = films_->file(film_, next_);
    auto buffer = jpeg.make(file.size());
    std::ranges::copy(file, buffer.edit().begin());
    buffer.edit_tags().user = {film_, next_++};
    jpeg.write(std::move(buffer));
    return true;
}

void Decode::operator()() {
    const auto file = jpeg.read();
    const PictureSize size = decoder_.size(file.span(), divisor);
    auto pixels = rgb.make(size.rows, size.columns * channels);
    decoder_.decode(file.span(), pixels.edit_image(), divisor);
    rgb.write(std::move(pixels));
}

void Shrink::operator()() {
    auto read = rgb.read();
    const auto by = static_cast<std::size_t>(factor.get());
    if (by == 1) return small.write(std::move(read));
    const auto picture = read.image();
    auto pixels = small.make(shrunk(picture.extent(0), by), shrunk(picture.extent(1) / channels, by) * channels);
    kernels::shrink(picture, pixels.edit_image(), by, channels);
    small.write(std::move(pixels));
}

void Mosaic::operator()() {
    const auto read = tile.read();
    const auto picture = read.image();
    const std::uint64_t frame = read.tags().user[frame_tag];
    auto at = std::ranges::find(begun_, frame, &Begun::frame);
    if (at == begun_.end())
        at = begun_.insert(at, {frame, 0, mosaic.make(tiles_down * picture.extent(0), tiles_across * picture.extent(1))});
    copy(picture, tile_in(at->pixels.edit_image(), size(read.tags().user[film_tag])));
    if (++at->tiles < tiles) return;
    at->pixels.edit_tags().user = {0, frame};
    mosaic.write(std::move(at->pixels));
    begun_.erase(at);
}

double streams(const Films& films, int divisor, view<std::uint8_t, 3> result, Machine& machine, int copies) {
    Graph graph;
    // Few decoded frames at once: so a frame is shrunk while it is still in the cache.
    auto& decode = graph.add<Decode>("decode", {.copies = copies, .pool = 2}, divisor);
    auto& shrink = graph.add<Shrink>("shrink", {.copies = copies}, static_cast<int>(smaller) / divisor);
    auto& mosaic = graph.add<Mosaic>("mosaic");
    auto& reader = graph.add_reader<std::uint8_t>("screen");
    for (std::size_t film = 0; film < films.count; ++film) {
        // One buffer for each copy: so the films stay in step, and few mosaics are begun at once.
        auto& camera = graph.add<Camera>("camera " + std::to_string(film), {}, &films, film);
        graph.connect(camera.jpeg, decode.jpeg, {.capacity = 1, .name = "films"});
    }
    graph.connect(decode.rgb, shrink.rgb, {.capacity = 2});
    graph.connect(shrink.small, mosaic.tile);
    graph.connect(mosaic.mosaic, reader.input);
    return seconds_of([&] {
        auto run = graph.start(machine);
        while (const auto frame = reader.read()) copy(frame->image(), frame_of(result, size(frame->tags().user[frame_tag])));
        run.finish();
        note_graph(run);
    });
}

}  // namespace penstock::apps::jpip
