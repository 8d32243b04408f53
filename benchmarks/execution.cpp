// What the standard vocabulary costs: a null task through the scheduler of senders and receivers, and one that a
// coroutine awaits, beside a plain call that is waited for.
#include "penstock/execution.hpp"

#include <atomic>
#include <functional>

#include "harness/floors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/coroutine.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace {

using bench::Contestant;
using bench::Direction;

constexpr int repetitions = 2000;

/// Nanoseconds of one of many.
Contestant repeated(std::string name, std::function<void()> many) {
    return {std::move(name), [many = std::move(many)] {
                const auto start = bench::Clock::now();
                many();
                return bench::nanoseconds_since(start) / repetitions;
            }};
}

struct Told {
#if defined(PENSTOCK_HAVE_STDEXEC)
    using receiver_concept = stdexec::receiver_t;
#endif
    std::atomic<bool>* done;
    void set_value() && noexcept { done->store(true, std::memory_order_release); }
    void set_error(const std::exception_ptr&) && noexcept { done->store(true, std::memory_order_release); }
    void set_stopped() && noexcept { done->store(true, std::memory_order_release); }
};

penstock::Coroutine<> awaits(penstock::Machine& machine) {
    for (int i = 0; i < repetitions; ++i) co_await machine.call<bench::null_task>();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "execution",
        "a null task through senders and receivers, and awaited by a coroutine, over a call that is waited for",
        {"execution/schedule-over-call", "execution/await-over-call"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const auto machine = bench::make_machine();
    const auto result =
        bench::measure({bench::nearest_floors().one_line(),
                        repeated("call",
                                 [&] {
                                     for (int i = 0; i < repetitions; ++i) machine->call<bench::null_task>().wait();
                                 }),
                        repeated("schedule",
                                 [&] {
                                     for (int i = 0; i < repetitions; ++i) {
                                         std::atomic<bool> done{false};
                                         auto operation = penstock::scheduler(*machine).schedule().connect(Told{&done});
                                         operation.start();
                                         while (!done.load(std::memory_order_acquire)) penstock::relax();
                                     }
                                 }),
                        repeated("co_await", [&] { penstock::run(awaits(*machine)); })},
                       options.plan);
    report.rows("there and back: ", result);
    report.goal("execution/schedule-over-call", result.ratio("schedule", "call"), Direction::at_most, 2);
    report.goal("execution/await-over-call", result.ratio("co_await", "call"), Direction::at_most, 2);
    return report.finish();
}
