#include "apps/h264/ranks.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>

#include "apps/h264/halo.hpp"
#include "apps/h264/row_bytes.hpp"

namespace penstock::apps::h264 {
namespace {

constexpr std::uint64_t kept = 3;  // pictures whose bits lie at rank 0

/// The pictures in the order of encoding.
std::vector<Planned> plan_of(const Clip& clip, const EncoderSettings& settings) {
    Planner planner{settings};
    std::vector<Planned> plan;
    for (std::size_t i = 0; i < clip.count(); ++i) std::ranges::copy(planner.add(), std::back_inserter(plan));
    std::ranges::copy(planner.finish(), std::back_inserter(plan));
    return plan;
}

/// What rank 0 leaves for the caller: units of each picture behind start codes, in the order of encoding.
struct Result {
    Result(const Clip& clip, std::size_t pictures)
        : bytes{1 +
                pictures * (4096 + most_row_bytes(clip.size.across()) * static_cast<std::size_t>(clip.size.down()))},
          sizes{1 + pictures} {}
    SharedArray<std::uint8_t> bytes;
    SharedArray<std::uint64_t> sizes;  ///< in the order in which pictures are shown; the last: of all together
};

class BandPart {
  public:
    BandPart(Rank me, const Clip& clip, const Common& common, const std::vector<Planned>& plan, Variant variant,
             const SharedArray<Pixel>* global, const Result& result)
        : me_{me.index()}, clip_{clip}, common_{common}, plan_{plan}, result_{result}, variant_{variant},
          halo_{me, variant, clip.size, common.settings.range, global}, down_{clip.size.down()},
          rows_(static_cast<std::size_t>(down_)) {
        if (halo_.band().empty()) return;
        if (me_ == 0) {
            for (int rank = 1; rank < halo_.active(); ++rank) {
                const Band band = band_of(clip.size, me.size(), rank);
                bits_.emplace_back(me, "bits " + std::to_string(rank), kept * room_for_bits(band)).grant(rank);
                written_.emplace_back(me, "written " + std::to_string(rank)).grant(rank);
            }
            for (int rank = 1; rank < halo_.active(); ++rank)
                assembled_to_.push_back(RemoteCounter::accept(me, rank, "assembled"));
        } else {
            assembled_.emplace(me, "assembled").grant(0);
            bits_to_ = Remote<std::uint8_t>::accept(me, 0, "bits " + std::to_string(me_));
            written_to_ = RemoteCounter::accept(me, 0, "written " + std::to_string(me_));
        }
    }

    void prepare() const noexcept {}
    void run() {
        if (halo_.band().empty()) return;
        References references{common_, halo_.pictures()};
        Source source{clip_.size};
        result_end_ = 0;
        for (const Planned& planned : plan_) {
            begin_picture();
            under_way_.push_back({references.begin(planned, source), number_, 0});
            encode_picture(clip_.picture(planned.shown));
            hand_over_bits();
            ++number_;
        }
        finish_rows(number_ * rows());
        if (me_ == 0) {
            while (assembled_pictures_ < number_) assemble();
            result_.sizes[plan_.size()] = result_end_;
        }
        under_way_.clear();
    }
    void collect() const noexcept {}

  private:
    struct Here {
        Work work;
        std::uint64_t number;  ///< of all pictures, over all passes
        int ready;             ///< rows of macroblocks that have come from all whose columns this rank looks at
    };

    std::uint64_t rows() const noexcept { return static_cast<std::uint64_t>(down_); }
    bool left() const noexcept { return me_ > 0; }
    bool right() const noexcept { return me_ + 1 < halo_.active(); }
    /// For the bits of this rank's part of a picture.
    std::size_t room_for_bits(const Band& band) const noexcept {
        return most_row_bytes(band.end - band.first) * static_cast<std::size_t>(down_);
    }

    // Memory of the picture before the last one is used again: all must have finished it.
    void begin_picture() {
        if (number_ >= 2) {
            finish_rows((number_ - 1) * rows());
            for (int rank = 0; rank < halo_.active(); ++rank)
                if (rank != me_) halo_.await(News::reference, rank, (number_ - 1) * rows());
            while (me_ == 0 && assembled_pictures_ + 1 < number_) assemble();
        }
        if (under_way_.size() < 3) return;
        if (under_way_.front().work.coder.place().reference) need(*under_way_.front().work.picture, down_);
        under_way_.pop_front();
    }

