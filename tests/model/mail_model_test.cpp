// The shipped MailBox: posters on two threads, and whoever is told to run the filter.
#include "model.hpp"
#include "penstock/detail/stream/mail.hpp"

namespace {

using model::Search;

struct Letter {
    Letter* next = nullptr;
    model::Plain<int> text;
};

/// Two posters of `each` letters. Who finds the box at rest runs the filter itself, as RunCore::post() has it run:
/// takes all, until the box can rest. `claims`: before each letter a poster runs the filter without one if it can, as a
/// filter does that hands over to the next.
template <int each, bool claims = false, class Weakening = model::AsShipped>
struct MailModel : rl::test_suite<MailModel<each, claims, Weakening>, 2> {
    penstock::streaming::MailBox<Letter, model::Atomics<Weakening>> box;
    Letter letters[2 * each];
    model::Plain<int> state;  ///< the filter's own: what one run of it leaves to the next
    bool running = false;     ///< not shared in the model's sense
    int taken[2 * each] = {};
    int claimed[2] = {};
    int last[2] = {-1, -1};

    void before() {
        box.begin_at_rest();
        state.write(0);
    }
    void thread(unsigned index) {
        for (int i = 0; i < each; ++i) {
            const int number = static_cast<int>(index) * each + i;
            if (claims && box.claim()) {
                ++claimed[index];
                run([&] { state.write(state.read() + 1); });
            }
            letters[number].text.write(number);
            if (box.post(&letters[number])) run();
        }
    }
    void run() {
        run([] {});
    }
    template <class First>
    void run(First&& first) {
        model::require(!running, "one thread at a time runs the filter");
        running = true;
        first();
        for (;;) {
            for (Letter* letter = box.take_all(); letter != nullptr;) {
                Letter* const next = letter->next;
                const int number = letter->text.read();
                model::require(++taken[number] == 1, "a mail is taken once");
                model::require(last[number / each] < number, "the mail of one poster is taken in its order");
                last[number / each] = number;
                state.write(state.read() + 1);
                letter = next;
            }
            running = false;
            if (box.rest()) return;
            running = true;
        }
    }
    void after() {
        for (const int times : taken) model::require(times == 1, "no mail is lost");
        model::require(state.read() == 2 * each + claimed[0] + claimed[1],
                       "each run of the filter sees what the one before it wrote");
        model::require(box.at_rest(), "the box is at rest when nothing is left");
    }
};

TEST(MailModel, no_mail_is_lost_and_one_thread_at_a_time_runs_the_filter) {
    model::expect_holds<MailModel<1>>(Search::every_schedule);
    model::expect_holds<MailModel<2>>(Search::few_switches, 2);
    model::expect_holds<MailModel<4>>(Search::random_schedules, 40'000);
    model::expect_holds<MailModel<1, true>>(Search::every_schedule);
    model::expect_holds<MailModel<2, true>>(Search::few_switches, 2);
}

template <model::Name function>
using Weakened = MailModel<2, false, model::Relaxing<function>>;
template <model::Name function>
using WeakenedClaims = MailModel<2, true, model::Relaxing<function>>;

TEST(MailModel, posting_without_release_is_found) {
    model::expect_finds<Weakened<"::push(">>(rl::test_result_data_race);
}
TEST(MailModel, taking_without_acquire_is_found) {
    model::expect_finds<Weakened<"::take_all(">>(rl::test_result_data_race);
}
TEST(MailModel, claiming_without_acquire_is_found) {
    model::expect_finds<WeakenedClaims<"::claim(">>(rl::test_result_data_race);
}
TEST(MailModel, resting_without_release_is_found) {
    model::expect_finds<Weakened<"::rest(">>(rl::test_result_data_race);
}

}  // namespace
