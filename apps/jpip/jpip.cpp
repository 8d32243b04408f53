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
    buffer.edit_tags().user = {next_++, place_of(number)};
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

namespace {

/// Some rows of a frame, as they lie in the local store.
struct Strip {
    PictureSize frame;  ///< as it is decoded
    std::size_t first;  ///< row
    std::size_t rows;
    int divisor;
    /// libjpeg-turbo writes rows that begin at a multiple of 32 bytes around the caches: these begin between.
    static constexpr std::size_t beside = 16;
    static std::size_t pitch(std::size_t bytes) noexcept { return (beside + bytes + 31) / 32 * 32; }
    template <class T>
    view<T, 2> part_of(view<T, 2> room) const noexcept {
        return room.part({0, beside}, {rows, frame.columns * channels});
    }
    std::size_t factor() const noexcept { return smaller / static_cast<std::size_t>(divisor); }
};

void decode_strip(std::span<const std::uint8_t> file, view<std::uint8_t, 2> room, Strip strip) {
    static thread_local JpegDecoder decoder;  // of whichever target runs the chain, all of whose jobs it runs
    if (strip.first == 0)
        if (const auto size = decoder.begin(file, strip.divisor); size != strip.frame)
            throw UsageError("a frame is decoded to " + std::to_string(size.rows) + " x " +
                             std::to_string(size.columns) + " pixels, and that of the first film to " +
                             std::to_string(strip.frame.rows) + " x " + std::to_string(strip.frame.columns));
    decoder.next_rows(strip.part_of(room));
}

void shrink_strip(view<const std::uint8_t, 2> room, view<std::uint8_t, 2> tile, Strip strip) {
    const auto by = strip.factor();
    kernels::shrink(strip.part_of(room), tile.part({strip.first / by, 0}, {(strip.rows + by - 1) / by, tile.extent(1)}),
                    by, channels);
}

/// A multiple of 16, where as many fit: so many libjpeg decodes at a time.
std::size_t rows_of_strip(std::size_t pitch) noexcept {
    const auto fit = (std::size_t{64} << 10) / pitch;
    return fit >= 16 ? fit / 16 * 16 : std::max<std::size_t>(smaller, fit / smaller * smaller);
}

}  // namespace

const Mosaic::TileChain& Mosaic::chain(const PictureSize& frame) {
    auto& made = chains_[{frame.rows, frame.columns, divisor.get()}];
    if (made.size() != 0) return made;
    const auto [file, tile] = made.parameters();
    const auto pitch = Strip::pitch(frame.columns * channels), rows = rows_of_strip(pitch);
    const auto room = made.local<std::uint8_t>(rows, pitch);
    for (std::size_t first = 0; first < frame.rows; first += rows) {
        const Strip strip{frame, first, std::min(rows, frame.rows - first), divisor.get()};
        made.add<decode_strip>(in(file), out(room), strip);
        made.add<shrink_strip>(in(room), inout(tile), strip);
    }
    return made;
}

void Mosaic::operator()() {
    auto read = jpeg.read();
    const std::uint64_t frame = read.tags().user[frame_tag];
    const auto film = film_of(read.tags());
    auto at = std::ranges::find(begun_, frame, &Begun::frame);
    if (at == begun_.end()) {
        begun_.emplace_back().frame = frame;
        at = std::prev(begun_.end());
    }
    const auto time = read.tags().time;
    at->files[film] = std::move(read);
    if (++at->count < tiles) return;
    const auto size = mosaic_of(decoder_.size(at->files[0].span()));
    const auto& tile_chain = chain(decoder_.size(at->files[0].span(), divisor));
    const bool in_place = result_.data() != nullptr;
    const auto place = in_place ? frame_of(result_, static_cast<std::size_t>(time)) : view<std::uint8_t, 2>{};
    if (in_place && place.extents() != std::array{size.rows, size.columns * channels})
        throw UsageError("a mosaic of " + std::to_string(size.rows) + " x " + std::to_string(size.columns) +
                         " pixels does not fit where the others are kept");
    auto pixels =
        in_place ? mosaic.wrap(view<const std::uint8_t, 2>(place)) : mosaic.make(size.rows, size.columns * channels);
    const auto image = in_place ? place : pixels.edit_image();
    for (std::size_t number = 0; number < tiles; ++number) {
        const auto& file = tasks.keep(std::move(at->files[number]));
        tasks.call(tile_chain, in(file.span()), inout(tile_in(image, number)));
    }
    pixels.edit_tags().user = {frame, 0};
    pixels.edit_tags().time = time;
    mosaic.write(std::move(pixels));
    begun_.erase(at);
}

void Store::operator()() {
    const auto read = frame.read();
    const auto image = components::rows_of(read);  // of a picture of three channels too
    const auto number = size(read.tags().time);
    ++count_;
    if (result_.data() != nullptr) {
        const auto place = frame_of(result_, number);
        if (image.data() != place.data()) copy(image, place);  // it may have been made there
        return;
    }
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
    auto& mosaic = graph.add<Mosaic>("decode", {.copies = copies}, divisor, result);
    auto& store = graph.add<Store>("store", {}, result);
    for (std::size_t film = 0; film < films.count; ++film) {
        // All files of a frame go to one copy; few of them wait: so the films stay in step.
        auto& camera = graph.add<Camera>("camera-" + std::to_string(film), {}, &films, film);
        graph.connect(camera.jpeg, mosaic.jpeg, {.policy = Policy::by_key, .capacity = 2, .name = "films"});
    }
    graph.connect(mosaic.mosaic, store.frame);
    return seconds_of([&] { run_noted(graph, machine); });
}

void add_components(Components& components) {
    components.add<Camera>("jpip:camera",
                           "One of sixteen films in motion JPEG (of a folder, or made ones), `passes` times.");
    components.add<Store>("jpip:store", "Keeps frames, and writes them to a file (.npy), if one is named.");
}

void add_components(Components& components, const Films& films, view<std::uint8_t, 3> result) {
    components.add<Camera>("jpip:camera", "One of the program's films.", &films);
    components.add<Store>("jpip:store", "The program's result.", result);
}

}  // namespace penstock::apps::jpip
