// The shipped Starvation: a producer that waits for room, and a consumer that makes some.
#include "model.hpp"
#include "stream/run/starvation.hpp"

namespace {

using model::Search;

/// As Link uses it: the producer sends `buffers`, of which one at a time may be under way; where there is no room it
/// starves, and looks again only when a mail has come. The consumer takes them and tells when it must.
template <int buffers, class Weakening = model::AsShipped>
struct StarvationModel : rl::test_suite<StarvationModel<buffers, Weakening>, 2> {
    penstock::streaming::Starvation<model::Atomics<Weakening>> starvation;
    model::Atomic<std::uint32_t, model::AsShipped> sent{0}, taken{0}, mail{0};
    int mails = 0;

    void thread(unsigned index) {
        if (index == 0) produce();
        else consume();
    }
    void produce() {
        std::uint32_t received = 0;
        const auto receive = [&] {
            ++received;
            starvation.arrived();
        };
        for (std::uint32_t number = 0; number < buffers; ++number) {
            const auto room = [&] { return taken.load(std::memory_order_seq_cst) == number; };
            while (!room() && !starvation.starve(room)) {
                // Nothing to do but to wait for the mail: one that never comes is a livelock here.
                while (mail.load(std::memory_order_acquire) == received) model::idle();
                receive();
            }
            sent.store(number + 1, std::memory_order_release);
        }
    }
    void consume() {
        for (std::uint32_t number = 0; number < buffers; ++number) {
            while (sent.load(std::memory_order_acquire) == number) model::idle();
            taken.store(number + 1, std::memory_order_seq_cst);
            if (!starvation.must_tell()) continue;
            model::require(++mails <= buffers, "a mail is sent for somebody who starves");
            mail.store(static_cast<std::uint32_t>(mails), std::memory_order_release);
        }
    }
};

TEST(StarvationModel, who_starves_is_told) {
    model::expect_holds<StarvationModel<2>>(Search::few_switches, 3);
    model::expect_holds<StarvationModel<4>>(Search::random_schedules, 40'000);
}

template <model::Name function>
using Weakened = StarvationModel<3, model::Relaxing<function>>;

TEST(StarvationModel, a_look_for_the_starving_that_may_be_early_is_found) {
    model::expect_finds<Weakened<"::must_tell(">>(rl::test_result_livelock);
}

}  // namespace
