// The shipped ReaderGate under every schedule and every read that the memory model allows.
#include <array>

#include "model.hpp"
#include "penstock/detail/store/reader_gate.hpp"

namespace {

using model::Search;

/// Thread 0 writes again and again, as writers do that follow one another by a mutex; the others read.
template <int threads, int writes, int reads, class Weakening = model::AsShipped>
struct GateModel : rl::test_suite<GateModel<threads, writes, reads, Weakening>, threads> {
    using Gate = penstock::ReaderGate<model::Atomics<Weakening>>;
    using Answer = typename model::Atomics<Weakening>::template Atomic<std::uint64_t>;
    std::array<Gate, threads> gates;
    std::array<Answer, threads> answers;
    std::array<model::Plain<int>, threads> read;  ///< changed by its reader: one that a writer overlooked is a race
    model::Plain<int> guarded;

    void before() {
        guarded.write(0);
        for (auto& one : read) one.write(0);
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (int round = 1; round <= writes; ++round) write(static_cast<std::uint64_t>(round));
            return;
        }
        const auto answer = [&](std::uint64_t ticket) { answers[index].store(ticket, std::memory_order_release); };
        for (int round = 0; round < reads; ++round) {
            gates[index].enter(
                [](auto&& poll) {
                    while (!poll()) model::idle();
                },
                answer);
            static_cast<void>(guarded.read());
            read[index].write(round);
            gates[index].leave(answer);
        }
    }
    void write(std::uint64_t ticket) {
        for (auto& gate : gates) gate.close(ticket);
        for (std::size_t reader = 1; reader < threads; ++reader)
            if (gates[reader].occupied())
                while (answers[reader].load(std::memory_order_acquire) != ticket) model::idle();
        guarded.write(guarded.read() + 1);
        for (std::size_t reader = 1; reader < threads; ++reader) static_cast<void>(read[reader].read());
        for (auto& gate : gates) gate.open();
    }
    void after() { model::require(guarded.read() == writes, "each write has counted"); }
};

TEST(ReaderGateModel, nobody_reads_what_is_being_written) {
    model::expect_holds<GateModel<2, 2, 1>>(Search::few_switches, 4);
    model::expect_holds<GateModel<2, 3, 2>>(Search::random_schedules, 30'000);
    model::expect_holds<GateModel<3, 2, 2>>(Search::random_schedules, 30'000);
}
TEST(ReaderGateModel, a_reader_that_does_not_look_for_writers_in_order_is_found) {
    model::expect_finds<GateModel<2, 2, 1, model::Relaxing<"::enter(">>>(rl::test_result_data_race);
}
TEST(ReaderGateModel, a_reader_that_leaves_without_order_is_found) {
    model::expect_finds<GateModel<2, 2, 1, model::Relaxing<"::leave(">>>(rl::test_result_livelock);
}
TEST(ReaderGateModel, a_writer_that_does_not_look_for_readers_in_order_is_found) {
    model::expect_finds<GateModel<2, 2, 1, model::Relaxing<"::occupied(">>>(rl::test_result_livelock);
}
TEST(ReaderGateModel, a_writer_that_lets_readers_in_without_order_is_found) {
    model::expect_finds<GateModel<2, 2, 1, model::Relaxing<"::open(">>>(rl::test_result_data_race);
}

}  // namespace
