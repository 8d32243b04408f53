// MUST SAY: only trivially copyable elements can be staged
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const std::string>) {}
void wrong(Machine& machine, std::vector<std::string>& x) { machine.call<consume>(staged(in(x))); }
