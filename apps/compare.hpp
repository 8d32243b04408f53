// What the checks and results of all applications share: worst errors, equal bits, arrays to hand back.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/report.hpp"

namespace penstock::apps {

/// The larger of two errors, where what is not a number is worse than any: it must not get lost.
inline double worse(double a, double b) noexcept { return std::isnan(a) || a > b ? a : b; }

/// A check that `actual` holds exactly what `expected` holds, bit for bit (so that not-a-number equals itself).
template <class T>
Check same_bits(std::string name, std::span<const T> actual, std::span<const T> expected, std::string source) {
    std::size_t count = actual.size() == expected.size() ? 0 : 1;
    for (std::size_t i = 0; i < actual.size() && i < expected.size(); ++i) {
        if (std::memcmp(&actual[i], &expected[i], sizeof(T)) != 0) ++count;
    }
    return {std::move(name), 0, static_cast<double>(count), 0, std::move(source)};
}

/// A copy of `values` for RunResult::arrays.
template <class T>
Array keep(std::string name, std::vector<std::size_t> shape, std::span<const T> values) {
    return {std::move(name), std::move(shape), std::vector<T>(values.begin(), values.end())};
}

/// The number of parts of `part` elements that `whole` elements make, the last one perhaps smaller.
inline std::size_t parts(std::size_t whole, std::size_t part) noexcept {
    return whole / part + (whole % part != 0 ? 1 : 0);
}

}  // namespace penstock::apps
