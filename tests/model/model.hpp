// What a model-checked kernel is made of: the shipped templates over atomics that relacy simulates.
//
// Relacy runs the threads of a test as fibers, tries schedules one after another, lets each atomic load read any store
// that the C++ memory model allows, and reports data races on rl::var, failed assertions, deadlocks and livelocks.
// Atomics here is the policy that the shipped templates take instead of StandardAtomics. Its parameter says which
// memory order is weakened on purpose, so that each test has a twin that must fail: an order whose loss nobody notices
// is not tested.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <source_location>
#include <streambuf>
#include <string>

// Relacy's parts one by one, in the order that they need: relacy.hpp would redefine `new`, `free` and the memory
// orders.
// clang-format off
#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/backoff.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/atomic.hpp>
#include <relacy/var.hpp>
#include <relacy/thread_local.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/dyn_thread.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/stdlib/event.hpp>
// clang-format on

namespace model {

constexpr rl::memory_order order_of(std::memory_order order) {
    switch (order) {
        case std::memory_order_relaxed:
            return rl::mo_relaxed;
        case std::memory_order_consume:
            return rl::mo_consume;
        case std::memory_order_acquire:
            return rl::mo_acquire;
        case std::memory_order_release:
            return rl::mo_release;
        case std::memory_order_acq_rel:
            return rl::mo_acq_rel;
        default:
            return rl::mo_seq_cst;
    }
}

/// The code as shipped: no order is changed.
struct AsShipped {
    static constexpr bool applies(const char*) { return false; }
};

/// A text that is a template argument: the name of the function whose orders become relaxed, for example "::publish(".
template <std::size_t Size>
struct Name {
    char text[Size];
    constexpr Name(const char (&from)[Size]) { std::copy_n(from, Size, text); }
};
/// Does this name of a function, as the compiler tells it, contain `text`? Template arguments do not count: those of a
/// twin hold the very text that is looked for, in the names of all its functions. Allocates nothing: relacy replaces
/// `operator new`.
inline bool names(const char* function, const char* text) {
    char bare[512];
    std::size_t length = 0;
    int depth = 0;
    const char* const end = std::strstr(function, " [with ");
    for (const char* letter = function; *letter != '\0' && letter != end; ++letter) {
        if (*letter == '<') ++depth;
        if (depth == 0 && length + 1 < sizeof bare) bare[length++] = *letter;
        if (*letter == '>' && depth > 0) --depth;
    }
    bare[length] = '\0';
    return std::strstr(bare, text) != nullptr;
}
template <Name function>
struct Relaxing {
    static bool applies(const char* where) { return names(where, function.text); }
};

/// Stands where an atomic stands in shipped code. Each operation is a point where relacy may switch threads.
template <class T, class Weakening>
class Atomic {
  public:
    Atomic() : value_(T{}) {}
    Atomic(T value) : value_(value) {}

    T load(std::memory_order order = std::memory_order_seq_cst,
           std::source_location at = std::source_location::current()) const {
        return value_.load(weakened(order, at), position(at));
    }
    void store(T value, std::memory_order order = std::memory_order_seq_cst,
               std::source_location at = std::source_location::current()) {
        value_.store(value, weakened(order, at), position(at));
    }
    T exchange(T value, std::memory_order order, std::source_location at = std::source_location::current()) {
        return value_.exchange(value, weakened(order, at), position(at));
    }
    T fetch_sub(T value, std::memory_order order, std::source_location at = std::source_location::current()) {
        return value_.fetch_sub(value, weakened(order, at), position(at));
    }
    T fetch_add(T value, std::memory_order order, std::source_location at = std::source_location::current()) {
        return value_.fetch_add(value, weakened(order, at), position(at));
    }
    T fetch_or(T value, std::memory_order order, std::source_location at = std::source_location::current()) {
        return value_.fetch_or(value, weakened(order, at), position(at));
    }
    T fetch_and(T value, std::memory_order order, std::source_location at = std::source_location::current()) {
        return value_.fetch_and(value, weakened(order, at), position(at));
    }
    bool compare_exchange_strong(T& expected, T value, std::memory_order order, std::memory_order failure,
                                 std::source_location at = std::source_location::current()) {
        return value_.compare_exchange_strong(expected, value, weakened(order, at), position(at), order_of(failure),
                                              position(at));
    }
    bool compare_exchange_weak(T& expected, T value, std::memory_order order, std::memory_order failure,
                               std::source_location at = std::source_location::current()) {
        return value_.compare_exchange_weak(expected, value, weakened(order, at), position(at), order_of(failure),
                                            position(at));
    }

