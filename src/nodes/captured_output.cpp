#include "nodes/captured_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "machine/uninterrupted.hpp"
#include "penstock/error.hpp"
#include "process/quiet_thread.hpp"

namespace penstock::nodes {
namespace {

constexpr std::size_t longest_line = 4096;

OwnedDescriptor copy_of(int descriptor) { return OwnedDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

std::shared_ptr<CapturedOutput> CapturedOutput::begin() {
    std::shared_ptr<CapturedOutput> made(new CapturedOutput);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("cannot read what an agent prints", errno);
    made->from_ = OwnedDescriptor(ends[0]);
    const OwnedDescriptor into(ends[1]);
    std::fflush(nullptr);
    made->out_ = copy_of(STDOUT_FILENO);
    made->error_ = copy_of(STDERR_FILENO);
    dup2(into.get(), STDOUT_FILENO);
    dup2(into.get(), STDERR_FILENO);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    made->thread_ = process::quiet_thread("penstock output", [all = made.get()] { all->read_all(); });
    return made;
}

void CapturedOutput::send_to(std::function<void(const std::string&)> whom) {
    const std::lock_guard guard(lock_);
    whom_ = std::move(whom);
}

void CapturedOutput::drain() {
    const std::lock_guard one_at_a_time(draining_);
    std::fflush(nullptr);
    if (uninterrupted([] { return write(STDOUT_FILENO, "", 1); }) != 1) return;
    std::unique_lock guard(lock_);
    ++asked_;
    marked_.wait_for(guard, std::chrono::seconds(1), [&] { return marks_ >= asked_; });
}

void CapturedOutput::end() noexcept {
    if (!thread_.joinable()) return;
    std::fflush(nullptr);
    dup2(out_ ? out_.get() : error_.get(), STDOUT_FILENO);
    dup2(error_.get(), STDERR_FILENO);
    thread_.join();  // nobody can write any more, so what it reads comes to an end
}

void CapturedOutput::read_all() {
    std::string line;
    const auto say = [&] {
        const std::lock_guard guard(lock_);
        if (whom_) whom_(line);
        else if (error_) dprintf(error_.get(), "%s\n", line.c_str());
        line.clear();
    };
    char part[4096];
    for (;;) {
        const auto got = uninterrupted([&] { return read(from_.get(), part, sizeof part); });
        if (got <= 0) break;
        for (ssize_t i = 0; i < got; ++i)
            if (part[i] == '\0') {  // drain() wrote it
                if (!line.empty()) say();
                const std::lock_guard guard(lock_);
                ++marks_;
                marked_.notify_all();
            } else if (part[i] == '\n' || line.size() >= longest_line) {
                if (part[i] != '\n') line += part[i];
                say();
            } else {
                line += part[i];
            }
    }
    if (!line.empty()) say();
}

}  // namespace penstock::nodes
