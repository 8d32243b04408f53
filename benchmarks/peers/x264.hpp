// x264 on one film, in a Python process with PyAV, so that its batches can be interleaved.
#pragma once

#include <string>

#include "apps/h264/clip.hpp"
#include "harness/measure.hpp"
#include "peers/python_server.hpp"

namespace bench {

class X264 {
  public:
    /// Without a Python that has PyAV with libx264, available() is false.
    explicit X264(const penstock::apps::h264::Clip& clip);

    bool available() const { return available_; }
    enum class Threads {
        one,
        sliced,  ///< two, each with a slice of a picture
        frames,  ///< two, each with a picture
    };
    /// ns for the whole film. This must outlive it.
    Contestant contestant(const std::string& name, const std::string& preset, int quantiser, Threads threads);
    /// What x264 makes of the film at a quantiser.
    struct Quality {
        double bytes = 0, decibels = 0;
    };
    Quality quality(const std::string& preset, int quantiser);
    /// The signal-to-noise ratio at so many bytes, between those of two quantisers next to each other. Not a number
    /// where x264 makes so few or so many with none.
    double decibels_at(const std::string& preset, double bytes);

  private:
    PythonServer server_;
    bool available_ = false;
};

}  // namespace bench
