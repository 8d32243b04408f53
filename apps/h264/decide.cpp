// Coder::decide: how a macroblock is predicted, and by which motion.
#include <limits>
#include <optional>

#include "apps/h264/coder.hpp"
#include "apps/h264/intra.hpp"
#include "apps/h264/motion_search.hpp"

namespace penstock::apps::h264 {
namespace {

// Bits of what says how a macroblock is parted, about.
constexpr std::uint32_t whole_bits = 1, halves_bits = 3, quarters_bits = 9, intra_bits = 8;

}  // namespace

class Decision {
  public:
    Decision(const Coder& coder, int x, int y)
        : coder_{coder}, settings_{coder.settings_}, with_{coder.kernels_}, weight_{coder.quantisers_.weight}, x_{x},
          y_{y}, around_{coder.picture_.blocks(), coder.size(), x, y}, here_{*around_.here},
          bounds_{Bounds::of(coder.size(), coder.settings_.range, x, y)} {}

    void run() {
        reset();
        if (coder_.place_.type == Type::i) {
            here_.from = From::itself;
            return;
        }
        const std::uint32_t inter = coder_.place_.type == Type::p ? by_earlier() : by_both();
        if (inter > quiet() && intra_estimate() < inter) {
            reset();
            here_.from = From::itself;
        }
    }

  private:
    void reset() noexcept {
        here_.from = From::others;
        here_.parts = Parts::whole;
        here_.quarter_parts = {};
        here_.quarter_direct = {};
        here_.uses = {};
        here_.motion = {};
    }

    /// A difference that is so small that nothing else needs to be tried.
    std::uint32_t quiet() const noexcept { return 64 + 32 * weight_; }

    MotionSearch search_of(int list, Shape shape, int column, int row) const {
        return {with_,
                settings_,
                weight_,
                coder_.source_.luma(),
                *coder_.references_[static_cast<std::size_t>(list)],
                bounds_,
                shape,
                16 * x_ + 4 * column,
                16 * y_ + 4 * row};
    }

    // ---- P pictures

    std::uint32_t by_earlier() {
        const Vector skip = skipped_motion(around_);
        if (bounds_.holds(skip)) {
            const std::uint32_t found = search_of(earlier, Shape::b16x16, 0, 0).difference(skip, settings_.transformed);
            if (found <= quiet()) {
                set(earlier, 0, 0, 4, 4, skip);
                return found;
            }
        }
        const auto one = [&](Shape shape, int column, int row) { return by_list(earlier, shape, column, row); };
        std::uint32_t best = one(Shape::b16x16, 0, 0) + weight_ * whole_bits;
        if (settings_.smallest < 16 && best > quiet()) best = parted(best, one, [&] { return quarters(); });
        return best;
    }

    /// Halves and quarters, each found by `one`, if they are better than what is decided so far.
    template <class One, class Quarters>
    std::uint32_t parted(std::uint32_t best, One&& one, Quarters&& by_quarters) {
        const Macroblock whole = here_;
        Macroblock kept = here_;
        const auto attempt = [&](Parts parts, std::uint32_t bits, auto&& body) {
            here_ = whole;
            here_.from = From::others;
            here_.parts = parts;
            const std::uint32_t found = body() + weight_ * bits;
            if (found >= best) return;
            best = found;
            kept = here_;
        };
        attempt(Parts::quarters, quarters_bits, by_quarters);
        attempt(Parts::rows, halves_bits, [&] {
            const std::uint32_t above = one(Shape::b16x8, 0, 0);
            return above + one(Shape::b16x8, 0, 2);
        });
        attempt(Parts::columns, halves_bits, [&] {
            const std::uint32_t left = one(Shape::b8x16, 0, 0);
            return left + one(Shape::b8x16, 2, 0);
        });
        here_ = kept;
        return best;
    }

    std::uint32_t quarters() {
        std::uint32_t sum = 0;
        for (int quarter = 0; quarter < 4; ++quarter) {
            const int column = quarter % 2 * 2, row = quarter / 2 * 2;
            std::uint32_t best = by_list(earlier, Shape::b8x8, column, row);
            if (settings_.smallest == 4 && best > quiet() / 4) best = smaller(quarter, column, row, best);
            sum += best;
        }
        return sum;
    }

    // Parts of a quarter.
    std::uint32_t smaller(int quarter, int column, int row, std::uint32_t best) {
        auto& parts = here_.quarter_parts[static_cast<std::size_t>(quarter)];
        auto kept_motion = here_.motion;
        Parts kept = Parts::whole;
        const auto attempt = [&](Parts how, Shape shape, int columns, int rows, std::uint32_t bits) {
            parts = how;
            std::uint32_t found = weight_ * bits;
            for (int y = 0; y < 2; y += rows)
                for (int x = 0; x < 2; x += columns) found += by_list(earlier, shape, column + x, row + y);
            if (found >= best) return;
            best = found;
            kept = how;
            kept_motion = here_.motion;
        };
        attempt(Parts::rows, Shape::b8x4, 2, 1, 2);
        attempt(Parts::columns, Shape::b4x8, 1, 2, 2);
        if (room_for_sixteenths()) attempt(Parts::quarters, Shape::b4x4, 1, 1, 4);
        parts = kept;
        here_.motion = kept_motion;
        return best;
    }

