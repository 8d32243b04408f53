// The file has one line a claim: a check sum, the process, its start, the number of the claim, its processors. A
// process may be killed while it writes: a line whose sum is wrong counts as not there.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "machine/file_size.hpp"
#include "machine/uninterrupted.hpp"
#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/error.hpp"
#include "process/budget_table.hpp"

namespace penstock::budget {
namespace {

using namespace std::chrono_literals;

// A holder needs well under a millisecond; one that was stopped in there must not stop everybody.
constexpr auto longest_wait = 2s;
constexpr int most_processors = 1 << 20;

// FNV-1a, 64 bits: against accidents, not against enemies.
std::uint64_t check_sum(std::string_view text) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return sum;
}

std::string line_of(const Entry& entry) {
    std::ostringstream text;
    text << entry.process.pid << ' ' << entry.process.start_time << ' ' << entry.id << ' ';
    for (std::size_t i = 0; i < entry.processors.size(); ++i) text << (i == 0 ? "" : ",") << entry.processors[i];
    std::ostringstream line;
    line << std::hex << check_sum(text.str()) << ' ' << text.str() << '\n';
    return line.str();
}

std::optional<Entry> entry_of(const std::string& line) {
    Entry entry;
    std::string sum;
    std::istringstream in(line);
    in >> sum >> entry.process.pid >> entry.process.start_time >> entry.id;
    for (int processor; in >> processor; in.ignore()) {
        if (processor < 0 || processor >= most_processors) return std::nullopt;
        entry.processors.push_back(processor);
    }
    // Read as if it were right; it is, when the same comes out again.
    if (line_of(entry) != line + '\n' || entry.process.pid <= 0 || entry.processors.empty()) return std::nullopt;
    return entry;
}

// The file, open and locked. It may be removed between the opening and the locking: then look again.
class LockedFile {
  public:
    explicit LockedFile(const std::filesystem::path& path) : path_(path) {
        const auto deadline = std::chrono::steady_clock::now() + longest_wait;
        while (!open_and_lock(deadline)) {
        }
    }
    ~LockedFile() {
        // Unlocked by name, not only by closing: a child forked meanwhile has the same open file.
        flock(file_.get(), LOCK_UN);
    }

    std::string read_all() const {
        std::string text;
        char part[4096];
        for (;;) {
            const auto got =
                uninterrupted([&] { return pread(file_.get(), part, sizeof part, static_cast<off_t>(text.size())); });
            if (got < 0) fail("cannot read", errno);
            if (got == 0) return text;
            text.append(part, static_cast<std::size_t>(got));
        }
    }

    void write_all(const std::string& text) const {
        const WithinFileSize limited;
        for (std::size_t done = 0; done < text.size();) {
            const auto put = uninterrupted(
                [&] { return pwrite(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done)); });
            if (put <= 0) fail("cannot write", put < 0 ? errno : ENOSPC);
            done += static_cast<std::size_t>(put);
        }
        if (ftruncate(file_.get(), static_cast<off_t>(text.size())) != 0) fail("cannot cut", errno);
    }

    void remove() const { unlink(path_.c_str()); }

  private:
    bool open_and_lock(std::chrono::steady_clock::time_point deadline) {
        file_.reset(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file_) fail("cannot open", errno);
        refuse_what_is_not_ours();
        lock(deadline);
        return status().st_nlink != 0;
    }

    void lock(std::chrono::steady_clock::time_point deadline) const {
        while (uninterrupted([&] { return flock(file_.get(), LOCK_EX | LOCK_NB); }) != 0) {
            if (errno != EWOULDBLOCK) fail("cannot lock", errno);
            if (std::chrono::steady_clock::now() > deadline)
                fail("somebody holds for seconds the lock of", EWOULDBLOCK);
            std::this_thread::sleep_for(100us);
        }
    }

    // The folder may be one in which others can create files.
    void refuse_what_is_not_ours() const {
        const auto found = status();
        if (!S_ISREG(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 077) != 0)
            fail("another user could write, so this user's processes cannot trust,", EPERM);
    }

    struct stat status() const {
        struct stat found{};
        if (fstat(file_.get(), &found) != 0) fail("cannot look at", errno);
        return found;
    }

    [[noreturn]] void fail(const std::string& what, int number) const {
        throw SystemError(what + " the processor budget " + path_.string() + "; unset PENSTOCK_BUDGET to do without",
                          number);
    }

    const std::filesystem::path& path_;
    OwnedDescriptor file_;
};

std::vector<Entry> living_entries(const std::string& text) {
    std::vector<Entry> entries;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        auto entry = entry_of(line);
        if (!entry || !entry->process.alive()) continue;
        const bool again = std::any_of(entries.begin(), entries.end(), [&](const Entry& known) {
            return known.process == entry->process && known.id == entry->id;
        });
        if (!again) entries.push_back(std::move(*entry));
    }
    return entries;
}

}  // namespace

Table table_in_file(std::filesystem::path path) {
    return [path = std::move(path)](const auto& change) {
        const LockedFile file(path);
        const std::string before = file.read_all();
        auto entries = living_entries(before);
        change(entries);
        std::string after;
        for (const auto& entry : entries) after += line_of(entry);
        if (after.empty()) file.remove();
        else if (after != before) file.write_all(after);
    };
}

}  // namespace penstock::budget
