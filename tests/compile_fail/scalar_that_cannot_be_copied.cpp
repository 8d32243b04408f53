// MUST SAY: must be trivially copyable
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void take(std::string) {}
void wrong(Machine& machine, std::string text) { machine.call<take>(text); }
