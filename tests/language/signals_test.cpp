// Events that components send: named by signals, with values that rules look at.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "language/support.hpp"
#include "penstock/transformation.hpp"

using namespace penstock;

namespace {

/// Sends the value of each number that comes.
struct Speaker {
    Input<double> in{"in"};
    Output<double> out{"out"};
    EventOutput<double> level{"level"};
    EventOutput<std::string> word{"word"};
    EventOutput<> beat{"beat"};
    void operator()() {
        auto read = in.read();
        level.send(read[0]);
        word.send(read[0] < 3 ? "low" : "high");
        beat.send();
        out.write(std::move(read));
    }
};

/// 0, 1, 2, 3, 4, and then 5 until it is enough.
std::atomic<bool> enough, paused = true;
struct Steps {
    Output<double> out{"out"};
    double next = 0;
    bool operator()() {
        if (paused) std::this_thread::sleep_for(std::chrono::microseconds(50));
        auto made = out.make(1);
        made.edit()[0] = next;
        next = std::min(next + 1, 5.0);
        out.write(std::move(made));
        return !enough;
    }
};
std::atomic<int> noted;
struct Note {
    Input<double> in{"in"};
    void operator()() {
        (void)in.read();
        ++noted;
    }
};

Components with_parts() {
    auto all = Components::builtin();
    all.add<Speaker>("speaker", "");
    all.add<Note>("note", "");
    all.add<Steps>("steps", "");
    return all;
}

const std::string head = "<application xmlns=\"urn:penstock:application:1\" name=\"signals\">";
/// steps -> speaker -> scale -> note, with these rules.
std::string application(const std::string& more) {
    return head +
           "<component name=\"steps\" class=\"steps\"/>"
           "<component name=\"speaker\" class=\"speaker\"/>"
           "<component name=\"scale\" class=\"scale\"><set name=\"factor\" value=\"1\"/></component>"
           "<component name=\"note\" class=\"note\"/>"
           "<stream from=\"steps.out\" to=\"speaker.in\"/><stream from=\"speaker.out\" to=\"scale.in\"/>"
           "<stream from=\"scale.out\" to=\"note.in\"/>" +
           more + "</application>";
}

std::string wrong(const std::string& more) {
    const auto components = with_parts();
    std::string all;
    for (const auto& each : check_application_text(application(more), "a.xml", {.components = &components}))
        all += each.text() + "\n";
    return all;
}

/// The factor of `scale` once a rule has set it; behind a hundred numbers in any case, when none is to.
SettingValue factor_that_was_set(const std::string& more, bool by_a_rule = true) {
    const auto components = with_parts();
    enough = false;
    noted = 0;
    Machine machine({.targets = 2});
    auto run = Application::parse(application(more), "a.xml", {.components = &components}).start(machine);
    const auto factor = [&] {
        for (const auto& filter : run.run().description().filters)
            if (filter.name == "scale") return filter.settings[0].value;
        return SettingValue();
    };
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((noted < 100 || (by_a_rule && factor() == SettingValue(1.0))) && std::chrono::steady_clock::now() < late)
        std::this_thread::yield();
    run.settle();
    const auto found = factor();
    enough = true;
    run.finish();
    return found;
}

}  // namespace

TEST(LanguageSignals, a_rule_sees_the_value_of_an_event_that_a_component_sends) {
    const std::string events = "<event name=\"loud\"/><signal from=\"speaker.level\" event=\"loud\"/>";
    EXPECT_EQ(factor_that_was_set(events + "<manager><on event=\"loud\" least=\"5\" component=\"scale\" "
                                           "setting=\"factor\" value=\"${event * 10 + 1}\"/></manager>"),
              SettingValue(51.0));
}

TEST(LanguageSignals, a_rule_holds_between_limits_or_for_one_value) {
    const std::string events =
        "<event name=\"loud\"/><event name=\"said\"/><signal from=\"speaker.level\" event=\"loud\"/>"
        "<signal from=\"speaker.word\" event=\"said\"/>";
    const auto set = [](const std::string& event, const std::string& limits, int value) {
        return "<on event=\"" + event + "\" " + limits + " component=\"scale\" setting=\"factor\" value=\"" +
               std::to_string(value) + "\"/>";
    };
    EXPECT_EQ(factor_that_was_set(events + "<manager>" + set("loud", "most=\"2\"", 7) + "</manager>"),
              SettingValue(7.0));
    EXPECT_EQ(factor_that_was_set(events + "<manager>" + set("loud", "least=\"5.5\"", 7) + "</manager>", false),
              SettingValue(1.0));
    EXPECT_EQ(factor_that_was_set(events + "<manager>" + set("said", "is=\"high\"", 9) + set("said", "is=\"none\"", 7) +
                                  "</manager>"),
              SettingValue(9.0));
}

