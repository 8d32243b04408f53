#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <locale>
#include <penstock/error.hpp>
#include <penstock/trace.hpp>

#include "trace/json.hpp"
#include "trace/processes.hpp"
#include "trace/text.hpp"
#include "trace/xml.hpp"

namespace penstock::trace {
namespace {

using test::Json;
using test::JsonReader;
using test::XmlReader;

// Quotes, markup, control characters, a two- and a four-byte character, and bytes that are no UTF-8: a lone lead byte,
// an overlong slash, a surrogate.
const std::string hostile = "a\"b\\c<d>&'e\n\t\x01\x7f \xc3\xa9 \xf0\x9f\x90\x9f \xc3( \xc0\xaf \xed\xa0\x80 \xff";

Breakdown sample_breakdown(const std::string& name = "main") {
    InitiatorCounters issuing;
    issuing.calls.add(100);
    issuing.sampled_calls.add(1);
    issuing.sampled_call_ticks.add(25);
    issuing.stall_ticks.add(2500);
    TargetCounters running;
    running.tasks.add(100);
    running.sampled_tasks.add(2);
    running.sampled_compute_ticks.add(120);
    running.sampled_transfer_ticks.add(20);
    running.idle_ticks.add(1000);
    Snapshot snapshot(10'000, 100.0);
    snapshot.add({Role::initiator, 0, name, 0, 0}, issuing);
    snapshot.add({Role::target, 0, "target 0", 0, 0}, running);
    snapshot.add({Role::target, 1, "target 1", 0, 0}, running);
    return Breakdown(snapshot);
}

TEST(Table, shows_time_and_percent_of_each_part) {
    EXPECT_EQ(table(sample_breakdown()),
              "initiator     wall  application     %  runtime     %  queue stall     %  synchronisation wait    %  "
              "helping    %  "
              "calls\n"
              "main       1.00 ms       500 us  50.0   250 us  25.0       250 us  25.0                   0 s  0.0      "
              "0 s  0.0  "
              "  100\n"
              "\n"
              "target       wall  compute     %  transfer     %  library     %    idle     %  tasks\n"
              "target 0  1.00 ms   600 us  60.0    100 us  10.0   200 us  20.0  100 us  10.0    100\n"
              "target 1  1.00 ms   600 us  60.0    100 us  10.0   200 us  20.0  100 us  10.0    100\n"
              "all       2.00 ms  1.20 ms  60.0    200 us  10.0   400 us  20.0  200 us  10.0    200\n");
}

TEST(Table, keeps_a_line_a_track_whatever_the_name_holds) {
    const std::string text = table(sample_breakdown(hostile));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
    EXPECT_EQ(text.find('\t'), std::string::npos);
}

TEST(Table, says_so_when_nothing_was_traced) { EXPECT_EQ(table(Breakdown(Snapshot(10, 1.0))), "nothing was traced\n"); }

TEST(BreakdownJson, holds_shares_and_counts_of_each_track) {
    const Json root = JsonReader::read(json(sample_breakdown(hostile)));
    const auto& tracks = root["tracks"].list;
    ASSERT_EQ(tracks.size(), 3u);
    EXPECT_EQ(tracks[0]["role"].text, "initiator");
    EXPECT_DOUBLE_EQ(tracks[0]["wall_seconds"].number, 1e-3);
    EXPECT_DOUBLE_EQ(tracks[0]["shares"]["queue_stall"]["percent"].number, 25);
    EXPECT_DOUBLE_EQ(tracks[0]["shares"]["application"]["seconds"].number, 500e-6);
    EXPECT_EQ(tracks[0]["counts"]["calls"].number, 100);
    EXPECT_FALSE(tracks[0]["scaled"].boolean);
    EXPECT_EQ(tracks[2]["role"].text, "target");
    EXPECT_EQ(tracks[2]["id"].number, 1);
    EXPECT_DOUBLE_EQ(tracks[2]["shares"]["transfer"]["percent"].number, 10);
    EXPECT_DOUBLE_EQ(tracks[2]["shares"]["library"]["percent"].number, 20);
    EXPECT_EQ(tracks[2]["samples"].number, 2);
}

TEST(BreakdownJson, names_come_back_as_they_were_but_for_bytes_that_are_not_utf8) {
    const Json root = JsonReader::read(json(sample_breakdown(hostile)));
    const std::string bad = "\xef\xbf\xbd";  // U+FFFD
    EXPECT_EQ(root["tracks"].list.at(0)["name"].text, "a\"b\\c<d>&'e\n\t\x01\x7f \xc3\xa9 \xf0\x9f\x90\x9f " + bad +
                                                          "( " + bad + bad + " " + bad + bad + bad + " " + bad);
}

TEST(BreakdownJson, of_nothing_is_an_empty_list) {
    EXPECT_TRUE(JsonReader::read(json(Breakdown(Snapshot(10, 1.0))))["tracks"].list.empty());
}

TEST(Bars, are_well_formed_whatever_the_names_hold) {
    const auto elements = XmlReader::read(bars_svg(sample_breakdown(hostile), hostile));
    // paper; legends of 5 and 4; 3 parts of the initiator that are not empty; 4 of each target
    EXPECT_EQ(elements.at("rect"), 1 + 5 + 4 + 3 + 4 + 4);
    EXPECT_EQ(elements.at("svg"), 1);
}

TEST(Bars, are_as_wide_as_their_shares) {
    const std::string svg = bars_svg(sample_breakdown());
    // 618 pixels of bar: 60 % compute, 10 % transfer, 20 % library, 10 % idle
    EXPECT_NE(svg.find("width=\"370.80\""), std::string::npos);
    EXPECT_NE(svg.find("width=\"123.60\""), std::string::npos);
    EXPECT_NE(svg.find("width=\"61.80\""), std::string::npos);
    EXPECT_NE(svg.find(">60 %</text>"), std::string::npos);
    EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(Bars, of_nothing_are_still_a_picture) { XmlReader::read(bars_svg(Breakdown(Snapshot(10, 1.0)))); }

Recording helped_wait() {
    // As recorded, by end: a task that ran inside the wait comes before it.
    Recording recording;
    recording.events.push_back({.begin = 3000,
                                .end = 4000,
                                .id = 7,
                                .kind = EventKind::task,
                                .issuer = 0,
                                .target = 2,
                                .issued = 1000,
                                .bytes_in = 256,
                                .bytes_out = 64});
    recording.events.push_back({.begin = 3000, .end = 5000, .id = 7, .kind = EventKind::wait});
    recording.dropped = 9;
    return recording;
}

std::string named(std::uint32_t id) { return id == 7 ? "blur<\"x\">" : ""; }

TEST(Perfetto, gives_each_track_a_name_and_each_event_its_times_in_microseconds) {
    Recording fetch;
    fetch.events.push_back({.begin = 2001, .end = 2003, .id = 8, .kind = EventKind::fetch});
    const std::vector<TimelineTrack> tracks{{{Role::initiator, 0, "main", 0, 0}, helped_wait()},
                                            {{Role::target, 0, hostile, 0, 0}, fetch}};
    const Json root = JsonReader::read(perfetto_json(tracks, 0.5, named));
    const auto& events = root["traceEvents"].list;
    ASSERT_EQ(events.size(), 9u);  // process name; 2 + dropped + 2 events; 2 + 1 event
    EXPECT_EQ(events[1]["name"].text, "thread_name");
    EXPECT_EQ(events[1]["args"]["name"].text, "main");
    EXPECT_EQ(events[1]["tid"].number, 1);
    EXPECT_EQ(events[3]["name"].text, "9 earlier events dropped");

    const Json& wait = events[4];  // the outer one first
    EXPECT_EQ(wait["ph"].text, "X");
    EXPECT_EQ(wait["name"].text, "wait");
    EXPECT_DOUBLE_EQ(wait["ts"].number, 1.0);  // (3000 - 1000) / 2 ns; the earliest tick is the issue at 1000
    EXPECT_DOUBLE_EQ(wait["dur"].number, 1.0);
    EXPECT_FALSE(wait["args"].has("issued_us"));

    const Json& task = events[5];
    EXPECT_EQ(task["name"].text, "blur<\"x\">");
    EXPECT_EQ(task["cat"].text, "task");
    EXPECT_EQ(task["tid"].number, 1);
    EXPECT_DOUBLE_EQ(task["ts"].number, 1.0);
    EXPECT_DOUBLE_EQ(task["dur"].number, 0.5);
    EXPECT_EQ(task["args"]["issuer"].number, 0);
    EXPECT_EQ(task["args"]["target"].number, 2);
    EXPECT_DOUBLE_EQ(task["args"]["issued_us"].number, 0);
    EXPECT_EQ(task["args"]["bytes_in"].number, 256);
    EXPECT_EQ(task["args"]["bytes_out"].number, 64);

    EXPECT_EQ(events[8]["name"].text, "fetch procedure 8");
    EXPECT_EQ(events[8]["tid"].number, 2);
    EXPECT_EQ(root["otherData"]["origin_tick"].text, "1000");
    EXPECT_EQ(root["otherData"]["dropped"].number, 9);
}

TEST(Perfetto, rounding_never_lets_an_inner_period_stick_out_of_the_outer_one) {
    Recording recording;
    for (std::uint64_t i = 0; i < 500; ++i) {
        const std::uint64_t begin = 31 * i, end = begin + 2 + i % 29;
        recording.events.push_back({.begin = begin + 1, .end = end, .id = 7, .kind = EventKind::task});
        recording.events.push_back({.begin = begin, .end = end, .kind = EventKind::wait});
    }
    const std::vector<TimelineTrack> tracks{{{Role::initiator, 0, "main", 0, 0}, recording}};
    const Json root = JsonReader::read(perfetto_json(tracks, 0.1, named));
    double outer_end = 0;
    auto nanoseconds = [](const Json& value) { return std::round(value.number * 1000); };
    for (const Json& event : root["traceEvents"].list) {
        if (event["ph"].text != "X") continue;
        const double begin = nanoseconds(event["ts"]), end = begin + nanoseconds(event["dur"]);
        if (event["cat"].text == "wait") {
            ASSERT_GE(begin, outer_end);
            outer_end = end;
        } else {
            ASSERT_LE(end, outer_end);
        }
    }
}

TEST(Perfetto, an_event_that_ends_before_it_begins_lasts_no_time) {
    Recording recording;
    recording.events.push_back({.begin = 100, .end = 50, .id = 7});
    const std::vector<TimelineTrack> tracks{{{Role::target, 0, "t", 0, 0}, recording}};
    const Json root = JsonReader::read(perfetto_json(tracks, 1.0, named));
    EXPECT_EQ(root["traceEvents"].list.back()["dur"].number, 0);
}

TEST(Perfetto, asks_for_each_name_once) {
    int asked = 0;
    Recording recording;
    for (int i = 0; i < 10; ++i) recording.events.push_back({.begin = 1, .end = 2, .id = 5});
    const std::vector<TimelineTrack> tracks{{{Role::target, 0, "t", 0, 0}, recording}};
    perfetto_json(tracks, 1.0, [&asked](std::uint32_t) {
        ++asked;
        return std::string("f");
    });
    EXPECT_EQ(asked, 1);
}

TEST(Perfetto, numbers_do_not_follow_the_programs_locale) {
    struct Grouping : std::numpunct<char> {
        char do_thousands_sep() const override { return '.'; }
        char do_decimal_point() const override { return ','; }
        std::string do_grouping() const override { return "\3"; }
    };
    Recording recording;
    recording.events.push_back({.begin = 0, .end = 123'456'789, .id = 1'234'567, .bytes_in = 9'876'543});
    std::vector<TimelineTrack> tracks(2000, TimelineTrack{{Role::target, 0, "t", 0, 0}, recording});
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouping));
    const std::string written = perfetto_json(tracks, 1.0, nullptr);
    std::locale::global(before);
    const Json root = JsonReader::read(written);
    const Json& event = root["traceEvents"].list.back();
    EXPECT_EQ(event["tid"].number, 2000);
    EXPECT_DOUBLE_EQ(event["dur"].number, 123'456.789);
    EXPECT_EQ(event["args"]["bytes_in"].number, 9'876'543);
}

TEST(Perfetto, several_processes_have_groups_of_their_own_and_one_clock) {
    const auto process = [](const std::string& name, const std::string& label, std::uint64_t begin) {
        TimelineProcess made{name, label, {}, [name](std::uint32_t) { return "of " + name; }};
        made.tracks.push_back({{Role::target, 0, "target 0", 0, 0}, {{{.begin = begin, .end = begin + 500}}, 2}});
        return made;
    };
    const std::vector<TimelineProcess> processes{process("program", "", 3'000), process("workers.0", "near", 2'000)};
    const Json json = JsonReader::read(perfetto_json(processes, 2.0));
    EXPECT_EQ(json["otherData"]["origin_tick"].text, "2000");
    EXPECT_EQ(json["otherData"]["dropped"].number, 4);
    std::vector<std::string> names, labels;
    std::map<double, double> begins;  // by process
    for (const Json& event : json["traceEvents"].list) {
        if (event["name"].text == "process_name") names.push_back(event["args"]["name"].text);
        if (event["name"].text == "process_labels") labels.push_back(event["args"]["labels"].text);
        if (event["ph"].text != "X") continue;
        begins[event["pid"].number] = event["ts"].number;
        EXPECT_EQ(event["name"].text, event["pid"].number == 1 ? "of program" : "of workers.0");
    }
    EXPECT_EQ(names, (std::vector<std::string>{"program", "workers.0"}));
    EXPECT_EQ(labels, std::vector<std::string>{"near"});
    EXPECT_EQ(begins, (std::map<double, double>{{1, 2.0}, {2, 0.0}}));
}

TEST(Perfetto, of_nothing_is_valid_and_a_senseless_tick_is_refused) {
    EXPECT_EQ(JsonReader::read(perfetto_json({}, 1.0, named))["traceEvents"].list.size(), 1u);
    EXPECT_THROW(perfetto_json({}, 0, named), UsageError);
}

TEST(Graphviz, texts_keep_their_quotes_backslashes_and_line_breaks) {
    EXPECT_EQ(dot_text("a \"b\\c\"\nd"), "\"a \\\"b\\\\c\\\"\\nd\"");
}

}  // namespace
}  // namespace penstock::trace
