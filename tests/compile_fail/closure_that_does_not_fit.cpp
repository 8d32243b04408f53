// MUST SAY: say boxed(f)
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void wrong(Machine& machine, std::string text) {
    machine.call([text] {});
}
