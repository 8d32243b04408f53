// The libraries of images, in a Python process (images_server.py), one thread.
#pragma once

#include <string>
#include <vector>

#include "peers/python_server.hpp"

namespace bench {

class ImageLibraries {
  public:
    ImageLibraries();

    /// Those that are installed: none without a Python that has NumPy.
    const std::vector<std::string>& names() const { return names_; }
    std::string list() const;
    /// For a line "kernel type rows columns library", the nanoseconds of one call; 0 where the library has no such
    /// thing.
    double nanoseconds(const std::string& line) { return server_.nanoseconds(line); }

  private:
    PythonServer server_;
    std::vector<std::string> names_;
};

}  // namespace bench
