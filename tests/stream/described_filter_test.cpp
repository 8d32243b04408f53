// Filters whose ports are known at run time only, and firings that others complete.
#include "penstock/described_filter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "stream/parts.hpp"

using namespace penstock;

namespace {

FilterDescription described(bool may_be_copied = false) {
    FilterDescription text;
    text.type = "Times";
    text.inputs = {{"in", element_type<int>()}};
    text.outputs = {{"out", element_type<int>()}};
    text.settings = {{"factor", std::int64_t{3}, {.least = 1, .most = 9}}};
    text.may_be_copied = may_be_copied;
    return text;
}

template <class F>
struct KindOf final : streaming::FilterKind {
    explicit KindOf(FilterDescription of, std::function<void(F&)> prepare = {})
        : description(std::move(of)), prepare_(std::move(prepare)) {
        may_be_copied = description.may_be_copied;
    }
    std::unique_ptr<streaming::AnyFilter> make() const override {
        auto filter = std::make_unique<F>(description);
        if (prepare_) prepare_(*filter);
        return filter;
    }
    FilterDescription description;
    std::function<void(F&)> prepare_;
};

int multiply(Buffer<std::byte>& buffer, std::int64_t factor) {
    int value = 0;
    std::memcpy(&value, buffer.span().data(), sizeof value);
    value *= static_cast<int>(factor);
    std::memcpy(buffer.edit().data(), &value, sizeof value);
    return value;
}

struct Times : DescribedFilter {
    using DescribedFilter::DescribedFilter;
    int taken_over = 0;
    bool fire() override {
        auto buffer = input(0).read();
        multiply(buffer, std::get<std::int64_t>(setting(0)));
        output(0).write(std::move(buffer));
        return true;
    }
};

std::vector<int> read_all(StreamReader<int>& reader) {
    std::vector<int> all;
    while (auto buffer = reader.read()) all.push_back((*buffer)[0]);
    return all;
}

TEST(DescribedFilter, is_joined_to_filters_of_the_same_element_type_and_has_settings) {
    Machine machine({.targets = 1});
    Graph graph;
    auto& numbers = graph.add<parts::Numbers>("numbers", {}, 5);
    graph.add_kind("times", {}, std::make_shared<KindOf<Times>>(described()));
    auto& reader = graph.add_reader<int>("reader");
    (void)numbers;
    (void)reader;
    graph.connect("numbers.out", "times.in");
    graph.connect("times.out", "reader.input");
    graph.set("times", "factor", std::int64_t{4});
    EXPECT_EQ(graph.description().filters[1].type, "Times");
    EXPECT_TRUE(graph.check().empty());
    auto run = graph.start(machine);
    EXPECT_EQ(read_all(reader), (std::vector<int>{0, 4, 8, 12, 16}));
    run.finish();
}

TEST(DescribedFilter, of_another_element_type_is_refused_and_so_is_a_setting_beyond_its_limits) {
    Graph graph;
    auto other = described();
    other.inputs[0].element = element_type<double>();
    graph.add<parts::Numbers>("numbers", {}, 5);
    graph.add_kind("times", {}, std::make_shared<KindOf<Times>>(other));
    graph.connect("numbers.out", "times.in");
    graph.set("times", "factor", std::int64_t{10});
    const auto problems = graph.check();
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_NE(problems[0].find("factor"), std::string::npos) << problems[0];
    EXPECT_NE(problems[1].find("joins values of type"), std::string::npos) << problems[1];
}

TEST(DescribedFilter, a_buffer_has_one_to_three_dimensions_and_a_size_that_can_be) {
    const std::vector<std::size_t> four{1, 1, 1, 1}, huge{~std::size_t{0} / 2, 4};
    EXPECT_EQ(bytes_of(std::vector<std::size_t>{2, 3}, 4), 24u);
    EXPECT_THROW(bytes_of(four, 4), UsageError);
    EXPECT_THROW(bytes_of({}, 4), UsageError);
    EXPECT_THROW(bytes_of(huge, 4), std::bad_array_new_length);
}

TEST(DescribedFilter, replaces_another_and_takes_over_from_it) {
    Machine machine({.targets = 1});
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    graph.add_kind("times", {}, std::make_shared<KindOf<Times>>(described()));
    auto& reader = graph.add_reader<int>("reader");
    graph.connect("writer.output", "times.in");
    graph.connect("times.out", "reader.input");
    auto run = graph.start(machine);
    const int one = 1;
    writer.write({&one, 1});
    EXPECT_EQ((*reader.read())[0], 3);
    auto by_five = described();
    by_five.settings[0].value = std::int64_t{5};
    int taken_over = 0;
    run.edit([&](Edit& edit) {
        edit.replace_kind("times", Removal::hand_over, std::make_shared<KindOf<Times>>(by_five),
                          [&](streaming::AnyFilter& successor, streaming::AnyFilter& predecessor) {
                              taken_over =
                                  &successor != &predecessor && dynamic_cast<Times*>(&predecessor) != nullptr ? 1 : -1;
                          });
    });
    EXPECT_EQ(taken_over, 1);
    writer.write({&one, 1});
    EXPECT_EQ((*reader.read())[0], 5);
    EXPECT_THROW(run.edit([&](Edit& edit) {
        edit.replace_kind("nobody", Removal::finish, std::make_shared<KindOf<Times>>(by_five));
    }),
                 GraphError);
    run.finish();
}

/// A thread that does what it is given, last first.
class Elsewhere {
  public:
    Elsewhere() : thread_([this] { serve(); }) {}
    ~Elsewhere() {
        {
            const std::lock_guard lock(lock_);
            over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    void give(std::function<void()> work) {
        {
            const std::lock_guard lock(lock_);
            work_.push_back(std::move(work));
        }
        changed_.notify_one();
    }

  private:
    void serve() {
        std::unique_lock lock(lock_);
        for (;;) {
            changed_.wait(lock, [this] { return over_ || !work_.empty(); });
            if (work_.empty()) return;
            auto work = std::move(work_.back());
            work_.pop_back();
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
        }
    }
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> work_;
    bool over_ = false;
    std::thread thread_;
};

/// Has its values multiplied elsewhere, and writes what came back. Drops every fifth.
struct TimesElsewhere : DescribedFilter {
    explicit TimesElsewhere(const FilterDescription& description) : DescribedFilter(description) {
        completes_later = true;
    }
    Elsewhere* elsewhere = nullptr;
    std::optional<Buffer<std::byte>> held;
    int value = 0, fails_at = -1;
    bool fire() override {
        held = input(0).read();
        auto ticket = std::make_shared<Spread::Ticket>(tasks().ticket());
        elsewhere->give([this, ticket]() mutable {
            int before = 0;
            std::memcpy(&before, held->span().data(), sizeof before);
            value = multiply(*held, 3);
            if (before == fails_at) ticket->fail(std::make_exception_ptr(std::runtime_error("elsewhere")));
        });
        return true;
    }
    void complete() override {
        if (value % 5 != 0) output(0).write(std::move(*held));
        held.reset();
    }
};

TEST(DescribedFilter, that_completes_later_writes_then_in_the_order_of_its_source_though_copies_overtake_one_another) {
    Machine machine({.targets = 2});
    Elsewhere elsewhere;
    Graph graph;
    auto& numbers = graph.add<parts::Numbers>("numbers", {}, 500);
    (void)numbers;
    graph.add_kind("times", {.copies = 3},
                   std::make_shared<KindOf<TimesElsewhere>>(
                       described(true), [&](TimesElsewhere& each) { each.elsewhere = &elsewhere; }));
    auto& reader = graph.add_reader<int>("reader");
    graph.connect("numbers.out", "times.in");
    graph.connect("times.out", "reader.input", {.ordered = true});
    auto run = graph.start(machine);
    std::vector<int> expected;
    for (int n = 0; n < 500; ++n)
        if (n % 5 != 0) expected.push_back(3 * n);
    EXPECT_EQ(read_all(reader), expected);
    run.finish();
    EXPECT_EQ(run.statistics().filters[1].firings, 500u);
}

TEST(DescribedFilter, whose_firing_fails_elsewhere_is_named_with_the_number_of_the_firing) {
    Machine machine({.targets = 1});
    Elsewhere elsewhere;
    Graph graph;
    graph.add<parts::Numbers>("numbers", {}, 20);
    graph.add_kind("times", {.on_failure = OnFailure::go_on},
                   std::make_shared<KindOf<TimesElsewhere>>(described(), [&](TimesElsewhere& each) {
                       each.elsewhere = &elsewhere;
                       each.fails_at = 7;
                   }));
    auto& sink = graph.add<parts::Collect>("sink");
    graph.connect("numbers.out", "times.in");
    graph.connect("times.out", "sink.in");
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL() << "nothing was thrown";
    } catch (const FilterFailed& failure) {
        EXPECT_EQ(failure.filter(), "times");
        EXPECT_EQ(failure.firing(), 7u);
        EXPECT_EQ(failure.others(), 0u);
    }
    EXPECT_EQ(sink.got.size(), 15u);
}

struct Pause {};

TEST(Run, a_look_that_throws_ends_the_wait_and_the_run_goes_on) {
    Machine machine({.targets = 1});
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& sink = graph.add<parts::Collect>("sink");
    graph.connect(writer.output, sink.in);
    auto& endless = graph.add_reader<int>("reader");
    auto& second = graph.add_writer<int>("second");
    graph.connect(second.output, endless.input);
    auto run = graph.start(machine);
    std::atomic<int> looks{0};
    run.look_while_waiting([&] {
        if (++looks == 2) throw Pause{};
    });
    EXPECT_THROW((void)endless.read(), Pause);  // nobody writes there yet
    EXPECT_EQ(looks, 2);
    const int one = 1;
    second.write({&one, 1});
    writer.write({&one, 1});
    EXPECT_EQ((*endless.read())[0], 1);
    run.finish();
    EXPECT_EQ(sink.got, std::vector<int>{1});
}

}  // namespace
