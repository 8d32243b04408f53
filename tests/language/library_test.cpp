// Filter classes of shared libraries, by name: what they compute, what may be done with them, and which libraries are
// refused.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "language/support.hpp"
#include "penstock/stream_error.hpp"

using namespace penstock;
using written::application;
using Reason = LibraryRefused::Reason;

namespace {

const std::string libraries = PENSTOCK_TEST_LIBRARIES;

/// 1, 2, 3... as the test says so; a negative number ends it.
struct Tap {
    Output<double> out{"out"};
    std::atomic<int>* opened;
    int written = 0;
    explicit Tap(std::atomic<int>* of) : opened(of) {}
    bool operator()() {
        const int allowed = opened->load();
        if (allowed <= written) return allowed >= 0;
        auto buffer = out.make(1);
        buffer.edit()[0] = ++written;
        out.write(std::move(buffer));
        return true;
    }
};

/// What `keep` got, with the classes of a library beside those of Penstock.
std::vector<double> results(const std::string& body, const std::string& library = "filters.so",
                            const std::function<void(Components&)>& more = {}) {
    Machine machine({.targets = 2});
    written::Kept kept;
    auto components = written::with_keep(kept);
    components.load(libraries + library);
    if (more) more(components);
    Application::parse(application(body), "test.xml", {.components = &components}).start(machine).finish();
    return kept.values;
}

std::string errors(const std::string& body) {
    written::Kept kept;
    auto components = written::with_keep(kept);
    components.load(libraries + "filters.so");
    return written::findings(application(body), {.components = &components});
}

/// Why a library is refused.
std::pair<Reason, std::string> refusal(const std::string& path, Components components = {}) {
    try {
        components.load(path);
    } catch (const LibraryRefused& refused) {
        EXPECT_TRUE(components.names().empty() || components.find("example:halve") == nullptr) << "something was added";
        return {refused.reason(), refused.what()};
    }
    ADD_FAILURE() << path << " was taken";
    return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// Two images of three rows, of which one is two columns wide and the other four: 1, 2, 3...
struct Images {
    Output<float> image{"image"};
    int made = 0;
    bool operator()() {
        if (made == 2) return false;
        auto buffer = image.make(3, static_cast<std::size_t>(2 + 2 * made++));
        float next = 1;
        for (float& each : buffer.edit()) each = next++;
        image.write(std::move(buffer));
        return true;
    }
};

struct Line {
    Output<float> image{"image"};
    int made = 0;
    bool operator()() {
        if (made++ == 1) return false;
        image.write(image.make(4));
        return true;
    }
};

struct KeepIntegers {
    Input<std::int64_t> in{"in"};
    written::Kept* kept;
    explicit KeepIntegers(written::Kept* into) : kept(into) {}
    void operator()() {
        const auto buffer = in.read();
        const std::lock_guard guard(kept->lock);
        for (const auto each : buffer.span()) kept->values.push_back(static_cast<double>(each));
    }
};

struct KeepTags {
    Input<double> in{"in"};
    std::vector<Tags>* kept;
    explicit KeepTags(std::vector<Tags>* into) : kept(into) {}
    void operator()() { kept->push_back(in.read().tags()); }
};

}  // namespace

TEST(Library, an_application_uses_its_classes_by_name) {
    const auto found = results(
        R"(<component name="ramp" class="example:ramp"><set name="count" value="6" unit="buffers"/><set name="slope" value="4"/></component>
        <component name="halve" class="example:halve"/><component name="smooth" class="example:smooth"><set name="window" value="3"/></component>
        <component name="keep" class="keep"/>
        <stream from="ramp.out" to="halve.in"/><stream from="halve.out" to="smooth.in"/><stream from="smooth.out" to="keep.in"/>)");
    EXPECT_EQ(found, (std::vector<double>{0, 1, 2, 4, 6, 8}));
}

TEST(Library, what_it_says_of_a_class_is_known) {
    Components components;
    const auto added = components.load(libraries + "filters.so");
    EXPECT_EQ(added, (std::vector<std::string>{"example:halve", "example:ramp", "example:smooth", "example:rows",
                                               "example:alarm"}));
    const auto* const rows = components.find("example:rows");
    ASSERT_NE(rows, nullptr);
    EXPECT_EQ(rows->origin.kind, ComponentOrigin::Kind::library);
    EXPECT_EQ(rows->origin.name, std::filesystem::canonical(libraries + "filters.so"));
    EXPECT_EQ(rows->documentation, "The sum of each row of an image; at the end, how many rows there were.");
    ASSERT_EQ(rows->filter.inputs.size(), 1u);
    EXPECT_EQ(rows->filter.inputs[0].name, "image");
    EXPECT_EQ(rows->filter.inputs[0].element, element_type<float>());
    ASSERT_EQ(rows->filter.outputs.size(), 2u);
    EXPECT_EQ(rows->filter.outputs[1].element, element_type<std::int64_t>());
    EXPECT_TRUE(components.find("example:halve")->filter.may_be_copied);
    EXPECT_FALSE(rows->filter.may_be_copied);
    const auto& window = components.find("example:smooth")->filter.settings.at(0);
    EXPECT_EQ(window.value, SettingValue(std::int64_t{2}));
    EXPECT_EQ(window.limits.unit, "values");
    EXPECT_EQ(window.limits.most, 64);
    EXPECT_EQ(components.load(libraries + "filters.so"), added) << "loading it again adds nothing";
    EXPECT_EQ(components.names().size(), 5u);
    const auto& loud = components.find("example:alarm")->filter.event_outputs;
    ASSERT_EQ(loud.size(), 1u);
    EXPECT_EQ(loud[0].name, "loud");
}

TEST(Library, a_path_without_a_slash_is_one_from_the_current_folder) {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(libraries);
    Components components;
    EXPECT_EQ(components.load("filters.so").size(), 5u);
    std::filesystem::current_path(before);
    EXPECT_EQ(refusal("libm.so.6").first, Reason::no_file) << "libraries of the system are not searched";
}

TEST(Library, settings_ports_and_copies_are_checked_as_of_any_class) {
    EXPECT_EQ(
        errors(
            R"(<component name="ramp" class="example:ramp"><set name="count" value="-1"/><set name="slope" value="steep"/></component>
<component name="smooth" class="example:smooth"><set name="window" value="65"/></component>
<component name="keep" class="keep"/>
<stream from="ramp.out" to="smooth.x"/><stream from="smooth.out" to="keep.in"/>)"),
        "test.xml:2:63: error: setting 'count' is given -1, and should be from 0 to inf buffers\n"
        "test.xml:2:93: error: setting 'slope' is given 'steep', and should be a number\n"
        "test.xml:3:68: error: setting 'window' is given 65, and should be from 1 to 64 values\n"
        "test.xml:5:25: error: 'smooth' (class 'example:smooth') has no input 'x'; there is 'in'\n");
    EXPECT_TRUE(contains(
        errors(
            R"(<component name="smooth" class="example:smooth"><set name="window" value="3" unit="s"/></component>)"),
        "'values'"));
    EXPECT_TRUE(contains(errors(R"(<component name="ramp" class="example:ramp"/><component name="keep" class="keep"/>
<component name="smooth" class="example:smooth" copies="2"/><stream from="ramp.out" to="smooth.in"/><stream from="smooth.out" to="keep.in"/>)"),
                         "'smooth'"));
    EXPECT_TRUE(contains(errors(R"(<component name="ramp" class="example:rampe"/>)"),
                         "there is no component class 'example:rampe'; did you mean 'example:ramp'?"));
}

TEST(Library, copies_share_the_work) {
    const auto found =
        results(R"(<component name="ramp" class="example:ramp"><set name="count" value="2000"/></component>
        <component name="halve" class="example:halve" copies="3"/><component name="sum" class="sum"/><component name="keep" class="keep"/>
        <stream from="ramp.out" to="halve.in"/><stream from="halve.out" to="sum.in"/><stream from="sum.out" to="keep.in"/>)");
    EXPECT_EQ(found, std::vector<double>{0.5 * 1999 * 2000 / 2});
}

TEST(Library, buffers_of_several_readers_are_copied_before_they_are_written) {
    const auto found =
        results(R"(<component name="ramp" class="example:ramp"/><component name="halve" class="example:halve"/>
        <component name="both" class="add"/><component name="keep" class="keep"/>
        <stream from="ramp.out" to="halve.in"/><stream from="ramp.out" to="both.a"/><stream from="halve.out" to="both.b"/><stream from="both.sum" to="keep.in"/>)");
    EXPECT_EQ(found, (std::vector<double>{0, 1.5, 3, 4.5, 6, 7.5, 9, 10.5, 12, 13.5}));
}

TEST(Library, images_have_dimensions_and_the_end_may_write) {
    written::Kept counts;
    const auto found = results(R"(<component name="images" class="images"/><component name="rows" class="example:rows"/>
        <component name="keep" class="keep"/><component name="counts" class="keep-integers"/>
        <stream from="images.image" to="rows.image"/><stream from="rows.sums" to="keep.in"/><stream from="rows.count" to="counts.in"/>)",
                               "filters.so", [&](Components& components) {
                                   components.add<Images>("images", "");
                                   components.add<KeepIntegers>("keep-integers", "", &counts);
                               });
    EXPECT_EQ(found, (std::vector<double>{3, 7, 11, 10, 26, 42}));
    EXPECT_EQ(counts.values, std::vector<double>{6});
}

