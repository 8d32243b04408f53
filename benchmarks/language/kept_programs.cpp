#include <map>

#include "language/programs.hpp"

namespace bench {
namespace {

std::map<std::string, penstock::ApplicationProgram>& kept() {
    static std::map<std::string, penstock::ApplicationProgram> all;
    return all;
}

}  // namespace

int keep_program(const std::string& application, const penstock::ApplicationProgram& program) {
    kept()[application] = program;
    return 0;
}

const penstock::ApplicationProgram& program_of(const std::string& application) { return kept().at(application); }

}  // namespace bench
