// Coder::reconstruct: levels, and the pixels as a decoder has them.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "apps/h264/coder.hpp"
#include "apps/h264/inter.hpp"
#include "apps/h264/intra.hpp"
#include "apps/h264/levels.hpp"

namespace penstock::apps::h264 {

using kernels::h264::Quantiser;

class Reconstruction {
  public:
    Reconstruction(const Coder& coder, int x, int y, Levels& levels)
        : coder_{coder}, with_{coder.kernels_}, quantisers_{coder.quantisers_}, x_{x}, y_{y},
          around_{coder.picture_.blocks(), coder.size(), x, y}, here_{*around_.here}, levels_{levels} {}

    void run() {
        here_.skipped = false;
        here_.coded = 0;
        here_.total = {};
        here_.chroma_total = {};
        if (here_.from == From::itself) intra();
        else inter();
        if (here_.from == From::itself && too_great()) samples();
        else if (suspicious() && bits() > most_bits) shorten();
        keep_unfiltered();
    }

  private:
    static constexpr std::size_t most_bits = 3200;  // of a macroblock (A.3.1)
    static constexpr int finest = 12;               // no coarser quantiser makes levels that cannot be written
    static constexpr Pitch pitch = 16;              // of predictions

    Plane source() const { return coder_.source_.luma(); }
    const Pixel* source_at(int column, int row) const { return source().at(16 * x_ + column, 16 * y_ + row); }
    Pixel* luma_at(int column, int row) const { return coder_.picture_.luma().at(16 * x_ + column, 16 * y_ + row); }
    Pixel* chroma_at(int colour, int column, int row) const {
        return coder_.picture_.chroma(colour).at(8 * x_ + column, 8 * y_ + row);
    }
    std::uint32_t difference(Shape shape, const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch) const {
        const auto& all = with_.differences;
        return coder_.settings_.transformed ? all.transformed_of(shape)(a, a_pitch, b, b_pitch)
                                            : all.of(shape)(a, a_pitch, b, b_pitch);
    }

    // ---- from other pictures

    void inter() {
        predict_macroblock(with_.interpolation, coder_.references_, here_, x_, y_, luma_.data(), chroma_.data());
        luma_levels(quantisers_.luma_by[0].all);
        if (worth(levels_.luma_found) < 6) levels_.luma_found = {};
        for (unsigned quarter = 0; quarter < 4; ++quarter) {
            const std::uint64_t mask = std::uint64_t{0xffffffff} << (quarter % 2 * 32);
            for (const auto strip : {quarter / 2 * 2, quarter / 2 * 2 + 1})
                if ((levels_.luma_found[strip] & mask) != 0) here_.coded |= static_cast<std::uint8_t>(1u << quarter);
        }
        chroma_levels(0);
        if (const bool same = coder_.place_.type == Type::b
                                  ? here_.from == From::neighbours
                                  : here_.parts == Parts::whole && here_.moved(earlier, 0) == skipped_motion(around_);
            same && here_.coded == 0)
            here_.skipped = true;
        count_totals();
        add_luma(nullptr);
        add_chroma(0);
    }

    // What a few single levels of 1 at high frequencies cost in bits is more than they are worth: the sum over all
    // blocks, above 6 of what is kept in any case.
    int worth(const std::array<std::uint64_t, 4>& found) const {
        int sum = 0;
        for (std::size_t strip = 0; strip < 4; ++strip)
            for (int block = 0; block < 4; ++block) {
                const auto bits = static_cast<std::uint32_t>(found[strip] >> (16 * block) & 0xffff);
                if (bits == 0) continue;
                const Scanned scanned = scan(levels_.luma[strip], block, bits, false);
                int last = -1;
                for (std::uint32_t left = scanned.found; left != 0; left &= left - 1) {
                    const int place = std::countr_zero(left);
                    if (std::abs(scanned.levels[static_cast<std::size_t>(place)]) > 1) return 9;
                    const int run = place - last - 1;
                    sum += run == 0 ? 3 : run <= 2 ? 2 : run <= 5 ? 1 : 0;
                    last = place;
                }
                if (sum >= 6) return sum;
            }
        return sum;
    }

