/* A library of filter classes in C, as an example and for the tests: halve, ramp, smooth, rows and alarm. */
#include "penstock/component_library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- halve: nothing is kept, and a buffer goes on as it came ---- */

static int halve(void* filter, penstock_firing* firing) {
    (void)filter;
    penstock_buffer x;
    double* values = firing->read(firing, 0, &x) ? firing->edit(firing, &x) : NULL;
    if (values == NULL) return PENSTOCK_GO_ON;
    for (size_t i = 0; i < x.count; ++i) values[i] *= 0.5;
    firing->write(firing, 0, &x);
    return PENSTOCK_GO_ON;
}

/* ---- ramp: a source ---- */

typedef struct Ramp {
    int64_t written;
} Ramp;

static void* create_ramp(const penstock_class* of) {
    (void)of;
    return calloc(1, sizeof(Ramp));
}

static int ramp(void* filter, penstock_firing* firing) {
    Ramp* kept = filter;
    if (kept->written == firing->setting(firing, 0).integer) return PENSTOCK_ENDED;
    const size_t extent = 1;
    penstock_buffer out;
    double* value = firing->make(firing, 0, 1, &extent, &out);
    if (value == NULL) return PENSTOCK_FAILED;
    *value = (double)kept->written * firing->setting(firing, 1).number;
    const penstock_tags tags = {(uint64_t)kept->written, 7, {1, 2}};
    firing->set_tags(firing, &out, &tags);
    ++kept->written;
    return firing->write(firing, 0, &out) ? PENSTOCK_GO_ON : PENSTOCK_FAILED;
}

/* ---- smooth: the mean of the last values, with a state that can go to another process ---- */

enum { MOST_VALUES = 64 };

typedef struct Smooth {
    double values[MOST_VALUES];
    size_t count;
} Smooth;

static void* create_smooth(const penstock_class* of) {
    (void)of;
    return calloc(1, sizeof(Smooth));
}

static int smooth(void* filter, penstock_firing* firing) {
    Smooth* kept = filter;
    const size_t window = (size_t)firing->setting(firing, 0).integer;
    penstock_buffer x;
    double* values = firing->read(firing, 0, &x) ? firing->edit(firing, &x) : NULL;
    if (values == NULL) return PENSTOCK_GO_ON;
    for (size_t i = 0; i < x.count; ++i) {
        if (isnan(values[i])) return firing->fail(firing, "a value is no number");
        while (kept->count >= window) memmove(kept->values, kept->values + 1, --kept->count * sizeof(double));
        kept->values[kept->count++] = values[i];
        double sum = 0;
        for (size_t k = 0; k < kept->count; ++k) sum += kept->values[k];
        values[i] = sum / (double)kept->count;
    }
    firing->write(firing, 0, &x);
    return PENSTOCK_GO_ON;
}

/* "forget": what came before; a number that comes with the event is as if it were the only one that came. Others are not for this class. */
static int smooth_event(void* filter, penstock_firing* firing, const char* name, const penstock_value* value) {
    Smooth* kept = filter;
    if (strcmp(name, "forget") != 0) return PENSTOCK_GO_ON;
    if (value->kind == PENSTOCK_TEXT) return firing->fail(firing, "forget comes with a number, or with nothing");
    kept->count = 0;
    if (value->kind == PENSTOCK_NUMBER) kept->values[kept->count++] = value->number;
    return PENSTOCK_GO_ON;
}

static size_t save_smooth(void* filter, void* to, size_t room) {
    const Smooth* kept = filter;
    const size_t bytes = kept->count * sizeof(double);
    if (bytes <= room && bytes != 0) memcpy(to, kept->values, bytes);
    return bytes;
}

static int load_smooth(void* filter, const void* from, size_t bytes) {
    Smooth* kept = filter;
    if (bytes > sizeof kept->values || bytes % sizeof(double) != 0) return PENSTOCK_FAILED;
    if (bytes != 0) memcpy(kept->values, from, bytes);
    kept->count = bytes / sizeof(double);
    return PENSTOCK_GO_ON;
}

/* ---- rows: the sum of each row of an image, and at the end how many rows there were ---- */

static int rows(void* filter, penstock_firing* firing) {
    int64_t* count = filter;
    penstock_buffer image, sums;
    if (!firing->read(firing, 0, &image)) return PENSTOCK_GO_ON;
    double* sum = firing->make(firing, 0, 1, &image.extents[0], &sums);
    if (sum == NULL) return PENSTOCK_FAILED;
    const float* pixels = image.values;
    for (size_t r = 0; r < image.extents[0]; ++r) {
        sum[r] = 0;
        for (size_t c = 0; c < image.extents[1]; ++c) sum[r] += pixels[r * image.extents[1] + c];
    }
    *count += (int64_t)image.extents[0];
    firing->write(firing, 0, &sums);
    return PENSTOCK_GO_ON;
}

