// The first program of a user: one tagged call, checked.
#include <cstdio>
#include <kernels/add.hpp>
#include <penstock/penstock.hpp>
#include <span>
#include <vector>

void scale(std::span<const float> x, std::span<float> y, float a) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = a * x[i];
}

int main() {
    const std::vector<float> x{1, 2, 3};
    std::vector<float> y(x.size());
    penstock::Machine machine;
    machine.call<scale>(penstock::in(x), penstock::out(y), 2.0f).wait();
    std::printf("%g %g %g\n", y[0], y[1], y[2]);
    return y == std::vector<float>{2, 4, 6} ? 0 : 1;
}