    void luma_levels(const Quantiser& quantiser) {
        for (int strip = 0; strip < 4; ++strip) {
            const Pixel* const from = source_at(0, 4 * strip);
            const Pixel* const prediction = luma_.data() + 64 * strip;
            const auto s = static_cast<std::size_t>(strip);
            levels_.luma_found[s] = with_.residuals.levels(from, from + 8, source().pitch, prediction, prediction + 8,
                                                           pitch, quantiser, levels_.luma[s], first_.data() + 4 * s);
            limit(levels_.luma[s]);
        }
    }

    void add_luma(const Coefficient* first) {
        const auto& quantiser = quantisers_.luma_by[first != nullptr];
        for (int strip = 0; strip < 4; ++strip) {
            const auto s = static_cast<std::size_t>(strip);
            const Pixel* const prediction = luma_.data() + 64 * strip;
            Pixel* const to = luma_at(0, 4 * strip);
            const Pitch to_pitch = coder_.picture_.luma().pitch;
            if (levels_.luma_found[s] == 0 && first == nullptr) {
                for (int row = 0; row < 4; ++row) std::memcpy(to + row * to_pitch, prediction + 16 * row, 16);
            } else {
                with_.residuals.add(levels_.luma[s], first != nullptr ? quantiser.without_first : quantiser.all,
                                    first != nullptr ? first + 4 * s : nullptr, prediction, prediction + 8, pitch, to,
                                    to + 8, to_pitch);
            }
        }
    }

    // ---- chrominance, of both kinds

    void chroma_levels(std::size_t intra) {
        std::array<Coefficient, 8> first;
        for (std::size_t strip = 0; strip < 2; ++strip) {
            const int row = 4 * static_cast<int>(strip);
            const Plane &one = coder_.source_.chroma(0), &two = coder_.source_.chroma(1);
            const Pixel* const prediction = chroma_.data() + 16 * row;
            levels_.chroma_found[strip] = with_.residuals.levels(
                one.at(8 * x_, 8 * y_ + row), two.at(8 * x_, 8 * y_ + row), one.pitch, prediction, prediction + 8,
                pitch, quantisers_.chroma_by[intra].without_first, levels_.chroma[strip], first.data() + 4 * strip);
            limit(levels_.chroma[strip]);
        }
        const auto& how = quantisers_.chroma_first[intra];
        bool any_first = false;
        for (std::size_t colour = 0; colour < 2; ++colour) {
            const int a = first[2 * colour], b = first[2 * colour + 1], c = first[4 + 2 * colour],
                      d = first[5 + 2 * colour];
            const int transformed[4] = {a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d};
            for (std::size_t i = 0; i < 4; ++i) {
                levels_.chroma_first[colour][i] = how.level(transformed[i]);
                any_first |= levels_.chroma_first[colour][i] != 0;
            }
            if (intra == 0) limit(levels_.chroma_first[colour]);
        }
        const bool any = (levels_.chroma_found[0] | levels_.chroma_found[1]) != 0;
        here_.coded |= static_cast<std::uint8_t>(any ? 0x20 : any_first ? 0x10 : 0);
    }

    void add_chroma(std::size_t intra) {
        const auto& how = quantisers_.chroma_first[intra];
        std::array<Coefficient, 8> first;
        for (std::size_t colour = 0; colour < 2; ++colour) {
            const auto& l = levels_.chroma_first[colour];
            const int transformed[4] = {l[0] + l[1] + l[2] + l[3], l[0] - l[1] + l[2] - l[3], l[0] + l[1] - l[2] - l[3],
                                        l[0] - l[1] - l[2] + l[3]};
            for (std::size_t i = 0; i < 4; ++i)
                first[i / 2 * 4 + 2 * colour + i % 2] = static_cast<Coefficient>(transformed[i] * how.scale >> 1);
        }
        for (std::size_t strip = 0; strip < 2; ++strip) {
            const int row = 4 * static_cast<int>(strip);
            const Pixel* const prediction = chroma_.data() + 16 * row;
            with_.residuals.add(levels_.chroma[strip], quantisers_.chroma_by[intra].without_first,
                                first.data() + 4 * strip, prediction, prediction + 8, pitch, chroma_at(0, 0, row),
                                chroma_at(1, 0, row), coder_.picture_.chroma(0).pitch);
        }
    }

