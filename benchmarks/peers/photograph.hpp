// The photographs that the scikit-image wheel ships, as input of the benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

struct Photograph {
    std::size_t rows = 0, columns = 0;
    std::vector<std::uint8_t> rgb;  ///< rows x columns x 3
};

/// `file` of scikit-image's data ("ihc.png"). Nothing where the Python that the build was configured with (or that the
/// environment variable PENSTOCK_BENCH_PYTHON names) lacks scikit-image or Pillow.
std::optional<Photograph> photograph(const std::string& file);

}  // namespace bench
