// A place to run tasks in one file: on the caller's thread, behind a pipe. Each task's descriptor (entry and packed
// arguments) is written into the pipe, wiped, and read back before it is run; memory that arguments refer to is the
// caller's own.
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/isolation.hpp"
#include "task/backend/backend.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "tests/task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

/// What MachineOptions::isolation says for it.
constexpr auto behind_a_pipe = static_cast<Isolation>(8);

std::size_t descriptors = 0;  ///< that came out of a pipe

class PipeBackend final : public OffloadBackend {
  public:
    PipeBackend(Core& core, const std::vector<int>&) : OffloadBackend(core, false) {
        std::array<int, 2> ends{};
        if (pipe(ends.data()) != 0) throw SystemError("cannot make a pipe", errno);
        out_.reset(ends[0]);
        in_.reset(ends[1]);
        side_.heap = nullptr;  // all memory is seen there
        side_.heap_bytes = ~std::size_t{0};
        side_.entries = ~std::uint32_t{0};
    }
    void start() override {}
    void stop() noexcept override {}
    void require(Ability ability) const override {
        if (ability != Ability::loops) throw CannotCarryOver("a call", 0, "a pipe keeps neither order nor time");
    }
    const trace::TargetCounters& counters(int target) noexcept override {
        return core_.target(target).runner().counters();
    }
    std::uint32_t accept(const CallOptions&, std::uint32_t) override { return 0; }
    void hand_over(Ring& ring, Runner& caller, std::unique_ptr<isolated::StagedTask> staged) noexcept override {
        // As all memory is seen, only lists of pieces are staged, which no task writes.
        EXPECT_FALSE(staged != nullptr && staged->pieces.front().back);
        const auto claim = ring.pending().claim(1, 1);
        TaskPayload& payload = ring.pending().record(claim.first).payload;
        Extension& extension = ring.extensions()[ring.pending().slot(claim.first)];
        through_the_pipe(&payload, sizeof payload);
        through_the_pipe(&extension, sizeof extension);
        ++descriptors;
        trace::Counter ran;
        caller.run_claimed(ring, claim, ran);
    }

  private:
    void through_the_pipe(void* bytes, std::size_t size) {
        ASSERT_EQ(write(in_.get(), bytes, size), static_cast<ssize_t>(size));
        std::memset(bytes, 0, size);
        ASSERT_EQ(read(out_.get(), bytes, size), static_cast<ssize_t>(size));
    }

    OwnedDescriptor out_;
    OwnedDescriptor in_;
};

const bool added = [] {
    Backend::add(behind_a_pipe, {[](Core& core, const std::vector<int>& processors) -> std::unique_ptr<Backend> {
                                     return std::make_unique<PipeBackend>(core, processors);
                                 },
                                 1});
    return true;
}();

MachineOptions toy(int targets) {
    auto options = with_targets(targets);
    options.isolation = behind_a_pipe;
    return options;
}

/// Every test says how many descriptors came through the pipe.
class ToyBackend : public testing::Test {
  protected:
    ToyBackend() { descriptors = 0; }
    Machine machine{toy(2)};
};

void scale(std::span<const float> x, std::span<float> y, float a) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = a * x[i];
}
void add_one(view<int, 2> x) {
    for (std::size_t i = 0; i < x.extent(0); ++i)
        for (std::size_t j = 0; j < x.extent(1); ++j) x(i, j) += 1;
}
void join(pieces<const int> x, std::span<int> y) {
    std::size_t n = 0;
    for (auto piece : x)
        for (int v : piece) y[n++] = v;
}
void increment(int& x) { ++x; }

TEST_F(ToyBackend, runs_calls_with_arguments_of_every_kind) {
    ASSERT_TRUE(added);
    std::vector<float> x{1, 2, 3}, y(3);
    machine.call<scale>(in(x), out(y), 2.0f).wait();
    EXPECT_EQ(y, (std::vector<float>{2, 4, 6}));
    std::vector<int> matrix(6, 1);
    machine.call<add_one>(inout(view<int, 2>(matrix.data(), 3, 2, 2))).wait();
    EXPECT_EQ(matrix, std::vector<int>(6, 2));
    std::vector<int> a{1, 2}, b{3}, joined(3);
    const std::vector<std::span<const int>> list{b, a};
    machine.call<join>(in(pieces<const int>(list)), out(joined)).wait();
    EXPECT_EQ(joined, (std::vector<int>{3, 1, 2}));
    int n = 0;
    machine.call([](int& v) { v += 10; }, inout(n)).wait();
    machine.call(&increment, inout(n)).wait();
    machine.on(1).call<increment>(inout(n)).wait();
    machine.with({.target = 0}).call<increment>(inout(n)).wait();
    EXPECT_EQ(n, 13);
    EXPECT_EQ(descriptors, 7u);
}

TEST_F(ToyBackend, uses_the_lines_beyond_the_first_where_arguments_need_them) {
    std::array<std::vector<int>, 5> all{{{1}, {2}, {3}, {4}, {5}}};
    int sum = 0;
    machine
        .call([](std::span<const int> a, std::span<const int> b, std::span<const int> c, std::span<const int> d,
                 std::span<const int> e, int& result) { result = a[0] + b[0] + c[0] + d[0] + e[0]; },
              in(all[0]), in(all[1]), in(all[2]), in(all[3]), in(all[4]), out(sum))
        .wait();
    EXPECT_EQ(sum, 15);
}

TEST_F(ToyBackend, covers_many_calls_by_a_barrier_and_by_finish) {
    std::vector<int> x(1000, 0);
    for (int& one : x) machine.call<increment>(inout(one));
    machine.barrier();
    EXPECT_EQ(std::accumulate(x.begin(), x.end(), 0), 1000);
    machine.finish();
    EXPECT_EQ(descriptors, 1000u);
}

TEST_F(ToyBackend, runs_calls_inside_tasks) {
    int n = 0;
    machine
        .call(
            [](Machine* inner, int* where) {
                inner->call<increment>(inout(*where)).wait();
                inner->call<increment>(inout(*where));
                inner->barrier();
            },
            &machine, &n)
        .wait();
    EXPECT_EQ(n, 2);
    EXPECT_EQ(descriptors, 3u);
}

TEST_F(ToyBackend, keeps_failures_for_whoever_waits) {
    const auto failed = machine.call([] { throw std::runtime_error("no"); });
    EXPECT_THROW(failed.wait(), TaskFailed);
    machine.call([] { throw std::runtime_error("no"); });
    EXPECT_THROW(machine.barrier(), TaskFailed);
    machine.barrier();
}

TEST_F(ToyBackend, refuses_what_it_cannot_carry) {
    std::vector<int> x{1};
    EXPECT_THROW(machine.call([](std::vector<int>&&) {}, own(std::move(x))), CannotCarryOver);
    EXPECT_THROW(machine.after(Handle{}).call([] {}), CannotCarryOver);
    EXPECT_THROW(machine.with({.time_limit = std::chrono::seconds(1)}).call([] {}), CannotCarryOver);
    EXPECT_EQ(descriptors, 0u);
}

TEST(Backends, that_nobody_has_added_are_refused) {
    auto options = with_targets(1);
    for (const int place : {7, 1000}) {
        options.isolation = static_cast<Isolation>(place);
        EXPECT_THROW(Machine{options}, UsageError);
    }
}

}  // namespace
