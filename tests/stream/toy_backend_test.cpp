// A backend in one file: filters fire on the thread that waits for the run, and the bytes of their buffers reach them
// and leave them by a pipe(2). What streams promise holds there as on threads and in worker processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "penstock/penstock.hpp"
#include "stream/description/model.hpp"
#include "stream/parts.hpp"
#include "stream/run/run_core.hpp"

using namespace penstock;

namespace {

using parts::Collect;
using parts::Numbers;
using streaming::FilterBackend;
using streaming::FilterCall;
using streaming::FilterProxy;

class BytePipe {
  public:
    BytePipe() {
        if (pipe(ends_.data()) != 0) throw std::bad_alloc();
    }
    ~BytePipe() { close(ends_[0]), close(ends_[1]); }
    BytePipe(const BytePipe&) = delete;
    BytePipe& operator=(const BytePipe&) = delete;

    /// What stands there afterwards has come out of the pipe.
    void cross(std::span<std::byte> values) {
        for (std::size_t at = 0; at < values.size();) {
            const auto part = values.subspan(at, std::min<std::size_t>(values.size() - at, 4096));
            ASSERT_EQ(write(ends_[1], part.data(), part.size()), static_cast<ssize_t>(part.size()));
            std::memset(part.data(), 0xA5, part.size());
            ASSERT_EQ(read(ends_[0], part.data(), part.size()), static_cast<ssize_t>(part.size()));
            at += part.size();
        }
        crossed += values.size();
    }
    std::size_t crossed = 0;

  private:
    std::array<int, 2> ends_{};
};

class ToyProxy final : public FilterProxy {
  public:
    ToyProxy(streaming::Station& station, BytePipe& way) : station_(station), way_(way) {}

    void send(FilterCall call, const Event* event) override {
        call_ = call;
        if (event != nullptr) event_ = *event;
        station_.spreading = true;
        for (auto& inlet : station_.inlets)
            for (std::size_t i = 0; i < inlet->queue.size(); ++i) cross(*inlet->queue[i].block);
        station_.run().post(station_, &station_.tasks_done);
    }
    Outcome take_back() override {
        Outcome outcome{.call = call_};
        auto& filter = station_.filter();
        try {
            if (call_ == FilterCall::start) filter.start();
            if (call_ == FilterCall::fire) outcome.over = !filter.fire();
            if (call_ == FilterCall::event) filter.handle(event_);
            if (call_ == FilterCall::finish) filter.finish();
        } catch (...) {
            outcome.failure = std::current_exception();
        }
        for (auto& outlet : station_.outlets)
            for (std::size_t i = 0; i < outlet->pending.size(); ++i) cross(*outlet->pending[i]);
        return outcome;
    }

  private:
    void cross(streaming::Block& block) { way_.cross({block.data, block.bytes}); }

    streaming::Station& station_;
    BytePipe& way_;
    FilterCall call_ = FilterCall::fire;
    Event event_{};
};

class ToyBackend final : public FilterBackend {
  public:
    explicit ToyBackend(Machine& machine) : FilterBackend(machine, {.fuse = false, .issue_tasks = false}) {}
    ~ToyBackend() override { crossed = way_.crossed; }
    bool targets_run_stations() const noexcept override { return false; }
    int most_firing(const streaming::FilterModel&) const noexcept override { return 1; }
    std::unique_ptr<FilterProxy> proxy_for(streaming::Station& station, const streaming::FilterModel&, int) override {
        if (station.external) return nullptr;
        return std::make_unique<ToyProxy>(station, way_);
    }

    static std::unique_ptr<FilterBackend> make(streaming::RunCore&, Machine& machine) {
        return wanted ? std::make_unique<ToyBackend>(machine) : nullptr;
    }
    static inline bool wanted = false;
    static inline std::size_t crossed = 0;  ///< bytes, in the run before

  private:
    BytePipe way_;
};

FilterBackend::Entry toy{&ToyBackend::make};
const bool entered = (FilterBackend::enter(toy), true);

std::set<std::thread::id> threads_of_times_three;

struct TimesThree {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        threads_of_times_three.insert(std::this_thread::get_id());
        auto buffer = in.read();
        for (int& value : buffer.edit()) value *= 3;
        out.write(std::move(buffer));
    }
};

struct ToyBackendTest : testing::Test {
    void SetUp() override { ToyBackend::wanted = entered; }
    void TearDown() override { ToyBackend::wanted = false; }
};

}  // namespace

TEST_F(ToyBackendTest, a_chain_gets_what_has_come_through_the_pipe_on_the_thread_that_waits) {
    constexpr std::size_t count = 1000;
    threads_of_times_three.clear();
    {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers", {.targets = {1}}, static_cast<int>(count));
        auto& times = graph.add<TimesThree>("times");
        auto& collect = graph.add<Collect>("collect");
        graph.connect(numbers.out, times.in);
        graph.connect(times.out, collect.in);
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(collect.got, parts::numbers(3 * static_cast<int>(count), 3));
    }
    EXPECT_EQ(threads_of_times_three, std::set{std::this_thread::get_id()});
    EXPECT_GE(ToyBackend::crossed, 4 * count * sizeof(int));  // out of each filter, and into the next
}

TEST_F(ToyBackendTest, copies_share_the_work_and_their_order_is_restored) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 1000);
    auto& times = graph.add<TimesThree>("times", {.copies = 3});
    auto& collect = graph.add<Collect>("collect");
    graph.connect(numbers.out, times.in, {.policy = Policy::round_robin});
    graph.connect(times.out, collect.in, {.ordered = true});
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(collect.got, parts::numbers(3000, 3));
    const auto figures = run.statistics();
    EXPECT_EQ(figures.filters[1].copies, 3);
    EXPECT_EQ(figures.filters[1].firings, 1000u);
}

TEST_F(ToyBackendTest, a_split_gives_every_reader_every_buffer) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 500);
    auto& times = graph.add<TimesThree>("times");
    auto& plain = graph.add<Collect>("plain");
    auto& collect = graph.add<Collect>("collect");
    graph.connect(numbers.out, plain.in);
    graph.connect(numbers.out, times.in);
    graph.connect(times.out, collect.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(plain.got, parts::numbers(500));
    EXPECT_EQ(collect.got, parts::numbers(1500, 3));
}

TEST_F(ToyBackendTest, the_program_writes_reads_and_sees_the_end) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& times = graph.add<TimesThree>("times");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, times.in);
    graph.connect(times.out, reader.input);
    auto run = graph.start(machine);
    for (int i = 0; i < 100; ++i) {
        const int value[1] = {i};
        writer.write(value);
        const auto buffer = reader.read();
        ASSERT_TRUE(buffer.has_value());
        EXPECT_EQ((*buffer)[0], 3 * i);
    }
    writer.close();
    EXPECT_FALSE(reader.read().has_value());
    run.finish();
}

TEST_F(ToyBackendTest, what_a_filter_throws_ends_the_run_by_its_name) {
    struct Throws {
        Input<int> in{"in"};
        void operator()() {
            if (in.read()[0] == 3) throw std::runtime_error("three");
        }
    };
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 10);
    auto& throws = graph.add<Throws>("throws");
    graph.connect(numbers.out, throws.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL() << "the failure was lost";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.filter(), "throws");
        EXPECT_EQ(failed.firing(), 3u);
    }
}
