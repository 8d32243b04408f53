// task layer: tasks awaited in coroutines.
//
//     penstock::Coroutine<int> work(Machine& machine, std::span<float> x) {
//         co_await machine.call<scale>(inout(x), 2.0f);        // other coroutines go on meanwhile
//         co_return 1;
//     }
//     int made = penstock::run(work(machine, x));              // this thread, until it has ended
//
// A loop, which run() makes, keeps what waits: pairs of a handle and a coroutine. It waits for any of the handles
// (which helps, as wait_any() does) and goes on with the coroutine that awaited it. So all coroutines of a loop run on
// the thread that called run(), one at a time, and nothing in them needs a lock. That is asyncio's rule. There is no
// thread behind it and no call-back: a task that is awaited costs what any task costs, and a look at each handle that
// waits.
//
// In a coroutine of another kind, or where no loop runs on the thread, `co_await handle` waits as handle.wait(help).
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/handle.hpp"

namespace penstock {

namespace coroutines {

struct AwaitedTask;

/// What waits on one thread, and goes on there.
class Loop {
  public:
    Loop() noexcept : before_(std::exchange(current_, this)) {}
    inline ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    static Loop* current() noexcept { return current_; }
    void add(AwaitedTask& awaited, const Handle& task) {
        tasks_.push_back(task);
        try {
            awaited_.push_back(&awaited);
        } catch (...) {
            tasks_.pop_back();
            throw;
        }
    }
    void remove(std::size_t which) noexcept {
        tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(which));
        awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(which));
    }
    void remove(const AwaitedTask& awaited) noexcept {
        remove(static_cast<std::size_t>(std::find(awaited_.begin(), awaited_.end(), &awaited) - awaited_.begin()));
    }
    /// Goes on with one coroutine whose task has ended, however it ended. Throws WouldDeadlock; UsageError when none
    /// waits.
    inline void step();

  private:
    /// The first task that has ended. What it threw is thrown again where it is awaited.
    std::size_t wait_for_one() {
        try {
            return wait_any(tasks_);
        } catch (...) {
            for (std::size_t which = 0; which < tasks_.size(); ++which)
                if (tasks_[which].ready()) return which;
            throw;
        }
    }

    static inline thread_local Loop* current_ = nullptr;
    Loop* before_;
    std::vector<Handle> tasks_;
    std::vector<AwaitedTask*> awaited_;
};

/// Lies in the frame of the coroutine that waits, and leaves the loop when the frame goes.
struct AwaitedTask {
    explicit AwaitedTask(const Handle& handle) noexcept : task(handle) {}
    AwaitedTask(const AwaitedTask&) = delete;
    AwaitedTask& operator=(const AwaitedTask&) = delete;
    ~AwaitedTask() {
        if (loop != nullptr) loop->remove(*this);
    }
    bool await_ready() const noexcept { return task.ready(); }
    bool await_suspend(std::coroutine_handle<> coroutine) {
        Loop* const here = Loop::current();
        if (here == nullptr) return false;  // await_resume() waits
        here->add(*this, task);
        loop = here;
        waiter = coroutine;
        return true;
    }
    /// Throws what Handle::wait() throws.
    void await_resume() const { task.wait(help); }

    Handle task;
    Loop* loop = nullptr;
    std::coroutine_handle<> waiter{};
};

/// What still waits, because step() threw or nobody awaited it, stays as it is: its frame may outlive the loop.
inline Loop::~Loop() {
    for (AwaitedTask* const waits : awaited_) waits->loop = nullptr;
    current_ = before_;
}

inline void Loop::step() {
    if (tasks_.empty())
        throw UsageError(
            "a coroutine waits for something that is no task of Penstock, so that nothing here can wake it: await "
            "handles and coroutines of penstock inside penstock::run()");
    const auto which = wait_for_one();
    AwaitedTask& ended = *awaited_[which];
    remove(which);
    ended.loop = nullptr;
    ended.waiter.resume();
}

