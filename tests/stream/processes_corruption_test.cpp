// A filter in a worker process writes over the control memory that it shares with the program. The run ends, with a
// typed error or without, and another machine is unharmed.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <tuple>
#include <utility>

#include "penstock/error.hpp"
#include "tests/corruption.hpp"
#include "tests/stream/processes_support.hpp"

namespace {

using namespace processes;
using penstock::Graph;
using penstock::Machine;

struct Spoils {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    unsigned seed;
    Value firings = 0;
    explicit Spoils(unsigned by) : seed(by) {}
    auto state() { return std::tie(firings); }
    void operator()() {
        auto buffer = in.read();
        if (++firings == 20) {
            corruption::write_over(seed);
            if (seed / 4 % 3 == 0) _exit(3);
            if (seed / 4 % 3 == 1) raise(SIGKILL);
        }
        out.write(std::move(buffer));
    }
};

struct Unharmed {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    void operator()() { out.write(in.read()); }
};

int live_beside(unsigned seed) {
    Machine other(workers(1));
    auto options = workers(2);
    options.time_limit = std::chrono::seconds(1);
    const auto told = [](auto&& body) {
        try {
            body();
        } catch (const penstock::Error& error) {
            std::fprintf(stderr, "told: %.200s\n", error.what());
        }
    };
    told([&] {
        Machine machine(options);
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers", {}, 200u);
        auto& spoils = graph.add<Spoils>("spoils", {}, seed);
        auto& times = graph.add<Times>("times", {}, 2u);
        auto& reader = graph.add_reader<Value>("reader");
        graph.connect(numbers.out, spoils.in);
        graph.connect(spoils.out, times.in);
        graph.connect(times.out, reader.input);
        auto run = graph.start(machine);
        told([&] {
            while (reader.read()) {
            }
        });
        told([&] { run.finish(); });
    });
    return through<Unharmed>(other, {{1, 2}, {3}}) == std::vector<Value>{1, 2, 3} ? 0 : 2;
}

TEST(FiltersInProcesses, whatever_one_writes_over_the_program_is_told_and_goes_on) {
    SKIP_WITHOUT_PROCESSES();
    corruption::rounds(task_tests::long_run() ? 2'000 : task_tests::under_asan ? 4 : 12, live_beside);
}

}  // namespace