static int finish_rows(void* filter, penstock_firing* firing) {
    const size_t extent = 1;
    penstock_buffer out;
    int64_t* count = firing->connected(firing, 1) ? firing->make(firing, 1, 1, &extent, &out) : NULL;
    if (count == NULL) return PENSTOCK_GO_ON;
    *count = *(int64_t*)filter;
    firing->write(firing, 1, &out);
    return PENSTOCK_GO_ON;
}

static void* create_rows(const penstock_class* of) {
    (void)of;
    return calloc(1, sizeof(int64_t));
}

/* ---- alarm: sends an event for each buffer whose greatest value is above a limit ---- */

static int alarm_above(void* filter, penstock_firing* firing) {
    (void)filter;
    penstock_buffer x;
    if (!firing->read(firing, 0, &x)) return PENSTOCK_GO_ON;
    penstock_value greatest = {.kind = PENSTOCK_NUMBER, .number = -INFINITY};
    const double* values = x.values;
    for (size_t i = 0; i < x.count; ++i) greatest.number = fmax(greatest.number, values[i]);
    if (greatest.number > firing->setting(firing, 0).number && !firing->send(firing, 0, &greatest)) return PENSTOCK_FAILED;
    firing->write(firing, 0, &x);
    return PENSTOCK_GO_ON;
}

/* ---- the table ---- */

static const penstock_port number_in[] = {{.name = "in", .element = "float64"}};
static const penstock_port number_out[] = {{.name = "out", .element = "float64"}};
static const penstock_port image_in[] = {{.name = "image", .element = "float32", .dimensions = 2}};
static const penstock_port rows_out[] = {{.name = "sums", .element = "float64", .dimensions = 1}, {.name = "count", .element = "int64"}};

static const penstock_setting ramp_settings[] = {
    {.name = "count", .value = {.kind = PENSTOCK_INTEGER, .integer = 10}, .unit = "buffers", .least = 0, .most = INFINITY},
    {.name = "slope", .value = {.kind = PENSTOCK_NUMBER, .number = 1}},
};
static const penstock_setting smooth_settings[] = {
    {.name = "window", .value = {.kind = PENSTOCK_INTEGER, .integer = 2}, .unit = "values", .least = 1, .most = MOST_VALUES},
};
static const penstock_setting alarm_settings[] = {{.name = "limit", .value = {.kind = PENSTOCK_NUMBER, .number = 0}}};
static const penstock_event_output alarm_events[] = {{.name = "loud", .kind = PENSTOCK_NUMBER}};

static const penstock_class classes[] = {
    {.name = "example:halve", .documentation = "Halves each value.", .inputs = number_in, .input_count = 1, .outputs = number_out, .output_count = 1,
     .may_be_copied = 1, .fire = halve},
    {.name = "example:ramp", .documentation = "Writes `count` values: 0, slope, 2 slope...", .outputs = number_out, .output_count = 1,
     .settings = ramp_settings, .setting_count = 2, .create = create_ramp, .destroy = free, .fire = ramp},
    {.name = "example:smooth", .documentation = "The mean of the last `window` values, for each value.", .inputs = number_in, .input_count = 1,
     .outputs = number_out, .output_count = 1, .settings = smooth_settings, .setting_count = 1, .create = create_smooth, .destroy = free, .fire = smooth,
     .event = smooth_event, .save = save_smooth, .load = load_smooth},
    {.name = "example:rows", .documentation = "The sum of each row of an image; at the end, how many rows there were.", .inputs = image_in,
     .input_count = 1, .outputs = rows_out, .output_count = 2, .create = create_rows, .destroy = free, .fire = rows, .finish = finish_rows},
    {.name = "example:alarm", .documentation = "Sends `loud`, with its greatest value, for each buffer that goes above `limit`.", .inputs = number_in,
     .input_count = 1, .outputs = number_out, .output_count = 1, .settings = alarm_settings, .setting_count = 1, .event_outputs = alarm_events,
     .event_output_count = 1, .fire = alarm_above},
};

static const penstock_library library = {PENSTOCK_COMPONENT_INTERFACE, classes, sizeof classes / sizeof classes[0]};

PENSTOCK_EXPORT const penstock_library* penstock_component_library(void) { return &library; }
