// Transposes against a plain loop: all sizes around whole lines, all alignments, every way, and nothing written beside
// the block.
#include "penstock/transpose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "penstock/remote.hpp"
#include "store/support.hpp"
#include "store/ways/ways.hpp"

namespace {

using penstock::StoreWay;
using store_tests::require;

constexpr StoreWay ways[] = {StoreWay::plain, StoreWay::demote, StoreWay::stream};

/// A byte for each place, different in neighbours of both directions.
std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 37 + i / 251); }

struct Case {
    std::size_t rows, columns, element, to_pitch, from_pitch, offset;
};

std::string words(const Case& c, StoreWay way) {
    return std::to_string(c.rows) + " x " + std::to_string(c.columns) + " elements of " + std::to_string(c.element) +
           " bytes, pitch " + std::to_string(c.to_pitch) + ", offset " + std::to_string(c.offset) + ", " +
           std::string(penstock::name(way));
}

/// Transposes into memory that is full of something else, and compares all of it. The source has no byte more than it
/// needs.
void check(const Case& c, StoreWay way) {
    const std::size_t from_elements = (c.columns - 1) * c.from_pitch + c.rows;
    std::vector<std::byte> from(from_elements * c.element);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = pattern(i);
    const std::size_t size = (c.rows * c.to_pitch + c.offset + 1) * c.element + 64;
    std::vector<std::byte> memory(size + 64, std::byte{0xee}), wanted(size, std::byte{0xee});
    const std::span<std::byte> to(memory.data() + (-reinterpret_cast<std::uintptr_t>(memory.data()) & 63), size);
    for (std::size_t r = 0; r < c.rows; ++r)
        for (std::size_t k = 0; k < c.columns; ++k)
            std::memcpy(&wanted[(c.offset + r * c.to_pitch + k) * c.element], &from[(k * c.from_pitch + r) * c.element],
                        c.element);
    penstock::store_transposed({.to = to.data() + c.offset * c.element,
                                .from = from.data(),
                                .rows = c.rows,
                                .columns = c.columns,
                                .to_pitch = c.to_pitch,
                                .from_pitch = c.from_pitch,
                                .element = c.element},
                               way);
    const auto wrong = std::ranges::mismatch(to, wanted).in1 - to.begin();
    ASSERT_EQ(static_cast<std::size_t>(wrong), size) << words(c, way) << ": byte " << wrong;
}

TEST(Transpose, every_size_around_whole_lines_is_that_of_a_plain_loop) {
    for (const std::size_t element : {4u, 8u, 16u}) {
        const std::size_t across = 64 / element;
        for (std::size_t rows = 1; rows <= 2 * across + 1; ++rows)
            for (std::size_t columns = 1; columns <= 2 * across + 1; ++columns)
                for (const StoreWay way : ways) {
                    check({rows, columns, element, 3 * across, rows + 2, 0}, way);
                    if (HasFatalFailure()) return;
                }
    }
}

TEST(Transpose, ragged_edges_and_targets_beside_lines_are_whole) {
    for (const std::size_t element : {4u, 8u, 16u})
        for (const std::size_t to_pitch : {37u, 48u, 64u})
            for (std::size_t offset = 0; offset < 64 / element; ++offset)
                for (const StoreWay way : ways) {
                    check({13, 35, element, to_pitch, 13, offset}, way);
                    if (HasFatalFailure()) return;
                }
}

TEST(Transpose, elements_of_any_size_can_be_transposed) {
    for (const std::size_t element : {1u, 2u, 3u, 12u, 24u, 64u, 100u})
        for (const StoreWay way : ways) {
            check({9, 21, element, 24, 11, 1}, way);
            check({70, 70, element, 70, 70, 0}, way);
            if (HasFatalFailure()) return;
        }
}

TEST(Transpose, a_block_of_nothing_stores_nothing) {
    penstock::store_transposed({.element = 8}, StoreWay::stream);
    penstock::store_transposed({.rows = 0, .columns = 3, .to_pitch = 3, .from_pitch = 3, .element = 4},
                               StoreWay::plain);
    penstock::store_transposed({.rows = 3, .columns = 0, .to_pitch = 3, .from_pitch = 3, .element = 3},
                               StoreWay::demote);
}

TEST(Transpose, elements_that_fit_registers_go_through_them_on_this_processor) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
#endif
    if (penstock::transpose_lines::of_element(8) == nullptr) GTEST_SKIP() << "built without Highway";
    for (const std::size_t element : {4u, 16u}) EXPECT_NE(penstock::transpose_lines::of_element(element), nullptr);
    for (const std::size_t element : {1u, 2u, 3u, 12u, 32u})
        EXPECT_EQ(penstock::transpose_lines::of_element(element), nullptr);
}

template <class T>
void remote_transposes(penstock::Rank me) {
    constexpr std::size_t rows = 37, columns = 22, pitch = 24;
    if (me.index() == 0) {
        penstock::Region<T> inbox(me, "inbox", rows * pitch);
        penstock::Flag ready(me, "ready");
        inbox.grant(1);
        ready.grant(1);
        ready.wait();
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < pitch; ++c)
                require(inbox[r * pitch + c] == (c < columns ? T(static_cast<float>(1 + c * rows + r)) : T{}),
                        "each element is that of a plain loop");
    } else {
        auto outbox = penstock::Remote<T>::accept(me, 0, "inbox");
        auto ready = penstock::RemoteFlag::accept(me, 0, "ready");
        std::vector<T> source(rows * columns);
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = T(static_cast<float>(1 + i));
        for (const StoreWay way : ways) {
            outbox.set_way(way);
            outbox.fill(0, rows * pitch, T{});
            outbox.store_transposed({.offset = 0, .rows = rows, .columns = columns, .pitch = pitch}, source, rows);
        }
        outbox.publish(ready);
    }
}

TEST(Transpose, a_remote_stores_the_transpose_of_floats_and_complex_numbers) {
    penstock::spmd(2, remote_transposes<float>);
    penstock::spmd(2, remote_transposes<std::complex<float>>);
    penstock::spmd(2, remote_transposes<std::complex<double>>);
}

}  // namespace
