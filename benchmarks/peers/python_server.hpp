// A Python process that does a batch when it is asked to, so that what runs in it can be measured in turn with
// everybody else.
#pragma once

#include <cstdio>
#include <string>

namespace bench {

/// The process. Start it before the calling thread is pinned: it may use the processors that its maker may use. Which
/// Python: the environment variable PENSTOCK_BENCH_PYTHON, or the one that the build was configured with, or python3.
class PythonServer {
  public:
    /// Runs the program in the file `script`, which says "ready" on a line when it is. `threads`: how many its BLAS may
    /// use. Without a Python that can run it, available() is false.
    PythonServer(const char* script, int threads);
    ~PythonServer();
    PythonServer(const PythonServer&) = delete;
    PythonServer& operator=(const PythonServer&) = delete;

    bool available() const { return available_; }
    /// Writes a line and gives the line that comes back; nothing when the process has ended.
    std::string ask(const std::string& request);
    /// The same where the answer is a number, of nanoseconds. Throws std::runtime_error when the process has ended.
    double nanoseconds(const std::string& request);

  private:
    std::string answer();

    int process_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
    bool available_ = false;
};

}  // namespace bench
