/* What a shared library says so that applications can use its filter classes by name. Plain C (C11), and C++.
 *
 *     static int halve(void* filter, penstock_firing* firing) {
 *         penstock_buffer x;
 *         double* values = firing->read(firing, 0, &x) ? firing->edit(firing, &x) : NULL;
 *         if (values == NULL) return PENSTOCK_GO_ON;
 *         for (size_t i = 0; i < x.count; ++i) values[i] *= 0.5;
 *         firing->write(firing, 0, &x);
 *         return PENSTOCK_GO_ON;
 *     }
 *     static const penstock_port in[] = {{.name = "in", .element = "float64"}}, out[] = {{.name = "out", .element = "float64"}};
 *     static const penstock_class classes[] = {{.name = "halve", .documentation = "Halves each value.", .inputs = in, .input_count = 1,
 *                                               .outputs = out, .output_count = 1, .may_be_copied = 1, .fire = halve}};
 *     static const penstock_library library = {PENSTOCK_COMPONENT_INTERFACE, classes, 1};
 *     PENSTOCK_EXPORT const penstock_library* penstock_component_library(void) { return &library; }
 *
 * Compiled with `cc -shared -fPIC halve.c -o libhalve.so`, it needs nothing of Penstock but this header. Who runs an application names the
 * library: `penstock run FILE --library ./libhalve.so`, Components::load() in C++, penstock.load_components() in Python.
 *
 * All that the table points to must stay as it is until the process ends. Functions of one filter are called one at a time, in any thread; those of
 * different filters at the same time. None may throw or jump out. What is 0 or NULL has not been said.
 */
#ifndef PENSTOCK_COMPONENT_LIBRARY_H
#define PENSTOCK_COMPONENT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/* A library of another version is refused. */
#define PENSTOCK_COMPONENT_INTERFACE 2

#if defined(__GNUC__)
#define PENSTOCK_EXPORT __attribute__((visibility("default")))
#else
#define PENSTOCK_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions of a class return. */
enum {
    PENSTOCK_GO_ON = 0,
    PENSTOCK_ENDED = 1, /* of fire() alone: this filter has no more to give */
    PENSTOCK_FAILED = -1
};

/* Kinds of values. */
enum { PENSTOCK_BOOLEAN = 0, PENSTOCK_INTEGER = 1, PENSTOCK_NUMBER = 2, PENSTOCK_TEXT = 3 };

/* The value of a setting or an event. */
typedef struct penstock_value {
    int kind; /* which of the others holds it */
    int64_t integer;  /* PENSTOCK_INTEGER; PENSTOCK_BOOLEAN: 0 or 1 */
    double number;    /* PENSTOCK_NUMBER; of an integer that is given to the library, the same as a number */
    const char* text; /* PENSTOCK_TEXT, in UTF-8; given to the library, it is there until its function returns */
} penstock_value;

/* An input or an output. Names are a letter, then letters, digits, '-' and '_'. */
typedef struct penstock_port {
    const char* name; /* as files write it */
    /* Type of the values: bool, int8 to int64, uint8 to uint64, float32, float64, complex64, complex128; or a name of your own, of a struct. Streams
     * join ports whose types have the same name and size. */
    const char* element;
    size_t element_size; /* bytes; needed for a name of your own */
    size_t dimensions;   /* of the buffers: 1 to 3; 0: any of these. A firing that meets or makes others fails */
    int optional;        /* inputs: the filter also fires without a buffer here */
    size_t at_least;     /* inputs: buffers that must wait here before it fires (at the end of the stream fewer do); 0: one */
} penstock_port;

/* A value that is given from outside. */
typedef struct penstock_setting {
    const char* name; /* as files write it */
    penstock_value value; /* when nobody gives one; its kind is that of the setting */
    const char* unit; /* for people; may be NULL */
    double least, most; /* of integers and numbers; both 0: no limits. INFINITY is none on that side */
} penstock_setting;

/* An event output: messages outside the streams, which an application gives names and rules. */
typedef struct penstock_event_output {
    const char* name; /* as files write it */
    int kind; /* of its values: PENSTOCK_BOOLEAN to PENSTOCK_TEXT */
} penstock_event_output;

/* What travels with a buffer. */
typedef struct penstock_tags {
    uint64_t sequence; /* number in the stream of the source */
    uint64_t time;     /* of the source */
    uint64_t user[2];  /* of your own */
} penstock_tags;

/* A buffer while a function of the filter runs. What was read or made and not written goes back when it returns. */
typedef struct penstock_buffer {
    const void* values; /* to be read */
    size_t count; /* of values, in all dimensions */
    size_t dimensions; /* 1 to 3 */
    size_t extents[3]; /* as many as there are dimensions */
    penstock_tags tags; /* those that it came with */
    size_t number;      /* the program's */
} penstock_buffer;

