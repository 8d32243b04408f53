#include "harness/options.hpp"

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

void print_usage(std::FILE* where, const About& about) {
    std::fprintf(where,
                 "%s: %s\n\n"
                 "  --quick        few rounds: shows that it works, the figures mean little\n"
                 "  --json FILE    write the figures to FILE as JSON too\n"
                 "%s"
                 "  --list         say what is measured and which goals are judged\n",
                 about.name.c_str(), about.summary.c_str(),
                 about.draws ? "  --plot FILE    draw them into FILE as SVG too\n" : "");
}

}  // namespace

Options parse(int argc, char** argv, const About& about) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--quick") {
            options.quick = true;
        } else if (argument == "--json" && i + 1 < argc) {
            options.json = argv[++i];
        } else if (argument == "--plot" && about.draws && i + 1 < argc) {
            options.plot = argv[++i];
        } else if (argument == "--list") {
            std::printf("%s: %s\n", about.name.c_str(), about.summary.c_str());
            for (const auto& goal : about.goals) std::printf("  %s\n", goal.c_str());
            std::exit(0);
        } else if (argument == "--help" || argument == "-h") {
            print_usage(stdout, about);
            std::exit(0);
        } else {
            std::fprintf(stderr, "%s: cannot use the argument '%s'%s\n", about.name.c_str(), argument.c_str(),
                         argument == "--json" || (argument == "--plot" && about.draws)
                             ? ": give the file to write after it"
                             : "");
            print_usage(stderr, about);
            std::exit(2);
        }
    }
    if (options.quick) {
        options.plan.rounds = 7;
        options.plan.attempts = 1;
    }
    return options;
}

}  // namespace bench
