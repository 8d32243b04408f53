#include "apps/ofdm/demodulate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/ofdm/coding.hpp"

namespace penstock::apps::ofdm {
namespace {

using kernels::ofdm::Block;
using kernels::ofdm::Carrier;
using kernels::ofdm::side;

// Of the loop that follows the slope: what of an error is taken out at once, and what goes into the drift.
constexpr float at_once = 0.1f, into_drift = 0.004f;
constexpr float steepest = 0.5f;  // radians a carrier: five samples of 64, more than the prefix has to spare

Sample product(Sample a, Sample b) noexcept {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Sample power_of(Sample base, int exponent) noexcept {
    Sample result{1, 0};
    for (; exponent != 0; exponent >>= 1, base = product(base, base))
        if ((exponent & 1) != 0) result = product(result, base);
    return result;
}

/// Rows between blocks, or the same row of two would be told apart late, by the upper bits of its address.
constexpr std::size_t apart = 2;

/// Has samples fetched that are to be read soon. Reading goes from symbol to symbol, which no processor foresees.
void fetch(std::span<const Sample> samples) noexcept {
    constexpr std::size_t line = 64 / sizeof(Sample);
    for (std::size_t i = 0; i < samples.size(); i += line) __builtin_prefetch(samples.data() + i);
}

/// exp(i angle), to the last bits but one, for |angle| <= `steepest`.
Sample turned_by(float angle) noexcept {
    const float square = angle * angle;
    return {1 + square * (-0.5f + square * (1 / 24.0f + square * (-1 / 720.0f + square * (1 / 40320.0f)))),
            angle * (1 + square * (-1 / 6.0f + square * (1 / 120.0f + square * (-1 / 5040.0f))))};
}

}  // namespace

std::vector<Sample> against_offset(const Format& format, double cycles) {
    std::vector<Sample> factors(format.size);
    const auto step = std::polar(1.0, -2 * std::numbers::pi * cycles);
    std::complex<double> factor = 1.0;
    for (Sample& each : factors) {
        each = Sample(factor);
        factor = {factor.real() * step.real() - factor.imag() * step.imag(),
                  factor.real() * step.imag() + factor.imag() * step.real()};
    }
    return factors;
}

Demodulator::Demodulator(const Format& format) : format_{format}, work_(4 * (format.size + apart)) {
    const auto part = [&](std::size_t number) { return work_[number * (format.size + apart)].of; };
    data_ = {part(0), part(1)};
    scratch_ = {part(2), part(3)};
    std::uint16_t next = 0;
    const auto unread = static_cast<std::uint16_t>(format.data.size());
    for (int carrier = format.used.front(); carrier <= format.used.back(); ++carrier) {
        const bool has_data = std::ranges::binary_search(format.data, carrier);
        carriers_.push_back({static_cast<std::uint16_t>(format.row(carrier)), has_data ? next++ : unread, 0, 0});
    }
    for (const int pilot : format.pilots) pilots_.push_back({static_cast<std::uint16_t>(format.row(pilot)), 0, 0, 0});
}

void Demodulator::begin(const FrameHead& frame, const Sample* channel) {
    rotation_ = against_offset(format_, frame.offset);
    slope_ = drift_ = 0;
    std::size_t data = 0, pilot = 0;
    for (std::size_t i = 0; i < format_.used.size(); ++i) {
        const int carrier = format_.used[i];
        Carrier& equaliser = carriers_[static_cast<std::size_t>(carrier - format_.used.front())];
        equaliser.re = channel[i].real();
        equaliser.im = -channel[i].imag();
        if (pilot < pilots_.size() && format_.pilots[pilot] == carrier) {
            pilots_[pilot].re = equaliser.re * format_.pilot_signs[pilot];
            pilots_[pilot].im = equaliser.im * format_.pilot_signs[pilot];
            ++pilot;
        } else {
            power_[data++] = channel[i].real() * channel[i].real() + channel[i].imag() * channel[i].imag();
        }
    }
}

void Demodulator::follow(kernels::ofdm::ConstBlock carriers, std::size_t count, std::size_t first) {
    turn_.fill({});
    step_.fill({});
    for (std::size_t s = 0; s < count; ++s) {
        const Sample step = turned_by(-slope_);
        const float polarity = pilot_polarity(first + s);
        std::array<Sample, 8> upright{};
        Sample sum{};
        for (std::size_t p = 0; p < pilots_.size(); ++p) {
            const Carrier& pilot = pilots_[p];
            const std::size_t at = pilot.from * side + s;
            const int number = format_.pilots[p];
            const Sample seen = product({carriers.re[at], carriers.im[at]}, {pilot.re * polarity, pilot.im * polarity});
            upright[p] = product(seen, number < 0 ? power_of(std::conj(step), -number) : power_of(step, number));
            sum += upright[p];
        }
        const float length = std::sqrt(sum.real() * sum.real() + sum.imag() * sum.imag());
        const Sample back = length > 0 ? Sample{sum.real() / length, -sum.imag() / length} : Sample{1, 0};
        float turned = 0, weight = 0;
        for (std::size_t p = 0; p < pilots_.size(); ++p) {
            const Sample off = product(upright[p], back);
            const auto number = static_cast<float>(format_.pilots[p]);
            turned += number * off.imag();
            weight += number * number * off.real();
        }
        turn_[s] = product(back, power_of(std::conj(step), -format_.used.front()));
        step_[s] = step;
        const float error = weight > 0 ? turned / weight : 0;
        drift_ += into_drift * error;
        slope_ = std::clamp(slope_ + drift_ + at_once * error, -steepest, steepest);
    }
}

void Demodulator::block(const Sample* samples, std::size_t count, std::size_t first, Block to) {
    kernels::ofdm::lay_side_by_side(samples, format_.symbol, count, rotation_, data_);
    const Block carriers = kernels::ofdm::fourier(format_.size, format_.roots, data_, scratch_);
    follow(carriers, count, first);
    kernels::ofdm::equalise(carriers, carriers_, turn_, step_, to);
}

Demapper::Demapper(const Format& format) : format_{format}, work_(format.data.size() * 6 * side + side) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
        places_[i] = deinterleaved(format.data.size(), rates[i]);
        // What was not sent is read behind the soft bits, where there are zeroes.
        for (auto& place : places_[i])
            if (place == nowhere) place = static_cast<std::uint16_t>(format.data.size() * 6);
    }
}

