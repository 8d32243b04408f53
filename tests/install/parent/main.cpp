// A call and a kernel, in a program whose project has Penstock as a folder.
#include <kernels/add.hpp>
#include <penstock/penstock.hpp>
#include <vector>

void twice(std::span<float> x) {
    for (float& value : x) value *= 2;
}

int main() {
    std::vector<float> x{1, 2, 3};
    penstock::Machine machine;
    machine.call<twice>(penstock::inout(x)).wait();
    return x == std::vector<float>{2, 4, 6} ? 0 : 1;
}
