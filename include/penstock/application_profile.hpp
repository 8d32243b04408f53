// language layer: what a run of an application was like, written down for the passes that place and size it.
//
//     ApplicationProfile profile("sums", 4);
//     ... profile.look(run.statistics()) now and then, and when it has ended ...
//     write(profile.text());
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "penstock/stream_statistics.hpp"

namespace penstock {

/// What a run of an application took, for the passes that place and size its parts.
class ApplicationProfile {
  public:
    /// `targets`: of the machine that runs it.
    ApplicationProfile(std::string application, int targets);
    /// Lengths of queues are those that looks see: on average, and the longest. Other figures are those of the last
    /// look at each filter.
    void look(const RunStatistics& now);
    /// As XML, with names in alphabetical order.
    std::string text() const;

  private:
    struct Seen {
        FilterStatistics figures;
        double queues = 0;
        std::uint64_t longest = 0, looks = 0;
    };
    std::string application_;
    int targets_;
    double seconds_ = 0;
    std::map<std::string, Seen> filters_;
    std::map<std::pair<std::string, std::string>, StreamStatistics> streams_;
};

}  // namespace penstock