TEST(Library, a_buffer_of_other_dimensions_ends_the_firing) {
    try {
        (void)results(
            R"(<component name="line" class="line"/><component name="rows" class="example:rows"/><component name="keep" class="keep"/>
            <stream from="line.image" to="rows.image"/><stream from="rows.sums" to="keep.in"/>)",
            "filters.so", [](Components& components) { components.add<Line>("line", ""); });
        ADD_FAILURE() << "it ran";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.filter(), "rows");
        EXPECT_TRUE(contains(failed.what(),
                             "input 'image' of class 'example:rows' has buffers of 2 dimensions, and this one has 1"))
            << failed.what();
    }
}

TEST(Library, tags_are_those_that_it_sets_or_of_what_it_read) {
    std::vector<Tags> tags;
    (void)results(
        R"(<component name="ramp" class="example:ramp"><set name="count" value="2"/></component><component name="halve" class="example:halve"/>
        <component name="tags" class="tags"/><stream from="ramp.out" to="halve.in"/><stream from="halve.out" to="tags.in"/>)",
        "filters.so", [&](Components& components) { components.add<KeepTags>("tags", "", &tags); });
    EXPECT_EQ(tags, (std::vector<Tags>{{0, 7, {1, 2}}, {1, 7, {1, 2}}}));
}

