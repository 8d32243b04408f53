// Jobs inside a firing: calls with tagged arguments, chains of them, and what comes then; in threads and in workers.
#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <thread>

#include "penstock/chain.hpp"
#include "penstock/spread.hpp"
#include "stream/processes_support.hpp"
#include "tests/fetched_ahead.hpp"

using namespace penstock;

namespace {

constexpr std::size_t rows = 96, columns = 200;

void twice(view<const float, 2> from, view<float, 2> to) {
    for (std::size_t i = 0; i < from.extent(0); ++i)
        for (std::size_t j = 0; j < from.extent(1); ++j) to(i, j) = 2 * from(i, j);
}
void add(view<const float, 2> from, view<float, 2> to, float more) {
    for (std::size_t i = 0; i < from.extent(0); ++i)
        for (std::size_t j = 0; j < from.extent(1); ++j) to(i, j) = from(i, j) + more;
}
void sum_rows(std::span<const float> all, float& sum) {
    sum = 0;
    for (const float each : all) sum += each;
}
void fail(view<const float, 2>, view<float, 2>) { throw std::runtime_error("a job failed"); }

struct Pictures {
    Output<float> out{"out"};
    int count, next = 0;
    explicit Pictures(int n) : count(n) {}
    auto state() { return std::tie(next); }
    bool operator()() {
        if (next == count) return false;
        auto made = out.make(rows, columns);
        auto values = made.edit();
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(next) + static_cast<float>(i % 7);
        ++next;
        out.write(std::move(made));
        return true;
    }
};

/// Each tile is a chain of two jobs, whose first result stays in the local store; then the sum of all is a third job.
struct ByJobs {
    static constexpr bool may_be_copied = true;
    Input<float> in_{"in"};
    Output<float> out_{"out"};
    Output<float> sums{"sums"};
    Spread tasks;
    Chain<view<const float, 2>, view<float, 2>, float> chain;
    ByJobs() {
        const auto [from, to, more] = chain.parameters();
        const auto between = chain.local<float>(rows / 4, columns / 4);
        chain.add<twice>(in(from), out(between));
        chain.add<add>(in(between), out(to), more);
    }
    void operator()() {
        const auto& read = tasks.keep(in_.read());
        auto& made = tasks.keep(out_.make(rows, columns));
        const auto from = read.image();
        const auto to = made.edit_image();
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j < 4; ++j) {
                const std::array<std::size_t, 2> at{i * rows / 4, j * columns / 4}, size{rows / 4, columns / 4};
                tasks.call(chain, in(from.part(at, size)), out(to.part(at, size)), 1.0f);
            }
        tasks.then([this, &made] {
            auto& sum = tasks.keep(sums.make(1));
            tasks.call<sum_rows>(in(made.span()), out(sum.edit()[0]));
            tasks.then([this, &made, &sum] {
                out_.write(std::move(made));
                sums.write(std::move(sum));
            });
        });
    }
};

struct Check {
    Input<float> in{"in"}, sums{"sums"};
    int good = 0, bad = 0;
    auto state() { return std::tie(good, bad); }
    void operator()() {
        const auto read = in.read(), sum = sums.read();
        const int number = good + bad;
        bool right = read.extent(0) == rows && read.extent(1) == columns;
        float wanted = 0;
        for (std::size_t i = 0; i < read.size(); ++i) {
            right = right && read[i] == 2 * (static_cast<float>(number) + static_cast<float>(i % 7)) + 1;
            wanted += read[i];
        }
        (right && sum[0] == wanted ? good : bad) += 1;
    }
};

int right_ones(Machine& machine, int copies, int count) {
    Graph graph;
    auto& pictures = graph.add<Pictures>("pictures", {}, count);
    auto& jobs = graph.add<ByJobs>("jobs", {.copies = copies});
    auto& check = graph.add<Check>("check");
    graph.connect(pictures.out, jobs.in_);
    graph.connect(jobs.out_, check.in, {.ordered = true});
    graph.connect(jobs.sums, check.sums, {.ordered = true});
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(check.bad, 0);
    return check.good;
}

struct Failing {
    Input<float> in_{"in"};
    Output<float> out_{"out"};
    Spread tasks;
    void operator()() {
        const auto& read = tasks.keep(in_.read());
        auto made = out_.make(rows, columns);
        tasks.call<twice>(in(read.image()), out(made.edit_image()));
        auto& other = tasks.keep(out_.make(rows, columns));
        tasks.call<fail>(in(read.image()), out(other.edit_image()));
        tasks.then([this] { ADD_FAILURE() << "went on behind a failure"; });
        out_.write(std::move(made));
    }
};
/// The second job of a chain fails.
struct FailingChain {
    Input<float> in_{"in"};
    Output<float> out_{"out"};
    Spread tasks;
    Chain<view<const float, 2>, view<float, 2>> chain;
    FailingChain() {
        const auto [from, to] = chain.parameters();
        chain.add<twice>(in(from), out(to));
        chain.add<fail>(in(from), out(to));
    }
    void operator()() {
        const auto& read = tasks.keep(in_.read());
        auto made = out_.make(rows, columns);
        tasks.call(chain, in(read.image()), out(made.edit_image()));
        out_.write(std::move(made));
    }
};
void take(std::span<const std::byte>) { ADD_FAILURE() << "there was memory for it"; }

