#include "apps/h264/halo.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::apps::h264 {
namespace {

constexpr std::size_t at_least = 1024;  // bytes of a message along a side
constexpr int rows_of_final = 20;       // at most, of pixels

constexpr const char* words[kinds_of_news] = {"encoded right", "encoded left", "filtered right", "filtered left",
                                              "reference"};

std::size_t index(News news) noexcept { return static_cast<std::size_t>(news); }

template <class T>
Piece line(T* from, std::size_t count) noexcept {
    return {reinterpret_cast<Pixel*>(from), 1, count * sizeof(T), 0};
}
Piece rectangle(const Plane& plane, int left, int right, int top, int bottom) noexcept {
    return {plane.at(left, top), bottom - top, static_cast<std::size_t>(right - left), plane.pitch};
}

/// Luminance and chrominance; an area of chrominance reaches as far as whole pixels of it do.
void put_area(std::vector<Piece>& pieces, const Picture& picture, const Picture::Area& area) {
    pieces.push_back(rectangle(picture.luma(), area.left, area.right, area.top, area.bottom));
    for (int colour = 0; colour < 2; ++colour)
        pieces.push_back(
            rectangle(picture.chroma(colour), area.left / 2, (area.right + 1) / 2, area.top / 2, area.bottom / 2));
}

}  // namespace

Band band_of(Size size, int ranks, int rank) noexcept {
    const int active = std::min(ranks, size.across());
    if (rank >= active) return {size.across(), size.across()};
    return {size.across() * rank / active, size.across() * (rank + 1) / active};
}

std::vector<Piece> pieces_of(News news, const Picture& picture, int row, const Band& band,
                             const Picture::Area& final_rows, const Picture::Area& window) {
    std::vector<Piece> pieces;
    const int left = 16 * band.first, right = 16 * band.end, across = picture.size().across(), top = 16 * row;
    switch (news) {
        case News::encoded_right:
            pieces.push_back(line(picture.blocks() + row * across + band.end - 1, 1));
            for (int plane = 0; plane < 3; ++plane) {
                const int side = plane == 0 ? 16 : 8;
                pieces.push_back(
                    line(picture.unfiltered(row, plane) + side * (band.end - 1), static_cast<std::size_t>(side)));
            }
            pieces.push_back(rectangle(picture.luma(), right - 1, right, top, top + 16));
            for (int colour = 0; colour < 2; ++colour)
                pieces.push_back(rectangle(picture.chroma(colour), right / 2 - 1, right / 2, top / 2, top / 2 + 8));
            return pieces;
        case News::encoded_left:
            pieces.push_back(line(picture.blocks() + row * across + band.first, 1));
            pieces.push_back(line(picture.unfiltered(row, 0) + left, 16));
            return pieces;
        case News::filtered_right:
            put_area(pieces, picture, {right - 4, right, top, top + 16});
            return pieces;
        case News::filtered_left:
            put_area(pieces, picture, {left - 3, left, top, top + 16});
            for (std::size_t i = 1; i < 3; ++i) {  // one pixel of chrominance
                pieces[i].at += pieces[i].bytes - 1;
                pieces[i].bytes = 1;
            }
            return pieces;
        case News::reference: {
            const int from = std::max(left, window.left), to = std::min(right, window.right);
            if (from < to) put_area(pieces, picture, {from, to, final_rows.top, final_rows.bottom});
            return pieces;
        }
    }
    return pieces;
}

Halo::Halo(Rank me, Variant variant, Size size, int range, const SharedArray<Pixel>* global)
    : me_{me}, variant_{variant}, size_{size}, range_{range}, active_{std::min(me.size(), size.across())},
      band_{band_of(size, me.size(), me.index())}, incoming_(static_cast<std::size_t>(me.size())),
      outgoing_(static_cast<std::size_t>(me.size())) {
    if (band_.empty()) return;
    if (variant != Variant::shared) memory_.emplace(me, "pictures", References::most_pictures * Picture::bytes(size));
    base_ = memory_ ? memory_->data() : global->data();
    if (variant == Variant::bulk) landing_.emplace(me, "landing", place(News::encoded_right, active_, 0));
    const auto each_other = [&](auto&& body) {
        for (int rank = 0; rank < active_; ++rank)
            if (rank != me.index()) body(rank);
    };
    each_other([&](int rank) {
        if (memory_) memory_->grant(rank);
        if (landing_) landing_->grant(rank);
        for (std::size_t i = 0; i < kinds_of_news; ++i) {
            Counter& told = incoming_[static_cast<std::size_t>(rank)][i].told.emplace(
                me, std::string(words[i]) + " " + std::to_string(rank));
            told.grant(rank);
        }
    });
    std::vector<Remote<Pixel>> theirs;
    each_other([&](int rank) {
        if (memory_) theirs.push_back(Remote<Pixel>::accept(me, rank, "pictures"));
        if (landing_) their_landings_.push_back(Remote<Pixel>::accept(me, rank, "landing"));
        for (std::size_t i = 0; i < kinds_of_news; ++i)
            outgoing_[static_cast<std::size_t>(rank)][i].told =
                RemoteCounter::accept(me, rank, std::string(words[i]) + " " + std::to_string(me.index()));
    });
    if (!theirs.empty()) theirs_.emplace(std::move(theirs));
}