    // From level 3.1 on two macroblocks have at most 16 motions together (A.3.3).
    bool room_for_sixteenths() const noexcept {
        if (coder_.size().macroblocks() <= 1620) return true;
        int motions = 4;
        for (const Parts parts : here_.quarter_parts)
            motions += parts == Parts::whole ? 0 : parts == Parts::quarters ? 3 : 1;
        return motions == 4;
    }

    /// Finds the motion of a part from one picture and sets it, in place of what was set there.
    std::uint32_t by_list(int list, Shape shape, int column, int row) {
        const int wide = columns(shape) / 4, high = rows(shape) / 4;
        use(column, row, wide, high, 0);
        const Found found = find(list, shape, column, row);
        set(list, column, row, wide, high, found.by);
        return found.cost;
    }

    Found find(int list, Shape shape, int column, int row) const {
        std::array<Vector, 6> from;
        std::size_t count = 0;
        if (shape == Shape::b16x16) {
            from[count++] = {};
            for (const Macroblock* near : {around_.left, around_.above, around_.above_right})
                if (near != nullptr && near->from != From::itself) from[count++] = near->moved(list, 5);
            const auto place = y_ * coder_.size().across() + x_;
            const Macroblock& before = coder_.references_[static_cast<std::size_t>(list)]->blocks()[place];
            if (before.from != From::itself) from[count++] = before.moved(earlier, 5);
        } else {
            from[count++] = whole_[static_cast<std::size_t>(list)];
        }
        const Found found =
            search_of(list, shape, column, row).run(expected(list, shape, column, row), {from.data(), count});
        return found;
    }

    Vector expected(int list, Shape shape, int column, int row) const noexcept {
        return expected_motion(around_, list, column, row, columns(shape) / 4, here_.parts);
    }

    void use(int column, int row, int wide, int high, std::uint8_t by) noexcept {
        for (int y = row / 2; 2 * y < row + high; ++y)
            for (int x = column / 2; 2 * x < column + wide; ++x) here_.uses[static_cast<std::size_t>(2 * y + x)] = by;
    }
    void set(int list, int column, int row, int wide, int high, Vector by) noexcept {
        use(column, row, wide, high, static_cast<std::uint8_t>(1u << list));
        here_.move(list, column, row, wide, high, by);
        if (wide == 4 && high == 4) whole_[static_cast<std::size_t>(list)] = by;
    }

    // ---- B pictures

    std::uint32_t by_both() {
        const std::optional<Macroblock> direct = directly();
        std::uint32_t best = std::numeric_limits<std::uint32_t>::max();
        if (direct) {
            here_ = *direct;
            best = direct_difference() + weight_;
            if (best <= quiet()) return best;
        }
        const Macroblock kept = here_;
        reset();
        const auto one = [&](Shape shape, int column, int row) { return by_either(shape, column, row); };
        if (const std::uint32_t found = one(Shape::b16x16, 0, 0) + weight_ * (whole_bits + 2); found < best)
            best = found;
        else here_ = kept;
        if (settings_.smallest < 16 && best > quiet())
            best = parted(best, one, [&] { return quarters_of_both(direct); });
        return best;
    }

    // The macroblock by its neighbours' motion, if that stays within bounds.
    std::optional<Macroblock> directly() {
        const auto place = y_ * coder_.size().across() + x_;
        direct_motion(around_, coder_.references_[later]->blocks()[place], 15);
        here_.from = From::neighbours;
        const Macroblock direct = here_;
        reset();
        for (const auto& list : direct.motion)
            for (const Vector by : list)
                if (!bounds_.holds(by)) return std::nullopt;
        return direct;
    }

    std::uint32_t direct_difference() const {
        alignas(32) Pixel luma[256], chroma[128];
        predict_macroblock(with_.interpolation, coder_.references_, here_, x_, y_, luma, chroma);
        return difference(Shape::b16x16, 0, 0, luma);
    }

    std::uint32_t difference(Shape shape, int column, int row, const Pixel* predicted) const {
        const auto& all = with_.differences;
        const Plane& source = coder_.source_.luma();
        return (settings_.transformed ? all.transformed_of(shape) : all.of(shape))(
            source.at(16 * x_ + 4 * column, 16 * y_ + 4 * row), source.pitch, predicted, 16);
    }

