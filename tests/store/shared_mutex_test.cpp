// A reader gets its turn although writers follow one another without a pause.
#include "penstock/shared_mutex.hpp"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "penstock/barrier.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using penstock::SharedMutex;

class SharedMutexTest : public TeamTest {};

/// The first writer holds the lock until a reader waits, and behind it a second writer; then it lets go.
TEST_P(SharedMutexTest, a_reader_that_waits_comes_before_the_next_writer) {
    struct Scene {
        std::atomic<int> asking{0};
        std::atomic<int> read{0};
        std::atomic<int> first{0};  ///< rounds in which the reader came first
    };
    constexpr int rounds = 10;
    Blackboard<Scene> scene;
    run(3, [&](Rank me) {
        SharedMutex mutex(me, "m");
        penstock::Barrier barrier(me, "rounds");
        const auto ask = [&](int place) {
            while (scene->asking < place) std::this_thread::yield();
            std::this_thread::sleep_for(5ms);  // whoever asked before stands in line now, or this round does not count
            ++scene->asking;
        };
        for (int round = 0; round < rounds; ++round) {
            if (me.index() == 0) {
                scene->asking = 0;
                scene->read = 0;
                mutex.lock();
            }
            barrier.arrive_and_wait();
            if (me.index() == 0) {
                ask(2);
                mutex.unlock();
            } else if (me.index() == 1) {
                ask(0);
                const std::shared_lock lock(mutex);
                scene->read = 1;
            } else {
                ask(1);
                const std::unique_lock lock(mutex);
                scene->first += scene->read;
            }
            barrier.arrive_and_wait();
        }
    });
    EXPECT_GE(scene->first, rounds / 2);
}

TEST_P(SharedMutexTest, readers_come_to_their_end_while_writers_follow_one_another) {
    struct Scene {
        std::atomic<int> writers{0};
        std::atomic<bool> read{false};
    };
    Blackboard<Scene> scene;
    run(4, [&](Rank me) {
        SharedMutex mutex(me, "m");
        penstock::Barrier(me, "begin").arrive_and_wait();
        if (me.index() < 2) {
            ++scene->writers;
            while (!scene->read) const std::unique_lock lock(mutex);
            return;
        }
        while (scene->writers < 2) std::this_thread::yield();
        for (int round = 0; round < 100; ++round) const std::shared_lock lock(mutex);
        if (me.index() == 2) scene->read = true;
    });
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(SharedMutexTest);

}  // namespace
