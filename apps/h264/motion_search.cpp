#include "apps/h264/motion_search.hpp"

#include <limits>

namespace penstock::apps::h264 {

std::uint32_t MotionSearch::difference(Vector by, bool transformed) const {
    alignas(32) Pixel memory[256];
    const Predicted predicted =
        predict_luma(with_.interpolation, reference_, x_, y_, by, columns(shape_), rows(shape_), memory, 16);
    const auto& all = with_.differences;
    return (transformed ? all.transformed_of(shape_) : all.of(shape_))(source_, source_pitch_, predicted.pixels,
                                                                       predicted.pitch);
}

bool MotionSearch::try_whole(int column, int row) {
    if (!legal(column, row)) return false;
    const std::uint32_t found = cost(column, row);
    if (found >= best_.cost) return false;
    best_.cost = found;
    column_ = column;
    row_ = row;
    return true;
}

void MotionSearch::whole(std::span<const Vector> from) {
    for (const Vector by : from) {
        const Vector near = bounds_.nearest(by);
        const int column = (near.x + 2) >> 2, row = (near.y + 2) >> 2;
        if (column != column_ || row != row_) try_whole(column, row);
    }
    if (settings_.search == Search::full) everywhere();
    else if (settings_.search == Search::hexagon) hexagon();
    else diamond();
}

void MotionSearch::diamond() {
    for (int step = 0; step < 2 * settings_.range; ++step) {
        const int column = column_, row = row_;
        bool better = try_whole(column, row - 1);
        better |= try_whole(column, row + 1);
        better |= try_whole(column - 1, row);
        better |= try_whole(column + 1, row);
        if (!better) return;
    }
}

void MotionSearch::hexagon() {
    constexpr int around[6][2] = {{-2, 0}, {-1, -2}, {1, -2}, {2, 0}, {1, 2}, {-1, 2}};
    for (int step = 0; step < settings_.range; ++step) {
        const int column = column_, row = row_;
        bool better = false;
        for (const auto& at : around) better |= try_whole(column + at[0], row + at[1]);
        if (!better) break;
    }
    const int column = column_, row = row_;
    for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
            if (x != 0 || y != 0) try_whole(column + x, row + y);
}

void MotionSearch::everywhere() {
    for (int row = -settings_.range; row <= settings_.range; ++row)
        for (int column = -settings_.range; column <= settings_.range; ++column) try_whole(column, row);
}

void MotionSearch::fraction(int step) {
    for (int turn = 0; turn < 2; ++turn) {
        const Vector from = best_.by;
        const auto attempt = [&](int x, int y) {
            const Vector by{static_cast<std::int16_t>(from.x + x), static_cast<std::int16_t>(from.y + y)};
            if (!bounds_.holds(by)) return;
            const std::uint32_t found = difference(by, settings_.transformed) + bits(by.x, by.y);
            if (found < best_.cost) best_ = {by, found};
        };
        attempt(0, -step);
        attempt(0, step);
        attempt(-step, 0);
        attempt(step, 0);
        if (best_.by == from) return;
    }
}

Found MotionSearch::run(Vector expected, std::span<const Vector> from) {
    expected_ = expected;
    const Vector near = bounds_.nearest(expected);
    column_ = (near.x + 2) >> 2;
    row_ = (near.y + 2) >> 2;
    if (!legal(column_, row_)) column_ = row_ = 0;
    best_.cost = cost(column_, row_);
    whole(from);
    best_.by = {static_cast<std::int16_t>(4 * column_), static_cast<std::int16_t>(4 * row_)};
    if (settings_.transformed) best_.cost = difference(best_.by, true) + bits(best_.by.x, best_.by.y);
    if (settings_.fraction >= 2) fraction(2);
    if (settings_.fraction >= 4) fraction(1);
    return best_;
}

}  // namespace penstock::apps::h264