    // The earlier picture, the later one, or the mean of both.
    std::uint32_t by_either(Shape shape, int column, int row) {
        const int wide = columns(shape) / 4, high = rows(shape) / 4;
        use(column, row, wide, high, 0);
        const std::array<Found, lists> found = {find(earlier, shape, column, row), find(later, shape, column, row)};
        alignas(32) Pixel one[256], two[256];
        const auto predicted = [&](int list, Pixel* memory) {
            return predict_luma(with_.interpolation, *coder_.references_[static_cast<std::size_t>(list)],
                                16 * x_ + 4 * column, 16 * y_ + 4 * row, found[static_cast<std::size_t>(list)].by,
                                columns(shape), rows(shape), memory, 16);
        };
        const Predicted first = predicted(earlier, one), second = predicted(later, two);
        with_.interpolation.mean(first.pixels, first.pitch, second.pixels, second.pitch, one, 16, columns(shape),
                                 rows(shape));
        std::uint32_t both = difference(shape, column, row, one) + weight_ * 2;
        for (const int list : {earlier, later}) {
            const Vector by = found[static_cast<std::size_t>(list)].by, from = expected(list, shape, column, row);
            both += weight_ * (bits_of(by.x - from.x) + bits_of(by.y - from.y));
        }
        const std::uint32_t single = std::min(found[0].cost, found[1].cost);
        for (const int list : {earlier, later}) {
            const auto& of = found[static_cast<std::size_t>(list)];
            const bool used = both < single || (list == earlier) == (found[0].cost <= found[1].cost);
            here_.move(list, column, row, wide, high, used ? of.by : Vector{});
            if (wide == 4 && high == 4) whole_[static_cast<std::size_t>(list)] = of.by;
        }
        const bool first_best = found[0].cost <= found[1].cost;
        use(column, row, wide, high, both < single ? 3 : first_best ? 1 : 2);
        return std::min(both, single);
    }

    std::uint32_t quarters_of_both(const std::optional<Macroblock>& direct) {
        std::uint32_t sum = 0;
        for (int quarter = 0; quarter < 4; ++quarter) {
            const int column = quarter % 2 * 2, row = quarter / 2 * 2;
            const auto q = static_cast<std::size_t>(quarter);
            std::uint32_t best = by_either(Shape::b8x8, column, row) + weight_ * 2;
            if (direct) {
                const Macroblock found = here_;
                here_.uses[q] = direct->uses[q];
                for (const int list : {earlier, later})
                    here_.move(list, column, row, 2, 2, direct->moved(list, 4 * row + column));
                const std::uint32_t cost = quarter_difference(quarter);
                here_.quarter_direct[q] = cost < best;
                if (cost < best) best = cost;
                else here_ = found;
            }
            sum += best;
        }
        return sum;
    }

    std::uint32_t quarter_difference(int quarter) const {
        alignas(32) Pixel luma[256], chroma[128];
        predict_quarter(with_.interpolation, coder_.references_, here_, x_, y_, quarter, luma, chroma);
        return difference(Shape::b8x8, quarter % 2 * 2, quarter / 2 * 2, luma + quarter / 2 * 128 + quarter % 2 * 8);
    }

    // ---- from itself

    // What the best prediction from the neighbours would leave, with the source's pixels in place of those that are not
    // yet reconstructed.
    std::uint32_t intra_estimate() const {
        const Plane& plane = coder_.source_.luma();
        Edges edges;
        if (y_ > 0) edges.above = plane.at(16 * x_, 16 * y_ - 1);
        if (x_ > 0) {
            edges.left = plane.at(16 * x_ - 1, 16 * y_);
            edges.left_pitch = plane.pitch;
        }
        if (x_ > 0 && y_ > 0) edges.corner = *plane.at(16 * x_ - 1, 16 * y_ - 1);
        std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
        alignas(32) Pixel tried[256];
        for (const WholeMode mode : {mean, upright, level}) {
            if (!usable(mode, edges)) continue;
            predict(mode, edges, 16, tried, 16);
            const auto& all = with_.differences;
            least = std::min(least, (settings_.transformed ? all.transformed_of(Shape::b16x16) : all.of(Shape::b16x16))(
                                        plane.at(16 * x_, 16 * y_), plane.pitch, tried, 16));
        }
        return least + weight_ * intra_bits;
    }

    const Coder& coder_;
    const EncoderSettings& settings_;
    const Kernels& with_;
    std::uint32_t weight_;
    int x_, y_;
    Around around_;
    Macroblock& here_;
    Bounds bounds_;
    std::array<Vector, lists> whole_;  ///< motion of the whole macroblock, where that of its parts is looked for
};

void Coder::decide(int x, int y) const { Decision(*this, x, y).run(); }

}  // namespace penstock::apps::h264
