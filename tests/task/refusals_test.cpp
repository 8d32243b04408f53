// Arguments that break a rule are refused where they are written, and the machine stays usable (contract 8, 9).
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "penstock/detail/task/footprint.hpp"
#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

constexpr auto maximum = std::numeric_limits<std::ptrdiff_t>::max();
constexpr auto minimum = std::numeric_limits<std::ptrdiff_t>::min();

void read_one(std::span<const int>) {}
void write_one(std::span<int>) {}
void read_view(view<const int, 1>) {}
void write_view(view<int, 1>) {}
void write_plane(view<int, 2>) {}
void write_space(view<int, 3>) {}
void two(std::span<const int>, std::span<int>) {}
void two_read(std::span<const int>, std::span<const int>) {}
void two_written(std::span<int>, std::span<int>) {}
void planes(view<const int, 2>, view<int, 2>) {}
void write_pieces(pieces<int>) {}
void pieces_and_span(pieces<const int>, std::span<int>) {}

class Refused : public testing::Test {
  protected:
    void TearDown() override {  // whatever was refused, the machine goes on
        int x = 1;
        machine.call([](int& v) { ++v; }, inout(x)).wait();
        EXPECT_EQ(x, 2);
        machine.finish();
    }
    Machine machine{with_targets(1)};
    std::vector<int> memory = std::vector<int>(1000);
    int* const base = memory.data();
};

TEST_F(Refused, null_with_a_size) {
    EXPECT_THROW(machine.call<read_one>(in(std::span<const int>(static_cast<int*>(nullptr), 1))), ArgumentError);
    EXPECT_THROW(machine.call<write_one>(out(std::span<int>(static_cast<int*>(nullptr), 5))), ArgumentError);
    EXPECT_THROW(machine.call<read_view>(in(view<int, 1>(nullptr, {1}))), ArgumentError);
    const std::vector<std::span<int>> list{{base, 1}, {static_cast<int*>(nullptr), 2}};
    EXPECT_THROW(machine.call<write_pieces>(out(pieces<int>(list))), ArgumentError);
}

TEST_F(Refused, a_misaligned_pointer) {
    auto* const odd = reinterpret_cast<int*>(reinterpret_cast<char*>(base) + 1);
    EXPECT_THROW(machine.call<read_one>(in(std::span<const int>(odd, 1))), ArgumentError);
    EXPECT_THROW(machine.call<write_view>(out(view<int, 1>(odd, {3}, {2}))), ArgumentError);
    const std::vector<std::span<int>> list{{odd, 1}};
    EXPECT_THROW(machine.call<write_pieces>(out(pieces<int>(list))), ArgumentError);
}

TEST_F(Refused, a_length_that_leaves_the_address_space) {
    const auto most = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(machine.call<read_one>(in(std::span<const int>(base, most))), ArgumentError);
    EXPECT_THROW(machine.call<read_one>(in(std::span<const int>(base, most / 4))), ArgumentError);
    EXPECT_THROW(machine.call<read_one>(in(std::span<const int>(base, most / 4 - 1))), ArgumentError);
}

TEST_F(Refused, strides_that_overflow) {
    EXPECT_THROW(machine.call<read_view>(in(view<const int, 1>(base, {2}, {maximum}))), ArgumentError);
    EXPECT_THROW(machine.call<read_view>(in(view<const int, 1>(base, {2}, {minimum}))), ArgumentError);
    EXPECT_THROW(machine.call<read_view>(in(view<const int, 1>(base, {3}, {maximum / 4}))), ArgumentError);
    EXPECT_THROW(machine.call<read_view>(in(view<const int, 1>(base, {2}, {-static_cast<std::ptrdiff_t>(1) << 50}))),
                 ArgumentError);
    EXPECT_THROW(machine.call<write_plane>(out(view<int, 2>(base, {2, 2}, {maximum / 4, maximum / 4}))), ArgumentError);
    EXPECT_THROW(
        machine.call<write_plane>(out(view<int, 2>(base, {std::size_t{1} << 40, 2}, {std::ptrdiff_t{1} << 40, 1}))),
        ArgumentError);
    EXPECT_THROW(machine.call<write_space>(out(view<int, 3>(base, {2, 2, 2}, {maximum / 8, maximum / 8, maximum / 8}))),
                 ArgumentError);
    EXPECT_THROW(machine.call([](view<const char, 1>) {},
                              in(view<const char, 1>(reinterpret_cast<char*>(base), {2}, {maximum}))),
                 ArgumentError);
}