    void count_totals() {
        const auto count = [](std::uint64_t found, int block) {
            return static_cast<std::uint8_t>(std::popcount(found >> (16 * block) & 0xffff));
        };
        for (unsigned block = 0; block < 16; ++block) {
            const bool coded = (here_.coded >> (block / 8 * 2 + block % 4 / 2) & 1) != 0;
            here_.total[block] =
                coded ? count(levels_.luma_found[block / 4], static_cast<int>(block % 4)) : std::uint8_t{0};
        }
        if ((here_.coded & 0x20) == 0) return;
        for (unsigned colour = 0; colour < 2; ++colour)
            for (unsigned block = 0; block < 4; ++block)
                here_.chroma_total[colour][block] =
                    count(levels_.chroma_found[block / 2], static_cast<int>(2 * colour + block % 2));
    }

    // ---- from itself

    Edges edges(int colour) const {  // -1: luminance
        const int side = colour < 0 ? 16 : 8;
        const Plane& plane = colour < 0 ? coder_.picture_.luma() : coder_.picture_.chroma(colour);
        Edges edges;
        if (y_ > 0) {
            edges.above = coder_.picture_.unfiltered(y_ - 1, colour + 1) + side * x_;
            if (x_ > 0) edges.corner = edges.above[-1];
        }
        if (x_ > 0) {
            edges.left = plane.at(side * x_ - 1, side * y_);
            edges.left_pitch = plane.pitch;
        }
        return edges;
    }

    void intra() {
        here_.chroma_mode = best_chroma_mode();
        const std::uint32_t whole = best_whole();
        if (coder_.settings_.intra4 && blocks(whole)) {
            here_.intra = Intra::blocks;
        } else {
            here_.intra = Intra::whole;
            here_.coded = 0;
            whole_levels();
        }
        chroma_levels(1);
        count_totals();
        add_chroma(1);
    }

    std::uint8_t best_chroma_mode() {
        std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
        std::uint8_t best = 0;
        alignas(32) std::array<Pixel, 128> tried;
        for (std::uint8_t mode = 0; mode < 4; ++mode) {
            if (!usable(chroma_modes[mode], edges(0))) continue;
            std::uint32_t cost = quantisers_.weight * (mode == 0 ? 1u : mode < 3 ? 3u : 5u);
            for (int colour = 0; colour < 2; ++colour) {
                predict(chroma_modes[mode], edges(colour), 8, tried.data() + 8 * colour, pitch);
                const Plane& from = coder_.source_.chroma(colour);
                cost += difference(Shape::b8x8, from.at(8 * x_, 8 * y_), from.pitch, tried.data() + 8 * colour, pitch);
            }
            if (cost >= least) continue;
            least = cost;
            best = mode;
            std::copy_n(tried.data(), tried.size(), chroma_.data());
        }
        return best;
    }

    std::uint32_t best_whole() {
        std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
        alignas(32) std::array<Pixel, 256> tried;
        for (const WholeMode mode : {mean, upright, level, sloping}) {
            if (!usable(mode, edges(-1))) continue;
            predict(mode, edges(-1), 16, tried.data(), pitch);
            const std::uint32_t cost = quantisers_.weight * 4 +
                                       difference(Shape::b16x16, source_at(0, 0), source().pitch, tried.data(), pitch);
            if (cost >= least) continue;
            least = cost;
            here_.luma_mode = mode;
            luma_ = tried;
        }
        return least;
    }

