// Every form of the receiver gives the frames of the one on one thread, bit for bit.
#include <chrono>
#include <cstring>
#include <thread>

#include "../ranks.hpp"
#include "apps/ofdm/ofdm.hpp"
#include "apps/written.hpp"
#include "frames.hpp"
#include "penstock/application.hpp"
#include "penstock/machine.hpp"

namespace {

using namespace ofdm_tests;
using ofdm::Problem;
using ofdm::Variant;

/// Frames of all rates and many lengths, some of them damaged by noise; the last one is cut.
std::vector<Sample> mixed_signal(const Format& format, unsigned seed) {
    std::mt19937 random{seed};
    Air air{format};
    for (int i = 0; i < 14; ++i)
        air.add(ofdm::rates[random() % 8], random_octets(random, i == 5 ? 2500 : 1 + random() % 900),
                1 + random() % 127, random() % 700);
    auto samples = air.through({.offset = 0.0004, .echoes = 1, .noise = ofdm::noise_for(format, 19), .seed = seed});
    samples.resize(samples.size() - 500);
    return samples;
}

struct Serial {
    explicit Serial(std::size_t size)
        : format{Format::of(size)}, samples{mixed_signal(format, 4)}, problem{format, samples, 20} {
        ofdm::serial(problem);
    }
    void expect_same(const Problem& other, const std::string& what) const {
        ASSERT_EQ(other.found[0], problem.found[0]) << what;
        for (std::size_t i = 0; i < problem.found[0]; ++i) {
            const auto &one = other.frames[i], &wanted = problem.frames[i];
            EXPECT_EQ(std::memcmp(&one.head, &wanted.head, sizeof(wanted.head)), 0) << what << ", frame " << i;
            EXPECT_EQ(one.whole, wanted.whole) << what << ", frame " << i;
            EXPECT_EQ(std::memcmp(one.octets.data(), wanted.octets.data(), wanted.head.octets), 0)
                << what << ", frame " << i;
        }
    }
    const Format& format;
    std::vector<Sample> samples;
    Problem problem;
};

const Serial& of_size(std::size_t size) {
    static const Serial of_64{64}, of_256{256};
    return size == 64 ? of_64 : of_256;
}

TEST(OfdmForms, the_signal_has_whole_frames_and_damaged_ones) {
    for (const std::size_t size : {64u, 256u}) {
        const auto& problem = of_size(size).problem;
        std::size_t whole = 0;
        for (std::size_t i = 0; i < problem.found[0]; ++i) whole += problem.frames[i].whole;
        EXPECT_GE(problem.found[0], 12u);
        EXPECT_GE(whole, 5u);
        EXPECT_LT(whole, problem.found[0]);
    }
}

class OfdmRanks : public app_tests::RanksTest {};

TEST_P(OfdmRanks, have_the_frames_of_one_thread_in_every_variant) {
    for (const std::size_t size : {64u, 256u}) {
        const Serial& serial = of_size(size);
        for (const Variant variant : ofdm::variants) {
            for (const int ranks : {1, 2, 3, 5}) {
                if (ranks == 5 && size == 256) continue;
                const Problem problem{serial.format, serial.samples, 20};
                EXPECT_GT(ofdm::parallel(problem, variant, on(ranks)), 0.0);
                serial.expect_same(problem, std::string(ofdm::name(variant)) + " of " + std::to_string(ranks));
            }
        }
    }
}

TEST_P(OfdmRanks, find_no_frames_where_there_are_none) {
    const std::vector<Sample> silence(1000);
    const Problem problem{Format::of(64), silence, 0};
    for (const Variant variant : ofdm::variants) {
        ofdm::parallel(problem, variant, on(2));
        EXPECT_EQ(problem.found[0], 0u);
    }
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(OfdmRanks);

TEST(OfdmStreams, have_the_frames_of_one_thread_for_every_number_of_copies_and_targets) {
    for (const std::size_t size : {64u, 256u}) {
        const Serial& serial = of_size(size);
        for (const int targets : {0, 1, 3}) {
            penstock::Machine machine{{.targets = targets}};
            for (const int copies : {1, 2, 5}) {
                for (const std::size_t portion : {700u, 16384u}) {
                    const Problem problem{serial.format, serial.samples, 20};
                    ofdm::streamed(problem, machine, copies, portion);
                    serial.expect_same(problem, std::to_string(copies) + " copies on " + std::to_string(targets));
                }
            }
        }
    }
}

#if !defined(PENSTOCK_TESTS_WITHOUT_XML)
TEST(OfdmStreams, have_them_as_they_are_written_down) {
    penstock::Machine machine{{.targets = 2}};
    for (const std::size_t size : {64u, 256u}) {
        const Serial& serial = of_size(size);
        for (const int copies : {1, 3}) {
            const Problem problem{serial.format, serial.samples, 20};
            ofdm::written(problem, machine, copies);
            serial.expect_same(problem, "written, " + std::to_string(copies) + " copies");
        }
    }
}

TEST(OfdmStreams, go_on_while_events_change_the_gain_and_the_channel) {
    const Format& format = Format::of(64);
    std::mt19937 random{8};
    Air air{format};
    for (int i = 0; i < 400; ++i) air.add(ofdm::rate_of(6), random_octets(random, 60), 5, 200);
    const Problem problem{format, air.samples, air.sent.size()};
    auto components = penstock::apps::silent_components();
    ofdm::add_components(components, problem);
    penstock::ApplicationOptions options;
    options.components = &components;
    options.settings = {{"snr", "25"}, {"portion", "1000"}};
    penstock::Machine machine{{.targets = 1}};
    auto run = penstock::apps::application("ofdm", options).start(machine);
    std::thread director([&] {
        for (const char* event : {"louder", "fade", "softer", "clear", "louder"}) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            try {
                run.send({event, true});
            } catch (const penstock::RunEnded&) {
            }
        }
    });
    run.finish();
    director.join();
    // A change may hit a frame while it is sent, and no other.
    std::size_t whole = 0;
    for (std::size_t i = 0; i < problem.found[0]; ++i) {
        const auto& frame = problem.frames[i];
        if (!frame.whole) continue;
        ++whole;
        const Octets octets(frame.octets.begin(), frame.octets.begin() + frame.head.octets);
        EXPECT_NE(std::ranges::find(air.sent, octets), air.sent.end());
    }
    EXPECT_GE(whole, air.sent.size() - 10);
}
#endif

}  // namespace
