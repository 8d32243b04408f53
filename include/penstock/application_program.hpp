// language layer: the main function of a program that is one application: it takes the options that `penstock run FILE`
// takes.
//
//     int main(int count, char** arguments) {
//         const ApplicationProgram program{
//             .name = "sums",
//             .parameters = {{.name = "count", .type = "integer", .otherwise = "100"}},
//             .build = sums,
//         };
//         return run_program(count, arguments, program);
//     }
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "penstock/application.hpp"
#include "penstock/parameter_value.hpp"

namespace penstock {

/// As the element `parameter` of the language; empty texts are attributes that are not there.
struct ProgramParameter {
    std::string name, type;
    std::string otherwise{}, least{}, most{}, unit{}, documentation{};
};

using ParameterValues = std::map<std::string, ParameterValue>;

/// A program that is one application.
struct ApplicationProgram {
    std::string name;
    std::string documentation{};                 ///< one line
    std::vector<ProgramParameter> parameters{};  ///< what --set takes
    /// Paths of shared libraries whose classes it uses; --library names others in their place
    std::vector<std::string> libraries{};
    std::function<Application(const ParameterValues&)> build;  ///< makes the application of the values that were given
};

/// Takes --set, --library, --targets, --isolation, --name, --graph, --trace and --help, runs the application, and
/// returns what main() should: 0; 2 for what is wrong with the options or the application, which is told; 130 when an
/// interruption made the sources end. A second interruption ends it at once. On main's first line: worker processes,
/// where they are asked for, are forked before the program has threads.
int run_program(int count, const char* const* arguments, const ApplicationProgram& program);

}  // namespace penstock