TEST_F(Refused, a_stride_that_no_index_uses_is_legal) {
    machine.call<write_view>(out(view<int, 1>(base, {1}, {maximum}))).wait();
    machine.call<write_view>(out(view<int, 1>(base, {1}, {minimum}))).wait();
    machine.call<write_plane>(out(view<int, 2>(base, {1, 2}, {maximum, 1}))).wait();
    machine.call<write_plane>(out(view<int, 2>(nullptr, {2, 0}, {maximum, maximum}))).wait();
    machine
        .call<planes>(in(view<int, 2>(base, {1, 2}, {maximum, 1})), out(view<int, 2>(base + 10, {1, 2}, {minimum, 1})))
        .wait();
}

TEST_F(Refused, more_elements_than_can_be_counted) {
    // All at one address (zero strides), so that only the number of elements is wrong.
    const view<const int, 2> many(base, {std::size_t{1} << 33, std::size_t{1} << 33}, {0, 0});
    EXPECT_THROW(machine.call([](std::span<const int>) {}, in(many)), ArgumentError)
        << "staging it would copy 2^66 elements";
    const view<const int, 2> wraps(base, {std::size_t{1} << 32, (std::size_t{1} << 32) + 1}, {0, 0});
    EXPECT_THROW(machine.call([](std::span<const int>) {}, in(wraps)), ArgumentError);
    const view<const int, 1> bytes(base, {(std::size_t{1} << 62) + 1}, {0});
    EXPECT_THROW(machine.call([](std::span<const int>) {}, in(bytes)), ArgumentError) << "the size in bytes wraps to 4";
}

TEST_F(Refused, written_arguments_that_reach_a_byte_twice) {
    EXPECT_THROW(machine.call<write_view>(out(view<int, 1>(base, {2}, {0}))), ArgumentError);
    EXPECT_THROW(machine.call<write_view>(inout(view<int, 1>(base, {std::size_t{1} << 40}, {0}))), ArgumentError)
        << "and without listing 2^40 elements first";
    EXPECT_THROW(machine.call<write_plane>(out(view<int, 2>(base, 3, 10, 9))), ArgumentError);
    EXPECT_THROW(machine.call<write_plane>(out(view<int, 2>(base + 100, 3, 10, -9))), ArgumentError);
    EXPECT_THROW(machine.call<write_plane>(out(view<int, 2>(base, {4, 4}, {1, 1}))), ArgumentError);
    EXPECT_THROW(
        machine.call<write_plane>(out(view<int, 2>(base, {std::size_t{1} << 22, std::size_t{1} << 22}, {1, 1}))),
        ArgumentError);
    machine.call<write_plane>(out(view<int, 2>(base, 3, 10, 10))).wait();
    machine.call<write_plane>(out(view<int, 2>(base + 100, 3, 10, -10))).wait();
    machine.call<write_plane>(out(view<int, 2>(base, {10, 3}, {1, 10}))).wait();
    machine.call<write_plane>(out(view<int, 2>(base, {2, 2}, {2, 3}))).wait();  // 0, 3, 2, 5: interleaved, none twice
    const std::vector<std::span<int>> twice{{base, 10}, {base + 20, 5}, {base + 9, 2}};
    EXPECT_THROW(machine.call<write_pieces>(out(pieces<int>(twice))), ArgumentError);
    const std::vector<std::span<int>> once{{base, 10}, {base + 20, 5}, {base + 10, 2}};
    machine.call<write_pieces>(out(pieces<int>(once))).wait();
}

