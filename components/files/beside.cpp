#include "components/files/beside.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "penstock/error.hpp"

namespace penstock::components {
namespace fs = std::filesystem;
namespace {

/// Beside the path, and nobody else's.
std::string fresh_name(const std::string& path) {
    static std::atomic<unsigned> number{0};
    const auto whole = fs::path(path);
    return (whole.parent_path() / ("." + whole.filename().string() + ".part-" + std::to_string(getpid()) + "-" +
                                   std::to_string(number.fetch_add(1))))
        .string();
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char each) { return std::tolower(each); });
    return text;
}

}  // namespace

FileBeside::FileBeside(std::string path) : path_(std::move(path)) {
    if (path_.empty()) throw UsageError("the name of a file to write is empty");
    const auto folder = fs::path(path_).parent_path();
    std::error_code failed;
    if (!folder.empty() && !fs::is_directory(folder, failed)) fs::create_directories(folder, failed);
    if (failed) refuse(failed.value());
    if (fs::is_directory(path_, failed)) refuse(EISDIR);
    if (fs::exists(path_, failed) && !fs::is_regular_file(path_, failed))
        throw UsageError("'" + path_ + "' is a device, a pipe or a socket, and cannot be replaced by a file");
    // A file without a name is gone with its process, however that ends. Not every file system has such files.
    if (access("/proc/self/fd", X_OK) == 0)
        descriptor_ = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    name_ = fresh_name(path_);
    descriptor_ = open(name_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
        name_.clear();
        refuse(errno);
    }
}

FileBeside::~FileBeside() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!name_.empty()) unlink(name_.c_str());
}

void FileBeside::refuse(int error) const { throw SystemError("cannot write the file '" + path_ + "'", error); }

void FileBeside::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto done = ::write(descriptor_, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) refuse(done < 0 ? errno : EIO);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

void FileBeside::write_at(std::size_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto done = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) refuse(done < 0 ? errno : EIO);
        offset += static_cast<std::size_t>(done);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

void FileBeside::put_in_place() {
    if (name_.empty()) {
        const auto here = "/proc/self/fd/" + std::to_string(descriptor_);
        auto name = fresh_name(path_);
        if (linkat(AT_FDCWD, here.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) refuse(errno);
        name_ = std::move(name);
    }
    // What is late to fail (a quota, a file system over a network) fails here and not behind the renaming.
    const int closed = close(std::exchange(descriptor_, -1));
    if (closed != 0) refuse(errno);
    if (std::rename(name_.c_str(), path_.c_str()) != 0) refuse(errno);
    name_.clear();
}

std::string bytes_of_file(const std::string& path, std::size_t most) {
    const auto refuse = [&](int error) { throw SystemError("cannot read the file '" + path + "'", error); };
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) refuse(errno);
    const struct Closing {
        int descriptor;
        ~Closing() { close(descriptor); }
    } closing{descriptor};
    struct stat facts{};
    if (fstat(descriptor, &facts) != 0) refuse(errno);
    if (S_ISDIR(facts.st_mode)) refuse(EISDIR);
    const auto too_long = [&] {
        return UsageError("the file '" + path + "' has more than " + std::to_string(most) +
                          " bytes, which is the most that is read here");
    };
    if (S_ISREG(facts.st_mode) && static_cast<std::uintmax_t>(facts.st_size) > most) throw too_long();
    std::string bytes(static_cast<std::size_t>(S_ISREG(facts.st_mode) ? facts.st_size : 0) + 1, '\0');
    std::size_t there = 0;
    while (true) {  // to the end, which may have moved meanwhile
        if (there == bytes.size()) bytes.resize(2 * bytes.size());
        const auto got = read(descriptor, bytes.data() + there, bytes.size() - there);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse(errno);
        if (got == 0) break;
        there += static_cast<std::size_t>(got);
        if (there > most) throw too_long();
    }
    bytes.resize(there);
    return bytes;
}

std::vector<std::string> files_at(const std::string& path, const std::string& endings) {
    std::error_code failed;
    const auto refuse = [&](int error) { throw SystemError("cannot read '" + path + "'", error); };
    if (path.empty()) throw UsageError("the name of a file or folder to read is empty: set `path`");
    const auto facts = fs::status(path, failed);
    if (!fs::exists(facts)) refuse(failed ? failed.value() : ENOENT);
    if (!fs::is_directory(facts)) return {path};
    std::vector<std::string> wanted;
    for (std::size_t at = 0; (at = endings.find_first_not_of(' ', at)) != endings.npos;) {
        const auto end = std::min(endings.find(' ', at), endings.size());
        wanted.push_back(lower(endings.substr(at, end - at)));
        at = end;
    }
    std::vector<std::string> files;
    for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
        const auto name = lower(at->path().filename().string());
        const auto ends_so = [&](const std::string& ending) { return name.ends_with(ending); };
        std::error_code gone;  // a link to nothing is passed over
        if (name.starts_with(".") || !at->is_regular_file(gone)) continue;
        if (wanted.empty() || std::ranges::any_of(wanted, ends_so)) files.push_back(at->path().string());
    }
    if (failed) refuse(failed.value());
    if (files.empty())
        throw UsageError("the folder '" + path + "' has no files" +
                         (wanted.empty() ? "" : " whose names end in one of: " + endings));
    std::ranges::sort(files);
    return files;
}

std::string stem_of(const std::string& path) { return fs::path(path).stem().string(); }

}  // namespace penstock::components