TEST(Library, events_reach_a_class_that_takes_them_and_change_settings_and_classes) {
    Machine machine({.targets = 2});
    written::Kept kept;
    std::atomic<int> opened{0};
    auto components = written::with_keep(kept);
    components.load(libraries + "filters.so");
    components.add<Tap>("tap", "Opened by the test.", &opened);
    auto run = Application::parse(application(R"(<event name="flat"/><event name="other"/>
        <component name="tap" class="tap"/><component name="smooth" class="example:smooth"/><component name="keep" class="keep"/>
        <stream from="tap.out" to="smooth.in"/><stream from="smooth.out" to="keep.in"/>
        <manager name="m"><on event="flat" component="smooth" setting="window" value="1"/><on event="other" component="smooth" class="example:halve"/></manager>)"),
                                  "test.xml", {.components = &components})
                   .start(machine);
    auto next = [&, count = std::size_t{0}]() mutable {
        ++opened;
        for (++count;; std::this_thread::yield()) {
            const std::lock_guard guard(kept.lock);
            if (kept.values.size() == count) return kept.values.back();
            if (run.run().ended()) return -1.0;
        }
    };
    EXPECT_EQ(next(), 1);
    EXPECT_EQ(next(), 1.5);
    run.run().send({"forget", 10.0}, "smooth");
    EXPECT_EQ(next(), 6.5);
    run.send({"flat", true});
    run.settle();
    EXPECT_EQ(next(), 4);
    run.send({"other", true});
    run.settle();
    EXPECT_EQ(next(), 2.5);
    opened = -1;
    run.finish();
}

