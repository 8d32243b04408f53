// language layer: an application that is written down, as a C++ program that does the same work with the same options.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "penstock/application.hpp"

namespace penstock {

/// How an application becomes a program in C++.
struct SourceOptions {
    ApplicationOptions application{};  ///< how the file is read
    /// Filter types whose header is known: a class's name, and "HEADER:TYPE" ("filters/blur.hpp:Blur"), for components
    /// that are made directly.
    std::vector<std::pair<std::string, std::string>> types{};
};

/// The texts of the program.
struct ApplicationSource {
    std::string program;  ///< main.cpp
    std::string build;    ///< CMakeLists.txt
    /// Parameters on which it depends which parts there are: the program has their values of now, and no longer takes
    /// others.
    std::vector<std::string> fixed;
};

/// The program of an application. Parameters become options of its command line. Throws as Application::read() does,
/// UsageError for a type that is not of that form.
ApplicationSource source_of(const std::string& path, const SourceOptions& options = {});
/// The same of a text; `file` is its name in messages, and its folder the one from which files may be included.
ApplicationSource source_of_text(const std::string& text, const std::string& file = "application.xml",
                                 const SourceOptions& options = {});

}  // namespace penstock
