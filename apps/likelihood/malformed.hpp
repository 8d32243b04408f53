// What a file that cannot be read as what it should be is refused with.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "penstock/error.hpp"

namespace penstock::apps::likelihood {

/// A file that is no alignment or no tree: which one, where, and what is wrong there.
class MalformedFile : public UsageError {
  public:
    /// `line` 0: the file as a whole.
    MalformedFile(std::string file, std::size_t line, const std::string& what)
        : UsageError(file + (line != 0 ? ":" + std::to_string(line) : "") + ": " + what), file_{std::move(file)},
          line_{line} {}

    const std::string& file() const noexcept { return file_; }
    std::size_t line() const noexcept { return line_; }

  private:
    std::string file_;
    std::size_t line_;
};

/// A piece of a file as a message shows it: what cannot be printed as \xNN, and not too much.
std::string shown(std::string_view text);

/// The whole file. Throws SystemError when it cannot be read.
std::string text_of(const std::string& path);

}  // namespace penstock::apps::likelihood
