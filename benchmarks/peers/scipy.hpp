// SciPy as a contestant: a Python process that does a batch when it is asked to, so that its batches can be
// interleaved.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "harness/measure.hpp"

namespace bench {

/// The process. Start it before the calling thread is pinned: it may use the processors that its maker may use.
class Scipy {
  public:
    /// `threads`: how many its BLAS may use. Without a Python that has SciPy, available() is false. Which Python: the
    /// environment variable PENSTOCK_BENCH_PYTHON, or the one that the build was configured with, or python3.
    explicit Scipy(int threads);
    ~Scipy();
    Scipy(const Scipy&) = delete;
    Scipy& operator=(const Scipy&) = delete;

    bool available() const { return available_; }
    /// "scipy": ns for the kernel of this name (saxpy, sgemv, addition, conv2d, lu) at this size. The Scipy must
    /// outlive it.
    Contestant contestant(const std::string& kernel, std::size_t size);

  private:
    std::string answer();

    int process_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
    bool available_ = false;
};

}  // namespace bench