    void whole_levels() {
        luma_levels(quantisers_.luma_by[1].without_first);
        for (const auto found : levels_.luma_found)
            if (found != 0) here_.coded |= 15;
        std::array<int, 16> values;
        std::copy_n(first_.begin(), 16, values.begin());
        twice(values);
        const auto& how = quantisers_.luma_first[1];
        for (std::size_t i = 0; i < 16; ++i) {
            levels_.luma_first[i] = how.level(values[i]);
            values[i] = levels_.luma_first[i];
        }
        twice(values);
        for (std::size_t i = 0; i < 16; ++i) first_[i] = static_cast<Coefficient>((values[i] * how.scale + 2) >> 2);
        add_luma(first_.data());
    }

    // The transform of first coefficients, which is its own inverse but for a factor (8.5.10). By rows of blocks.
    static void twice(std::array<int, 16>& values) {
        const auto line = [](int& a, int& b, int& c, int& d) {
            const int s = a + b, t = a - b, u = c + d, v = c - d;
            a = s + u, b = s - u, c = t - v, d = t + v;
        };
        for (std::size_t i = 0; i < 4; ++i)
            line(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]);
        for (std::size_t i = 0; i < 4; ++i) line(values[i], values[4 + i], values[8 + i], values[12 + i]);
    }

    Line line_of(int column, int row) const {  // of the block at this pixel
        Line line;
        const Plane& plane = coder_.picture_.luma();
        line.left = x_ > 0 || column > 0;
        line.above = y_ > 0 || row > 0;
        line.corner = line.left && line.above;
        if (line.left)
            for (int i = 0; i < 4; ++i)
                line.pixels[static_cast<std::size_t>(3 - i)] = *plane.at(16 * x_ + column - 1, 16 * y_ + row + i);
        if (!line.above) return line;
        const Pixel* const over =
            row > 0 ? luma_at(column, row - 1) : coder_.picture_.unfiltered(y_ - 1, 0) + 16 * x_ + column;
        if (line.corner) line.pixels[4] = row > 0 && column == 0 ? *luma_at(-1, row - 1) : over[-1];
        std::copy_n(over, 4, line.pixels.begin() + 5);
        const int block = row + column / 4;
        const bool right = row == 0 ? column < 12 || around_.above_right != nullptr
                                    : column < 12 && block_in_order(block - 3) < block_in_order(block);
        if (right) std::copy_n(over + 4, 4, line.pixels.begin() + 9);
        else std::fill_n(line.pixels.begin() + 9, 4, over[3]);
        return line;
    }

    // Each block from its neighbours, one after the other; gives up when that gets worse than `most`.
    bool blocks(std::uint32_t most) {
        const auto& quantiser = quantisers_.luma_by[1].all;
        std::uint32_t cost = quantisers_.weight * 6;
        levels_.luma_found = {};
        here_.intra = Intra::blocks;  // what is expected of the blocks inside looks at it
        for (int i = 0; i < 16; ++i) {
            const int block = block_in_order(i), column = block % 4 * 4, row = block / 4 * 4;
            const Line line = line_of(column, row);
            const int expected = expected_mode(around_, block);
            std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
            alignas(16) Pixel best[64], tried[64];
            for (int mode = 0; mode < block_modes; ++mode) {
                if (!usable_for_block(mode, line)) continue;
                predict_block(mode, line, tried, pitch);
                const std::uint32_t found =
                    quantisers_.weight * (mode == expected ? 1u : 4u) +
                    difference(Shape::b4x4, source_at(column, row), source().pitch, tried, pitch);
                if (found >= least) continue;
                least = found;
                here_.modes[static_cast<std::size_t>(block)] = static_cast<std::uint8_t>(mode);
                std::copy_n(tried, 64, best);
            }
            cost += least;
            if (cost >= most) return false;
            const auto strip = static_cast<std::size_t>(block / 4);
            Coefficient* const levels = levels_.luma[strip].data() + block % 4 * 4;
            const std::uint64_t found =
                with_.residuals.levels_of_one(source_at(column, row), source().pitch, best, pitch, quantiser, levels);
            limit(levels_.luma[strip]);
            levels_.luma_found[strip] |= found << (block % 4 * 16);
            with_.residuals.add_one(levels, quantiser, best, pitch, luma_at(column, row), coder_.picture_.luma().pitch);
            if (found != 0) here_.coded |= static_cast<std::uint8_t>(1u << (i / 4));
        }
        return true;
    }