/// A job that wants more than any memory could hold in its local store: 2^64 - 64 bytes. Nobody looks at them.
struct WithoutMemory {
    Input<float> in_{"in"};
    Output<float> out_{"out"};
    Spread tasks;
    std::byte one{};
    const std::span<const std::byte> quarter{&one, std::size_t{1} << 62};
    const std::vector<std::span<const std::byte>> list{quarter, quarter, quarter, quarter.first(quarter.size() - 64)};
    void operator()() {
        (void)in_.read();
        tasks.call<take>(in(pieces<const std::byte>(list)));
        out_.write(out_.make(1));
    }
};
void note_thread(std::uint64_t& thread) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    thread = std::hash<std::thread::id>()(std::this_thread::get_id());
}

/// Which threads ran its jobs.
struct Where {
    Input<float> in_{"in"};
    Spread tasks;
    std::array<std::uint64_t, 8> found{};
    std::set<std::uint64_t> threads;
    void operator()() {
        (void)in_.read();
        for (auto& each : found) tasks.call<note_thread>(out(each));
        tasks.then([this] { threads.insert(found.begin(), found.end()); });
    }
};
struct Sink {
    Input<float> in{"in"};
    void operator()() { (void)in.read(); }
};

template <class Filter>
void expect_failure(Machine& machine, const char* words = "a job failed") {
    Graph graph;
    auto& pictures = graph.add<Pictures>("pictures", {}, 5);
    auto& failing = graph.add<Filter>("failing");
    auto& sink = graph.add<Sink>("sink");
    graph.connect(pictures.out, failing.in_);
    graph.connect(failing.out_, sink.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL() << "did not fail";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.filter(), "failing");
        EXPECT_NE(std::string(failed.what()).find(words), std::string::npos) << failed.what();
    }
}

}  // namespace

TEST(StreamJobs, chains_on_tiles_and_what_comes_then_give_what_a_loop_would) {
    for (const int targets : {0, 1, 3}) {
        Machine machine{{.targets = targets}};
        EXPECT_EQ(right_ones(machine, 1, 40), 40);
        EXPECT_EQ(right_ones(machine, 3, 40), 40);
    }
}

TEST(StreamJobs, the_same_in_worker_processes) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine{processes::workers(2)};
    EXPECT_EQ(right_ones(machine, 1, 20), 20);
    EXPECT_EQ(right_ones(machine, 2, 20), 20);
}

TEST(StreamJobs, tiles_of_the_jobs_that_wait_are_fetched_ahead) {
    Machine machine{{.targets = 1, .prefetch = Prefetch::always}};
    std::uint64_t fetched = 0, chains = 0;
    // Where the target gets no processor the thread that waits runs all jobs itself.
    for (int tries = 0; tries < 100 && (fetched == 0 || chains == 0); ++tries) {
        fetched += tests::fetched_ahead(machine, [&] { right_ones(machine, 1, 40); });
        chains += tests::chains(machine, [&] { right_ones(machine, 1, 40); });
    }
    EXPECT_GT(fetched, 0u);
    EXPECT_GT(chains, 0u);
}

TEST(StreamJobs, are_shared_by_a_target_and_the_thread_that_waits_for_the_run) {
    for (const int targets : {1, 2}) {
        Machine machine{{.targets = targets}};
        std::size_t most = 0;
        // A thread that the system keeps waiting gets none.
        for (int tries = 0; tries < 20 && most <= static_cast<std::size_t>(targets); ++tries) {
            Graph graph;
            auto& pictures = graph.add<Pictures>("pictures", {}, 20);
            auto& where = graph.add<Where>("where");
            graph.connect(pictures.out, where.in_);
            auto run = graph.start(machine);
            run.finish();
            most = std::max(most, where.threads.size());
        }
        EXPECT_EQ(most, static_cast<std::size_t>(targets) + 1);
    }
}

TEST(StreamJobs, a_job_that_fails_fails_its_firing) {
    SKIP_WITHOUT_PROCESSES();
    Machine threads{{.targets = 2}}, alone{{.targets = 0}}, workers{processes::workers(1)};
    for (auto* const machine : {&threads, &alone, &workers}) {
        expect_failure<Failing>(*machine);
        expect_failure<FailingChain>(*machine);
    }
}

