#include "apps/jpip/jpip.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "apps/graphs.hpp"
#include "apps/jpip/insets.hpp"
#include "apps/measure.hpp"
#include "kernels/shrink.hpp"
#include "penstock/components.hpp"
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
    // std::ranges::copy goes byte by byte where the source is const, in libstdc++ 12: 5 % of the whole program.
    for (std::size_t i = 0; i < from.extent(0); ++i) std::copy_n(from.row(i).data(), from.extent(1), to.row(i).data());
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
            kernels::shrink(rgb, tile_in(frame_of(result, frame), film), smaller / static_cast<std::size_t>(divisor),
                            channels);
        }
    }
}

void Camera::start() {
    if (films_ != nullptr) return;
    // Sixteen cameras begin, one behind the other, and each would make or read all films again.
    static std::mutex lock;
    static std::pair<std::string, std::weak_ptr<const Films>> last;
    const std::lock_guard guard(lock);
    const Scene scene{static_cast<std::size_t>(rows.get()), static_cast<std::size_t>(columns.get()),
                      static_cast<std::size_t>(frames.get()), static_cast<std::uint32_t>(seed.get())};
    auto wanted = folder.get();
    for (const auto each : {scene.rows, scene.columns, scene.frames, std::size_t{scene.seed}})
        wanted += " " + std::to_string(each);
    own_ = last.first == wanted ? last.second.lock() : nullptr;
    if (own_ == nullptr) {
        const auto made = [&] {
            const auto photograph = generated_photograph(2 * scene.rows, 2 * scene.columns, scene.seed);
            return make_films(tiles, scene, {photograph.data(), {2 * scene.rows, 2 * scene.columns * channels}});
        };
        own_ = std::make_shared<const Films>(folder.get().empty() ? made() : load(folder.get(), tiles, scene.frames));
        last = {wanted, own_};
    }
    films_ = own_.get();
}

bool Camera::operator()() {
    if (next_ == times.count() * films_->frames) return false;
    const auto number = static_cast<std::size_t>(film.get());
    const auto file = films_->file(number, next_ % films_->frames);
    auto buffer = jpeg.wrap(file, own_);
    buffer.edit_tags().time = next_ % films_->frames;
    buffer.edit_tags().user = {number, next_++};
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
        at = begun_.insert(at,
                           {frame, 0, mosaic.make(tiles_down * picture.extent(0), tiles_across * picture.extent(1))});
    copy(picture, tile_in(at->pixels.edit_image(), size(read.tags().user[film_tag])));
    if (++at->tiles < tiles) return;
    at->pixels.edit_tags().user = {0, frame};
    at->pixels.edit_tags().time = read.tags().time;
    mosaic.write(std::move(at->pixels));
    begun_.erase(at);
}

void Store::operator()() {
    const auto read = frame.read();
    const auto image = read.image();
    const auto number = size(read.tags().time);
    ++count_;
    if (result_.data() != nullptr) return copy(image, frame_of(result_, number));
    if (file.get().empty()) return;
    rows_ = image.extent(0), bytes_ = image.extent(1);
    own_.resize(std::max(own_.size(), (number + 1) * image.size()));
    copy(image, {own_.data() + number * image.size(), image.extents()});
}

void Store::finish() {
    if (!own_.empty()) {
        const std::size_t shape[] = {own_.size() / (rows_ * bytes_), rows_, bytes_ / channels, channels};
        write_array<std::uint8_t>(file, shape, own_);
    }
    auto found = stored.make(1);
    found.edit()[0] = static_cast<double>(count_);
    stored.write(std::move(found));
}

double streams(const Films& films, int divisor, view<std::uint8_t, 3> result, Machine& machine, int copies) {
    Graph graph;
    // Few decoded frames at once: so a frame is shrunk while it is still in the cache.
    auto& decode = graph.add<Decode>("decode", {.copies = copies, .pool = 2}, divisor);
    auto& shrink = graph.add<Shrink>("shrink", {.copies = copies}, static_cast<int>(smaller) / divisor);
    auto& mosaic = graph.add<Mosaic>("mosaic");
    auto& store = graph.add<Store>("store", {}, result);
    for (std::size_t film = 0; film < films.count; ++film) {
        // One buffer for each copy: so the films stay in step, and few mosaics are begun at once.
        auto& camera = graph.add<Camera>("camera-" + std::to_string(film), {}, &films, film);
        graph.connect(camera.jpeg, decode.jpeg, {.capacity = 1, .name = "films"});
    }
    graph.connect(decode.rgb, shrink.rgb, {.capacity = 2});
    graph.connect(shrink.small, mosaic.tile);
    graph.connect(mosaic.mosaic, store.frame);
    return seconds_of([&] { run_noted(graph, machine); });
}

static void add_stages(Components& components) {
    components.add<Decode>("jpip:decode", "Decodes a JPEG picture at 1/`divisor` of its sides.");
    components.add<Shrink>("jpip:shrink", "Makes a picture smaller by `factor`: means of squares of pixels.");
    components.add<Mosaic>("jpip:mosaic", "Lays the pictures of sixteen films side by side, 4 x 4.");
    components.add<Insert>("jpip:insert", "Lays the newest picture of each film over the frames in the background.");
}

void add_components(Components& components) {
    add_stages(components);
    components.add<Camera>("jpip:camera",
                           "One of sixteen films in motion JPEG (of a folder, or made ones), `passes` times.");
    components.add<Store>("jpip:store", "Keeps frames, and writes them to a file (.npy), if one is named.");
}

void add_components(Components& components, const Films& films, view<std::uint8_t, 3> result) {
    add_stages(components);
    components.add<Camera>("jpip:camera", "One of the program's films.", &films);
    components.add<Store>("jpip:store", "The program's result.", result);
}

}  // namespace penstock::apps::jpip
