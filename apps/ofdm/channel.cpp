#include "apps/ofdm/channel.hpp"

#include <cmath>
#include <numbers>

namespace penstock::apps::ofdm {

Channel::Channel(const ChannelModel& model) : model_{model}, random_{model.seed} { draw_echoes(); }

void Channel::change(const ChannelModel& model) {
    const bool other = model.echoes != model_.echoes || model.seed != model_.seed;
    model_ = model;
    if (other) draw_echoes();
}

void Channel::draw_echoes() {
    std::mt19937 random{model_.seed};
    std::normal_distribution<double> normal;
    std::vector<std::complex<double>> taps{1.0};
    double amplitude = 0.5, power = 1;
    for (int echo = 0; echo < model_.echoes; ++echo, amplitude *= std::numbers::sqrt2 / 2) {
        const double real = normal(random);
        taps.push_back(std::complex{real, normal(random)} * amplitude);
        power += std::norm(taps.back());
    }
    taps_.clear();
    for (const auto& tap : taps) taps_.emplace_back(tap / std::sqrt(power));
    past_.resize(taps_.size() - 1);
}

void Channel::pass(std::span<const Sample> from, std::span<Sample> to) {
    const std::size_t reach = past_.size();
    std::vector<Sample> all(past_);
    all.insert(all.end(), from.begin(), from.end());
    const auto deviation = static_cast<float>(std::sqrt(model_.noise / 2));
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::complex<float> sum;
        for (std::size_t t = 0; t < taps_.size(); ++t) sum += taps_[t] * all[reach + i - t];
        const double angle = 2 * std::numbers::pi * phase_;
        sum *= std::complex{static_cast<float>(model_.gain * std::cos(angle)),
                            static_cast<float>(model_.gain * std::sin(angle))};
        phase_ += model_.offset;
        phase_ -= std::floor(phase_);
        if (deviation > 0) {
            const float real = normal_(random_);
            sum += std::complex{real, normal_(random_)} * deviation;
        }
        to[i] = sum;
    }
    past_.assign(all.end() - static_cast<std::ptrdiff_t>(reach), all.end());
}

double noise_for(const Format& format, double decibels) {
    const auto used = static_cast<double>(format.used.size()), size = static_cast<double>(format.size);
    return used / (size * size) / std::pow(10.0, decibels / 10);
}

}  // namespace penstock::apps::ofdm
