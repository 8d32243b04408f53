// What every benchmark program accepts on its command line.
#pragma once

#include <string>
#include <vector>

#include "harness/measure.hpp"

namespace bench {

/// What a benchmark says about itself (--list prints it).
struct About {
    std::string name;                ///< as ./bench knows it: "null-task"
    std::string summary;             ///< one sentence
    std::vector<std::string> goals;  ///< the names of the goals that it judges
    bool draws = false;              ///< takes --plot
};

struct Options {
    bool quick = false;  ///< fewer rounds and sizes: shows that it works, not what is true
    std::string json;    ///< the file to write the figures to; none when empty
    std::string plot;    ///< the file to draw a picture into, as SVG; none when empty
    Plan plan = {};      ///< full rounds, or the quick ones
};

/// Reads the arguments. Ends the program after --list and --help (status 0) and after a wrong argument (status 2).
Options parse(int argc, char** argv, const About& about);

}  // namespace bench
