// An application over ranks in all its variants: threads and processes, 1..N ranks, beside one thread without any
// ranks.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/ranks.hpp"
#include "harness/floors.hpp"
#include "harness/measure.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"

namespace bench {

/// One way for ranks to work together. `seconds` computes, checks what it made, and tells how long it took.
struct RankVariant {
    std::string name;
    std::function<double(const penstock::apps::RankOptions&)> seconds;
};

/// An application and its variants; the first one uses shared memory, and the others are compared with it.
struct OverRanks {
    std::string name;
    std::function<double()> serial;  ///< seconds of one thread
    std::vector<RankVariant> variants;
};

/// 1, 2, 4 ... and as many as there are processors; at least 2.
inline std::vector<int> widths() {
    const int most = std::max(2, static_cast<int>(allowed_processors().size()));
    std::vector<int> widths;
    for (int ranks = 1; ranks < most; ranks *= 2) widths.push_back(ranks);
    widths.push_back(most);
    return widths;
}

/// All variants with this many ranks, interleaved with the serial way, which is the floor. Rows say how many times
/// faster each is than the shared-memory variant on the same substrate, and than one thread.
inline Result compare(const OverRanks& application, int ranks, penstock::Substrate substrate, const Plan& plan,
                      Report& report) {
    std::vector<Contestant> contestants{{"serial", [&] { return application.serial() * 1e9; }}};
    for (const auto& variant : application.variants)
        contestants.push_back({variant.name, [&variant, ranks, substrate] {
                                   return variant.seconds({.ranks = ranks, .substrate = substrate}) * 1e9;
                               }});
    // ranks are forked where there is no other thread
    for (auto& contestant : contestants) contestant.look = passing_look;
    Result result = measure(contestants, plan);
    report.conditions(result);
    const std::string prefix =
        application.name + ", " + std::to_string(ranks) + " " + std::string(penstock::name(substrate)) + ", ";
    const auto& shared = application.variants.front().name;
    for (const auto& variant : application.variants) {
        const Interval over = result.ratio(shared, variant.name).usual;
        report.row(prefix + variant.name, {{"median_us", result.median(variant.name) / 1000},
                                           {"over_shared", over.value},
                                           {"low", over.low},
                                           {"high", over.high},
                                           {"speed_up", result.ratio("serial", variant.name).usual.value}});
    }
    return result;
}

/// The same for every width and both substrates.
inline void compare_everywhere(const OverRanks& application, const Plan& plan, Report& report) {
    for (const int ranks : widths())
        for (const auto substrate : {penstock::Substrate::threads, penstock::Substrate::processes})
            compare(application, ranks, substrate, plan, report);
}

}  // namespace bench
