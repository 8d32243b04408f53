#include "apps/tissue/tissue.hpp"

#include <utility>

#include "apps/tissue/stages.hpp"
#include "components/files/picture_file.hpp"

namespace penstock::apps::tissue {

Slide::Slide(const Picture& picture, const Tiling& tiling, int quality, Stored stored) : tiling_{tiling}, offsets_{0} {
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const auto pixels = picture.part(tiling[t]);
        const auto tile = stored == Stored::jpeg ? encode_jpeg(pixels, quality) : components::encode_tiff(pixels, 3);
        bytes_.insert(bytes_.end(), tile.begin(), tile.end());
        offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    }
}

void Slide::decode() {
    TileDecoder decoder;
    std::vector<std::vector<std::uint8_t>> all;
    for (std::size_t t = 0; t < tiling_.count(); ++t) {
        const Tile tile = tiling_[t];
        auto& rgb = all.emplace_back(tile.rows * tile.columns * 3);
        decoder.decode(encoded(t),
                       [&](PictureSize) { return view<std::uint8_t, 2>{rgb.data(), {tile.rows, 3 * tile.columns}}; });
    }
    pixels_ = std::move(all);
}

view<const std::uint8_t, 2> Slide::pixels(std::size_t tile) const noexcept {
    const Tile place = tiling_[tile];
    return {pixels_[tile].data(), {place.rows, 3 * place.columns}};
}

Analysis::Analysis(const Tiling& tiling)
    : features(tiling.count()), classes(tiling.count()), overview{shrunk(tiling.rows), shrunk(tiling.columns)} {}

void serial(const Slide& slide, Analysis& analysis) {
    TileScratch scratch;
    for (std::size_t t = 0; t < slide.tiling().count(); ++t) analyse_tile(slide, t, scratch, analysis);
}

double hand(const Slide& slide, Analysis& analysis, Team& team) {
    std::vector<TileScratch> scratch(static_cast<std::size_t>(team.size()));
    return team.run([&](int rank) {
        const Range share = team.share(rank, slide.tiling().count());
        for (std::size_t t = share.begin; t < share.end; ++t)
            analyse_tile(slide, t, scratch[static_cast<std::size_t>(rank)], analysis);
    });
}

}  // namespace penstock::apps::tissue
