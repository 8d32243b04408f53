// MUST SAY: a member function needs its object
#include "penstock/penstock.hpp"

using namespace penstock;

struct Scaler {
    void scale(std::span<float>) {}
};
void wrong(Machine& machine, std::span<float> x) { machine.call<&Scaler::scale>(inout(x)); }
