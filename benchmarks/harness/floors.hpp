// The physical floors: what the caches themselves cost, with no runtime in between.
//
//   F1      one line that two cores write in turn, there and back
//   F2      the same exchange over two lines in turn: the reader already polls the next line, which costs one more
//   ring    a one-producer one-consumer ring of 64 self-sequenced 64-byte slots that carry nothing but are written
//           whole (as descriptors are; writing the sequence word alone is slower on Zen 3: 10 to 12 ns against 5),
//           a slot
//   memcpy  copying between two buffers, a KiB
//
// Each is what the processors can do: the lower of polling bare and of polling with a pause, which some answer sooner.
//
// Every other figure is a ratio to one of these, measured interleaved in the same program.
#pragma once

#include <memory>

#include "harness/measure.hpp"

namespace bench {

/// The floors between two processors. The caller's thread plays one side (and is kept on `here` while it does), a
/// sleeping partner on `there` the other.
class Floors {
  public:
    /// The two must differ, except on a machine with one processor, where every floor is a switch of threads.
    Floors(int here, int there);
    ~Floors();
    Floors(const Floors&) = delete;
    Floors& operator=(const Floors&) = delete;

    Contestant one_line(int operations = 4000);   ///< "F1", ns a round trip
    Contestant two_lines(int operations = 4000);  ///< "F2", ns a round trip
    Contestant ring(int operations = 100000);     ///< "ring", ns a slot
    /// F1 at this moment, in ns, from a few exchanges: about a tenth of a millisecond with the waking of the partner.
    double look();

  private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

/// The floors between the first two processors that this program may use.
Floors& nearest_floors();
/// Their look(), by a partner that is gone afterwards: for a program that forks between its batches. Costs a thread.
double passing_look();

/// "memcpy": ns a KiB, for blocks of `bytes` (source and destination together should fit the cache that is meant).
Contestant memcpy_floor(std::size_t bytes);

}  // namespace bench
