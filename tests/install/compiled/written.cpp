// What the test of compiled applications needs of the language: `written LIBRARY compile FILE FOLDER` writes the
// program of an application that uses classes of a shared library and of penstock::component_classes, and `written
// LIBRARY run FILE NAME=VALUE...` runs the file itself.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "penstock/application.hpp"
#include "penstock/application_source.hpp"
#include "penstock/component_classes.hpp"
#include "penstock/machine.hpp"

int main(int count, char** arguments) {
    if (count < 5 && !(count == 4 && std::string_view(arguments[2]) == "run")) return 2;
    penstock::Components::known().load(arguments[1]);
    penstock::register_component_classes();
    if (std::string_view(arguments[2]) == "compile") {
        const auto made = penstock::source_of(arguments[3]);
        const std::string folder = arguments[4];
        std::ofstream(folder + "/main.cpp") << made.program;
        std::ofstream(folder + "/CMakeLists.txt") << made.build;
        return 0;
    }
    penstock::ApplicationOptions options;
    for (int i = 4; i < count; ++i) {
        const auto* const equals = std::strchr(arguments[i], '=');
        options.settings.emplace_back(std::string(static_cast<const char*>(arguments[i]), equals), equals + 1);
    }
    penstock::Machine machine;
    penstock::Application::read(arguments[3], options).start(machine).finish();
}