/// What a coroutine ends with, and who waits for that.
struct PromiseBase {
    std::coroutine_handle<> continuation = std::noop_coroutine();
    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct End {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
            return ended.promise().continuation;
        }
        void await_resume() const noexcept {}
    };
    End final_suspend() const noexcept { return {}; }
};

}  // namespace coroutines

/// A coroutine that awaits tasks and other coroutines. It begins when it is awaited or given to run(), and is destroyed
/// with this object. `T`: what it returns.
template <class T = void>
class [[nodiscard]] Coroutine {
    using Kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

    struct Common : coroutines::PromiseBase {
        std::variant<std::monostate, std::optional<Kept>, std::exception_ptr> result;
        Coroutine get_return_object() {
            return Coroutine(std::coroutine_handle<promise_type>::from_promise(static_cast<promise_type&>(*this)));
        }
        void unhandled_exception() noexcept { result.template emplace<2>(std::current_exception()); }
    };
    struct Nothing : Common {
        void return_void() { this->result.template emplace<1>(std::in_place); }
    };
    struct Something : Common {
        template <class U>
        void return_value(U&& value) {
            this->result.template emplace<1>(std::in_place, std::forward<U>(value));
        }
    };

  public:
    struct promise_type : std::conditional_t<std::is_void_v<T>, Nothing, Something> {};

    Coroutine(Coroutine&& other) noexcept
        : frame_(std::exchange(other.frame_, nullptr)), started_(std::exchange(other.started_, false)) {}
    Coroutine& operator=(Coroutine&& other) noexcept {
        std::swap(frame_, other.frame_);
        std::swap(started_, other.started_);
        return *this;
    }
    ~Coroutine() {
        if (frame_) frame_.destroy();
    }

    /// Has it ended?
    bool done() const noexcept { return frame_.done(); }
    /// What it returned, once. Throws what it threw.
    T result() {
        auto& result = frame_.promise().result;
        if (auto* const error = std::get_if<2>(&result)) std::rethrow_exception(*error);
        if constexpr (!std::is_void_v<T>) return std::move(**std::get_if<1>(&result));
    }

    /// Begins it, or goes on when it has ended; gives what it returned.
    auto operator co_await() noexcept {
        struct Awaited {
            Coroutine& coroutine;
            bool await_ready() const noexcept { return coroutine.done(); }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) const noexcept {
                coroutine.frame_.promise().continuation = waiter;
                return coroutine.started_ ? std::noop_coroutine()
                                          : (coroutine.started_ = true, std::coroutine_handle<>(coroutine.frame_));
            }
            T await_resume() const { return coroutine.result(); }
        };
        return Awaited{*this};
    }
    /// Begins it without waiting, so that it goes on beside the caller; await it later.
    void start() {
        if (!std::exchange(started_, true)) frame_.resume();
    }

  private:
    explicit Coroutine(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
    std::coroutine_handle<promise_type> frame_;
    bool started_ = false;
};

/// `co_await machine.call<f>(...)`. Throws what Handle::wait() throws.
inline coroutines::AwaitedTask operator co_await(const Handle& task) noexcept { return coroutines::AwaitedTask(task); }

/// Runs a coroutine, and those that it started, on this thread until it has ended, and returns what it returned. Throws
/// what it threw. Inside a coroutine that runs already, await it instead.
template <class T>
T run(Coroutine<T> coroutine) {
    coroutines::Loop loop;
    coroutine.start();
    while (!coroutine.done()) loop.step();
    return coroutine.result();
}

/// Starts all of these and ends when all have ended. The first failure, in their order, is thrown then.
template <class... Each>
Coroutine<> all(Coroutine<Each>... coroutines) {
    (coroutines.start(), ...);
    std::exception_ptr first;
    const auto end = [&first](auto& one) -> Coroutine<> {
        try {
            (void)co_await one;
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    };
    (co_await end(coroutines), ...);
    if (first) std::rethrow_exception(first);
}

}  // namespace penstock
