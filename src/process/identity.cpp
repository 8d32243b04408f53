#include "penstock/detail/process/identity.hpp"

#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "machine/uninterrupted.hpp"
#include "penstock/detail/machine/owned_descriptor.hpp"

namespace penstock {
namespace {

struct Status {
    char state = 0;
    long threads = 0;
    unsigned long long start = 0;
};

// From the first thread's stat, which emulators pass through (they make up /proc/PID/stat of the process itself, and
// its start would differ from what others see). The command's name stands in parentheses and may contain anything.
// Without asking for memory: it is read where a thread or a process begins.
std::optional<Status> status_of(long process) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", process, process);
    const OwnedDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
    char text[1024];
    const auto length = uninterrupted([&] { return read(file.get(), text, sizeof text - 1); });
    if (length <= 0) return std::nullopt;
    text[length] = '\0';
    const char* const end_of_name = std::strrchr(text, ')');
    if (end_of_name == nullptr) return std::nullopt;
    Status status;
    // Fields 3, 20 and 22.
    const int found =
        std::sscanf(end_of_name + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu",
                    &status.state, &status.threads, &status.start);
    return found == 3 ? std::optional(status) : std::nullopt;
}

bool has_ended(const Status& status) {
    // The first thread of a living process may have ended before the others.
    return status.state == 'X' || (status.state == 'Z' && status.threads <= 1);
}

}  // namespace

ProcessIdentity ProcessIdentity::of_this_process() {
    const auto pid = getpid();
    const auto status = status_of(pid);
    return {pid, status ? status->start : 0};
}

bool ProcessIdentity::alive() const {
    if (kill(pid, 0) != 0 && errno == ESRCH) return false;
    const auto status = status_of(pid);
    if (!status) return true;  // it is there, and /proc hides it
    return !has_ended(*status) && (start_time == 0 || status->start == start_time);
}

}  // namespace penstock
