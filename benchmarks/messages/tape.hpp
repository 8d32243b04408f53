// Figures on their way from the rank that measured them to the program that reports them: with processes these are two.
// The rank records what each batch gave, in the order of the calls; the program plays it back through the same
// measure(), which shuffles in the same way, and so gets the same results: where the processors stood is on the tape,
// too.
#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "harness/floors.hpp"
#include "harness/measure.hpp"
#include "penstock/detail/machine/memory.hpp"

namespace messages {

class Tape {
  public:
    explicit Tape(std::size_t figures)
        : memory_(penstock::SharedMemory::create("figures", figures * sizeof(double))), room_(figures) {}

    bench::Contestant recording(bench::Contestant live) {
        bench::Contestant recorded{live.name, [this, batch = live.batch] { return write(batch()); }};
        recorded.look = [this] { return write(bench::nearest_floors().look()); };
        if (live.singles)
            recorded.singles = [this, singles = live.singles](std::vector<double>& times) {
                std::vector<double> own;
                singles(own);
                write(static_cast<double>(own.size()));
                for (const double time : own) times.push_back(write(time));
            };
        return recorded;
    }
    bench::Contestant playing(std::string name, bool singles) {
        bench::Contestant played{std::move(name), [this] { return read(); }};
        played.look = [this] { return read(); };
        if (singles)
            played.singles = [this](std::vector<double>& times) {
                for (auto left = static_cast<std::size_t>(read()); left > 0; --left) times.push_back(read());
            };
        return played;
    }
    /// A team begins with an empty tape, and its figures are played from the beginning.
    void rewind() noexcept { next_ = 0; }

  private:
    double* place() {
        if (next_ == room_) throw std::length_error("the tape of figures is full: make it longer in messages.cpp");
        return reinterpret_cast<double*>(memory_.data()) + next_++;
    }
    double write(double figure) { return *place() = figure; }
    double read() { return *place(); }

    penstock::SharedMemory memory_;
    std::size_t room_;
    std::size_t next_ = 0;
};

}  // namespace messages
