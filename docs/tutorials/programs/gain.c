#include <penstock/component_library.h>

/* One firing: takes a buffer, multiplies its values in place, and hands it on. */
static int fire(void* filter, penstock_firing* firing) {
    (void)filter;
    penstock_buffer buffer;
    if (!firing->read(firing, 0, &buffer)) return PENSTOCK_FAILED;
    double* values = firing->edit(firing, &buffer);
    if (!values) return PENSTOCK_FAILED;
    const double gain = firing->setting(firing, 0).number;
    for (size_t i = 0; i < buffer.count; ++i) values[i] *= gain;
    return firing->write(firing, 0, &buffer) ? PENSTOCK_GO_ON : PENSTOCK_FAILED;
}

static const penstock_port in = {.name = "in", .element = "float64"}, out = {.name = "out", .element = "float64"};
static const penstock_setting gain = {.name = "gain", .value = {.kind = PENSTOCK_NUMBER, .number = 1}, .unit = "times"};
static const penstock_class classes[] = {{.name = "gain", .documentation = "Multiplies.", .inputs = &in, .input_count = 1, .outputs = &out,
                                          .output_count = 1, .settings = &gain, .setting_count = 1, .may_be_copied = 1, .fire = fire}};
static const penstock_library library = {PENSTOCK_COMPONENT_INTERFACE, classes, 1};

PENSTOCK_EXPORT const penstock_library* penstock_component_library(void) { return &library; }