TEST(Library, a_class_that_fails_says_why) {
    const auto failure = [](const std::string& how, const std::string& of = "misuse") -> std::string {
        try {
            (void)results(R"(<component name="numbers" class="numbers"/><component name="wrong" class=")" + of +
                              R"("><set name="how" value=")" + how + R"("/></component>
                <component name="keep" class="keep"/><stream from="numbers.out" to="wrong.in"/><stream from="wrong.out" to="keep.in"/>)",
                          "misused.so");
        } catch (const FilterFailed& failed) {
            EXPECT_EQ(failed.filter(), "wrong");
            EXPECT_EQ(failed.firing(), how == "kept" ? 1u : 0u);
            return failed.what();
        }
        return "it ran";
    };
    EXPECT_EQ(failure("nothing"), "it ran");
    for (const auto& [how, why] : std::vector<std::pair<std::string, std::string>>{
             {"twice", "use a buffer"},
             {"no-buffer", "it uses a buffer that this firing neither read nor made"},
             {"kept", "it uses a buffer that this firing neither read nor made"},
             {"no-input", "class 'misuse' uses its input number 3, counted from 0, and has 1 of them"},
             {"no-setting", "class 'misuse' uses its setting number 9, counted from 0, and has 1 of them"},
             {"dimensions", "output 'out' of class 'misuse' has buffers of 1 dimension, and this one has 2"},
             {"too-many-dimensions", "a buffer has one to three dimensions, not 4"},
             {"too-large", "bad_array_new_length"},
             {"other-type", "it writes a buffer of double to output 'other', which is of sample"},
             {"answer",
              "fire() of class 'misuse' returned 7: let it return PENSTOCK_GO_ON, PENSTOCK_ENDED or PENSTOCK_FAILED"},
             {"silent", "fire() of class 'misuse' failed, and did not say why: let it call fail()"}}) {
        const auto said = failure(how);
        EXPECT_TRUE(contains(said, why)) << how << ": " << said;
    }
    try {
        (void)results(
            R"(<component name="numbers" class="numbers"><set name="first" value="-1"/></component><component name="scale" class="scale">
            <set name="factor" value="1e308"/></component><component name="again" class="scale"><set name="factor" value="1e308"/></component>
            <component name="never" class="add"/><component name="smooth" class="example:smooth"/><component name="keep" class="keep"/>
            <component name="back" class="scale"><set name="factor" value="-1"/></component>
            <stream from="numbers.out" to="scale.in"/><stream from="scale.out" to="again.in"/><stream from="again.out" to="never.a"/>
            <stream from="again.out" to="back.in"/><stream from="back.out" to="never.b"/>
            <stream from="never.sum" to="smooth.in"/><stream from="smooth.out" to="keep.in"/>)");
        ADD_FAILURE() << "infinity less infinity is a number";
    } catch (const FilterFailed& failed) {
        EXPECT_TRUE(contains(failed.what(), "a value is no number")) << failed.what();
    }
}

