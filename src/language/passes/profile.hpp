// A profile as it was written, for the passes that read it.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace penstock::language {

struct ProfiledComponent {
    int copies = 1;
    double firings = 0;
    double service = 0;  ///< seconds a firing; 0: none was timed
    double waits_for_output = 0;
    /// Seconds of one processor.
    double work() const noexcept { return firings * service; }
};

struct ProfiledStream {
    double buffers = 0;
    double capacity = 0;
};

struct Profile {
    int targets = 0;
    std::map<std::string, ProfiledComponent> components;
    std::map<std::pair<std::string, std::string>, ProfiledStream> streams;  ///< from, to
};

/// Throws UsageError for a text that is none.
Profile read_profile(const std::string& text);

}  // namespace penstock::language
