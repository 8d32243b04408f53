// MUST SAY: say boxed(f)
#include <memory>
#include <list>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void wrong(Machine& machine, std::string text) { machine.call([text] {}); }