void Demapper::begin(const Rate& rate, const std::array<float, most_data>& power) {
    rate_ = &rate;
    float mean = 0;
    for (std::size_t i = 0; i < format_.data.size(); ++i) mean += power[i];
    mean /= static_cast<float>(format_.data.size());
    const float unit = constellation_unit(rate);
    for (std::size_t i = 0; i < format_.data.size(); ++i) unit_[i] = power[i] * unit;
    // So that the outermost points of a carrier of usual power are well within the range, and the innermost are seen.
    const float outermost = rate.bits == 6 ? 7 : rate.bits == 4 ? 3 : 1, usual = rate.bits <= 2 ? 40 : 100;
    scale_ = mean > 0 ? usual / (outermost * unit * mean) : 0;
}

void Demapper::block(kernels::ofdm::ConstBlock carriers, std::size_t count, std::int8_t* soft) {
    const std::size_t carriers_count = format_.data.size();
    kernels::ofdm::soft_bits(carriers, {unit_.data(), carriers_count}, rate_->bits, scale_, work_.data());
    const auto& places = places_[static_cast<std::size_t>(rate_ - rates.data())];
    const std::int8_t* const from = work_.data();
    if (count == side) {
        for (std::size_t i = 0; i < places.size(); ++i)
            for (std::size_t s = 0; s < side; ++s) soft[s * places.size() + i] = from[places[i] * side + s];
    } else {
        for (std::size_t i = 0; i < places.size(); ++i)
            for (std::size_t s = 0; s < count; ++s) soft[s * places.size() + i] = from[places[i] * side + s];
    }
}

SoftDemodulator::SoftDemodulator(const Format& format)
    : format_{format}, demodulator_{format}, demapper_{format}, carriers_(2 * (demodulator_.rows() + apart)) {}

void SoftDemodulator::run(const SamplePiece& from, std::span<const Sample> samples, SoftPiece& to) {
    to.head = from.head;
    const Rate& rate = rates[from.head.frame.rate];
    if (from.head.first == 0 || from.head.frame.number != frame_) {
        static constexpr std::array<Sample, most_used> unknown{};
        demodulator_.begin(from.head.frame, (from.head.first == 0 ? from.channel : unknown).data());
        demapper_.begin(rate, demodulator_.power());
        frame_ = from.head.frame.number;
    }
    const Block carriers{carriers_.front().of, carriers_[demodulator_.rows() + apart].of};
    const std::size_t each = 2 * format_.data_bits(rate), run = side * format_.symbol;
    fetch(samples.first(std::min(run, samples.size())));
    for (std::size_t s = 0; s < from.head.count; s += side) {
        const auto behind = samples.subspan(std::min((s + side) * format_.symbol, samples.size()));
        fetch(behind.first(std::min(run, behind.size())));
        const auto count = std::min<std::size_t>(side, from.head.count - s);
        demodulator_.block(samples.data() + s * format_.symbol, count, from.head.first + s + 1, carriers);
        demapper_.block(carriers, count, to.soft.data() + s * each);
    }
}

}  // namespace penstock::apps::ofdm
