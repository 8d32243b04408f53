// A file that is written beside the one that it is to become, and takes its place when it is complete: whoever reads
// the path sees the old file or the new one, and nothing half-written stays behind.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace penstock::components {

class FileBeside {
  public:
    /// Makes the folders of the path, if need be. Throws SystemError, with the path.
    explicit FileBeside(std::string path);
    /// A file that was not put in place goes.
    ~FileBeside();
    FileBeside(const FileBeside&) = delete;
    FileBeside& operator=(const FileBeside&) = delete;

    const std::string& path() const noexcept { return path_; }
    int descriptor() const noexcept { return descriptor_; }
    /// Throw SystemError with the path: a full disc, a file that may not grow.
    void write(std::span<const std::byte> bytes);
    void write_at(std::size_t offset, std::span<const std::byte> bytes);
    template <class T>
    void write(std::span<const T> values) {
        write(std::as_bytes(values));
    }
    /// Puts it in the place of `path`. Once.
    void put_in_place();
    [[noreturn]] void refuse(int error) const;

  private:
    std::string path_;
    std::string name_;  ///< under which it is there meanwhile; empty: under none
    int descriptor_ = -1;
};

/// All bytes of a file. Throws SystemError with its path; UsageError when it is longer than `most`.
std::string bytes_of_file(const std::string& path, std::size_t most);

/// The files of a folder whose names have one of these endings (".jpg .png", in either case; none: all), by name,
/// without those whose names begin with a dot; or the path itself, when it is a file. Throws SystemError for what is
/// not there, UsageError for a folder without such files.
std::vector<std::string> files_at(const std::string& path, const std::string& endings);

/// The name of a file without its folder and its ending.
std::string stem_of(const std::string& path);

}  // namespace penstock::components
