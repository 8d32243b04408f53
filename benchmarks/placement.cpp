// Filters that the runtime places by a profile (the pass `place`), beside filters that are placed in turn, that nobody
// has placed, and that are placed as well as can be: stages of unequal work behind one another.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "grain/piece.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/application.hpp"
#include "penstock/application_profile.hpp"
#include "penstock/components.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/transformation.hpp"

namespace {

using namespace penstock;

constexpr std::int64_t items = 2'000;
constexpr int targets = 2;

struct Numbers {
    Output<std::uint64_t> out{"out"};
    std::int64_t next = 0;
    bool operator()() {
        if (next == items) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = static_cast<std::uint64_t>(next++);
        out.write(std::move(buffer));
        return true;
    }
};

struct Work {
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    Setting<int> iterations{"iterations", 1};
    void operator()() {
        auto buffer = in.read();
        auto& value = buffer.edit()[0];
        value = bench::grain::piece(value, iterations);
        out.write(std::move(buffer));
    }
};

struct Digest {
    Input<std::uint64_t> in{"in"};
    std::uint64_t* digest;
    explicit Digest(std::uint64_t* to) : digest(to) {}
    void operator()() { bench::grain::fold(*digest, in.read().span()[0]); }
};

/// Stages by how long they take, in thousands of iterations (about a microsecond each).
using Stages = std::array<int, 6>;

/// Where each component stands, the source and the sink included; empty: nobody has placed them.
std::string written(const Stages& stages, const std::vector<int>& places) {
    const auto at = [&](std::size_t i) {
        return places.empty() ? std::string() : " targets=\"" + std::to_string(places[i]) + "\"";
    };
    std::string text =
        "<application xmlns=\"urn:penstock:application:1\" name=\"stages\"><component name=\"s0\" class=\"numbers\"" +
        at(0) + "/>";
    std::string streams;
    for (std::size_t i = 0; i <= stages.size(); ++i) {
        const auto name = "s" + std::to_string(i + 1);
        if (i == stages.size()) text += "<component name=\"" + name + "\" class=\"digest\"" + at(i + 1) + "/>";
        else
            text += "<component name=\"" + name + "\" class=\"work\"" + at(i + 1) +
                    "><set name=\"iterations\" value=\"" + std::to_string(stages[i] * 1000) + "\"/></component>";
        streams += "<stream from=\"s" + std::to_string(i) + ".out\" to=\"" + name + ".in\"/>";
    }
    return text + streams + "</application>";
}

/// In turn, in the order of the stream.
std::vector<int> in_turn() {
    std::vector<int> places;
    for (std::size_t i = 0; i < Stages{}.size() + 2; ++i) places.push_back(static_cast<int>(i) % targets);
    return places;
}

/// Of all placements on two targets that divide the work best the one that changes targets least, by the known work.
std::vector<int> by_hand(const Stages& stages) {
    const unsigned count = static_cast<unsigned>(stages.size()) + 2;
    std::pair<int, int> least{std::numeric_limits<int>::max(), 0};
    unsigned best = 0;
    for (unsigned choice = 0; choice < 1u << count; ++choice) {
        std::array<int, targets> load{};
        for (std::size_t i = 0; i < stages.size(); ++i) load[choice >> (i + 1) & 1] += stages[i];
        const std::pair now{std::ranges::max(load), std::popcount((choice ^ choice >> 1) & ((1u << (count - 1)) - 1))};
        if (now < least) least = now, best = choice;
    }
    std::vector<int> places;
    for (unsigned i = 0; i < count; ++i) places.push_back(static_cast<int>(best >> i & 1));
    return places;
}

/// What comes out, by one thread.
std::uint64_t digest_of(const Stages& stages) {
    std::uint64_t digest = 0;
    for (std::int64_t i = 0; i < items; ++i) {
        auto value = static_cast<std::uint64_t>(i);
        for (const int stage : stages) value = bench::grain::piece(value, stage * 1000);
        bench::grain::fold(digest, value);
    }
    return digest;
}

class Program {
  public:
    Program() {
        components_.add<Numbers>("numbers", "0, 1, 2...");
        components_.add<Work>("work", "So many iterations.");
        components_.add<Digest>("digest", "Of all, in order.", &digest_);
    }

    /// Nanoseconds an item.
    double run(const std::string& text, std::uint64_t wanted) {
        const auto application = Application::parse(text, "stages.xml", {.components = &components_});
        digest_ = 0;
        const auto start = bench::Clock::now();
        auto running = application.start(*machine_);
        running.finish();
        const double nanoseconds = bench::nanoseconds_since(start);
        if (digest_ != wanted) throw std::runtime_error("placement: results that are wrong");
        return nanoseconds / items;
    }

    /// The application placed by the runtime, from a profile of a run in which nobody had placed anything.
    std::string placed(const Stages& stages) {
        const auto text = written(stages, {});
        const TransformOptions named{.application = {.components = &components_}};
        ApplicationProfile profile("stages", targets);
        auto running = Application::parse(text, "stages.xml", named.application).start(*machine_);
        running.finish();
        profile.look(running.run().statistics());
        auto options = named;
        options.profile = profile.text();
        return transform_text(text, {"place"}, "stages.xml", options);
    }

  private:
    std::uint64_t digest_ = 0;
    Components components_;
    std::unique_ptr<Machine> machine_ = bench::make_machine({.targets = targets});
};

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"placement",
                             "filters placed by a profile beside filters in turn, unplaced and placed by hand",
                             {"placement/over-in-turn", "placement/of-by-hand"}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = std::min(options.plan.rounds, 31);
    bench::Report report{about, options};
    Program program;
    bench::Ratio over, of;
    bool first = true;
    for (const Stages& stages : {Stages{4, 1, 4, 1, 2, 1}, Stages{1, 5, 2, 2, 1, 3}, Stages{6, 1, 1, 2, 3, 2}}) {
        const auto wanted = digest_of(stages);
        std::vector<bench::Contestant> contestants;
        for (const auto& [name, text] : {std::pair<std::string, std::string>{"in turn", written(stages, in_turn())},
                                         {"by profile", program.placed(stages)},
                                         {"unplaced", written(stages, {})},
                                         {"by hand", written(stages, by_hand(stages))}})
            contestants.push_back({name, [&program, wanted, text] { return program.run(text, wanted); }});
        const auto result = bench::measure(contestants, options.plan);
        std::string label;
        for (const int stage : stages) label += (label.empty() ? "" : " ") + std::to_string(stage);
        report.rows(label + ": ", result);
        for (auto& [all, ratio] : {std::pair{&over, result.ratio("in turn", "by profile")},
                                   std::pair{&of, result.ratio("by hand", "by profile")}}) {
            if (first) *all = ratio;
            else all->add(ratio);
        }
        first = false;
    }
    report.goal("placement/over-in-turn", over, bench::Direction::at_least, 1.1);
    report.goal("placement/of-by-hand", of, bench::Direction::at_least, 0.95);
    report.note(
        "six stages behind one another, by their work in thousands of iterations; in turn: the first component on one "
        "target, the next on the other; by profile: the pass `place`; by hand: the best division of the known work, "
        "with the fewest changes of targets");
    return report.finish();
}
