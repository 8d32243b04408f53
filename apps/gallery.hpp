// The gallery: all applications, by name, with one way to run them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/report.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps {

/// One application. Its header, apps/<name>/<name>.hpp, says which settings and inputs it takes.
struct App {
    std::string name;
    std::string summary;  ///< one line
    /// The ways to compute the result, in the order in which run() takes them. "serial" is the first, and the last is
    /// the one that the application is there to show.
    std::vector<std::string> ways;
    RunResult (*entry)(Machine&, const Settings&, const Progress&);
    /// A setting that only this application has (Settings::texts).
    struct Text {
        std::string name;
        std::string meaning;  ///< one line
    };
    std::vector<Text> texts = {};
};

/// All applications, in the order in which to read them.
std::span<const App> gallery();

/// The application of this name. Throws UsageError that lists the names.
const App& find_app(std::string_view name);

/// Computes the application's result in each of its ways, interleaved, and checks it: serially; by tagged calls on
/// `machine` and, to compare, threaded by hand; or by ranks that share memory or store into one another's. Threads by
/// hand and ranks are as many as the machine has workers: its targets and the caller. Throws SettingError for what it
/// cannot take. Checks that fail are told by RunResult::ok() and not thrown.
RunResult run(const App& app, Machine& machine, const Settings& settings = {}, const Progress& progress = {});

}  // namespace penstock::apps
