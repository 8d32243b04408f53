// SciPy as a contestant: a Python process that does a batch when it is asked to, so that its batches can be
// interleaved.
#pragma once

#include <string>

#include "harness/measure.hpp"
#include "peers/python_server.hpp"

namespace bench {

/// The process: see PythonServer.
class Scipy {
  public:
    /// `threads`: how many its BLAS may use. Without a Python that has SciPy, available() is false.
    explicit Scipy(int threads);

    bool available() const { return server_.available(); }
    /// "scipy": ns for the kernel of this name (saxpy, sgemv, addition, conv2d, lu) at this size. The Scipy must
    /// outlive it.
    Contestant contestant(const std::string& kernel, std::size_t size);

  private:
    PythonServer server_;
};

}  // namespace bench
