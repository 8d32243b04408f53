// MUST SAY: function_that_is_not_overloaded
#include "penstock/penstock.hpp"

using namespace penstock;

void scale(std::span<float>) {}
void scale(std::span<double>) {}
void wrong(Machine& machine, std::span<float> x) { machine.call<scale>(inout(x)); }
