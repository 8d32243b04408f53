#include <gtest/gtest.h>

#include "kernels/affine.hpp"
#include "kernels/convolution.hpp"
#include "kernels/images.hpp"
#include "kernels/maximum.hpp"
#include "penstock/machine.hpp"

namespace {

using images::Image;
using penstock::in;
using penstock::out;
using namespace penstock::kernels;

TEST(Kernels, run_as_tasks_over_the_tiles_of_an_image_with_the_bits_of_one_call) {
    const auto image = images::random_image<float>(70, 130, 1);
    const Filter<float, 9> filter{{0.1f, 0.2f, 0.1f, 0.2f, 0.4f, 0.2f, 0.1f, 0.2f, -0.5f}};
    const Affine map{{0.9, 0.3, -4, -0.3, 0.9, 7}};
    const Border<float> border{Outside::replicate, 0};
    Image<float> filtered{70, 130}, turned{70, 130}, greater{70, 130}, whole{70, 130}, wanted{70, 130};
    convolve_3x3<float>(image.all(), whole.all(), filter, {}, border);
    affine<float>(image.all(), wanted.all(), map, Interpolation::bilinear, border);
    maximum<float>(whole.all(), wanted.all(), wanted.all());

    penstock::Machine machine{{.targets = 1}};
    images::for_each_tile(70, 130, 32, 48, [&](Place at, std::array<std::size_t, 2> extents) {
        const auto [window, place] = images::window_of(image, at, extents, 1, 1);
        const auto tile = [&](Image<float>& of) { return of.all().part({at.row, at.column}, extents); };
        machine.call<convolve_3x3<float>>(in(window), out(tile(filtered)), filter, place, border);
        machine.call<affine<float>>(in(image.all()), out(tile(turned)), map, Interpolation::bilinear, border, at,
                                    Whole{});
        machine.barrier();
        machine.call<maximum<float>>(in(tile(filtered)), in(tile(turned)), out(tile(greater)));
    });
    machine.barrier();
    EXPECT_EQ(filtered, whole);
    EXPECT_EQ(greater, wanted);
}

}  // namespace
