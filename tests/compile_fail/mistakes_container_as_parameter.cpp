// MUST SAY: let the parameter be std::span<const T>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(const std::vector<float>&) {}
void wrong(Machine& machine, const std::vector<float>& x) { machine.call<consume>(in(x)); }
