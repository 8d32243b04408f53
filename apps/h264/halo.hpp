// What ranks that encode one picture together have of one another: each has a band of columns, and needs of its
// neighbours what lies along its sides, and of all what its blocks may have moved from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "apps/h264/ranks.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"

namespace penstock::apps::h264 {

/// Columns of macroblocks.
struct Band {
    int first = 0, end = 0;
    bool empty() const noexcept { return first == end; }
};
Band band_of(Size size, int ranks, int rank) noexcept;

/// A rectangle of bytes in the memory of a picture.
struct Piece {
    Pixel* at;
    int rows;
    std::size_t bytes;
    Pitch pitch;
};

/// What is told, once a row of macroblocks.
enum class News : std::uint8_t {
    encoded_right,   ///< to the right: the last macroblock of the row is reconstructed
    encoded_left,    ///< to the left: the first one is
    filtered_right,  ///< to the right: the row is filtered, so that its right side can be
    filtered_left,   ///< to the left: their side is filtered
    reference,       ///< to all: these rows are final
};
inline constexpr std::size_t kinds_of_news = 5;

/// What goes with the news, which the teller has in `band` and the listener, whose window it is, needs.
std::vector<Piece> pieces_of(News news, const Picture& picture, int row, const Band& band,
                             const Picture::Area& final_rows, const Picture::Area& window);

/// Pictures in memory of each rank or of all, and the news between ranks.
class Halo {
  public:
    Halo(Rank me, Variant variant, Size size, int range, const SharedArray<Pixel>* global);

    /// References::most_pictures, in this rank's memory or in that of all.
    std::vector<std::shared_ptr<Picture>> pictures() const;
    const Band& band() const noexcept { return band_; }
    /// Columns that this rank's blocks may come from.
    Picture::Area window() const noexcept { return window_of(me_.index()); }
    /// Whether this rank looks at columns of that one.
    bool in_window(int rank) const noexcept;
    /// Ranks that have a band.
    int active() const noexcept { return active_; }

    /// Tells what happened in a row; `number` counts rows over all pictures, from 1. `data`: false: only that.
    void tell(News news, std::uint64_t number, const Picture& picture, int row, const Picture::Area& final_rows,
              bool data);
    /// Waits for what `from` tells.
    void await(News news, int from, std::uint64_t number);
    /// The same, and takes what goes with it into the picture, once: by bulk it lies elsewhere.
    void take(News news, int from, std::uint64_t number, const Picture& picture, int row,
              const Picture::Area& final_rows);

  private:
    struct Incoming {
        std::optional<Counter> told;
    };
    struct Outgoing {
        std::optional<RemoteCounter> told;
    };
    Picture::Area window_of(int rank) const noexcept;
    std::vector<int> listeners(News news) const;
    std::size_t place(News news, int from, std::uint64_t number) const noexcept;
    void send(News news, int to, std::uint64_t number, std::span<const Piece> pieces);

    Rank me_;
    Variant variant_;
    Size size_;
    int range_, active_;
    Band band_;
    std::optional<Region<Pixel>> memory_;                        ///< of the pictures; none where they are shared
    std::optional<Region<Pixel>> landing_;                       ///< by bulk: where messages arrive
    Pixel* base_ = nullptr;                                      ///< of the pictures
    std::optional<Multicast<Pixel>> theirs_;                     ///< the others' pictures, by rank without this one
    std::vector<Remote<Pixel>> their_landings_;                  ///< the same
    std::vector<std::array<Incoming, kinds_of_news>> incoming_;  ///< by rank
    std::vector<std::array<Outgoing, kinds_of_news>> outgoing_;
    std::vector<Pixel> message_;
};

}  // namespace penstock::apps::h264
