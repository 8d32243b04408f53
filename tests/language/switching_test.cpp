// Options, rules and timers while an application runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "language/support.hpp"

using namespace penstock;
using written::application;

namespace {

/// One value, when the test says so; it ends when the test has said so often enough.
struct Gate {
    std::atomic<int> opened{0};
    std::atomic<bool> closed{false};
};

struct Tap {
    Output<double> out{"out"};
    Gate* gate;
    int written = 0;
    explicit Tap(Gate* of) : gate(of) {}
    bool operator()() {
        // Fires again and again meanwhile: a filter that waited in a firing would hold up the changes of what it writes
        // to.
        if (gate->opened.load() == written) return !gate->closed.load() || gate->opened.load() != written;
        auto buffer = out.make(1);
        buffer.edit()[0] = ++written;
        out.write(std::move(buffer));
        return true;
    }
};

class Switching : public testing::Test {
  protected:
    Switching() : components(written::with_keep(kept)) { components.add<Tap>("tap", "Opened by the test.", &gate); }

    ApplicationRun start(const std::string& body) {
        return Application::parse(application(body), "test.xml", {.components = &components}).start(machine);
    }
    /// Lets one more value in, and waits until it has come out.
    double next() {
        const auto before = count();
        gate.opened.fetch_add(1);
        while (count() == before) std::this_thread::yield();
        const std::lock_guard guard(kept.lock);
        return kept.values.back();
    }
    std::size_t count() {
        const std::lock_guard guard(kept.lock);
        return kept.values.size();
    }

    Machine machine{{.targets = 2}};
    written::Kept kept;
    Gate gate;
    Components components;
};

const std::string parts =
    R"(<component name="tap" class="tap"/><component name="scale" class="scale"/><component name="keep" class="keep"/>
    <stream from="tap.out" to="scale.in"/>)";
const std::string option =
    R"(<option name="more"><component name="shift" class="shift"><set name="offset" value="0.5"/></component>
    <stream from="scale.out" to="shift.in"/><stream from="shift.out" to="keep.in"/>
    <otherwise><stream from="scale.out" to="keep.in"/></otherwise></option>)";

}  // namespace

TEST_F(Switching, an_option_goes_on_and_off_by_events) {
    auto run = start(parts + R"(<event name="flip"/><event name="show"/><event name="hide"/><manager>
        <on event="flip" toggle="more"/><on event="show" enable="more"/><on event="hide" disable="more"/>)" +
                     option + "</manager>");
    EXPECT_EQ(next(), 2);
    EXPECT_FALSE(run.is_on("more"));
    const auto send = [&](const char* event) {
        run.send({event, true});
        run.settle();
    };
    send("flip");
    EXPECT_TRUE(run.is_on("more"));
    EXPECT_EQ(next(), 4.5);
    send("show");
    EXPECT_EQ(next(), 6.5);
    send("hide");
    EXPECT_FALSE(run.is_on("more"));
    EXPECT_EQ(next(), 8);
    EXPECT_THROW(run.send({"shout", true}), UsageError);
    EXPECT_THROW((void)run.is_on("less"), UsageError);
    gate.closed = true;
    run.finish();
    EXPECT_EQ(kept.values.size(), 4u);
}

TEST_F(Switching, components_get_other_settings_and_other_classes_also_while_they_are_not_there) {
    auto run = start(
        parts + R"(<event name="flip"/><event name="five"/><event name="swap"/><manager><on event="flip" toggle="more"/>
        <on event="five" component="scale" setting="factor" value="5"/><on event="five" component="shift" setting="offset" value="0.25"/>
        <on event="swap" component="scale" class="shift"><set name="offset" value="100"/></on>)" +
        option + "</manager>");
    const auto send = [&](const char* event) {
        run.send({event, true});
        run.settle();
    };
    EXPECT_EQ(next(), 2);
    send("five");
    EXPECT_EQ(next(), 10);
    send("flip");
    EXPECT_EQ(next(), 15.25);
    send("swap");
    EXPECT_EQ(next(), 104.25);
    gate.closed = true;
    run.finish();
}

TEST_F(Switching, timers_send_their_events) {
    auto run = start(
        parts + R"(<event name="tick"/><timer event="tick" after="0.001"/><manager><on event="tick" enable="more"/>)" +
        option + "</manager>");
    while (!run.is_on("more")) std::this_thread::yield();
    EXPECT_EQ(next(), 2.5);
    gate.closed = true;
    run.finish();
}

TEST_F(Switching, hundreds_of_switches_under_load_lose_nothing) {
    constexpr int count = 2000;
    auto run =
        start(parts + R"(<event name="flip"/><manager><on event="flip" toggle="more"/>)" + option + "</manager>");
    for (int i = 0; i < count; ++i) {
        gate.opened.fetch_add(1);
        if (i % 10 == 0) run.send({"flip", true});
    }
    run.settle();
    gate.closed = true;
    run.finish();
    ASSERT_EQ(kept.values.size(), std::size_t{count});
    // What was scaled is even, whatever was added below one.
    std::vector<int> whole;
    for (const double value : kept.values) whole.push_back(static_cast<int>(value));
    std::sort(whole.begin(), whole.end());
    for (int i = 0; i < count; ++i) EXPECT_EQ(whole[static_cast<std::size_t>(i)], 2 * (i + 1));
}

TEST_F(Switching, an_application_that_is_destroyed_stops) {
    auto run = start(
        parts + R"(<event name="flip"/><timer event="flip" every="0.001"/><manager><on event="flip" toggle="more"/>)" +
        option + "</manager>");
    EXPECT_EQ(static_cast<int>(next()), 2);
    gate.closed = true;
}

TEST_F(Switching, an_event_that_meets_ended_filters_changes_what_is_left) {
    auto run = start(parts + R"(<stream from="scale.out" to="keep.in"/><event name="flip"/>
        <component name="numbers" class="numbers"><set name="count" value="3"/></component><component name="pass" class="pass"/><component name="end" class="print"/>
        <stream from="numbers.out" to="pass.in"/>
        <manager><on event="flip" toggle="late"/><on event="flip" component="scale" setting="factor" value="10"/><option name="late">
        <component name="shift" class="shift"/><stream from="pass.out" to="shift.in"/><stream from="shift.out" to="end.in"/>
        <otherwise><stream from="pass.out" to="end.in"/></otherwise></option></manager>)");
    EXPECT_EQ(next(), 2);
    while (run.run().report().find("'end' has ended") == std::string::npos) std::this_thread::yield();
    for (const bool on : {true, false, true}) {
        run.send({"flip", true});
        run.settle();
        EXPECT_EQ(run.is_on("late"), on);
        EXPECT_EQ(static_cast<int>(next()) % 10, 0);  // the rest of the change was made, too
    }
    gate.closed = true;
    run.finish();
}

TEST_F(Switching, events_may_come_as_the_application_ends) {
    for (int round = 0; round < 60; ++round) {
        auto run = start(R"(<event name="flip"/><event name="swap"/><timer event="flip" every="0.001"/>
            <component name="numbers" class="numbers"><set name="count" value=")" +
                         std::to_string(1 + round * 7) + R"("/></component><component name="scale" class="scale"/>
            <component name="keep" class="keep"/><stream from="numbers.out" to="scale.in"/>
            <manager><on event="flip" toggle="more"/><on event="swap" component="scale" class="shift"/>)" +
                         option + "</manager>");
        std::thread sender([&] {
            try {
                for (int i = 0; i < 100; ++i) run.send({i % 3 == 0 ? "swap" : "flip", true});
            } catch (const RunEnded&) {
            }
        });
        run.finish();
        sender.join();
    }
}