TEST(LanguageSignals, those_that_come_faster_than_they_are_obeyed_do_not_pile_up) {
    paused = false;
    EXPECT_EQ(factor_that_was_set("<event name=\"loud\"/><signal from=\"speaker.level\" event=\"loud\"/><manager>"
                                  "<on event=\"loud\" least=\"5\" component=\"scale\" setting=\"factor\" "
                                  "value=\"${event + 2}\"/></manager>"),
              SettingValue(7.0));
    paused = true;
}

TEST(LanguageSignals, an_output_without_a_signal_sends_nothing) {
    EXPECT_EQ(factor_that_was_set("<event name=\"level\"/><manager><on event=\"level\" component=\"scale\" "
                                  "setting=\"factor\" value=\"5\"/></manager>",
                                  false),
              SettingValue(1.0));
}

TEST(LanguageSignals, mistakes_are_named) {
    const std::string event = "<event name=\"loud\"/>";
    EXPECT_NE(wrong(event + "<signal from=\"speaker.levle\" event=\"loud\"/>").find("did you mean 'level'"),
              std::string::npos);
    EXPECT_NE(wrong(event + "<signal from=\"speeker.level\" event=\"loud\"/>").find("no component 'speeker'"),
              std::string::npos);
    EXPECT_NE(wrong(event + "<signal from=\"scale.level\" event=\"loud\"/>").find("none at all"), std::string::npos);
    EXPECT_NE(wrong("<signal from=\"speaker.level\" event=\"lout\"/>").find("no event 'lout'"), std::string::npos);
    EXPECT_NE(wrong(event + "<signal from=\"speaker\" event=\"loud\"/>").find("component.output"), std::string::npos);
    EXPECT_NE(wrong(event + "<signal from=\"speaker.word\" event=\"loud\"/><manager><on event=\"loud\" "
                            "component=\"scale\" setting=\"factor\" value=\"${event}\"/></manager>")
                  .find("brings a text from 'speaker.word'"),
              std::string::npos);
    EXPECT_NE(wrong(event + "<manager><on event=\"loud\" least=\"2\" most=\"1\" component=\"scale\" "
                            "setting=\"factor\" value=\"1\"/></manager>")
                  .find("would never hold"),
              std::string::npos);
    EXPECT_NE(wrong(event + "<manager><on event=\"loud\" component=\"scale\" setting=\"factor\" "
                            "value=\"${event + evnt}\"/></manager>")
                  .find("no parameter 'evnt'"),
              std::string::npos);
}

TEST(LanguageSignals, an_application_with_signals_is_written_and_read_again) {
    const auto components = with_parts();
    const ApplicationOptions options{.components = &components};
    const auto text = application(
        "<event name=\"loud\"/><event name=\"tick\"/><signal from=\"speaker.level\" event=\"loud\"/><manager><on "
        "event=\"loud\" least=\"1\" "
        "most=\"4.5\" component=\"scale\" setting=\"factor\" value=\"${event / 2}\"/><on event=\"loud\" is=\"3\" "
        "toggle=\"more\"/><option name=\"more\"><component name=\"other\" class=\"speaker\"/>"
        "<stream from=\"steps.out\" to=\"other.in\"/><signal from=\"other.beat\" "
        "event=\"tick\"/></option></manager>");
    const auto application = Application::parse(text, "a.xml", options);
    const auto again = Application::parse(to_xml(application), "b.xml", options);
    EXPECT_TRUE(application == again) << to_xml(application);
    EXPECT_NE(to_xml(application).find("${event / 2}"), std::string::npos);
    EXPECT_EQ(transform_text(text, {"expand"}, "a.xml", {.application = options}).find("signal") != std::string::npos,
              true);
}

TEST(LanguageSignals, repetitions_declare_events_and_signals) {
    const auto components = with_parts();
    const auto text = head +
                      "<component name=\"numbers\" class=\"numbers\"/><repeat index=\"i\" from=\"1\" to=\"3\">"
                      "<event name=\"e${i}\"/><component name=\"s${i}\" class=\"speaker\"/>"
                      "<stream from=\"numbers.out\" to=\"s${i}.in\"/><signal from=\"s${i}.beat\" event=\"e${i}\"/>"
                      "<manager><on event=\"e${i}\" toggle=\"o${i}\"/><option name=\"o${i}\"><component "
                      "name=\"n${i}\" class=\"note\"/><stream from=\"s${i}.out\" to=\"n${i}.in\"/></option></manager>"
                      "</repeat></application>";
    const auto application = Application::parse(text, "a.xml", {.components = &components});
    EXPECT_EQ(application.events(), (std::vector<std::string>{"e1", "e2", "e3"}));
    const auto expanded = transform_text(text, {"expand"}, "a.xml", {.application = {.components = &components}});
    EXPECT_TRUE(Application::parse(expanded, "b.xml", {.components = &components}) == application) << expanded;
}
