#include "apps/jpip/insets.hpp"

#include <string>

#include "penstock/machine.hpp"

namespace penstock::apps::jpip {
namespace {

// Where the picture of a film lies: with a quarter of the sides, rounded up, the last one still ends within the frame.
view<std::uint8_t, 2> place_in(view<std::uint8_t, 2> screen, std::size_t film) noexcept {
    const std::size_t rows = screen.extent(0), columns = screen.extent(1) / channels;
    const PictureSize size = tile_of({rows, columns});
    return screen.part(
        {film / tiles_across * (rows / tiles_down), film % tiles_across * (columns / tiles_across) * channels},
        {size.rows, size.columns * channels});
}

view<std::uint8_t, 2> decode(JpegDecoder& decoder, std::span<const std::uint8_t> file, int divisor,
                             std::vector<std::uint8_t>& memory) {
    const PictureSize size = decoder.size(file, divisor);
    memory.resize(size.rows * size.columns * channels);
    const view<std::uint8_t, 2> rgb{memory.data(), {size.rows, size.columns * channels}};
    decoder.decode(file, rgb, divisor);
    return rgb;
}

}  // namespace

void Insert::take(penstock::Buffer<std::uint8_t> read) {
    const auto film = film_of(read.tags());
    if (shown_[film]) newest_[film] = std::move(read);
}

void Insert::operator()() {
    auto frame = background.read();
    for (std::size_t i = 0; i < shown_.count(); ++i) {
        auto read = picture.read_if_any();
        if (!read) break;
        take(std::move(*read));
    }
    Screen shown{frame.tags().user[frame_tag], {}};
    for (std::size_t film = 0; film < tiles; ++film) {
        if (!newest_[film]) continue;
        copy(newest_[film].image(), place_in(frame.edit_image(), film));
        shown.pictures.emplace_back(film, newest_[film].tags().user[frame_tag]);
    }
    screens_.push_back(std::move(shown));
    screen.write(std::move(frame));
}

void Insert::on_event(const Event& event) {
    if (event.name != "show" && event.name != "hide") return;  // one that the application itself deals with
    const auto* const number = std::get_if<std::int64_t>(&event.value);
    if (number == nullptr || *number < 0 || *number >= static_cast<std::int64_t>(tiles))
        throw UsageError("the screen takes the events \"show\" and \"hide\" with the number of a film, 0 to " +
                         std::to_string(tiles - 1));
    const auto film = static_cast<std::size_t>(*number);
    shown_[film] = event.name == "show";
    if (!shown_[film]) newest_[film].reset();
}

SmallFilm::SmallFilm(GraphBuilder& graph, Camera& camera, Decode& decoded) : small{decoded.rgb} {
    graph.connect(camera.jpeg, decoded.jpeg, {.capacity = 2});
}
SmallFilm::SmallFilm(GraphBuilder& graph, const Films* films, std::size_t film)
    : SmallFilm{graph, graph.add<Camera>("camera", {}, films, film),
                graph.add<Decode>("decode", {}, static_cast<int>(smaller))} {}

void draw(const Films& films, std::size_t behind, const Screen& shown, view<std::uint8_t, 2> result) {
    JpegDecoder decoder;
    std::vector<std::uint8_t> memory;
    decoder.decode(films.file(behind, static_cast<std::size_t>(shown.frame)), result);
    for (const auto& [film, frame] : shown.pictures) {
        const auto file = films.file(static_cast<std::size_t>(film), static_cast<std::size_t>(frame));
        copy(decode(decoder, file, static_cast<int>(smaller), memory),
             place_in(result, static_cast<std::size_t>(film)));
    }
}

std::vector<Screen> insets(const Films& films, std::size_t behind, std::bitset<tiles> shown,
                           view<std::uint8_t, 3> result, Machine& machine, int copies) {
    Graph graph;
    auto& camera = graph.add<Camera>("camera", {}, &films, behind);
    auto& decode = graph.add<Decode>("decode", {.copies = copies}, 1);
    auto& insert = graph.add<Insert>("insert", {}, shown);
    auto& reader = graph.add_reader<std::uint8_t>("screen");
    graph.connect(camera.jpeg, decode.jpeg);
    graph.connect(decode.rgb, insert.background, {.capacity = 2, .ordered = true});
    graph.connect(insert.screen, reader.input);
    for (std::size_t film = 0; film < tiles; ++film) {
        if (!shown[film]) continue;
        auto& picture = graph.add_group<SmallFilm>("film " + std::to_string(film), &films, film);
        graph.connect(picture.small, insert.picture, {.capacity = 4, .name = "pictures"});
    }
    auto run = graph.start(machine);
    while (const auto read = reader.read()) {
        const auto frame = static_cast<std::size_t>(read->tags().user[frame_tag]);
        copy(read->image(), {result.data() + static_cast<std::ptrdiff_t>(frame) * result.stride(0),
                             {result.extent(1), result.extent(2)}});
    }
    run.finish();
    return insert.screens();
}

}  // namespace penstock::apps::jpip
