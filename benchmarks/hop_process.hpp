// A buffer from the program to a filter in a worker process and back.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "harness/floors.hpp"
#include "harness/report.hpp"
#include "penstock/graph.hpp"
#include "penstock/isolation.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace hop {

struct PassInProcess {
    penstock::Input<std::byte> in{"in"};
    penstock::Output<std::byte> out{"out"};
    void operator()() { out.write(in.read()); }
};

/// One filter in one worker, between the program's own ends. Each trip waits for the one before it.
class ThereAndBack {
  public:
    explicit ThereAndBack(penstock::Machine& machine) : run_(connected().start(machine)) {}
    ~ThereAndBack() {
        writer_.close();
        while (reader_.read()) {
        }
        run_.finish();
    }
    ThereAndBack(const ThereAndBack&) = delete;
    ThereAndBack& operator=(const ThereAndBack&) = delete;

    void trip(std::size_t bytes) {
        writer_.write(writer_.make(bytes));
        reader_.read()->reset();
    }

  private:
    penstock::Graph& connected() {
        graph_.connect(writer_.output, pass_.in);
        graph_.connect(pass_.out, reader_.input);
        return graph_;
    }

    penstock::Graph graph_;
    penstock::StreamWriter<std::byte>& writer_ = graph_.add_writer<std::byte>("writer");
    PassInProcess& pass_ = graph_.add<PassInProcess>("pass");
    penstock::StreamReader<std::byte>& reader_ = graph_.add_reader<std::byte>("reader");
    penstock::Run run_;
};

inline void to_another_process(bench::Report& report, const bench::Options& options) {
    penstock::Machine machine{{.targets = 1, .isolation = penstock::Isolation::process}};
    const auto there = std::make_shared<ThereAndBack>(machine);
    constexpr int trips = 500;
    std::vector<bench::Contestant> contestants{bench::nearest_floors().two_lines()};
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{64}, std::size_t{4096}, std::size_t{65'536}, std::size_t{1} << 20})
        contestants.push_back(
            {"other process and back, " + std::to_string(bytes) + " B", [there, bytes] {
                 const auto begin = bench::Clock::now();
                 for (int i = 0; i < trips; ++i) there->trip(bytes);
                 return std::chrono::duration<double, std::nano>(bench::Clock::now() - begin).count() / trips;
             }});
    report.rows("hop: ", bench::measure(contestants, options.plan));
}

}  // namespace hop
