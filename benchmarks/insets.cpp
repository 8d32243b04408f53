// Pictures that come and go in a running film: 10,000 changes by a motion detector, with each frame counted; and what
// reconfiguring costs beside a control that stops the whole graph for each change.
#include <algorithm>
#include <string>
#include <vector>

#include "apps/jpip/changing.hpp"
#include "harness/options.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "harness/statistics.hpp"
#include "penstock/machine.hpp"

int main(int argc, char** argv) {
    using namespace penstock::apps;
    const bench::About about{
        "insets",
        "pictures that come and go in a film, beside a control that stops the graph for each change",
        {"insets/wrong-frames", "insets/over-stopping"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    penstock::Machine machine{{.targets = std::max(1, static_cast<int>(bench::allowed_processors().size()) - 1)}};
    const std::uint64_t changes = options.quick ? 1'000 : 10'000, few = options.quick ? 100 : 400;
    const auto moved = jpip::change_by_motion(machine, 4, changes);
    report.row("by a motion detector for each of 4 films", {{"changes", static_cast<double>(moved.changes)},
                                                            {"frames", static_cast<double>(moved.frames)},
                                                            {"wrong", static_cast<double>(moved.wrong)},
                                                            {"seconds", moved.seconds}});
    constexpr std::uint64_t every = 4;
    std::vector<double> gains, running, stopping;
    auto wrong = moved.wrong;
    for (int round = 0; round < (options.quick ? 3 : 9); ++round) {
        const auto going_on = jpip::change_by_count(machine, 4, few, every),
                   stopped = jpip::change_by_stopping(machine, 4, few, every);
        wrong += going_on.wrong + stopped.wrong;
        running.push_back(static_cast<double>(going_on.frames) / going_on.seconds);
        stopping.push_back(static_cast<double>(stopped.frames) / stopped.seconds);
        gains.push_back(running.back() / stopping.back());
    }
    const auto row = [&](const char* name, std::vector<double> values) {
        const auto found = bench::median_interval(values);
        report.row(name, {{"median", found.value}, {"low", found.low}, {"high", found.high}});
        return found;
    };
    row("frames a second, a change every 4 frames", running);
    row("the same, the graph stopped for each change", stopping);
    const auto gain = row("gain", gains);
    const auto lost = static_cast<double>(wrong);
    report.goal("insets/wrong-frames", {lost, lost, lost}, bench::Direction::at_most, 0);
    report.goal("insets/over-stopping", gain, bench::Direction::at_least, 1);
    report.note("wrong: lost, repeated or out of their turn; frames of 256 x 144, " +
                std::to_string(machine.targets()) + " targets");
    return report.finish();
}
