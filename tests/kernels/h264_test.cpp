#include "kernels/h264.hpp"

#include <gtest/gtest.h>

#include <random>
#include <tuple>
#include <vector>

#include "kernels/instruction_set.hpp"

namespace {

using namespace penstock::kernels;
using namespace penstock::kernels::h264;

/// Pixels at random, of a large or of a small spread, at a pitch that is no power of two.
struct Pixels {
    static constexpr Pitch pitch = 101;
    explicit Pixels(std::uint32_t seed, int spread = 256) : values(static_cast<std::size_t>(pitch) * 64) {
        std::mt19937 random{seed};
        for (Pixel& value : values)
            value = static_cast<Pixel>(128 - spread / 2 + static_cast<int>(random() % static_cast<unsigned>(spread)));
    }
    Pixel* at(Pitch x, Pitch y) { return values.data() + y * pitch + x; }
    bool operator==(const Pixels&) const = default;
    std::vector<Pixel> values;
};

class H264Kernels : public testing::TestWithParam<InstructionSet> {
  protected:
    H264Kernels() { limit_instruction_set(InstructionSet::plain); }
    ~H264Kernels() override { limit_instruction_set(InstructionSet::vectors32); }
    static void use() { limit_instruction_set(GetParam()); }
};

TEST_P(H264Kernels, differences_are_those_of_the_definition) {
    const auto plain = differences();
    use();
    const auto fast = differences();
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        Pixels a{seed, seed % 2 == 0 ? 256 : 9}, b{seed + 100, 256};
        for (std::size_t shape = 0; shape < shapes; ++shape)
            for (const Pitch x : {3, 16, 17}) {
                EXPECT_EQ(fast.absolute[shape](a.at(x, 2), 101, b.at(5, 7), 101),
                          plain.absolute[shape](a.at(x, 2), 101, b.at(5, 7), 101));
                EXPECT_EQ(fast.transformed[shape](a.at(x, 2), 101, b.at(5, 7), 101),
                          plain.transformed[shape](a.at(x, 2), 101, b.at(5, 7), 101));
            }
    }
    Pixels black{1, 1}, white{1, 1};
    black.values.assign(black.values.size(), 0);
    white.values.assign(white.values.size(), 255);
    EXPECT_EQ(fast.of(Shape::b16x16)(black.at(0, 0), 101, white.at(0, 0), 101), 255u * 256u);
    EXPECT_EQ(fast.transformed_of(Shape::b16x16)(black.at(0, 0), 101, white.at(0, 0), 101), 16u * 255u * 16u / 2u);
}

TEST_P(H264Kernels, pixels_between_pixels_are_those_of_the_definition) {
    const auto plain = interpolation();
    use();
    const auto fast = interpolation();
    for (std::uint32_t seed = 0; seed < 10; ++seed) {
        Pixels from{seed, seed % 3 == 0 ? 256 : 40};
        if (seed % 3 == 1)
            for (Pixel& value : from.values) value = value % 2 == 0 ? 0 : 255;  // sums that overflow what they can
        for (const std::size_t columns : {24u, 40u, 72u}) {
            Pixels wanted[3] = {Pixels{7}, Pixels{7}, Pixels{7}}, found[3] = {Pixels{7}, Pixels{7}, Pixels{7}};
            plain.halves(from.at(5, 5), 101, wanted[0].at(5, 5), wanted[1].at(5, 5), wanted[2].at(5, 5), columns);
            fast.halves(from.at(5, 5), 101, found[0].at(5, 5), found[1].at(5, 5), found[2].at(5, 5), columns);
            for (int i = 0; i < 3; ++i) EXPECT_EQ(found[i], wanted[i]) << i << " of " << columns;
        }
        for (const int columns : {2, 4, 8, 16})
            for (const int rows : {2, 4, 16}) {
                Pixels wanted{7}, found{7};
                if (columns > 2) {
                    plain.mean(from.at(1, 1), 101, from.at(30, 9), 101, wanted.at(3, 3), 101, columns, rows);
                    fast.mean(from.at(1, 1), 101, from.at(30, 9), 101, found.at(3, 3), 101, columns, rows);
                }
                for (int way = 0; way < 64 && columns < 16; way += 5) {
                    plain.eighths(from.at(1, 1), 101, wanted.at(3, 30), 101, way % 8, way / 8, columns, rows);
                    fast.eighths(from.at(1, 1), 101, found.at(3, 30), 101, way % 8, way / 8, columns, rows);
                }
                EXPECT_EQ(found, wanted) << columns << " x " << rows;
            }
    }
}