// ---- whose turn it is while a firing has jobs ----

void spin(std::chrono::microseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
    }
}
void keep_busy(const std::atomic<bool>& until) {
    while (!until) std::this_thread::yield();
}
struct Log {
    std::array<char, 4096> events;
    std::size_t count;
    void note(char what, int microseconds) {
        spin(std::chrono::microseconds(microseconds));
        events.at(count++) = what;
    }
    std::string text() const { return {events.data(), count}; }
};
void note_job(Log& log, int microseconds) { log.note('j', microseconds); }

/// Notes f, then a j for each job.
struct Noting {
    Input<float> in_{"in"};
    Output<float> out_{"out"};
    Spread tasks;
    Log* log;
    int jobs, each;
    Noting(Log* into, int count, int microseconds) : log(into), jobs(count), each(microseconds) {}
    void operator()() {
        auto read = in_.read();
        log->note('f', 20);
        for (int i = 0; i < jobs; ++i) tasks.call<note_job>(inout(*log), each);
        out_.write(std::move(read));
    }
};
struct NotesReads {
    Input<float> in_{"in"};
    Log* log;
    explicit NotesReads(Log* into) : log(into) {}
    void operator()() {
        (void)in_.read();
        log->note('r', 0);
    }
};
struct Others {
    Output<float> out{"out"};
    Log* log;
    int left;
    explicit Others(Log* into, int count = 400) : log(into), left(count) {}
    bool operator()() {
        log->note('o', 20);
        return --left != 0;
    }
};

/// What one thread, which helps, does in turn. The other is busy elsewhere.
std::string turns(int jobs, int microseconds, bool others) {
    Machine machine{{.targets = 1}};
    Log log{};
    std::atomic<bool> enough{false};
    auto busy = machine.on(0).call<keep_busy>(in(enough));
    Graph graph;
    auto& pictures = graph.add<Pictures>("pictures", {}, 30);
    auto& noting = graph.add<Noting>("noting", {}, &log, jobs, microseconds);
    auto& reads = graph.add<NotesReads>("reads", {}, &log);
    graph.connect(pictures.out, noting.in_, {.capacity = 16});
    graph.connect(noting.out_, reads.in_, {.capacity = 16});
    if (others) graph.add<Others>("others", {}, &log);
    auto run = graph.start(machine);
    run.finish();
    enough = true;
    busy.wait();
    return log.text();
}

TEST(StreamJobs, what_a_firing_wrote_is_read_before_the_next_one) {
    const auto text = turns(2, 5, false);
    int unread = 0, most = 0, firings = 0;
    for (const char what : text) {
        if (what == 'f' && ++firings > 5) most = std::max(most, unread);  // at first nobody knows how long they are
        if (what == 'f') ++unread;
        if (what == 'r') --unread;
    }
    EXPECT_EQ(firings, 30);
    EXPECT_EQ(most, 0) << text;
}

TEST(StreamJobs, a_thread_that_helps_runs_the_jobs_of_its_firing_before_it_begins_with_something_else) {
    const auto text = turns(8, 40, true);
    const auto others = std::string_view(text).substr(0, text.rfind('o'));
    EXPECT_GT(std::ranges::count(others, 'f'), 15) << text;  // not behind all others, which are always ready
    // But for a thread that was kept from its processor, and for tasks of the run that lie in the same deque.
    EXPECT_NE(text.find("fjjjjjjjj"), std::string::npos) << text;
}

/// Issues so many jobs in one firing.
struct Issues {
    Output<int> out{"out"};  // never written
    Spread tasks;
    Log* log;
    int jobs;
    Issues(Log* into, int count) : log(into), jobs(count) {}
    bool operator()() {
        for (; jobs != 0; --jobs) tasks.call<note_job>(inout(*log), 50);
        return false;
    }
};
/// Is always ready, and says so once; until these jobs have run, or others have had no turn for far too long.
struct AlwaysReady {
    Output<int> out{"out"};
    const Log* log;
    std::size_t jobs;
    int said = 0, fired = 0;
    AlwaysReady(const Log* where, std::size_t count) : log(where), jobs(count) {}
    bool operator()() {
        spin(std::chrono::microseconds(20));
        if (log->count != 0 && std::exchange(said, 1) == 0) out.write(out.make(1));
        return log->count < jobs && ++fired < 50'000;
    }
};

