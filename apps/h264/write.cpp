// Coder::write: the syntax of macroblocks (7.3.5).
#include <bit>

#include "apps/h264/coder.hpp"
#include "apps/h264/codes.hpp"
#include "apps/h264/levels.hpp"

namespace penstock::apps::h264 {
namespace {

class Writer {
  public:
    Writer(const Around& around, const Levels& levels, Type type, RowBits& row)
        : around_{around}, here_{*around.here}, levels_{levels}, type_{type}, row_{row}, bits_{&row.last()} {}

    void put(const Source& source, int x, int y) {
        if (type_ != Type::i && !put_skips()) return;
        if (here_.from == From::itself) {
            if (here_.intra == Intra::samples) return put_samples(source, x, y);
            put_intra();
        } else if (here_.from == From::neighbours) {
            bits_->put_unsigned(0);
        } else if (here_.parts == Parts::quarters) {
            put_quarters();
        } else {
            put_parts();
        }
        const bool whole = here_.from == From::itself && here_.intra == Intra::whole;
        if (!whole) {
            const auto& numbers = here_.from == From::itself ? codes().intra_patterns : codes().inter_patterns;
            bits_->put_unsigned(numbers[here_.coded]);
        }
        if (!whole && here_.coded == 0) return;
        bits_->put_signed(0);  // the quantiser is that of the slice
        put_residuals(whole);
    }

  private:
    // Gives whether the macroblock is written at all.
    bool put_skips() {
        if (here_.skipped) {
            ++row_.skipped;
            return false;
        }
        if (row_.any) bits_->put_unsigned(row_.skipped);
        else row_.leading = row_.skipped;
        row_.any = true;
        row_.skipped = 0;
        return true;
    }

    void put_intra_type(std::uint32_t number) {
        bits_->put_unsigned(number + (type_ == Type::i ? 0u : type_ == Type::p ? 5u : 23u));
        row_.any = true;
    }

    void put_samples(const Source& source, int x, int y) {
        put_intra_type(25);
        bits_ = &row_.begin_part();
        const auto plane = [&](const Plane& from, int side) {
            for (int row = 0; row < side; ++row)
                for (int column = 0; column < side; ++column)
                    bits_->put(*from.at(side * x + column, side * y + row), 8);
        };
        plane(source.luma(), 16);
        plane(source.chroma(0), 8);
        plane(source.chroma(1), 8);
    }

    void put_intra() {
        if (here_.intra == Intra::whole) {
            const std::uint32_t chroma = here_.coded >> 4, luma = (here_.coded & 15) != 0;
            put_intra_type(1 + here_.luma_mode + 4 * chroma + 12 * luma);
        } else {
            put_intra_type(0);
            for (int i = 0; i < 16; ++i) {
                const int block = block_in_order(i), expected = expected_mode(around_, block),
                          mode = here_.modes[static_cast<std::size_t>(block)];
                bits_->put(mode == expected, 1);
                if (mode != expected) bits_->put(static_cast<std::uint32_t>(mode < expected ? mode : mode - 1), 3);
            }
        }
        bits_->put_unsigned(here_.chroma_mode);
    }

    void put_motion(int list, int column, int row, int columns, Parts parts) {
        const Vector by = here_.moved(list, 4 * row + column),
                     expected = expected_motion(around_, list, column, row, columns, parts);
        bits_->put_signed(by.x - expected.x);
        bits_->put_signed(by.y - expected.y);
    }

    // Numbers of pairs of halves in B pictures, by what each uses (table 7-14).
    static std::uint32_t halves_number(unsigned first, unsigned second) noexcept {
        constexpr std::uint8_t of[3][3] = {{4, 8, 12}, {10, 6, 14}, {16, 18, 20}};
        return of[first - 1][second - 1];
    }

    void put_parts() {
        const bool rows = here_.parts == Parts::rows, columns = here_.parts == Parts::columns;
        if (type_ == Type::p) bits_->put_unsigned(rows ? 1 : columns ? 2 : 0);
        else if (!rows && !columns) bits_->put_unsigned(here_.uses[0]);
        else bits_->put_unsigned(halves_number(here_.uses[0], here_.uses[3]) + columns);
        for (const int list : {earlier, later})
            for (int row = 0; row < 4; row += rows ? 2 : 4)
                for (int column = 0; column < 4; column += columns ? 2 : 4)
                    if (here_.uses_list(list, 4 * row + column))
                        put_motion(list, column, row, columns ? 2 : 4, here_.parts);
    }

    std::uint32_t quarter_number(std::size_t quarter) const noexcept {
        const auto parts = here_.quarter_parts[quarter];
        if (type_ == Type::p) return static_cast<std::uint32_t>(parts);
        if (here_.quarter_direct[quarter]) return 0;
        const std::uint32_t uses = here_.uses[quarter];
        if (parts == Parts::whole) return uses;
        if (parts == Parts::quarters) return 9 + uses;
        return 2 + 2 * uses + (parts == Parts::columns);
    }

    void put_quarters() {
        bits_->put_unsigned(type_ == Type::p ? 3 : 22);
        for (std::size_t quarter = 0; quarter < 4; ++quarter) bits_->put_unsigned(quarter_number(quarter));
        for (const int list : {earlier, later})
            for (int quarter = 0; quarter < 4; ++quarter) {
                const auto q = static_cast<std::size_t>(quarter);
                if (here_.quarter_direct[q] || (here_.uses[q] >> list & 1) == 0) continue;
                const Parts parts = here_.quarter_parts[q];
                const int columns = parts == Parts::whole || parts == Parts::rows ? 2 : 1,
                          rows = parts == Parts::whole || parts == Parts::columns ? 2 : 1;
                for (int row = 0; row < 2; row += rows)
                    for (int column = 0; column < 2; column += columns)
                        put_motion(list, quarter % 2 * 2 + column, quarter / 2 * 2 + row, columns, Parts::quarters);
            }
    }

    void put_residuals(bool whole) {
        if (whole) put_levels(*bits_, scan(levels_.luma_first), expected_total(around_, 0));
        for (int i = 0; i < 16; ++i) {
            if ((here_.coded >> (i / 4) & 1) == 0) continue;
            const int block = block_in_order(i);
            const auto found = static_cast<std::uint32_t>(
                levels_.luma_found[static_cast<std::size_t>(block / 4)] >> (16 * (block % 4)) & 0xffff);
            put_levels(*bits_, scan(levels_.luma[static_cast<std::size_t>(block / 4)], block % 4, found, whole),
                       expected_total(around_, block));
        }
        if ((here_.coded & 0x30) == 0) return;
        for (const auto& colour : levels_.chroma_first) put_chroma_first(*bits_, scan(colour));
        if ((here_.coded & 0x20) == 0) return;
        for (int colour = 0; colour < 2; ++colour)
            for (int block = 0; block < 4; ++block) {
                const auto strip = static_cast<std::size_t>(block / 2);
                const int place = 2 * colour + block % 2;
                const auto found = static_cast<std::uint32_t>(levels_.chroma_found[strip] >> (16 * place) & 0xffff);
                put_levels(*bits_, scan(levels_.chroma[strip], place, found, true),
                           expected_chroma_total(around_, colour, block));
            }
    }

    const Around& around_;
    const Macroblock& here_;
    const Levels& levels_;
    Type type_;
    RowBits& row_;
    Bits* bits_;
};

}  // namespace

void Coder::write(int x, int y, const Levels& levels, RowBits& bits) const {
    const Around around{picture_.blocks(), size(), x, y};
    Writer(around, levels, place_.type, bits).put(source_, x, y);
}

}  // namespace penstock::apps::h264
