#include "kernels/radix.hpp"

namespace penstock::kernels::radix {

Table count(std::span<const Key> keys, int round) noexcept {
    // Two tables in turn: keys that follow one another often have the same digit, and would wait for one another's
    // count.
    std::array<Table, 2> tables{};
    std::size_t i = 0;
    for (; i + 1 < keys.size(); i += 2) {
        ++tables[0][digit(keys[i], round)];
        ++tables[1][digit(keys[i + 1], round)];
    }
    if (i < keys.size()) ++tables[0][digit(keys[i], round)];
    for (std::size_t d = 0; d < digits; ++d) tables[0][d] += tables[1][d];
    return tables[0];
}

void scatter(std::span<const Key> keys, int round, Table& next, Key* to) noexcept {
    for (const Key key : keys) to[next[digit(key, round)]++] = key;
}

}  // namespace penstock::kernels::radix
