// What the test of compiled applications needs of the language: `written compile FILE FOLDER` writes the program of an application, and
// `written run FILE NAME=VALUE...` runs the file itself.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "penstock/application.hpp"
#include "penstock/application_source.hpp"
#include "penstock/machine.hpp"

int main(int count, char** arguments) {
    if (count < 4 && !(count == 3 && std::string_view(arguments[1]) == "run")) return 2;
    if (std::string_view(arguments[1]) == "compile") {
        const auto made = penstock::source_of(arguments[2]);
        const std::string folder = arguments[3];
        std::ofstream(folder + "/main.cpp") << made.program;
        std::ofstream(folder + "/CMakeLists.txt") << made.build;
        return 0;
    }
    penstock::ApplicationOptions options;
    for (int i = 3; i < count; ++i) {
        const auto* const equals = std::strchr(arguments[i], '=');
        options.settings.emplace_back(std::string(static_cast<const char*>(arguments[i]), equals), equals + 1);
    }
    penstock::Machine machine;
    penstock::Application::read(arguments[2], options).start(machine).finish();
}