    void encode_picture(std::span<const std::uint8_t> file_picture) {
        const Work& work = under_way_.back().work;
        const Coder& coder = work.coder;
        const Band band = halo_.band();
        // Ranks filter one after the other, each in its part of the time that a row takes: from left to right, and then
        // the next row. So none waits for another. A rank at the right is some rows behind.
        // The first macroblock comes before: the left neighbour, who filters first, waits for it with its next row.
        const int turn = std::max(1, (band.end - band.first) * me_ / halo_.active());
        const auto behind = static_cast<std::uint64_t>(halo_.active() - me_);
        for (int y = 0; y < down_; ++y) {
            const std::uint64_t row = number_ * rows() + static_cast<std::uint64_t>(y);
            for (const auto& reference : {work.earlier_picture, work.later_picture})
                if (reference != nullptr) need(*reference, coder.rows_needed(y));
            if (left()) halo_.take(News::encoded_right, me_ - 1, row + 1, coder.picture(), y, {});
            if (right() && y > 0) take_from_right(coder, y - 1, row);
            coder.prepare(y, std::max(0, band.first - 1), band.end, file_picture);
            RowBits& bits = rows_[static_cast<std::size_t>(y)];
            bits.clear();
            for (int x = band.first; x < band.end; ++x) {
                coder.decide(x, y);
                coder.reconstruct(x, y, levels_);
                coder.write(x, y, levels_, bits);
                if (x == band.first) halo_.tell(News::encoded_left, row + 1, coder.picture(), y, {}, true);
                if (x + 1 == band.first + turn && row >= behind) filter_rows(row - behind + 1);
            }
            halo_.tell(News::encoded_right, row + 1, coder.picture(), y, {}, true);
        }
    }

    // By bulk the message is unpacked, and once: what is filtered later would be overwritten.
    void take_from_right(const Coder& coder, int y, std::uint64_t number) {
        if (taken_from_right_ >= number) return;
        halo_.take(News::encoded_left, me_ + 1, number, coder.picture(), y, {});
        taken_from_right_ = number;
    }

    // So many rows of a reference picture. One that is no longer under way is there as a whole.
    void need(const Picture& reference, int count) {
        const auto here =
            std::ranges::find(under_way_, &reference, [](const Here& one) { return one.work.picture.get(); });
        if (here == under_way_.end()) return;
        const std::uint64_t first = here->number * rows();
        finish_rows(first + static_cast<std::uint64_t>(count));
        const Coder& coder = here->work.coder;
        const Picture::Area window = halo_.window();
        for (int& y = here->ready; y < count; ++y) {
            for (int rank = 0; rank < halo_.active(); ++rank)
                if (rank != me_ && halo_.in_window(rank))
                    halo_.take(News::reference, rank, first + static_cast<std::uint64_t>(y) + 1, coder.picture(), y,
                               coder.final_rows(y));
            if (variant_ == Variant::shared) continue;
            Picture::Area area = coder.final_rows(y);
            const int end = area.right, inside = 8;  // what lies between pixels looks at three more
            area.left = window.left;
            area.right = window.right;
            coder.picture().repeat_edges(area);
            coder.complete_halves(y, window.left == 0 ? 0 : window.left + inside,
                                  window.right == end ? end : window.right - inside);
        }
    }

    // ---- the filter. Rows count over all pictures.

    void filter_rows(std::uint64_t until) {
        for (; filtered_ < until; ++filtered_) filter(filtered_);
    }
    void finish_rows(std::uint64_t until) {
        filter_rows(until);
        complete_rows(until);
    }
    void complete_rows(std::uint64_t until) {
        for (; completed_ < until; ++completed_) complete(completed_);
    }
    const Coder& coder_of(std::uint64_t row) const {
        return std::ranges::find(under_way_, row / rows(), &Here::number)->work.coder;
    }

    void filter(std::uint64_t row) {
        complete_rows(row);  // the edges above change pixels that the right neighbour has filtered
        const Coder& coder = coder_of(row);
        const int y = static_cast<int>(row % rows());
        if (right()) take_from_right(coder, y, row + 1);  // which is predicted from pixels before the filter
        if (left()) halo_.take(News::filtered_right, me_ - 1, row + 1, coder.picture(), y, {});
        coder.filter(y, halo_.band().first, halo_.band().end);
        if (coder.place().reference && variant_ == Variant::shared) {
            // Of columns that nobody changes any more: the right neighbour will change three of this rank's.
            constexpr int changed = 8;
            Picture::Area area = coder.final_rows(y);
            if (left()) area.left = 16 * halo_.band().first - changed;
            if (right()) area.right = 16 * halo_.band().end - changed;
            coder.picture().repeat_edges(area);
        }
        halo_.tell(News::filtered_right, row + 1, coder.picture(), y, {}, true);
        halo_.tell(News::filtered_left, row + 1, coder.picture(), y, {}, true);
    }

    // A row is final when the right neighbour has filtered it, too.
    void complete(std::uint64_t row) {
        const Coder& coder = coder_of(row);
        const int y = static_cast<int>(row % rows());
        if (right()) halo_.take(News::filtered_left, me_ + 1, row + 1, coder.picture(), y, {});
        const bool reference = coder.place().reference;
        if (reference && variant_ == Variant::shared)
            coder.complete_halves(y, 16 * halo_.band().first, 16 * halo_.band().end);
        halo_.tell(News::reference, row + 1, coder.picture(), y, coder.final_rows(y), reference);
    }

