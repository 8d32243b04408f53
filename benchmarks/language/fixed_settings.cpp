#include "language/programs.hpp"

namespace bench {

std::vector<std::pair<std::string, std::string>> fixed_settings(const std::string& application) {
    if (application == "synthetic") return {{"jobs", "4"}};
    if (application == "edge-2d" || application == "edge-rot") return {{"copies", "2"}};
    if (application == "picture-in-picture") return {{"inset", "on"}};
    return {};
}

}  // namespace bench