    // ---- macroblocks that would take too many bits

    // Levels that cannot be written come with the finest quantisers only: the others are cut where they are made, but
    // of these too much hangs on each.
    bool too_great() const noexcept {
        const auto great = [](int level) { return std::abs(level) > greatest_level; };
        return quantisers_.luma < finest &&
               (std::ranges::any_of(levels_.chroma_first[0], great) ||
                std::ranges::any_of(levels_.chroma_first[1], great) ||
                (here_.intra == Intra::whole && std::ranges::any_of(levels_.luma_first, great)));
    }
    template <std::size_t count>
    void limit(std::array<Coefficient, count>& levels) const noexcept {
        if (quantisers_.luma >= finest) return;
        for (auto& level : levels)
            level =
                std::clamp(level, static_cast<Coefficient>(-greatest_level), static_cast<Coefficient>(greatest_level));
    }

    bool suspicious() const noexcept {
        int count = 0;
        for (const auto total : here_.total) count += total;
        return count > 100 || quantisers_.luma < finest;
    }
    std::size_t bits() const {
        RowBits row;
        coder_.write(x_, y_, levels_, row);
        return row.count();
    }

    // The pixels are written as they are; of what comes from other pictures, which others rely on, the highest
    // frequencies are left out.
    void shorten() {
        if (here_.from == From::itself) return samples();
        for (int kept = 15; bits() > most_bits; --kept) {
            for (auto& strip : levels_.luma) cut(strip, kept);
            for (auto& strip : levels_.chroma) cut(strip, kept);
            for (std::size_t i = 0; i < 4; ++i) levels_.luma_found[i] = found(levels_.luma[i]);
            for (std::size_t i = 0; i < 2; ++i) levels_.chroma_found[i] = found(levels_.chroma[i]);
            count_totals();
        }
        add_luma(nullptr);
        add_chroma(0);
    }
    static void cut(Strip& strip, int kept) noexcept {
        for (std::size_t i = 0; i < 64; ++i)
            if (place_in_order(static_cast<int>(i)) >= kept) strip[i] = 0;
    }
    static std::uint64_t found(const Strip& strip) noexcept {
        std::uint64_t found = 0;
        for (std::size_t i = 0; i < 64; ++i)
            found |= static_cast<std::uint64_t>(strip[i] != 0) << (i % 16 / 4 * 16 + i / 16 * 4 + i % 4);
        return found;
    }

    void samples() {
        here_.intra = Intra::samples;
        here_.coded = 0x2f;
        here_.total.fill(16);
        for (auto& colour : here_.chroma_total) colour.fill(16);
        for (int row = 0; row < 16; ++row) std::memcpy(luma_at(0, row), source_at(0, row), 16);
        for (int colour = 0; colour < 2; ++colour)
            for (int row = 0; row < 8; ++row)
                std::memcpy(chroma_at(colour, 0, row), coder_.source_.chroma(colour).at(8 * x_, 8 * y_ + row), 8);
    }

    // What the macroblock below predicts from, before the loop filter changes it.
    void keep_unfiltered() const {
        std::memcpy(coder_.picture_.unfiltered(y_, 0) + 16 * x_, luma_at(0, 15), 16);
        for (int colour = 0; colour < 2; ++colour)
            std::memcpy(coder_.picture_.unfiltered(y_, 1 + colour) + 8 * x_, chroma_at(colour, 0, 7), 8);
    }

    const Coder& coder_;
    const Kernels& with_;
    const Quantisers& quantisers_;
    int x_, y_;
    Around around_;
    Macroblock& here_;
    Levels& levels_;
    alignas(32) std::array<Pixel, 256> luma_;
    alignas(32) std::array<Pixel, 128> chroma_;
    alignas(32) std::array<Coefficient, 16> first_;
};

void Coder::reconstruct(int x, int y, Levels& levels) const { Reconstruction(*this, x, y, levels).run(); }

}  // namespace penstock::apps::h264
