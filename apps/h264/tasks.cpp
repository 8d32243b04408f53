// Macroblocks as tasks. A task is some macroblocks of a row side by side, for which it takes all steps but the filter.
#include <deque>

#include "apps/h264/h264.hpp"
#include "penstock/dependences.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::h264 {
namespace {

/// A picture whose tasks are under way.
struct UnderWay {
    UnderWay(const Common& common, References& references, const Planned& planned, Source& from,
             std::span<const std::uint8_t> file_picture)
        : source{from}, work{references.begin(planned, source)}, file{file_picture},
          rows(static_cast<std::size_t>(common.size.down())) {}
    Source& source;
    Work work;
    std::span<const std::uint8_t> file;
    std::vector<RowBits> rows;
    Handle end;
};

using Part = std::span<Macroblock>;
using Before = std::span<const Macroblock>;

void encode(const UnderWay& picture, std::vector<RowBits>& rows, int y, Part here) {
    const Coder& coder = picture.work.coder;
    const auto first = static_cast<int>(here.data() - coder.picture().blocks()) - y * coder.size().across();
    RowBits& bits = rows[static_cast<std::size_t>(y)];
    if (first == 0) {
        bits.clear();
        coder.prepare(y, picture.file);
    }
    Levels levels;
    for (int x = first; x < first + static_cast<int>(here.size()); ++x) {
        coder.decide(x, y);
        coder.reconstruct(x, y, levels);
        coder.write(x, y, levels, bits);
    }
}

void finish(const Coder& coder, int y) {
    coder.filter(y);
    if (coder.place().reference) coder.complete(y);
}

// The tasks. Of what their tags name they touch more than that: a macroblock stands for its pixels, too, and the mark
// of a row for the row when it is complete.
void encode_part(Before, Before, Part here, UnderWay* picture, std::int32_t y) {
    encode(*picture, picture->rows, y, here);
}
void encode_first(std::span<const std::byte>, Before, Part here, UnderWay* picture, std::int32_t y) {
    encode(*picture, picture->rows, y, here);
}
void finish_row(Before, std::span<const std::byte>, std::span<std::byte>, UnderWay* picture, std::int32_t y) {
    finish(picture->work.coder, y);
}

/// The parts of a row of macroblocks.
class Cut {
  public:
    Cut(const Picture& picture, int macroblocks) : picture_{picture}, wide_{macroblocks} {}
    int parts() const noexcept { return (picture_.size().across() + wide_ - 1) / wide_; }
    Part part(int y, int i) const noexcept {
        const int across = picture_.size().across(), first = wide_ * i, end = std::min(across, first + wide_);
        return {picture_.blocks() + y * across + first, static_cast<std::size_t>(end - first)};
    }
    /// The one at the left; none for the first.
    Before left(int y, int i) const noexcept { return i > 0 ? Before{part(y, i - 1)} : Before{}; }
    /// The one above at the right, or above the last; none above the first row.
    Before above(int y, int i) const noexcept {
        return y > 0 ? Before{part(y - 1, std::min(i + 1, parts() - 1))} : Before{};
    }

  private:
    const Picture& picture_;
    int wide_;
};

// A reference picture's mark that stands for all that this row needs of the pictures before. Of two references the
// later one waited for the earlier.
std::span<const std::byte> needed(const Work& work, int y) noexcept {
    const Picture* const reference =
        work.later_picture != nullptr ? work.later_picture.get() : work.earlier_picture.get();
    if (reference == nullptr) return {};
    return reference->mark(work.coder.rows_needed(y) - 1);
}

void issue(Dependences& order, UnderWay& picture, int wide) {
    const Coder& coder = picture.work.coder;
    const Cut cut{coder.picture(), wide};
    const int down = coder.size().down();
    for (std::int32_t y = 0; y < down; ++y) {
        for (int i = 0; i < cut.parts(); ++i) {
            if (i == 0)
                order.call<encode_first>(in(needed(picture.work, y)), in(cut.above(y, i)), inout(cut.part(y, i)),
                                         &picture, y);
            else order.call<encode_part>(in(cut.left(y, i)), in(cut.above(y, i)), inout(cut.part(y, i)), &picture, y);
        }
        const auto before =
            y > 0 ? std::span<const std::byte>{coder.picture().mark(y - 1)} : std::span<const std::byte>{};
        picture.end = order.call<finish_row>(in(Before{cut.part(y, cut.parts() - 1)}), in(before),
                                             inout(coder.picture().mark(y)), &picture, y);
    }
}

}  // namespace

void dependent(const Job& job, Machine& machine, int macroblocks) {
    check(job);
    // A part waits for two of the row above, so a row of n parts has work for n / 2 workers; other rows' and pictures'
    // parts come on top. Below four macroblocks (10 us) the calls would be felt.
    if (macroblocks == 0) macroblocks = std::clamp(job.size.across() / (4 * (machine.targets() + 1)), 4, 16);
    constexpr std::size_t most = 3;  // pictures under way
    const Common common{job};
    Waiting waiting{job};
    References references{common};
    std::deque<Source> sources;
    for (std::size_t i = 0; i < most; ++i) sources.emplace_back(job.size);
    Dependences order{machine};
    std::deque<UnderWay> under_way;
    const auto hand_over = [&] {
        UnderWay& first = under_way.front();
        first.end.wait(help);
        job.push(encoded_of(common, first.work.planned, first.rows), *first.work.picture);
        waiting.forget(first.work.planned.shown);
        under_way.pop_front();
    };
    try {
        for (std::size_t count = 0; const auto planned = waiting.next(); ++count) {
            if (under_way.size() == most) hand_over();
            issue(order,
                  under_way.emplace_back(common, references, *planned, sources[count % most],
                                         waiting.file_picture(planned->shown)),
                  macroblocks);
        }
        while (!under_way.empty()) hand_over();
    } catch (...) {
        order.wait();  // tasks look at what ends here
        throw;
    }
}

void wavefront(const Job& job, Machine& machine) {
    check(job);
    const Common common{job};
    Waiting waiting{job};
    References references{common};
    Source source{job.size};
    const int across = job.size.across(), down = job.size.down();
    while (const auto planned = waiting.next()) {
        UnderWay picture{common, references, *planned, source, waiting.file_picture(planned->shown)};
        const Cut cut{*picture.work.picture, 1};
        // Macroblock x of row y is on diagonal x + 2 y: what it waits for is on earlier ones. The row above is filtered
        // when its last macroblock is a diagonal behind.
        for (int diagonal = 0; diagonal <= across + 2 * (down - 1); ++diagonal) {
            for (int y = std::max(0, (diagonal - across + 2) / 2); y < down && 2 * y <= diagonal; ++y) {
                const int x = diagonal - 2 * y;
                if (x < across)
                    machine.call<encode_part>(in(cut.left(y, x)), in(cut.above(y, x)), inout(cut.part(y, x)), &picture,
                                              static_cast<std::int32_t>(y));
            }
            if (const int y = (diagonal - across) / 2; diagonal >= across && (diagonal - across) % 2 == 0)
                machine.call<finish_row>(in(Before{cut.part(y, across - 1)}), in(std::span<const std::byte>{}),
                                         inout(picture.work.picture->mark(y)), &picture, static_cast<std::int32_t>(y));
            machine.barrier();
        }
        job.push(encoded_of(common, picture.work.planned, picture.rows), *picture.work.picture);
        waiting.forget(picture.work.planned.shown);
    }
}

}  // namespace penstock::apps::h264
