// Edge detection over many angles (36 in the paper), by two algorithms that find the same edges at different cost.
//
// For each angle, derivatives of Gaussians of four widths along it are combined with smoothing Gaussians of four widths
// across it: 16 responses, of which the strongest counts, and then the strongest of all angles. Edge-2D filters the
// picture with 16 dense kernels turned to the angle. Edge-Rot turns the picture instead, where the kernels are
// separable (20 passes of one dimension), and turns the response back. From Cell-Space's evaluation, where they are two
// graphs that share filters; see streams.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "apps/report.hpp"
#include "kernels/affine.hpp"
#include "kernels/convolution.hpp"
#include "penstock/view.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::edge {

/// dense: Edge-2D. turned: Edge-Rot.
enum class Algorithm { dense, turned };

/// Standard deviations of the Gaussians, in pixels: along the angle (first derivative) and across it.
inline constexpr std::array<double, 4> widths{0.7, 1.0, 1.4, 2.0};
/// A kernel reaches this many standard deviations, rounded up to pixels.
inline constexpr double reach = 3;

/// What lies outside of a picture, also of a turned one: c b | a b c d | c b (BORDER_REFLECT_101 of OpenCV, 'mirror' of
/// SciPy).
inline constexpr kernels::Border<float> border{kernels::Outside::reflect101, 0};

/// A square kernel of `side` x `side`, or a line of `side`.
struct Kernel {
    std::size_t side = 0;
    std::vector<float> weights;
};

/// One of `count` angles: number k is k * 180 / count degrees, from the columns' direction towards the rows'.
struct Angle {
    std::size_t number = 0, count = 36;
    double radians() const noexcept;
};

/// A derivative of width `sigma` as a line, whose positive weights sum up to 1: a step in brightness gives its own
/// height.
Kernel derivative(double sigma);
/// A Gaussian, whose weights sum up to 1.
Kernel smoothing(double sigma);
/// Both as one kernel turned to the angle: the Gaussians taken at each pixel's place along the angle and across it, on
/// a square that the wider one reaches, scaled as derivative() is.
Kernel turned_kernel(double along, double across, const Angle& angle);
/// All 16 of an angle, made once in the life of the program by whoever asks first (45 us). Any thread.
const std::vector<Kernel>& turned_kernels(const Angle& angle);

/// Edge-2D at one angle. May be used by several threads.
class Dense {
  public:
    explicit Dense(const Angle& angle) : kernels_(&turned_kernels(angle)) {}
    /// strongest := the greatest magnitude of the 16 responses; `response` is overwritten. All have the picture's
    /// shape.
    void operator()(view<const float, 2> picture, view<float, 2> response, view<float, 2> strongest) const;

  private:
    const std::vector<Kernel>* kernels_;
};

/// The canvas that holds a whole picture turned by an angle, with room for the kernels around it, and the ways there
/// and back.
struct Turn {
    Turn(const Angle& angle, std::size_t rows, std::size_t columns);
    std::size_t rows, columns;    ///< of the canvas
    kernels::Affine there, back;  ///< picture to canvas, canvas to picture
};

/// The middle of Edge-Rot: the strongest of the 16 responses of a picture that is turned already.
class Separable {
  public:
    Separable();
    /// As Dense; `smooth` is overwritten too.
    void operator()(view<const float, 2> canvas, view<float, 2> smooth, view<float, 2> response,
                    view<float, 2> strongest) const;

  private:
    std::vector<Kernel> derivatives_, smoothings_;
};

/// One angle of one picture by either algorithm, with memory for what lies in between: one thread at a time.
class Detector {
  public:
    Detector(Algorithm algorithm, std::size_t angles);
    /// result := the strongest response at angle number `angle`; shaped like the picture.
    void operator()(view<const float, 2> picture, std::size_t angle, view<float, 2> result);

  private:
    void turn_and_back(view<const float, 2> picture, const Angle& angle, view<float, 2> result);

    Algorithm algorithm_;
    std::size_t angles_;
    std::vector<std::optional<Dense>> dense_;  // of each angle that was asked for
    Separable separable_;
    std::vector<float> turned_, smooth_, response_, strongest_;
};

/// One thread, one angle after the other: result(p, i, j) := the strongest response of picture p. Both have the same
/// shape.
void serial(Algorithm algorithm, view<const float, 3> pictures, view<float, 3> result, std::size_t angles);

/// The largest difference of a dense result from the definition in float64, at every `step`-th pixel, in units of the
/// largest pixel.
double relative_error(view<const float, 3> pictures, view<const float, 3> result, std::size_t angles, std::size_t step);

/// Every pixel := 0.
void clear(view<float, 2> image);

/// Picture p of a stack.
template <class T>
view<T, 2> picture_of(view<T, 3> pictures, std::size_t p) noexcept {
    return {pictures.data() + static_cast<std::ptrdiff_t>(p) * pictures.stride(0),
            {pictures.extent(1), pictures.extent(2)}};
}

/// The application for the gallery. Settings: rows and columns of a picture (256), block_rows (the number of angles,
/// 36), block_columns (the number of pictures, 2), seed. Input "pictures" (pictures x rows x columns, float32). Arrays
/// kept: "pictures", "dense" and "result" (of both algorithms, each as pictures).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::edge
