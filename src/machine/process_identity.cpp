#include "machine/process_identity.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

namespace penstock {
namespace {

struct Status {
    char state = 0;
    long threads = 0;
    std::uint64_t start = 0;
};

// From the first thread's stat, which emulators pass through (they make up /proc/PID/stat of the process itself, and its
// start would differ from what others see). The command's name stands in parentheses and may contain anything.
std::optional<Status> status_of(long process) {
    const std::string number = std::to_string(process);
    std::ifstream in("/proc/" + number + "/task/" + number + "/stat");
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return std::nullopt;
    std::istringstream rest(text.substr(end_of_name + 1));
    Status status;
    std::string skipped;
    rest >> status.state;                               // field 3
    for (int i = 4; i < 20; ++i) rest >> skipped;       // fields 4 to 19
    rest >> status.threads >> skipped >> status.start;  // fields 20 to 22
    return rest ? std::optional(status) : std::nullopt;
}

bool has_ended(const Status& status) {
    // The first thread of a living process may have ended before the others.
    return status.state == 'X' || (status.state == 'Z' && status.threads <= 1);
}

}  // namespace

ProcessIdentity ProcessIdentity::of_this_process() {
    const long number = getpid();
    const auto status = status_of(number);
    return {number, status ? status->start : 0};
}

bool ProcessIdentity::alive() const {
    if (kill(static_cast<pid_t>(number), 0) != 0 && errno == ESRCH) return false;
    const auto status = status_of(number);
    if (!status) return true;  // it is there, and /proc hides it
    return !has_ended(*status) && (start == 0 || status->start == start);
}

}  // namespace penstock
