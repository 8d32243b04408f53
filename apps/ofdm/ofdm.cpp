#include "apps/ofdm/ofdm.hpp"

#include <algorithm>
#include <memory>
#include <random>

#include "apps/ofdm/receiver.hpp"
#include "apps/ofdm/transmit.hpp"

namespace penstock::apps::ofdm {

std::string_view name(Variant variant) noexcept {
    switch (variant) {
        case Variant::shared:
            return "shared";
        case Variant::stages:
            return "stages";
        case Variant::push:
            return "push";
    }
    return "?";
}

Problem::Problem(const Format& of, std::span<const Sample> signal, std::size_t most)
    : format{of}, samples{std::max<std::size_t>(signal.size(), 1)}, frames{std::max<std::size_t>(most, 1)}, found{1},
      count{signal.size()} {
    std::ranges::copy(signal, samples.data());
}

void serial(const Problem& problem) {
    static thread_local std::unique_ptr<Receiver> receiver;
    static thread_local const Format* format = nullptr;
    if (format != &problem.format) receiver = std::make_unique<Receiver>(*(format = &problem.format));
    receiver->restart();
    std::uint64_t found = 0;
    const auto keep = [&](const Frame& frame) {
        if (found < problem.frames.size()) {
            Frame& to = problem.frames[found];
            to.head = frame.head;
            to.whole = frame.whole;
            std::copy_n(frame.octets.begin(), frame.head.octets, to.octets.begin());
        }
        ++found;
    };
    for (std::size_t at = 0; at < problem.count; at += usual_portion)
        receiver->push({problem.samples.data() + at, std::min(usual_portion, problem.count - at)}, keep);
    receiver->end();
    problem.found[0] = found;
}

std::vector<Sample> made_signal(const Format& format, const MadeSignal& made,
                                std::vector<std::vector<std::uint8_t>>* sent) {
    std::mt19937 random{made.seed};
    const auto silence = [&] { return 50 + random() % 400; };
    std::vector<Sample> air(silence());
    for (std::size_t frame = 0; frame < made.frames; ++frame) {
        std::vector<std::uint8_t> octets(made.octets - std::min<std::size_t>(made.octets, 4));
        for (auto& octet : octets) octet = static_cast<std::uint8_t>(random());
        octets = with_check(std::move(octets));
        octets.resize(made.octets);
        const auto samples = transmit(format, rate_of(made.megabits), octets, 1 + random() % 127);
        air.insert(air.end(), samples.begin(), samples.end());
        air.resize(air.size() + silence());
        if (sent != nullptr) sent->push_back(std::move(octets));
    }
    air.resize(air.size() + 2 * format.symbol);
    std::vector<Sample> received(air.size());
    Channel{made.channel}.pass(air, received);
    return received;
}

}  // namespace penstock::apps::ofdm
