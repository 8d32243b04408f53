// The shipped CompletionMailbox: completers that post, an owner that takes, and one that sleeps until it is signalled.
#include "model.hpp"
#include "task/calls/completion_mailbox.hpp"

namespace {

using model::Search;

/// Two completers post `each` tasks each. The owner takes until it has all of them, and reads what each task wrote.
template <int each, class Weakening = model::AsShipped>
struct PostModel : rl::test_suite<PostModel<each, Weakening>, 3> {
    using Mailbox = penstock::CompletionMailbox<model::Atomics<Weakening>>;

    Mailbox mailbox;
    typename Mailbox::Word links[2 * each + 1];
    model::Plain<int> results[2 * each + 1];
    int taken[2 * each + 1] = {};

    void thread(unsigned index) {
        if (index == 0) own();
        else
            for (int i = 0; i < each; ++i)
                complete(static_cast<std::uint32_t>((static_cast<int>(index) - 1) * each + i + 1));
    }
    void complete(std::uint32_t task) {
        results[task].write(static_cast<int>(task));
        mailbox.post(task, links[task]);
    }
    void own() {
        for (int left = 2 * each; left != 0;) {
            auto task = mailbox.take();
            if (task == 0) model::idle();
            for (; task != 0; task = links[task].load(std::memory_order_relaxed), --left) {
                model::require(++taken[task] == 1, "a task is taken once");
                model::require(results[task].read() == static_cast<int>(task), "who takes a task sees what it wrote");
            }
        }
    }
};

/// The owner arms the mailbox and sleeps until a completer signals; nothing that was posted is slept through.
template <class Weakening = model::AsShipped>
struct SleepModel : rl::test_suite<SleepModel<Weakening>, 2> {
    static constexpr int tasks = 2;
    using Mailbox = penstock::CompletionMailbox<model::Atomics<Weakening>>;

    Mailbox mailbox;
    typename Mailbox::Word links[tasks + 1];
    model::Atomic<std::uint32_t, model::AsShipped> signal{0};

    void thread(unsigned index) {
        if (index == 0) own();
        else
            for (std::uint32_t task = 1; task <= tasks; ++task) {
                mailbox.post(task, links[task]);
                if (mailbox.must_signal()) signal.store(1, std::memory_order_seq_cst);
            }
    }
    void own() {
        for (int left = tasks; left != 0;) {
            if (mailbox.arm())
                while (signal.load(std::memory_order_seq_cst) == 0) model::idle();  // asleep: only a signal wakes
            signal.store(0, std::memory_order_seq_cst);
            for (auto task = mailbox.take(); task != 0; task = links[task].load(std::memory_order_relaxed)) --left;
        }
    }
};

TEST(CompletionMailboxModel, each_post_is_taken_once_with_all_that_it_brings) {
    model::expect_holds<PostModel<1>>(Search::few_switches, 3);
    model::expect_holds<PostModel<2>>(Search::random_schedules, 30'000);
}
TEST(CompletionMailboxModel, a_sleeping_owner_is_signalled) {
    model::expect_holds<SleepModel<>>(Search::few_switches, 4);
    model::expect_holds<SleepModel<>>(Search::random_schedules, 30'000);
}
TEST(CompletionMailboxModel, posting_without_release_is_found) {
    model::expect_finds<PostModel<2, model::Relaxing<"::push(">>>(rl::test_result_data_race);
}
TEST(CompletionMailboxModel, taking_without_acquire_is_found) {
    model::expect_finds<PostModel<2, model::Relaxing<"::take_all(">>>(rl::test_result_data_race);
}
TEST(CompletionMailboxModel, falling_asleep_without_order_is_found) {
    model::expect_finds<SleepModel<model::Relaxing<"::arm(">>>(rl::test_result_livelock);
}

}  // namespace
