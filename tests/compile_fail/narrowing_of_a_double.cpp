// MUST SAY: this conversion would narrow
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void scale(float) {}
void wrong(Machine& machine) { machine.call<scale>(2.0); }
