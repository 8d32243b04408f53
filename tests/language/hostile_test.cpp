// What attacks is refused, quickly and with a place.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "language/support.hpp"

using namespace penstock;
using written::application;
using written::findings;

namespace {

void expect_refused(const std::string& text, const std::string& part, const ApplicationOptions& options = {}) {
    const auto said = findings(text, options);
    EXPECT_NE(said.find("error: "), said.npos);
    EXPECT_NE(said.find(part), said.npos) << said.substr(0, 400);
}

std::string repeated(const std::string& text, std::size_t times) {
    std::string all;
    all.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

}  // namespace

TEST(Hostile, document_types_entities_and_instructions_are_refused) {
    expect_refused("<!DOCTYPE application [<!ENTITY a \"b\">]>" + application(""),
                   "test.xml:1:1: error: document types and entities are not read");
    expect_refused(application("<component name=\"&a;\" class=\"pass\"/>"),
                   "test.xml:2:18: error: entities are not read");
    expect_refused(application("<?php run ?>"), "processing instructions are not read");
    expect_refused(application("<![CDATA[x]]>"), "CDATA sections are not read");
    expect_refused("<?xml version=\"1.0\" encoding=\"UTF-16\"?>" + application(""), "written in UTF-8");
    expect_refused(application("words"), "contains text");
}

TEST(Hostile, broken_utf8_and_control_characters_are_refused_where_they_stand) {
    for (const std::string bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x01"})
        expect_refused(application("<component name=\"\xc3\xa9" + bad + "\" class=\"pass\"/>"),
                       "test.xml:2:19: error: this is not a character of UTF-8");
    expect_refused(application("") + std::string(1, '\0'), "this is not a character");
}

TEST(Hostile, what_is_too_large_or_too_deep_is_refused_before_it_is_parsed) {
    expect_refused(application(repeated("<repeat index=\"i\" to=\"9\">", 1'000'000)), "nested deeper than 64");
    expect_refused(application("<component name=\"" + std::string(70'000, 'x') + "\"/>"), "longer than 65536 bytes");
    expect_refused(application(std::string(5000, ' ')), "larger than 1000 bytes", {.limits = {.bytes = 1000}});
    expect_refused(application("<component name=\"a\" class=\"${" + repeated("(", 10'000) + "\"/>"),
                   "not closed by a '}'");
    expect_refused(application("<component name=\"a\" class=\"${" + repeated("(", 10'000) + "}\"/>"),
                   "nested too deep");
    expect_refused(application("<component name=\"a\" class=\"${" + repeated("-", 10'000) + "1}\"/>"),
                   "nested too deep");
}

TEST(Hostile, files_without_end_are_read_up_to_the_limit) {
    const auto refusal_of = [](const std::string& path) {
        try {
            (void)Application::read(path);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(refusal_of("/dev/zero").find("larger than 67108864 bytes"), std::string::npos);
    // An attribute of 1 GiB; the file has holes, and takes no room.
    const auto path = testing::TempDir() + "penstock-hostile-" + std::to_string(getpid()) + ".xml";
    std::ofstream(path) << "<application xmlns=\"urn:penstock:application:1\" name=\"";
    std::filesystem::resize_file(path, std::uintmax_t{1} << 30);
    EXPECT_NE(refusal_of(path).find("larger than 67108864 bytes"), std::string::npos);
    EXPECT_THROW((void)check_application(path), UsageError);
    std::filesystem::remove(path);
}

TEST(Hostile, entities_are_neither_multiplied_nor_fetched) {
    std::string bomb = "<!DOCTYPE a [<!ENTITY e0 \"aaaaaaaaaa\">";
    for (int i = 1; i < 40; ++i)
        bomb += "<!ENTITY e" + std::to_string(i) + " \"" + repeated("&e" + std::to_string(i - 1) + ";", 10) + "\">";
    expect_refused(bomb + "]>" + application("<component name=\"&e39;\" class=\"pass\"/>"),
                   "test.xml:1:1: error: document types and entities are not read");
    for (const std::string outside : {"SYSTEM \"file:///etc/passwd\"", "PUBLIC \"-//x\" \"/etc/passwd\""}) {
        const auto said = findings("<!DOCTYPE a [<!ENTITY x " + outside + ">]>" +
                                   application("<component name=\"a\" class=\"&x;\"/>"));
        EXPECT_NE(said.find("document types and entities are not read"), said.npos);
        EXPECT_EQ(said.find("root:"), said.npos);
    }
    expect_refused("<!DOCTYPE a SYSTEM \"/etc/passwd\">" + application(""), "document types and entities are not read");
}

TEST(Hostile, repetitions_of_repetitions_end_at_the_limit) {
    const ApplicationOptions options{.limits = {.elements = 10'000}};
    expect_refused(application(repeated("<repeat index=\"i\" to=\"1000000000\">", 6) + repeated("</repeat>", 6)),
                   "there are more than 10000 parts", options);
    expect_refused(
        application(
            "<parallel name=\"p\" shape=\"slice\" slices=\"100000\"><component name=\"a\" class=\"pass\"/></parallel>"),
        "there are more than 10000 parts", options);
    expect_refused(application("<repeat index=\"i\" to=\"500\"><component name=\"a${i}\" class=\"pass\"/></repeat>"),
                   "there are more than 100 components", {.limits = {.components = 100}});
    std::string groups = "<group name=\"g0\"><component name=\"a\" class=\"pass\"/></group>";
    for (int i = 1; i < 40; ++i)
        groups += "<group name=\"g" + std::to_string(i) + "\">" + "<use name=\"u\" group=\"g" + std::to_string(i - 1) +
                  "\"/>" + "<use name=\"v\" group=\"g" + std::to_string(i - 1) + "\"/></group>";
    expect_refused(application(groups + "<use name=\"all\" group=\"g39\"/>"), "there are more than 10000 parts",
                   options);
    expect_refused(
        application("<group name=\"g\"><use name=\"again\" group=\"g\"/></group><use name=\"all\" group=\"g\"/>"),
        "contains itself");
}

TEST(Hostile, a_long_chain_is_checked_without_recursion) {
    const auto said =
        findings(application(R"(<component name="s0" class="numbers"/><repeat index="i" from="1" to="3000">
        <component name="s${i}" class="pass"/><stream from="s${i - 1}.out" to="s${i}.in"/></repeat>
        <component name="end" class="print"/><stream from="s3000.out" to="end.in"/>)"));
    EXPECT_EQ(said, "");
}
