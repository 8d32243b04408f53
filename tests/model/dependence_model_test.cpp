// The shipped Dependent: an owner that issues tasks in a chain of edges, and two threads that complete them.
#include "model.hpp"
#include "penstock/detail/task/dependent.hpp"

namespace {

using model::Search;

/// Task 2 comes after tasks 0 and 1, which two threads complete while the owner issues it. Whoever makes it ready runs
/// it.
template <class Weakening = model::AsShipped>
struct JoinModel : rl::test_suite<JoinModel<Weakening>, 3> {
    using Node = penstock::Dependent<model::Atomics<Weakening>>;

    Node nodes[3];
    model::Plain<int> written[2];  ///< by tasks 0 and 1
    model::Plain<int> argument;    ///< of task 2, by the owner
    model::Atomic<int, model::AsShipped> issued{0};
    int runs = 0;

    void before() {
        for (Node& node : nodes) node.begin(nullptr, -1);
    }
    void run_last() {
        model::require(++runs == 1, "a task becomes ready once");
        model::require(argument.read() == 7, "a ready task shows its arguments");
        model::require(written[0].read() == 1 && written[1].read() == 1,
                       "a ready task shows what its predecessors wrote");
    }
    void thread(unsigned index) {
        if (index == 2) {
            argument.write(7);
            nodes[2].come_after(nodes[0]);
            nodes[2].come_after(nodes[1]);
            if (nodes[2].commit()) run_last();
            return;
        }
        written[index].write(1);
        Node::each_successor(nodes[index].close(), [&](Node& successor) {
            if (successor.arrive()) run_last();
        });
    }
    void after() { model::require(runs == 1, "no task is lost"); }
};

/// One task with two successors: each is released by the one thread that completes it, or found ready by the owner.
template <class Weakening = model::AsShipped>
struct ForkModel : rl::test_suite<ForkModel<Weakening>, 2> {
    using Node = penstock::Dependent<model::Atomics<Weakening>>;

    Node nodes[3];
    model::Plain<int> written;
    int runs[3] = {};

    void before() {
        for (Node& node : nodes) node.begin(nullptr, -1);
    }
    void run(Node& node) {
        model::require(++runs[&node - nodes] == 1, "a task becomes ready once");
        model::require(written.read() == 1, "a ready task shows what its predecessor wrote");
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (int i = 1; i < 3; ++i) {
                nodes[i].come_after(nodes[0]);
                if (nodes[i].commit()) run(nodes[i]);
            }
            return;
        }
        written.write(1);
        Node::each_successor(nodes[0].close(), [&](Node& successor) {
            if (successor.arrive()) run(successor);
        });
    }
    void after() { model::require(runs[1] == 1 && runs[2] == 1, "no task is lost"); }
};

TEST(DependenceModel, a_task_after_two_runs_once_and_sees_what_both_wrote) {
    model::expect_holds<JoinModel<>>(Search::random_schedules, 60'000);
}
TEST(DependenceModel, both_successors_of_a_task_run_once) {
    model::expect_holds<ForkModel<>>(Search::random_schedules, 60'000);
}

TEST(DependenceModel, pushing_without_release_or_acquire_is_found) {
    model::expect_finds<ForkModel<model::Relaxing<"::push(">>>(rl::test_result_data_race);
}
TEST(DependenceModel, closing_without_release_is_found) {
    model::expect_finds<ForkModel<model::Relaxing<"::take_all(">>>(rl::test_result_data_race);
}
TEST(DependenceModel, arriving_without_acquire_is_found) {
    model::expect_finds<JoinModel<model::Relaxing<"::arrive(">>>(rl::test_result_data_race);
}
TEST(DependenceModel, committing_without_release_is_found) {
    model::expect_finds<JoinModel<model::Relaxing<"::commit(">>>(rl::test_result_data_race);
}

}  // namespace