std::vector<std::shared_ptr<Picture>> Halo::pictures() const {
    std::vector<std::shared_ptr<Picture>> pictures;
    for (std::size_t i = 0; i < References::most_pictures; ++i)
        pictures.push_back(
            std::make_shared<Picture>(size_, reinterpret_cast<std::byte*>(base_ + i * Picture::bytes(size_))));
    return pictures;
}

Picture::Area Halo::window_of(int rank) const noexcept {
    const Band band = band_of(size_, me_.size(), rank);
    const int more = (range_ + 16 + 15) / 16 * 16;  // what lies between pixels looks at more
    return {std::max(0, 16 * band.first - more), std::min(16 * size_.across(), 16 * band.end + more), 0,
            16 * size_.down()};
}

bool Halo::in_window(int rank) const noexcept {
    const Band band = band_of(size_, me_.size(), rank);
    return 16 * band.first < window().right && 16 * band.end > window().left;
}

std::vector<int> Halo::listeners(News news) const {
    std::vector<int> ranks;
    const int me = me_.index();
    if (news == News::reference) {
        for (int rank = 0; rank < active_; ++rank)
            if (rank != me) ranks.push_back(rank);
        return ranks;
    }
    const bool right = news == News::encoded_right || news == News::filtered_right;
    if (right && me + 1 < active_) ranks.push_back(me + 1);
    if (!right && me > 0) ranks.push_back(me - 1);
    return ranks;
}

// Where messages of the last three pictures arrive: by sender, by row, by kind.
std::size_t Halo::place(News news, int from, std::uint64_t number) const noexcept {
    const auto rows = 3 * static_cast<std::size_t>(size_.down());
    const std::size_t widest = static_cast<std::size_t>((size_.across() + active_ - 1) / active_ * 16);
    const std::size_t final = widest * rows_of_final * 2;
    const std::size_t row = (kinds_of_news - 1) * at_least + final;
    return (static_cast<std::size_t>(from) * rows + number % rows) * row + index(news) * at_least;
}

void Halo::send(News news, int to, std::uint64_t number, std::span<const Piece> pieces) {
    const auto other = static_cast<std::size_t>(to < me_.index() ? to : to - 1);
    if (variant_ == Variant::bulk) {
        message_.clear();
        for (const Piece& piece : pieces)
            for (int row = 0; row < piece.rows; ++row) {
                const Pixel* const from = piece.at + row * piece.pitch;
                message_.insert(message_.end(), from, from + piece.bytes);
            }
        their_landings_[other].store(place(news, me_.index(), number), std::span<const Pixel>{message_});
        return;
    }
    for (const Piece& piece : pieces) {
        const auto offset = static_cast<std::size_t>(piece.at - memory_->data());
        if (piece.rows == 1) {
            theirs_->remotes()[other].store(offset, std::span<const Pixel>{piece.at, piece.bytes});
            continue;
        }
        const auto pitch = static_cast<std::size_t>(piece.pitch), rows = static_cast<std::size_t>(piece.rows);
        theirs_->remotes()[other].store_strided({offset, rows, piece.bytes, pitch},
                                                {piece.at, (rows - 1) * pitch + piece.bytes}, pitch);
    }
}

void Halo::tell(News news, std::uint64_t number, const Picture& picture, int row, const Picture::Area& final_rows,
                bool data) {
    const auto to = listeners(news);
    if (data && variant_ == Variant::multicast && news == News::reference) {
        if (!to.empty())
            for (const Piece& piece : pieces_of(news, picture, row, band_, final_rows, {0, 16 * size_.across(), 0, 0}))
                for (int i = 0; i < piece.rows; ++i) {
                    const Pixel* const from = piece.at + i * piece.pitch;
                    theirs_->store(static_cast<std::size_t>(from - memory_->data()), std::span{from, piece.bytes});
                }
    } else if (data && variant_ != Variant::shared) {
        for (const int rank : to)
            send(news, rank, number, pieces_of(news, picture, row, band_, final_rows, window_of(rank)));
    }
    for (const int rank : to) outgoing_[static_cast<std::size_t>(rank)][index(news)].told->store(number);
}

void Halo::await(News news, int from, std::uint64_t number) {
    incoming_[static_cast<std::size_t>(from)][index(news)].told->wait_until(number, Awaited::rank(from));
}

void Halo::take(News news, int from, std::uint64_t number, const Picture& picture, int row,
                const Picture::Area& final_rows) {
    await(news, from, number);
    if (variant_ != Variant::bulk) return;
    const Pixel* at = landing_->data() + place(news, from, number);
    for (const Piece& piece : pieces_of(news, picture, row, band_of(size_, me_.size(), from), final_rows, window()))
        for (int i = 0; i < piece.rows; ++i, at += piece.bytes)
            std::memcpy(piece.at + i * piece.pitch, at, piece.bytes);
}

}  // namespace penstock::apps::h264