typedef struct penstock_firing penstock_firing;

/* What a filter may do while one of its functions runs. Where something goes wrong (there is no such port, no memory, a buffer that was written
 * already), these return 0 or NULL, and the firing fails with the reason, whatever fire() returns. Ports and settings by their numbers, from 0. */
struct penstock_firing {
    /* Takes the oldest buffer. 0: none waits. */
    int (*read)(penstock_firing* firing, size_t input, penstock_buffer* buffer);
    /* Buffers that wait. */
    size_t (*waiting)(penstock_firing* firing, size_t input);
    /* Will no more come? */
    int (*ended)(penstock_firing* firing, size_t input);
    /* The values of a buffer, to be written: `values` of it from now on. One that others read too is copied first. */
    void* (*edit)(penstock_firing* firing, penstock_buffer* buffer);
    /* A buffer for an output, with values that are not initialised. `extents`: as many as `dimensions`, 1 to 3. */
    void* (*make)(penstock_firing* firing, size_t output, size_t dimensions, const size_t* extents, penstock_buffer* buffer);
    /* Sets the tags of a buffer; without, a buffer has those of the first one that was read in this firing. */
    int (*set_tags)(penstock_firing* firing, penstock_buffer* buffer, const penstock_tags* tags);
    /* Hands the buffer on; it cannot be used afterwards. 1: done. */
    int (*write)(penstock_firing* firing, size_t output, penstock_buffer* buffer);
    /* No more will come from this filter there. Its end closes all its outputs. */
    void (*close)(penstock_firing* firing, size_t output);
    /* Does anybody read what is written there? */
    int (*connected)(penstock_firing* firing, size_t output);
    /* As it is in this firing. */
    penstock_value (*setting)(penstock_firing* firing, size_t setting);
    /* Sends an event by an event output. The value is of the output's kind; an integer may stand for a number. 1: done. */
    int (*send)(penstock_firing* firing, size_t event_output, const penstock_value* value);
    /* Says why the firing fails, in words for whoever runs the application. Returns PENSTOCK_FAILED. */
    int (*fail)(penstock_firing* firing, const char* message);
};

/* A class of filters. */
typedef struct penstock_class {
    const char* name;          /* a letter, then letters, digits, '-', '_' and ':' */
    const char* documentation; /* one line */
    const penstock_port* inputs;                /* in the order of their numbers */
    size_t input_count;                         /* of `inputs` */
    const penstock_port* outputs;               /* the same */
    size_t output_count;                        /* of `outputs` */
    const penstock_setting* settings;           /* the same */
    size_t setting_count;                       /* of `settings` */
    const penstock_event_output* event_outputs; /* the same */
    size_t event_output_count;                  /* of `event_outputs` */
    int may_be_copied; /* several copies may run at once */
    int on_any_input;  /* fires when any of its inputs has a buffer, not all */

    /* What a filter keeps, made before its first function is called, and given to all of them. NULL: nothing, or it cannot be made. create() and
     * destroy() come together, or neither. */
    void* (*create)(const struct penstock_class* of);
    /* Ends it. */
    void (*destroy)(void* filter);
    /* Each firing. A filter without inputs is a source: it is fired until it returns PENSTOCK_ENDED. */
    int (*fire)(void* filter, penstock_firing* firing);
    /* When the run begins; may write. */
    int (*start)(void* filter, penstock_firing* firing);
    /* Behind the last firing; may write. */
    int (*finish)(void* filter, penstock_firing* firing);
    /* A message outside the streams, between firings; also those to the whole graph, whatever they are called. */
    int (*event)(void* filter, penstock_firing* firing, const char* name, const penstock_value* value);
    /* For filters in worker processes: writes what a filter keeps to `to`, if it fits in `room` bytes, and returns how many it needs; called behind
     * each firing. load() puts it into another filter, made in another process; start() is called behind it. Both, or neither. */
    size_t (*save)(void* filter, void* to, size_t room);
    /* The other half of save(). */
    int (*load)(void* filter, const void* from, size_t bytes);
} penstock_class;

/* What a library offers. */
typedef struct penstock_library {
    uint32_t interface_version; /* PENSTOCK_COMPONENT_INTERFACE */
    const penstock_class* classes; /* all of them */
    size_t class_count;            /* of `classes` */
} penstock_library;

/* Exported by the library, and called once when it is loaded. */
PENSTOCK_EXPORT const penstock_library* penstock_component_library(void);

#ifdef __cplusplus
}
#endif

#endif