    // ---- bits

    void hand_over_bits() {
        if (me_ == 0) {
            mine_.push_back(rows_);
            return;
        }
        if (number_ >= kept) assembled_->wait_until(number_ - kept + 1, Awaited::rank(0));
        message_.clear();
        for (RowBits& row : rows_) pack(row, message_);
        bits_to_->store(number_ % kept * room_for_bits(halo_.band()), std::span<const std::uint8_t>{message_});
        bits_to_->publish(*written_to_, number_ + 1);
    }

    // Rank 0: the slice of the next picture, when its bits have come from all.
    void assemble() {
        const std::uint64_t number = assembled_pictures_++;
        const auto ranks = static_cast<std::size_t>(halo_.active()), down = static_cast<std::size_t>(down_);
        std::vector<RowBits> all(down * ranks);
        for (std::size_t y = 0; y < down; ++y) all[y * ranks] = std::move(mine_.front()[y]);
        mine_.pop_front();
        for (std::size_t rank = 1; rank < ranks; ++rank) {
            written_[rank - 1].wait_until(number + 1, Awaited::rank(static_cast<int>(rank)));
            const std::size_t room = bits_[rank - 1].size() / kept;
            std::span<const std::uint8_t> from = bits_[rank - 1].elements().subspan(number % kept * room, room);
            for (std::size_t y = 0; y < down; ++y) from = unpack(from, all[y * ranks + rank]);
            assembled_to_[rank - 1].store(number + 1);
        }
        put_result(plan_[static_cast<std::size_t>(number % plan_.size())], all);
    }

    void put_result(const Planned& planned, std::span<const RowBits> rows) {
        const Encoded encoded = encoded_of(common_, planned, rows);
        const std::uint64_t before = result_end_;
        for (const Unit& unit : encoded.units) {
            constexpr std::uint8_t start_code[] = {0, 0, 0, 1};
            std::memcpy(result_.bytes.data() + result_end_, start_code, 4);
            std::memcpy(result_.bytes.data() + result_end_ + 4, unit.data(), unit.size());
            result_end_ += 4 + unit.size();
        }
        result_.sizes[planned.shown] = result_end_ - before - 4 * encoded.units.size();
    }

    int me_;
    const Clip& clip_;
    const Common& common_;
    const std::vector<Planned>& plan_;
    const Result& result_;
    Variant variant_;
    Halo halo_;
    int down_;
    Levels levels_;
    std::vector<RowBits> rows_;
    std::deque<Here> under_way_;                                         ///< the last three
    std::uint64_t number_ = 0;                                           ///< pictures begun, over all passes
    std::uint64_t filtered_ = 0, completed_ = 0, taken_from_right_ = 0;  ///< rows, over all pictures
    // Bits on their way to rank 0.
    std::vector<std::uint8_t> message_;
    std::optional<Remote<std::uint8_t>> bits_to_;
    std::optional<RemoteCounter> written_to_;
    std::optional<Counter> assembled_;
    // Of rank 0.
    std::vector<Region<std::uint8_t>> bits_;
    std::vector<Counter> written_;
    std::vector<RemoteCounter> assembled_to_;
    std::deque<std::vector<RowBits>> mine_;
    std::uint64_t assembled_pictures_ = 0;
    std::uint64_t result_end_ = 0;
};

}  // namespace

std::string_view name(Variant variant) noexcept {
    switch (variant) {
        case Variant::shared:
            return "shared";
        case Variant::bulk:
            return "bulk";
        case Variant::push:
            return "push";
        default:
            return "multicast";
    }
}

double over_ranks(const Clip& clip, const EncoderSettings& settings, Variant variant, const RankOptions& options,
                  Stream& stream) {
    Job job;
    job.size = clip.size;
    job.rate = clip.rate;
    job.settings = settings;
    check(job);
    StoreWays::here();  // measured here, once, and not by each rank
    const Common common{job};
    const auto plan = plan_of(clip, settings);
    const Result result{clip, plan.size()};
    std::optional<SharedArray<Pixel>> global;
    if (variant == Variant::shared) global.emplace(References::most_pictures * Picture::bytes(clip.size));
    const double seconds = seconds_of_ranks(options, [&](Rank me) {
        return BandPart{me, clip, common, plan, variant, global ? &*global : nullptr, result};
    });
    stream = {};
    stream.bytes.assign(result.bytes.data(), result.bytes.data() + result.sizes[plan.size()]);
    stream.sizes.assign(result.sizes.data(), result.sizes.data() + plan.size());
    return seconds;
}

}  // namespace penstock::apps::h264
