/* Classes that break the rules while they run. */
#include "penstock/component_library.h"

#include <stdlib.h>
#include <string.h>

static penstock_buffer kept; /* of an earlier firing, which nobody may use any more */

static int misuse(void* filter, penstock_firing* firing) {
    (void)filter;
    const char* how = firing->setting(firing, 0).text;
    const size_t extents[4] = {2, 2, 1, 1};
    penstock_buffer x, other;
    if (!firing->read(firing, 0, &x)) return PENSTOCK_GO_ON;
    if (strcmp(how, "twice") == 0) {
        firing->write(firing, 0, &x);
        firing->write(firing, 0, &x);
    } else if (strcmp(how, "no-buffer") == 0) {
        memset(&other, 0, sizeof other);
        firing->write(firing, 0, &other);
    } else if (strcmp(how, "kept") == 0) {
        firing->write(firing, 0, kept.number == 0 ? &x : &kept);
        kept = x;
        kept.number = 1;
    } else if (strcmp(how, "no-input") == 0) {
        firing->read(firing, 3, &other);
    } else if (strcmp(how, "no-setting") == 0) {
        (void)firing->setting(firing, 9);
    } else if (strcmp(how, "dimensions") == 0) {
        firing->make(firing, 0, 2, extents, &other);
    } else if (strcmp(how, "too-many-dimensions") == 0) {
        firing->make(firing, 1, 4, extents, &other);
    } else if (strcmp(how, "too-large") == 0) {
        const size_t most[2] = {(size_t)-1, (size_t)-1};
        firing->make(firing, 1, 2, most, &other);
    } else if (strcmp(how, "other-type") == 0) {
        firing->write(firing, 1, &x);
    } else if (strcmp(how, "answer") == 0) {
        return 7;
    } else if (strcmp(how, "silent") == 0) {
        return PENSTOCK_FAILED;
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else {
        firing->write(firing, 0, &x);
    }
    return PENSTOCK_GO_ON;
}

static void* create_nothing(const penstock_class* of) {
    (void)of;
    return NULL;
}

static const penstock_port in[] = {{.name = "in", .element = "float64"}};
static const penstock_port out[] = {{.name = "out", .element = "float64", .dimensions = 1}, {.name = "other", .element = "sample", .element_size = 12}};
static const penstock_setting how[] = {{.name = "how", .value = {.kind = PENSTOCK_TEXT}}};
static const penstock_class classes[] = {
    {.name = "misuse", .documentation = "Does what `how` says.", .inputs = in, .input_count = 1, .outputs = out, .output_count = 2, .settings = how,
     .setting_count = 1, .fire = misuse},
    {.name = "not-made", .documentation = "Cannot be made.", .inputs = in, .input_count = 1, .create = create_nothing, .destroy = free, .fire = misuse},
};
static const penstock_library library = {PENSTOCK_COMPONENT_INTERFACE, classes, 2};

PENSTOCK_EXPORT const penstock_library* penstock_component_library(void) { return &library; }
