// The gallery: all applications, by name, with one way to run them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/report.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps {

/// One application. Its header, apps/<name>/<name>.hpp, says which settings and inputs it takes.
struct App {
    std::string name;
    std::string summary;  ///< one line
    RunResult (*entry)(Machine&, const Settings&, const Progress&);
};

/// All applications, in the order in which to read them.
std::span<const App> gallery();

/// The application of this name. Throws UsageError that lists the names.
const App& find_app(std::string_view name);

/// Computes the application's result serially, threaded by hand (with as many threads as the machine has workers: its
/// targets and the caller) and by tagged calls on `machine`, interleaved, and checks it. Throws SettingError for what
/// it cannot take. Checks that fail are told by RunResult::ok() and not thrown.
RunResult run(const App& app, Machine& machine, const Settings& settings = {}, const Progress& progress = {});

}  // namespace penstock::apps
