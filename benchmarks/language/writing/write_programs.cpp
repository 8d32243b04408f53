// write_programs FOLDER FILE.xml...: writes each application as a C++ program, and programs.cpp, which takes them all
// in.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "apps/written.hpp"
#include "language/programs.hpp"
#include "penstock/application_source.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error("write_programs: cannot write " + path.string());
}

/// A program's main() hands what it is to run_program(); here the nearest function of that name keeps it.
std::string taken_in(const std::string& name, std::size_t number) {
    const auto space = "program_" + std::to_string(number);
    return "namespace " + space +
           " {\nint run_program(int, const char* const*, const penstock::ApplicationProgram& program) {\n"
           "    return bench::keep_program(\"" +
           name + "\", program);\n}\n#include \"" + name +
           ".cpp\"\n"
           "const int kept = main(0, nullptr);\n}  // namespace " +
           space + "\n\n";
}

}  // namespace

int main(int count, char** arguments) try {
    if (count < 3) throw std::runtime_error("write_programs FOLDER FILE.xml...");
    penstock::apps::register_components();
    const fs::path folder = arguments[1];
    fs::create_directories(folder);
    std::string all =
        "// Written by write_programs.\n#include <penstock/penstock.hpp>\n\n#include "
        "\"language/programs.hpp\"\n\nnamespace {\n\n";
    for (int i = 2; i < count; ++i) {
        const fs::path file = arguments[i];
        const auto name = file.stem().string();
        write(folder / (name + ".cpp"),
              penstock::source_of(file, {.application = {.settings = bench::fixed_settings(name)}}).program);
        all += taken_in(name, static_cast<std::size_t>(i));
    }
    write(folder / "programs.cpp", all + "}  // namespace\n");
} catch (const std::exception& failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
