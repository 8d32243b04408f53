// Each channel of a picture as an image of its own, for kernels that take one channel.
#pragma once

#include <vector>

#include "components/picture.hpp"

namespace penstock::components {

/// Memory for the channels, which is kept from picture to picture.
template <class T>
class Planes {
  public:
    /// work(channel of `from`, channel of `to`) for each channel; both pictures have as many.
    template <class Work>
    void each(const Buffer<T>& from, Buffer<T>& to, const Work& work) {
        const auto shape = shape_of(from), wanted = shape_of(to);
        if (shape.channels == 1) return work(rows_of(from), edit_rows(to));
        in_.resize(shape.pixels());
        out_.resize(wanted.pixels());
        const view<T, 2> in{in_.data(), {shape.rows, shape.columns}}, out{out_.data(), {wanted.rows, wanted.columns}};
        const T* const pixels = from.span().data();
        T* const results = to.edit().data();
        for (std::size_t c = 0; c < shape.channels; ++c) {
            for (std::size_t i = 0; i < shape.pixels(); ++i) in_[i] = pixels[i * shape.channels + c];
            work(view<const T, 2>(in), out);
            for (std::size_t i = 0; i < wanted.pixels(); ++i) results[i * shape.channels + c] = out_[i];
        }
    }

  private:
    std::vector<T> in_, out_;
};

}  // namespace penstock::components
