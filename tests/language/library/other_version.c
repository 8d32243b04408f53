/* A library of a later version of the interface than there is. */
#include "penstock/component_library.h"

static const penstock_library library = {PENSTOCK_COMPONENT_INTERFACE + 1, NULL, 0};

PENSTOCK_EXPORT const penstock_library* penstock_component_library(void) { return &library; }
