// The component classes that come with Penstock beside the arithmetic ones: ends for the user's own files, sockets,
// films and sounds, and filters that are made of the kernels. docs/components.md lists them.
#pragma once

namespace penstock {
class Components;
}

namespace penstock::components {

/// All of them. Throws as Components::add().
void add_classes(Components& components);

// By subject, each in a folder or file of its own.
void add_files(Components& components);
void add_arrays(Components& components);
void add_slides(Components& components);
void add_bytes(Components& components);
void add_sounds(Components& components);
void add_films(Components& components);
void add_tables(Components& components);
void add_colours(Components& components);
void add_neighbourhoods(Components& components);
void add_shapes(Components& components);
void add_unions(Components& components);
void add_measures(Components& components);
void add_tiles(Components& components);
void add_signals(Components& components);
void add_watchers(Components& components);

}  // namespace penstock::components