TEST_F(Refused, arguments_that_overlap_one_that_is_written) {  // contract 9
    const std::span<int> all(memory);
    EXPECT_THROW(machine.call<two>(in(all), out(all)), ArgumentError);
    EXPECT_THROW(machine.call<two>(in(all.first(10)), inout(all.subspan(9, 10))), ArgumentError);
    EXPECT_THROW(machine.call<two_written>(out(all.first(10)), out(all.subspan(9))), ArgumentError);
    machine.call<two>(in(all.first(10)), out(all.subspan(10, 10))).wait();
    machine.call<two_read>(in(all), in(all)).wait();
    const std::vector<std::span<const int>> list{all.first(3), all.subspan(50, 5)};
    EXPECT_THROW(machine.call<pieces_and_span>(in(pieces<const int>(list)), out(all.subspan(54, 1))), ArgumentError);
    machine.call<pieces_and_span>(in(pieces<const int>(list)), out(all.subspan(3, 47))).wait();
}

TEST_F(Refused, tiles_that_meet_and_no_others) {  // neighbours in one matrix have bounding boxes that meet
    const view<int, 2> matrix(base, 20, 50, 50);
    machine.call<planes>(in(matrix.part({0, 0}, {20, 10})), out(matrix.part({0, 10}, {20, 10}))).wait();
    machine.call<planes>(in(matrix.part({0, 0}, {5, 50})), out(matrix.part({5, 0}, {5, 50}))).wait();
    EXPECT_THROW(machine.call<planes>(in(matrix.part({0, 0}, {20, 11})), out(matrix.part({19, 10}, {1, 10}))),
                 ArgumentError);
}

// real and imaginary parts of 2^30 numbers: nothing may be listed
TEST_F(Refused, interleaved_columns_are_told_apart_quickly) {
    auto* const far = reinterpret_cast<int*>(std::uintptr_t{1} << 40);
    const std::size_t n = std::size_t{1} << 30;
    const auto shift = [](view<const int, 1>, view<int, 1>) {};
    machine.call(shift, in(view<const int, 1>(far, {n}, {2})), out(view<int, 1>(far + 1, {n}, {2}))).wait();
    EXPECT_THROW(
        machine.call(shift, in(view<const int, 1>(far, {n}, {2})), out(view<int, 1>(far + 2 * (n - 1), {n}, {2}))),
        ArgumentError);
    EXPECT_THROW(
        machine.call(shift, in(view<const int, 1>(far, {n}, {2})), out(view<int, 1>(far + 2 * (n - 1), {n}, {-2}))),
        ArgumentError);
    machine
        .call([](view<int, 2>) {}, out(view<int, 2>(far, {std::size_t{1} << 15, std::size_t{1} << 15}, {1, 1 << 15})))
        .wait();
}

// ---- random shapes against a brute-force set of bytes ----

struct Shape {
    int offset = 0;
    std::vector<std::size_t> extents;
    std::vector<std::ptrdiff_t> strides;

    /// How often the shape reaches each element of a memory of 4096, with offset 2048 for its base.
    std::vector<int> reached() const {
        std::vector<int> counts(4096, 0);
        std::vector<std::size_t> index(extents.size(), 0);
        for (auto e : extents)
            if (e == 0) return counts;
        for (;;) {
            std::ptrdiff_t at = 2048 + offset;
            for (std::size_t d = 0; d < extents.size(); ++d) at += static_cast<std::ptrdiff_t>(index[d]) * strides[d];
            ++counts.at(static_cast<std::size_t>(at));
            std::size_t d = extents.size();
            for (; d-- > 0;) {
                if (++index[d] < extents[d]) break;
                index[d] = 0;
            }
            if (d == static_cast<std::size_t>(-1)) return counts;
        }
    }
    template <std::size_t Rank>
    view<int, Rank> as_view(int* memory) const {
        typename view<int, Rank>::Extents e{};
        typename view<int, Rank>::Strides s{};
        for (std::size_t d = 0; d < Rank; ++d) e[d] = extents[d], s[d] = strides[d];
        return {memory + 2048 + offset, e, s};
    }
};