TEST(StreamJobs, what_a_thread_has_left_of_them_when_its_wait_was_over_it_does_in_its_next_one) {
    constexpr int jobs = 100;
    Machine machine{{.targets = 1}};
    std::atomic<bool> enough{false};
    auto busy = machine.on(0).call<keep_busy>(in(enough));
    Log log{};
    Graph graph;
    graph.add<Issues>("issues", {}, &log, jobs);
    auto& ready = graph.add<AlwaysReady>("ready", {}, &log, jobs);
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(ready.out, reader.input);
    auto run = graph.start(machine);
    (void)reader.read();
    run.finish();
    EXPECT_EQ(log.count, jobs);
    EXPECT_LT(ready.fired, 50'000);
    enough = true;
    busy.wait();
}

/// Writes twice in a firing.
struct WritesTwo {
    Output<int> out{"out"};
    const Log* log;
    int left = 1'000;
    std::size_t others = 0;  ///< firings of others until its last one
    explicit WritesTwo(const Log* where) : log(where) {}
    bool operator()() {
        spin(std::chrono::microseconds(20));
        for (int i = 0; i < 2; ++i) out.write(out.make(1));
        others = log->count;
        return --left != 0;
    }
};
struct ReadsOne {
    Input<int> in_{"in"};
    void operator()() {
        (void)in_.read();
        spin(std::chrono::microseconds(5));
    }
};

TEST(StreamJobs, who_waits_for_room_in_each_firing_has_as_many_turns_as_others) {
    Machine machine{{.targets = 0}};
    Log log{};
    Graph graph;
    auto& writes = graph.add<WritesTwo>("writes", {}, &log);
    auto& reads = graph.add<ReadsOne>("reads");
    graph.connect(writes.out, reads.in_, {.capacity = 1, .fuse = false});
    graph.add<Others>("others", {}, &log, 4'000);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_LT(writes.others, 1'400u);
}

/// Has always jobs for all threads.
struct Busy {
    static constexpr bool may_be_copied = true;
    Input<float> in_{"in"};
    Output<float> out_{"out"};
    Spread tasks;
    void operator()() {
        const auto& read = tasks.keep(in_.read());
        auto& made = tasks.keep(out_.make(rows, columns));
        const auto from = read.image();
        const auto to = made.edit_image();
        for (std::size_t row = 0; row < rows; row += rows / 8) {
            const std::array<std::size_t, 2> at{row, 0}, size{rows / 8, columns};
            tasks.call<twice>(in(from.part(at, size)), out(to.part(at, size)));
        }
        tasks.then([this, &made] { out_.write(std::move(made)); });
    }
};

struct FailsLate {
    Input<float> in_{"in"};
    int left = 100;
    void operator()() {
        (void)in_.read();
        if (--left == 0) throw std::runtime_error("enough");
    }
};

TEST(StreamJobs, a_run_that_fails_ends_although_there_are_always_jobs) {
    for (const int targets : {1, 2}) {
        Machine machine({.targets = targets});
        Graph graph;
        auto& source =
            graph.add<Pictures>("source", {}, std::numeric_limits<int>::max());  // more than there is time for
        auto& busy = graph.add<Busy>("busy", {.copies = 3});
        auto& late = graph.add<FailsLate>("late");
        graph.connect(source.out, busy.in_);
        graph.connect(busy.out_, late.in_);
        auto run = graph.start(machine);
        EXPECT_THROW(run.finish(), FilterFailed);
    }
}

TEST(StreamJobs, a_job_that_finds_no_memory_for_its_arguments_fails_its_firing) {
    Machine machine{{.targets = 2}};
    expect_failure<WithoutMemory>(machine, "no memory");
}

// The chain is so large that a copy that stays shows in the program's memory.
TEST(StreamJobs, a_chain_that_is_refused_where_jobs_run_in_place_leaves_nothing_behind) {
    streaming::JobsHere jobs;
    Spread tasks;
    tasks.run_here(&jobs);
    std::array<float, 4> values{};
    const view<float, 2> tile(values.data(), {2, 2});
    const auto refuse = [&] {
        Chain<view<const float, 2>, view<float, 2>> chain;
        const auto [from, to] = chain.parameters();
        for (int i = 0; i < 200; ++i) chain.add<twice>(in(from), out(to));
        EXPECT_THROW(tasks.call(chain, in(tile), out(tile)), ArgumentError);
    };
    refuse();
    const auto before = mallinfo2().uordblks;
    for (int i = 0; i < 100; ++i) refuse();
    EXPECT_LT(mallinfo2().uordblks, before + (std::size_t{1} << 20));
}

TEST(StreamJobs, outside_a_firing_they_are_refused) {
    Spread tasks;
    float one = 0;
    const float all[] = {1, 2};
    EXPECT_THROW(tasks.call<sum_rows>(in(all), out(one)), UsageError);
    EXPECT_THROW(tasks.then([] {}), UsageError);
    EXPECT_THROW((void)tasks.machine(), UsageError);
}