  private:
    static rl::debug_info position(const std::source_location& at) {
        return {at.function_name(), at.file_name(), at.line()};
    }
    static rl::memory_order weakened(std::memory_order order, const std::source_location& at) {
        return Weakening::applies(at.function_name()) ? rl::mo_relaxed : order_of(order);
    }

    mutable rl::atomic<T> value_;
};

/// The policy for the shipped templates.
template <class Weakening = AsShipped>
struct Atomics {
    template <class T>
    using Atomic = model::Atomic<T, Weakening>;
};

/// A plain variable whose unordered use by two threads is reported.
template <class T>
class Plain {
  public:
    void write(T value, std::source_location at = std::source_location::current()) {
        value_({at.function_name(), at.file_name(), at.line()}) = value;
    }
    T read(std::source_location at = std::source_location::current()) const {
        return value_({at.function_name(), at.file_name(), at.line()});
    }

  private:
    rl::var<T> value_;
};

/// Lets others run; what a loop does while it has nothing to do, so that the search is fair.
inline void idle(std::source_location at = std::source_location::current()) {
    rl::yield(1, {at.function_name(), at.file_name(), at.line()});
}

/// Ends the execution as a failure unless `holds`.
inline void require(bool holds, const char* promise, std::source_location at = std::source_location::current()) {
    if (!holds)
        rl::ctx().fail_test(promise, rl::test_result_user_assert_failed,
                            {at.function_name(), at.file_name(), at.line()});
}

/// What a search found: the verdict, how many executions it tried and, after a failure, the execution as text.
struct Finding {
    rl::test_result_e verdict = rl::test_result_success;
    std::uint64_t executions = 0;
    std::string report;
};

/// Takes a report without allocating: relacy replaces `operator new` while it simulates.
class Page : private std::streambuf, public std::ostream {
  public:
    Page() : std::ostream(this) { setp(text_, text_ + sizeof text_); }
    std::string text() const { return {pbase(), pptr()}; }

  private:
    char text_[1 << 16];
};

/// Which executions are tried. A type each, so that a test is compiled for the search that it takes and for no other:
/// each is a simulator of its own, and compiling them is most of what this program costs to build.
struct EverySchedule {
    static constexpr auto type = rl::fair_full_search_scheduler_type;
    template <int threads>
    using Scheduler = rl::full_search_scheduler<threads>;
};
struct FewSwitches {
    static constexpr auto type = rl::fair_context_bound_scheduler_type;
    template <int threads>
    using Scheduler = rl::context_bound_scheduler<threads>;
};
struct RandomSchedules {
    static constexpr auto type = rl::random_scheduler_type;
    template <int threads>
    using Scheduler = rl::random_scheduler<threads>;
};
struct Search {
    /// All; each load may read the newest store or the one before it
    static constexpr EverySchedule every_schedule{};
    /// All those with at most `bound` switches that no thread asked for
    static constexpr FewSwitches few_switches{};
    /// `bound` of them, from a fixed seed; loads may read two stores back
    static constexpr RandomSchedules random_schedules{};
};

template <class Test, class Way>
Finding check(Way, unsigned bound = 0) {
    static Page report;
    static Page progress;
    rl::test_params params;
    params.search_type = Way::type;
    params.context_bound = bound;
    params.iteration_count = bound;
    params.execution_depth_limit = 4000;
    params.output_stream = &report;
    params.progress_stream = &progress;
    // A failed run is done again, with its history, from the state in which it began.
    using Scheduler = typename Way::template Scheduler<Test::params::thread_count>;
    rl::ostringstream state;
    if (rl::run_test<Test, Scheduler>(params, state, false) != rl::test_result_success && !params.collect_history) {
        params.initial_state = state.str();
        params.collect_history = true;
        params.final_state = state.str();
        rl::run_test<Test, Scheduler>(params, state, true);
    }
    return {params.test_result, params.stop_iteration, report.text()};
}

/// The promise holds in all executions that are tried.
template <class Test, class Way>
void expect_holds(Way search, unsigned bound = 0) {
    const auto found = check<Test>(search, bound);
    EXPECT_EQ(found.verdict, rl::test_result_success) << rl::test_result_str(found.verdict) << '\n' << found.report;
    ::testing::Test::RecordProperty("executions", std::to_string(found.executions));
}

/// The search is strong enough to find that the promise is broken, and in this way.
template <class Test, class Way = RandomSchedules>
void expect_finds(rl::test_result_e verdict, Way search = {}, unsigned bound = 200'000) {
    const auto found = check<Test>(search, bound);
    EXPECT_EQ(found.verdict, verdict) << "found instead: " << rl::test_result_str(found.verdict);
}

}  // namespace model
