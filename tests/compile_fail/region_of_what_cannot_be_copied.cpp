// MUST SAY: the elements of a region are copied byte by byte
#include <string>

#include "penstock/region.hpp"

using namespace penstock;

void wrong(Rank me) { Region<std::string>(me, "texts", 10); }
