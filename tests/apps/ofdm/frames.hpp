// What the tests of the receiver share: random frames, a signal with frames in it, what a receiver finds there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "apps/ofdm/channel.hpp"
#include "apps/ofdm/receiver.hpp"
#include "apps/ofdm/transmit.hpp"

namespace ofdm_tests {

namespace ofdm = penstock::apps::ofdm;
using ofdm::Format;
using ofdm::Rate;
using ofdm::Sample;
using Octets = std::vector<std::uint8_t>;

/// `octets` of them, the last four their check sequence; fewer than five have none.
inline Octets random_octets(std::mt19937& random, std::size_t octets) {
    Octets made(octets > 4 ? octets - 4 : octets);
    for (auto& octet : made) octet = static_cast<std::uint8_t>(random());
    return octets > 4 ? ofdm::with_check(made) : made;
}

/// Frames in silence.
struct Air {
    explicit Air(const Format& of) : format{of}, samples(237) {}
    void add(const Rate& rate, const Octets& octets, unsigned scrambler = 0x5d, std::size_t silence = 333) {
        const auto frame = ofdm::transmit(format, rate, octets, scrambler);
        samples.insert(samples.end(), frame.begin(), frame.end());
        samples.resize(samples.size() + silence);
        sent.push_back(octets);
    }
    std::vector<Sample> through(const ofdm::ChannelModel& model) const {
        std::vector<Sample> received(samples.size());
        ofdm::Channel{model}.pass(samples, received);
        return received;
    }
    const Format& format;
    std::vector<Sample> samples;
    std::vector<Octets> sent;
};

struct Found {
    std::vector<ofdm::Frame> frames;
    ofdm::SynchroniserCounts counts;

    std::vector<Octets> octets(bool whole_only = false) const {
        std::vector<Octets> all;
        for (const auto& frame : frames)
            if (frame.whole || !whole_only)
                all.emplace_back(frame.octets.begin(), frame.octets.begin() + frame.head.octets);
        return all;
    }
};

/// By the receiver on one thread; samples come in portions of so many (0: all at once), each of which is gone when it
/// has been pushed.
inline Found receive(const Format& format, std::span<const Sample> samples, std::size_t portion = 0) {
    Found found;
    const auto receiver = std::make_unique<ofdm::Receiver>(format);
    const auto take = [&](const ofdm::Frame& frame) { found.frames.push_back(frame); };
    if (portion == 0) portion = std::max<std::size_t>(samples.size(), 1);
    std::vector<Sample> passing;
    for (std::size_t at = 0; at < samples.size(); at += portion) {
        const auto part = samples.subspan(at, std::min(portion, samples.size() - at));
        passing.assign(part.begin(), part.end());
        receiver->push(passing, take);
        std::ranges::fill(passing, Sample{1e30f, 1e30f});
    }
    receiver->end();
    found.counts = receiver->counts();
    return found;
}

}  // namespace ofdm_tests