TEST_P(H264Kernels, levels_and_what_is_made_of_them_are_those_of_the_definition) {
    const auto plain = residuals();
    use();
    const auto fast = residuals();
    std::mt19937 random{3};
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        Pixels source{seed, seed % 2 == 0 ? 256 : 30}, prediction{seed + 50, seed % 2 == 0 ? 256 : 30};
        Quantiser quantiser;
        for (std::size_t i = 0; i < 16; ++i) {
            quantiser.factor[i] = static_cast<std::uint16_t>(random() % 26215 >> (seed % 9));
            quantiser.rounding[i] = static_cast<std::uint16_t>(random() % 100);
            quantiser.scale[i] = static_cast<Coefficient>(random() % 30 << (seed % 9));
        }
        Strip wanted{}, found{};
        Coefficient wanted_first[4], found_first[4];
        EXPECT_EQ(fast.levels(source.at(1, 1), source.at(40, 1), 101, prediction.at(3, 2), prediction.at(30, 2), 101,
                              quantiser, found, found_first),
                  plain.levels(source.at(1, 1), source.at(40, 1), 101, prediction.at(3, 2), prediction.at(30, 2), 101,
                               quantiser, wanted, wanted_first));
        EXPECT_EQ(found, wanted);
        EXPECT_TRUE(std::ranges::equal(found_first, wanted_first));
        for (const Coefficient* first :
             {static_cast<const Coefficient*>(nullptr), static_cast<const Coefficient*>(wanted_first)}) {
            Pixels to_wanted{5}, to_found{5};
            plain.add(wanted, quantiser, first, prediction.at(3, 2), prediction.at(30, 2), 101, to_wanted.at(8, 8),
                      to_wanted.at(50, 9), 101);
            fast.add(wanted, quantiser, first, prediction.at(3, 2), prediction.at(30, 2), 101, to_found.at(8, 8),
                     to_found.at(50, 9), 101);
            EXPECT_EQ(to_found, to_wanted);
        }
        Strip wanted_one{}, found_one{};
        EXPECT_EQ(
            fast.levels_of_one(source.at(1, 1), 101, prediction.at(3, 2), 101, quantiser, found_one.data() + 8),
            plain.levels_of_one(source.at(1, 1), 101, prediction.at(3, 2), 101, quantiser, wanted_one.data() + 8));
        EXPECT_EQ(found_one, wanted_one);
        Pixels to_wanted{5}, to_found{5};
        plain.add_one(wanted_one.data() + 8, quantiser, prediction.at(3, 2), 101, to_wanted.at(8, 8), 101);
        fast.add_one(wanted_one.data() + 8, quantiser, prediction.at(3, 2), 101, to_found.at(8, 8), 101);
        EXPECT_EQ(to_found, to_wanted);
    }
}

TEST_P(H264Kernels, edges_are_filtered_as_the_definition_says) {
    const auto plain = loop_filters();
    use();
    const auto fast = loop_filters();
    std::mt19937 random{4};
    constexpr LoopFilters::Of LoopFilters::* all[] = {&LoopFilters::upright,        &LoopFilters::upright_strong,
                                                      &LoopFilters::level,          &LoopFilters::level_strong,
                                                      &LoopFilters::upright_chroma, &LoopFilters::upright_chroma_strong,
                                                      &LoopFilters::level_chroma,   &LoopFilters::level_chroma_strong};
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        Pixels wanted{seed, static_cast<int>(std::array{256, 40, 12, 5}[seed % 4])};
        Pixels found = wanted;
        EdgeFilter filter{static_cast<int>(random() % 256), static_cast<int>(random() % 19), {}};
        for (auto& clip : filter.clip) clip = static_cast<std::int8_t>(static_cast<int>(random() % 27) - 1);
        const auto which = all[random() % std::size(all)];
        (plain.*which)(wanted.at(30, 20), 101, filter);
        (fast.*which)(found.at(30, 20), 101, filter);
        EXPECT_EQ(found, wanted) << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(sets, H264Kernels, testing::Values(InstructionSet::vectors16, InstructionSet::vectors32));

}  // namespace
