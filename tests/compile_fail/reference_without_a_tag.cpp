// MUST SAY: a parameter of type T& needs a tagged argument
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void produce(int& x) { x = 1; }
void wrong(Machine& machine, int x) { machine.call<produce>(x); }
