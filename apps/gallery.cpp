#include "apps/gallery.hpp"

#include "apps/addition/addition.hpp"
#include "apps/conv2d/conv2d.hpp"
#include "apps/lu/lu.hpp"
#include "apps/saxpy/saxpy.hpp"
#include "apps/sgemv/sgemv.hpp"

namespace penstock::apps {

std::span<const App> gallery() {
    static const App apps[] = {
        {"saxpy", "y := a x + y: contiguous parts of long vectors", saxpy::run},
        {"sgemv", "y := alpha A x + beta y: rows of a matrix, one vector that all tasks read", sgemv::run},
        {"addition", "sum of two matrices in strided tiles", addition::run},
        {"conv2d", "a dense filter over an image, in strided tiles with a halo", conv2d::run},
        {"lu", "LU factorisation in contiguous blocks: thousands of tasks of half a microsecond", lu::run},
    };
    return apps;
}

const App& find_app(std::string_view name) {
    std::string names;
    for (const App& app : gallery()) {
        if (app.name == name) return app;
        names += (names.empty() ? "" : ", ") + app.name;
    }
    throw UsageError("there is no application called " + std::string(name) + "; the gallery has " + names);
}

RunResult run(const App& app, Machine& machine, const Settings& settings, const Progress& progress) {
    return app.entry(machine, settings, progress);
}

}  // namespace penstock::apps