template <std::size_t Rank>
Shape random_shape(std::mt19937& random) {
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    constexpr int longest = Rank == 3 ? 4 : 7;
    const int step = Rank == 3 ? 40 : Rank == 2 ? 60 : 100;
    Shape shape;
    shape.offset = pick(-60, 60);
    const int pitches[] = {8, 16, 20};
    const int pitch = pitches[pick(0, 2)];
    for (std::size_t d = 0; d < Rank; ++d) {
        shape.extents.push_back(static_cast<std::size_t>(pick(0, 20) == 0 ? 0 : pick(1, longest)));
        int stride = 0;
        switch (pick(0, 3)) {
            case 0:
                stride = pick(-step, step);
                break;
            case 1:
                stride = pick(-3, 3);
                break;
            default:
                stride = d + 1 == Rank ? 1 : d + 2 == Rank ? pitch : pitch * longest;
                break;
        }
        shape.strides.push_back(stride);
    }
    return shape;
}

template <std::size_t Rank, std::size_t Other>
void compare_with_brute_force(int rounds, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int> memory(4096);
    int meetings = 0, twice = 0;
    for (int round = 0; round < rounds; ++round) {
        const Shape a = random_shape<Rank>(random), b = random_shape<Other>(random);
        const auto in_a = a.reached(), in_b = b.reached();
        bool meet = false, a_twice = false;
        for (std::size_t i = 0; i < in_a.size(); ++i) {
            meet = meet || (in_a[i] != 0 && in_b[i] != 0);
            a_twice = a_twice || in_a[i] > 1;
        }
        meetings += meet;
        twice += a_twice;
        const auto va = a.as_view<Rank>(memory.data());
        const auto vb = b.as_view<Other>(memory.data());
        SCOPED_TRACE(testing::Message() << "round " << round << ": a at " << a.offset << " extents "
                                        << testing::PrintToString(a.extents) << " strides "
                                        << testing::PrintToString(a.strides) << "; b at " << b.offset << " extents "
                                        << testing::PrintToString(b.extents) << " strides "
                                        << testing::PrintToString(b.strides));
        Bounds bounds_a, bounds_b;
        ASSERT_EQ(footprint::check(va, bounds_a), nullptr);
        ASSERT_EQ(footprint::check(vb, bounds_b), nullptr);
        ASSERT_TRUE(!meet || bounds_a.meets(bounds_b));
        ASSERT_EQ(overlap(footprint::of(va), footprint::of(vb)), meet);
        ASSERT_EQ(overlap(footprint::of(vb), footprint::of(va)), meet);
        ASSERT_EQ(overlaps_itself(footprint::of(va)), a_twice);
        ASSERT_TRUE(!a_twice || footprint::may_overlap_itself(va));
    }
    EXPECT_GT(meetings, rounds / 20);  // the random shapes are worth something
    EXPECT_LT(meetings, rounds - rounds / 20);
    EXPECT_GT(twice, rounds / 50);
}

TEST(Overlap, of_random_shapes_agrees_with_a_set_of_bytes) {
    const int rounds = long_run() ? 200'000 : 3'000;
    compare_with_brute_force<1, 1>(rounds, 1);
    compare_with_brute_force<2, 2>(rounds, 2);
    compare_with_brute_force<2, 1>(rounds, 3);
    compare_with_brute_force<3, 2>(rounds, 4);
    compare_with_brute_force<3, 3>(rounds, 5);
}

TEST(Overlap, of_random_tiles_of_one_matrix_agrees_with_their_coordinates) {
    std::mt19937 random(7);
    const auto pick = [&](int low, int high) {
        return static_cast<std::size_t>(std::uniform_int_distribution<int>(low, high)(random));
    };
    std::vector<int> memory(40 * 40);
    const view<int, 2> matrix(memory.data(), 40, 40, 40);
    for (int round = 0; round < 20'000; ++round) {
        const std::size_t r1 = pick(0, 30), c1 = pick(0, 30), h1 = pick(1, 10), w1 = pick(1, 10);
        const std::size_t r2 = pick(0, 30), c2 = pick(0, 30), h2 = pick(1, 10), w2 = pick(1, 10);
        const bool meet = r1 < r2 + h2 && r2 < r1 + h1 && c1 < c2 + w2 && c2 < c1 + w1;
        ASSERT_EQ(
            overlap(footprint::of(matrix.part({r1, c1}, {h1, w1})), footprint::of(matrix.part({r2, c2}, {h2, w2}))),
            meet);
    }
}

}  // namespace