TEST(Library, a_class_whose_create_gives_nothing_fails_when_the_run_begins) {
    try {
        (void)results(
            R"(<component name="numbers" class="numbers"/><component name="wrong" class="not-made"/><stream from="numbers.out" to="wrong.in"/>)",
            "misused.so");
        ADD_FAILURE() << "it ran";
    } catch (const FilterFailed& failed) {
        EXPECT_TRUE(contains(failed.what(), "create() of class 'not-made' returned nothing")) << failed.what();
    }
}

TEST(LibraryRefusals, each_is_told_with_its_mend) {
    const auto folder = std::filesystem::path(testing::TempDir()) / "penstock_library";
    std::filesystem::create_directories(folder);
    const auto text = (folder / "text.so").string();
    std::ofstream(text) << "no library";
    for (const auto& [path, reason, why] : std::vector<std::tuple<std::string, Reason, std::string>>{
             {(folder / "nowhere.so").string(), Reason::no_file, "there is no such file: give the path of a library"},
             {folder.string(), Reason::no_file, "this is no file: give the path of a library"},
             {text + "/more", Reason::no_file, "give the path of a library"},
             {"", Reason::no_file, "give the path of a library"},
             {text, Reason::no_library, "give a shared library for this machine"},
             {libraries + "no_entry.so", Reason::no_entry, "it exports no function penstock_component_library"},
             {libraries + "other_version.so", Reason::other_version,
              "it was made for version 3 of the interface, and this is version 2: build it with the "
              "component_library.h of this Penstock"}}) {
        const auto [found, said] = refusal(path);
        EXPECT_EQ(found, reason) << path;
        EXPECT_TRUE(contains(said, why)) << said;
        EXPECT_TRUE(contains(said, path)) << said;
    }
    std::filesystem::remove_all(folder);
}

TEST(LibraryRefusals, a_name_that_is_taken_adds_none_of_its_classes) {
    written::Kept kept;
    auto components = Components();
    components.add<written::Keep>("example:rows", "", &kept);
    const auto [reason, said] = refusal(libraries + "filters.so", components);
    EXPECT_EQ(reason, Reason::name_taken);
    EXPECT_TRUE(contains(
        said, "it has a class 'example:rows', and there is one of that name already: give one of the two another name"))
        << said;
}

TEST(LibraryRefusals, two_libraries_of_one_name_are_told_apart_by_their_paths) {
    const auto folder = std::filesystem::path(testing::TempDir()) / "penstock_library_copy";
    std::filesystem::create_directories(folder);
    const auto copy = (folder / "copy.so").string();
    std::filesystem::copy_file(libraries + "filters.so", copy, std::filesystem::copy_options::overwrite_existing);
    Components components;
    components.load(libraries + "filters.so");
    try {
        components.load(copy);
        ADD_FAILURE() << "both were taken";
    } catch (const LibraryRefused& refused) {
        EXPECT_EQ(refused.reason(), Reason::name_taken);
        EXPECT_EQ(refused.path(), std::filesystem::canonical(copy));
        EXPECT_TRUE(
            contains(refused.what(), "of the library " + std::filesystem::canonical(libraries + "filters.so").string()))
            << refused.what();
    }
    std::filesystem::remove_all(folder);
}

TEST(Library, the_state_of_a_filter_goes_to_another_one) {
    Components components;
    components.load(libraries + "filters.so");
    const auto& kind = *components.find("example:smooth")->kind;
    const auto old = kind.make(), fresh = kind.make();
    ASSERT_TRUE(old->has_state());
    EXPECT_FALSE(components.find("example:ramp")->kind->make()->has_state());
    old->handle({"forget", 10.0});
    carried::Encoder state, again;
    old->save_state(state);
    carried::Decoder from(state.all());
    fresh->load_state(from);
    fresh->save_state(again);
    EXPECT_EQ(carried::Decoder(again.all()).left(), sizeof(double));
    EXPECT_EQ(again.all(), state.all());
    carried::Decoder torn(std::span(state.all()).first(3));
    EXPECT_THROW(fresh->load_state(torn), Error);
    EXPECT_THROW(old->handle({"forget", std::string("all")}), Error);
}
