#include "apps/ofdm/format.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/ofdm/scrambler.hpp"
#include "kernels/fourier.hpp"
#include "penstock/error.hpp"

namespace penstock::apps::ofdm {
namespace {

// Signs of the carriers of the long training, from the lowest.
constexpr const char* signs_of_64 =
    "++--++-+-++++++--++-+-++++"
    "+--++-+-+-----++--+-+-++++";
// Carriers of the short training and their signs, from the lowest: those whose number is a multiple of four.
constexpr const char* short_signs_of_64 = "+-+--+--++++";

/// Signs from the scrambler's sequence, for the sizes that no standard gives any.
std::string signs(std::size_t count, unsigned seed) {
    Scrambler scrambler{seed};
    std::string made;
    for (std::size_t i = 0; i < count; ++i) made += scrambler.next() ? '-' : '+';
    return made;
}

/// The inverse transform, in double precision: it makes references.
std::vector<Sample> in_time(std::size_t size, const std::vector<std::pair<std::size_t, std::complex<double>>>& rows,
                            std::size_t count) {
    std::vector<Sample> made(count);
    for (std::size_t n = 0; n < count; ++n) {
        std::complex<double> sum;
        for (const auto& [row, value] : rows)
            sum += value * std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(row * n % size) /
                                               static_cast<double>(size));
        made[n] = Sample(sum / static_cast<double>(size));
    }
    return made;
}

}  // namespace

const Rate& rate_of(int megabits) {
    std::string known;
    for (const Rate& rate : rates) {
        if (rate.megabits == megabits) return rate;
        known += (known.empty() ? "" : ", ") + std::to_string(rate.megabits);
    }
    throw UsageError("ofdm: there is no rate of " + std::to_string(megabits) + " Mbit/s; there are " + known);
}

Format::Format(std::size_t n) : size{n}, prefix{n / 4}, symbol{n + n / 4}, early{n / 16}, roots(n) {
    const bool standard = n == 64;
    const int outermost = standard ? 26 : 100;
    const std::vector<int> places = standard ? std::vector{7, 21} : std::vector{13, 38, 63, 88};
    for (std::size_t i = places.size(); i-- > 0;) pilots.push_back(-places[i]);
    pilots.insert(pilots.end(), places.begin(), places.end());
    pilot_signs.assign(pilots.size(), 1.0f);
    pilot_signs.back() = -1.0f;
    for (int carrier = -outermost; carrier <= outermost; ++carrier) {
        if (carrier == 0) continue;
        used.push_back(carrier);
        if (std::find(pilots.begin(), pilots.end(), carrier) == pilots.end()) data.push_back(carrier);
    }
    kernels::fourier_roots<float>(roots, n);

    const std::string of_long = standard ? signs_of_64 : signs(used.size(), 0x5b);
    std::vector<std::pair<std::size_t, std::complex<double>>> rows;
    for (std::size_t i = 0; i < used.size(); ++i) {
        long_carriers.push_back(of_long[i] == '+' ? 1.0f : -1.0f);
        rows.emplace_back(row(used[i]), long_carriers.back());
    }
    long_symbol = in_time(n, rows, n);

    rows.clear();
    std::vector<int> quarters;
    for (const int carrier : used)
        if (carrier % 4 == 0) quarters.push_back(carrier);
    const std::string of_short = standard ? short_signs_of_64 : signs(quarters.size(), 0x2d);
    // The same power as that of a symbol in which all used carriers are on.
    const double amplitude = std::sqrt(static_cast<double>(used.size()) / static_cast<double>(2 * quarters.size()));
    for (std::size_t i = 0; i < quarters.size(); ++i)
        rows.emplace_back(row(quarters[i]), std::complex{1.0, 1.0} * (of_short[i] == '+' ? amplitude : -amplitude));
    short_symbol = in_time(n, rows, n / 4);
}

const Format& Format::of(std::size_t size) {
    static const Format of_64{64}, of_256{256};
    if (size == 64) return of_64;
    if (size == 256) return of_256;
    throw UsageError("ofdm: there is no format with a transform of " + std::to_string(size) + "; there are 64 and 256");
}

float pilot_polarity(std::size_t n) noexcept {
    static const auto polarities = [] {
        std::array<float, Scrambler::period> made{};
        Scrambler scrambler{0x7f};
        for (float& sign : made) sign = scrambler.next() ? -1.0f : 1.0f;
        return made;
    }();
    return polarities[n % Scrambler::period];
}

float constellation_unit(const Rate& rate) noexcept {
    const double mean = rate.bits == 1 ? 1 : rate.bits == 2 ? 2 : rate.bits == 4 ? 10 : 42;
    return static_cast<float>(1 / std::sqrt(mean));
}

Sample constellation_point(const Rate& rate, unsigned bits) noexcept {
    // The first bit of an axis says the side, the others are in Gray code, outermost first.
    const auto axis = [](unsigned of_axis, std::size_t count) {
        const bool right = (of_axis & 1) != 0, inner = (of_axis & 2) != 0, innermost = (of_axis & 4) != 0;
        const int place = count == 1   ? 1
                          : count == 2 ? (inner ? 1 : 3)
                                       : (inner ? (innermost ? 3 : 1) : (innermost ? 5 : 7));
        return static_cast<float>(right ? place : -place);
    };
    const float unit = constellation_unit(rate);
    if (rate.bits == 1) return {axis(bits & 1, 1) * unit, 0};
    const std::size_t half = rate.bits / 2;
    return {axis(bits & ((1u << half) - 1), half) * unit, axis(bits >> half, half) * unit};
}

}  // namespace penstock::apps::ofdm
