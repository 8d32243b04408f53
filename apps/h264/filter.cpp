// Coder::filter: along the edges of blocks of 4 x 4 (8.7).
#include "apps/h264/coder.hpp"

namespace penstock::apps::h264 {
namespace {

using kernels::h264::EdgeFilter;

constexpr std::uint8_t alphas[52] = {0,  0,  0,  0,  0,  0,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,  4,  4,
                                     5,  6,  7,  8,  9,  10, 12,  13,  15,  17,  20,  22,  25,  28,  32,  36, 40, 45,
                                     50, 56, 63, 71, 80, 90, 101, 113, 127, 144, 162, 182, 203, 226, 255, 255};
constexpr std::uint8_t betas[52] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0, 2,  2,
                                    2,  3,  3,  3,  3,  4,  4,  4,  6,  6,  7,  7,  8,  8,  9,  9, 10, 10,
                                    11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 18, 18};
constexpr std::int8_t clips[52][3] = {
    {0, 0, 0},  {0, 0, 0},   {0, 0, 0},   {0, 0, 0},   {0, 0, 0},    {0, 0, 0},    {0, 0, 0},   {0, 0, 0},  {0, 0, 0},
    {0, 0, 0},  {0, 0, 0},   {0, 0, 0},   {0, 0, 0},   {0, 0, 0},    {0, 0, 0},    {0, 0, 0},   {0, 0, 0},  {0, 0, 1},
    {0, 0, 1},  {0, 0, 1},   {0, 0, 1},   {0, 1, 1},   {0, 1, 1},    {1, 1, 1},    {1, 1, 1},   {1, 1, 1},  {1, 1, 1},
    {1, 1, 2},  {1, 1, 2},   {1, 1, 2},   {1, 1, 2},   {1, 2, 3},    {1, 2, 3},    {2, 2, 3},   {2, 2, 4},  {2, 3, 4},
    {2, 3, 4},  {3, 3, 5},   {3, 4, 6},   {3, 4, 6},   {4, 5, 7},    {4, 5, 8},    {4, 6, 9},   {5, 7, 10}, {6, 8, 11},
    {6, 8, 13}, {7, 10, 14}, {8, 11, 16}, {9, 12, 18}, {10, 13, 20}, {11, 15, 23}, {13, 17, 25}};

int luma_quantiser(const Macroblock& of, int slice) noexcept {
    return of.from == From::itself && of.intra == Intra::samples ? 0 : slice;
}

/// How strong the filter between two blocks of 4 x 4 is, neither of which is predicted from its own picture.
int strength(const Macroblock& a, int a_block, const Macroblock& b, int b_block) noexcept {
    if (a.total[static_cast<std::size_t>(a_block)] != 0 || b.total[static_cast<std::size_t>(b_block)] != 0) return 2;
    for (const int list : {earlier, later}) {
        if (a.uses_list(list, a_block) != b.uses_list(list, b_block)) return 1;
        const Vector one = a.moved(list, a_block), two = b.moved(list, b_block);
        if (a.uses_list(list, a_block) && (std::abs(one.x - two.x) >= 4 || std::abs(one.y - two.y) >= 4)) return 1;
    }
    return 0;
}

/// Whether no edge inside of it is filtered: it is one part without levels.
bool is_smooth(const Macroblock& of) noexcept {
    return of.from == From::others && of.parts == Parts::whole && (of.coded & 15) == 0;
}

class MacroblockFilter {
  public:
    MacroblockFilter(const kernels::h264::LoopFilters& with, const Picture& picture, int quantiser, int x, int y)
        : with_{with}, picture_{picture}, around_{picture.blocks(), picture.size(), x, y}, slice_{quantiser}, x_{x},
          y_{y} {}

    void run() {
        const int edges = is_smooth(*around_.here) ? 1 : 4;
        for (int edge = around_.left != nullptr ? 0 : 1; edge < edges; ++edge) filter(true, edge);
        for (int edge = around_.above != nullptr ? 0 : 1; edge < edges; ++edge) filter(false, edge);
    }

  private:
    EdgeFilter filter_of(int quantiser, const std::array<int, 4>& strengths) const noexcept {
        EdgeFilter filter{alphas[quantiser], betas[quantiser], {}};
        for (std::size_t i = 0; i < 4; ++i)
            filter.clip[i] = static_cast<std::int8_t>(strengths[i] == 0   ? -1
                                                      : strengths[i] == 4 ? 0
                                                                          : clips[quantiser][strengths[i] - 1]);
        return filter;
    }

    void filter(bool upright, int edge) const {
        const Macroblock& here = *around_.here;
        const Macroblock& other = edge > 0 ? here : upright ? *around_.left : *around_.above;
        std::array<int, 4> strengths;
        if (here.from == From::itself || other.from == From::itself) {
            strengths.fill(edge == 0 ? 4 : 3);
        } else {
            if (is_smooth(here) && is_smooth(other) && strength(here, 0, other, 0) == 0) return;
            for (int i = 0; i < 4; ++i) {
                const int block = upright ? 4 * i + edge : 4 * edge + i;
                const int before = edge > 0 ? block - (upright ? 1 : 4) : upright ? 4 * i + 3 : 12 + i;
                strengths[static_cast<std::size_t>(i)] = strength(here, block, other, before);
            }
            if (strengths == std::array<int, 4>{}) return;
        }
        const bool strong = strengths[0] == 4;
        const int mine = luma_quantiser(here, slice_), others = luma_quantiser(other, slice_);
        if (const EdgeFilter luma = filter_of((mine + others + 1) / 2, strengths); luma.alpha != 0) {
            const Plane& plane = picture_.luma();
            Pixel* const at = plane.at(16 * x_ + (upright ? 4 * edge : 0), 16 * y_ + (upright ? 0 : 4 * edge));
            const auto with =
                upright ? (strong ? with_.upright_strong : with_.upright) : (strong ? with_.level_strong : with_.level);
            with(at, plane.pitch, luma);
        }
        if (edge % 2 != 0) return;
        const EdgeFilter chroma = filter_of((chroma_quantiser(mine) + chroma_quantiser(others) + 1) / 2, strengths);
        if (chroma.alpha == 0) return;
        for (int colour = 0; colour < 2; ++colour) {
            const Plane& plane = picture_.chroma(colour);
            Pixel* const at = plane.at(8 * x_ + (upright ? 2 * edge : 0), 8 * y_ + (upright ? 0 : 2 * edge));
            const auto with = upright ? (strong ? with_.upright_chroma_strong : with_.upright_chroma)
                                      : (strong ? with_.level_chroma_strong : with_.level_chroma);
            with(at, plane.pitch, chroma);
        }
    }

    const kernels::h264::LoopFilters& with_;
    const Picture& picture_;
    Around around_;
    int slice_, x_, y_;
};

}  // namespace

void Coder::filter(int row, int first, int end) const {
    if (!settings_.loop_filter) return;
    for (int x = first; x < end; ++x) MacroblockFilter(kernels_.loop_filters, picture_, quantisers_.luma, x, row).run();
}

}  // namespace penstock::apps::h264
