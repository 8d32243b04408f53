#include "apps/h264/row_bytes.hpp"

#include <array>
#include <cstring>

namespace penstock::apps::h264 {
namespace {

using Head = std::array<std::uint32_t, 4>;  // skipped, leading, any, parts

template <class T>
void put(const T& value, std::vector<std::uint8_t>& to) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
    to.insert(to.end(), bytes, bytes + sizeof value);
}

template <class T>
T take(std::span<const std::uint8_t>& from) {
    T value;
    std::memcpy(&value, from.data(), sizeof value);
    from = from.subspan(sizeof value);
    return value;
}

}  // namespace

void pack(RowBits& row, std::vector<std::uint8_t>& to) {
    put(Head{row.skipped, row.leading, row.any, static_cast<std::uint32_t>(row.used)}, to);
    for (std::size_t i = 0; i < row.used; ++i) {
        put(std::uint64_t{row.parts[i].count()}, to);
        const auto bytes = row.parts[i].bytes();
        to.insert(to.end(), bytes.begin(), bytes.end());
    }
}

std::span<const std::uint8_t> unpack(std::span<const std::uint8_t> from, RowBits& row) {
    row.clear();
    const Head head = take<Head>(from);
    row.skipped = head[0];
    row.leading = head[1];
    row.any = head[2] != 0;
    for (std::size_t i = 0; i < head[3]; ++i) {
        if (i > 0) row.begin_part();
        const auto count = static_cast<std::size_t>(take<std::uint64_t>(from)), bytes = (count + 7) / 8;
        row.last().append(from.first(bytes), count);
        from = from.subspan(bytes);
    }
    return from;
}

}  // namespace penstock::apps::h264
