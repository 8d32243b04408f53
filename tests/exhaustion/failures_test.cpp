// Tasks that fail or are cancelled where there is no memory to say so.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/penstock.hpp"
#include "tests/bounded_child.hpp"
#include "tests/exhaustion/refusals.hpp"
#include "tests/sanitizers.hpp"

namespace {

using namespace penstock;

void refuse_all() { exhaustion::refuse(exhaustion::Kind::memory, 0, exhaustion::never); }

void short_() {
    refuse_all();
    throw std::bad_alloc();
}
void a_name_that_is_too_long_to_be_kept_without_memory() {
    refuse_all();
    throw std::bad_alloc();
}
void fill(std::span<int> block, bool* fails) {
    block[0] = 1;
    if (!*fails) return;
    refuse_all();
    throw std::bad_alloc();
}
std::atomic<bool> go{false};
void wait_and_refuse() {
    while (!go) std::this_thread::yield();
    refuse_all();
}
void nothing() {}

MachineOptions one_target() {
    MachineOptions options;
    options.targets = 1;
    return options;
}

template <class Error, class Body>
int throws(Body&& body) {
    try {
        body();
    } catch (const Error&) {
        return 0;
    }
    return 1;
}

/// 0 when the task's wait throws Error, once there is memory again.
template <class Error>
int told(const Handle& handle) {
    while (!handle.ready()) std::this_thread::yield();
    (void)exhaustion::allow();
    return throws<Error>([&] { handle.wait(); }) + throws<Error>([&] { handle.wait(); });
}

template <class Body>
void expect_good(Body&& body) {
    const auto ending = penstock_tests::ending_of(body);
    EXPECT_TRUE(ending.good()) << ending.text();
}

}  // namespace

TEST(FailuresWithoutMemory, are_told) {
    expect_good([] {
        Machine machine(one_target());
        return told<TaskFailed>(machine.call<short_>()) +
               told<TaskFailed>(machine.call<a_name_that_is_too_long_to_be_kept_without_memory>());
    });
}

TEST(FailuresWithoutMemory, of_cancelled_tasks_are_told) {
    expect_good([] {
        Machine machine(one_target());
        machine.on(0).call<wait_and_refuse>();
        const auto handle = machine.on(0).call<a_name_that_is_too_long_to_be_kept_without_memory>();
        (void)handle.cancel();
        go = true;
        return told<TaskCancelled>(handle);
    });
}

TEST(FailuresWithoutMemory, in_a_replay_are_told) {
    expect_good([] {
        Machine machine(one_target());
        Dependences order(machine);
        std::vector<int> block(1);
        bool fails = false;
        auto recording = order.record([&] { order.call<fill>(out(block), &fails); });
        fails = true;
        int wrong = 0;
        for (int i = 0; i < 2; ++i) {
            try {
                recording.replay();
                ++wrong;
            } catch (const TaskFailed&) {
            } catch (const std::bad_alloc&) {  // to say so
            }
            (void)exhaustion::allow();
        }
        return wrong;
    });
}

TEST(FailuresWithoutMemory, leave_the_successes_around_them_successes) {
    expect_good([] {
        Machine machine(one_target());
        const auto before = machine.on(0).call<nothing>();
        const int wrong = told<TaskFailed>(machine.on(0).call<short_>());
        before.wait();
        for (int i = 0; i < 100; ++i) machine.on(0).call<nothing>().wait();
        machine.finish();  // it was told
        return wrong;
    });
}

/// Of receives that were refused memory nothing is under way, and what was refused can be begun again.
TEST(MessagesWithoutMemory, that_were_refused_can_be_begun_again) {
    expect_good([] {
        int wrong = 0;
        for (long place = 0; place < 4; ++place) {
            spmd(1, [&](Rank me) {
                Messenger post(me);
                std::vector<int> into(300);
                for (int& value : into) {
                    exhaustion::refuse_here(exhaustion::Kind::memory, place);
                    try {
                        post.irecv(0, value);
                        (void)exhaustion::allow();
                    } catch (const std::bad_alloc&) {
                        (void)exhaustion::allow();
                        post.irecv(0, value);
                    }
                }
                for (int i = 0; i < 300; ++i) post.send(0, i);
                post.wait_all();
                for (int i = 0; i < 300; ++i) wrong += into[static_cast<std::size_t>(i)] != i;
            });
        }
        return wrong;
    });
}

/// A send that was refused memory is not received: its memory is the caller's again.
TEST(MessagesWithoutMemory, that_were_refused_are_not_read) {
    if (penstock_tests::sanitized) GTEST_SKIP() << "its allocator ends the program instead";
    expect_good([] {
        std::atomic<int> wrong{0};
        for (long place = 0; place < 3; ++place) {
            spmd(2, [&](Rank me) {
                Messenger post(me), other(me, {.name = "other"});
                constexpr int sends = 200;
                int told = 0;
                if (me.index() == 1) {
                    other.recv(0, told);
                    std::vector<int> into(20'000);
                    try {
                        for (int i = 0; i < told; ++i) {
                            post.recv(0, into);
                            wrong += into.front() != 1 || into.back() != 1;
                        }
                    } catch (const Error&) {  // nothing more is exchanged
                    }
                    return;
                }
                std::vector<int> kept(20'000, 1), given_up(20'000, 1);
                for (int i = 0; i < sends; ++i) {
                    auto& from = i == 127 ? given_up : kept;
                    if (i == 127) exhaustion::refuse_here(exhaustion::Kind::memory, place);
                    try {
                        post.isend(1, from);
                    } catch (const std::bad_alloc&) {
                        (void)exhaustion::allow();
                        std::fill(given_up.begin(), given_up.end(), 2);
                        break;
                    } catch (const Error&) {
                        break;
                    }
                    (void)exhaustion::allow();
                }
                other.send(1, told = sends);
                try {
                    post.wait_all();
                } catch (const Error&) {  // nothing more is exchanged
                }
            });
        }
        return wrong.load();
    });
}

/// That a message was too long is told, or that there was no memory to say so; the receive ends either way.
TEST(MessagesWithoutMemory, that_are_too_long_end_their_receive) {
    expect_good([] {
        int wrong = 0;
        for (long place = 0; place < 6; ++place) {
            spmd(1, [&](Rank me) {
                Messenger post(me);
                int into = 0;
                const std::vector<int> from(3, 5);
                Request request = post.irecv(0, into);
                exhaustion::refuse_here(exhaustion::Kind::memory, place);
                bool refused = false;
                try {
                    post.send(0, from);
                } catch (const std::bad_alloc&) {
                    refused = true;
                }
                (void)exhaustion::allow();
                try {
                    if (refused) post.send(0, from);
                    wrong += !post.wait_for(request, std::chrono::seconds(1)).has_value();
                    ++wrong;  // it fits nowhere
                } catch (const Truncated&) {
                } catch (const std::bad_alloc&) {
                }
            });
        }
        return wrong;
    });
}

/// A task that was refused memory for its first call calls again.
TEST(CallsWithoutMemory, inside_a_task_can_be_made_again) {
    expect_good([] {
        for (long place = 0; place < 40; ++place) {
            Machine machine(one_target());
            machine
                .call(boxed([&machine, place] {
                    exhaustion::refuse_here(exhaustion::Kind::memory, place);
                    for (int tries = 0; tries < 3; ++tries) {
                        try {
                            machine.on(0).call<nothing>();
                            machine.call<nothing>();
                        } catch (const std::bad_alloc&) {
                        }
                    }
                    (void)exhaustion::allow();
                }))
                .wait();
            machine.finish();
        }
        return 0;
    });
}
