// MUST SAY: a remote can be stored to, not loaded from
#include "penstock/remote.hpp"

using namespace penstock;

void wrong(Remote<float>& remote) { remote[0] = remote[1]; }
