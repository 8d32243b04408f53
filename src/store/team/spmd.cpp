#include "penstock/spmd.hpp"

#include <new>
#include <system_error>
#include <thread>
#include <tuple>

#include "penstock/topology.hpp"
#include "store/team/exchange.hpp"
#include "store/team/team.hpp"

namespace penstock {

RankFailed::RankFailed(int rank, std::exception_ptr cause, int others)
    : Error("rank " + std::to_string(rank) + " failed: " + said_by(cause) +
            (others == 0 ? "" : " (and " + std::to_string(others) + " more failed)")),
      rank_(rank), cause_(std::move(cause)), others_(others) {}

namespace team {

Placement Placement::of(int size, bool pin) {
    const int usable = Topology::here().usable();
    Placement placement;
    placement.policy = WaitPolicy::for_threads(size, usable);
    if (!pin || size > usable) return placement;
    auto claim = ProcessorBudget::from_environment().claim(size, current_processor());
    if (claim.shared() != 0 || std::ssize(claim.processors()) != size) return placement;
    placement.processors.assign(claim.processors().begin(), claim.processors().end());
    placement.claim = std::move(claim);
    return placement;
}

void Placement::pin(int rank) const {
    // A refusal costs speed, not correctness.
    if (!processors.empty()) static_cast<void>(pin_this_thread(processors[rank]));
}

void conclude(const std::vector<Ending>& endings) {
    const Ending* first = nullptr;
    int failed = 0;
    const auto weight = [](const Ending& ending) { return std::tuple(!ending.died, ending.consequence, ending.order); };
    for (const auto& ending : endings) {
        if (ending.error == nullptr) continue;
        ++failed;
        if (first == nullptr || weight(ending) < weight(*first)) first = &ending;
    }
    if (first == nullptr) return;
    if (first->died) std::rethrow_exception(first->error);
    throw RankFailed(first->rank, first->error, failed - 1);
}

void run_threads(int size, const Program& program, const SpmdOptions& options) {
    const auto count = static_cast<std::size_t>(size);
    const LocalMemory control(count * sizeof(Seat));
    auto* seats = reinterpret_cast<Seat*>(control.data());
    for (std::size_t rank = 0; rank < count; ++rank) new (seats + rank) Seat;
    ThreadExchange exchange;
    const auto placement = Placement::of(size, options.pin);
    std::vector<Ending> endings(count);
    std::atomic<int> failures{0};

    const auto leave = [&](int rank, State state) {
        seats[rank].state.store(state, std::memory_order_release);
        for (int other = 0; other < size; ++other) wake_at(seats[other].bell);
    };
    const auto body = [&](int rank) {
        placement.pin(rank);
        name_this_thread("rank " + std::to_string(rank));
        Member member{seats, &exchange, rank, size, Substrate::threads, placement.policy, options.accept_within};
        seats[rank].identity = ProcessIdentity::of_this_process();
        seats[rank].state.store(State::running, std::memory_order_release);
        auto& ending = endings[rank];
        ending.rank = rank;
        try {
            program.call(program.closure, Rank(member));
        } catch (...) {
            ending.error = std::current_exception();
            ending.order = ++failures;
            tell_cause(ending.error, [&](const char*, bool consequence) { ending.consequence = consequence; });
        }
        leave(rank, ending.error ? State::failed : State::finished);
    };

    std::vector<std::thread> threads;
    std::exception_ptr not_started;
    try {
        threads.reserve(count);
        while (threads.size() < count) threads.emplace_back(body, static_cast<int>(threads.size()));
    } catch (...) {
        // The threads that have begun are waited for, whatever happened.
        not_started = std::current_exception();
        for (std::size_t rank = threads.size(); rank < count; ++rank) leave(static_cast<int>(rank), State::failed);
    }
    for (auto& thread : threads) thread.join();
    if (not_started) try {
            std::rethrow_exception(not_started);
        } catch (const std::system_error& error) {
            throw SystemError(
                "cannot start a thread for rank " + std::to_string(threads.size()) + " of " + std::to_string(size),
                error.code().value());
        }
    conclude(endings);
}

void run(int size, const Program& program, const SpmdOptions& options) {
    if (size < 1 || size > most_ranks)
        throw UsageError("a team has 1 to " + std::to_string(most_ranks) + " ranks, but " + std::to_string(size) +
                         " were asked for");
    if (options.accept_within.count() <= 0) throw UsageError("SpmdOptions::accept_within must be more than 0");
    if (options.substrate == Substrate::nodes && options.cluster == nullptr)
        throw UsageError("ranks on nodes need a cluster: say SpmdOptions::cluster");
    if (options.cluster == nullptr && !options.nodes.empty())
        throw UsageError(
            "SpmdOptions::nodes names a group of nodes, but there is no cluster: say SpmdOptions::cluster");
    if (options.cluster != nullptr && options.substrate == Substrate::processes)
        throw UsageError("ranks are processes of this machine or run on a cluster, and both were asked for");
    if (options.cluster != nullptr) run_on_nodes(size, program, options);
    else if (options.substrate == Substrate::threads) run_threads(size, program, options);
    else run_processes(size, program, options);
}

}  // namespace team
}  // namespace penstock
