// MUST SAY: a remote can be stored to, not loaded from
#include "penstock/remote.hpp"

using namespace penstock;

float wrong(Remote<float>& remote) { return remote[0]; }
