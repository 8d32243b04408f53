// Random input to the parser and the checker: files of the language damaged in ways that bytes, words and elements can
// be, elements put together at random, and bytes. Input `n` is always the same. 3,000 inputs, and a million in the long
// form (PENSTOCK_LONG=1): each is refused or read, with findings that stand in the file, and what is read can be
// written and read again.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "language/support.hpp"

using namespace penstock;
namespace fs = std::filesystem;

namespace {

constexpr unsigned shards = 20;
constexpr std::string_view words[] = {
    "application", "library",    "include",   "parameter", "group",      "input",     "output", "component",
    "set",         "stream",     "use",       "repeat",    "parallel",   "event",     "timer",  "manager",
    "on",          "option",     "otherwise", "name",      "class",      "from",      "to",     "value",
    "type",        "default",    "least",     "most",      "unit",       "doc",       "copies", "targets",
    "near",        "on-failure", "pool",      "isolation", "time-limit", "capacity",  "policy", "ordered",
    "feedback",    "when-full",  "index",     "over",      "step",       "shape",     "slices", "after",
    "every",       "enable",     "disable",   "toggle",    "setting",    "initially", "xmlns",  "file"};
constexpr std::string_view values[] = {"numbers",
                                       "scale",
                                       "sum",
                                       "print",
                                       "pass",
                                       "add",
                                       "a",
                                       "b",
                                       "a.out",
                                       "b.in",
                                       "a/b.out",
                                       "0",
                                       "1",
                                       "-1",
                                       "7",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "1e308",
                                       "1e999",
                                       "nan",
                                       "0x10",
                                       "true",
                                       "on",
                                       "off",
                                       "slice",
                                       "task",
                                       "crossdep",
                                       "process",
                                       "thread",
                                       "automatic",
                                       "integer",
                                       "number",
                                       "text",
                                       "boolean",
                                       "${i}",
                                       "${n + 1}",
                                       "${1 / 0}",
                                       "${n % 0}",
                                       "${-9223372036854775807 - 2}",
                                       "${(((((n)))))}",
                                       "${",
                                       "$$",
                                       "${}",
                                       "a b c",
                                       "",
                                       "..",
                                       "/",
                                       "/etc/passwd",
                                       "../../x.xml",
                                       "urn:penstock:application:1",
                                       "\xc3\xa9",
                                       "100000",
                                       "round-robin",
                                       "chosen",
                                       "by-key",
                                       "1 2 3",
                                       "count",
                                       "factor",
                                       "offset"};

class Inputs {
  public:
    Inputs() {
        const std::string source = PENSTOCK_SOURCE;
        take_examples(written::file(source + "/docs/language.md"));
        examples_ = files_.size();
        for (const auto* folder : {"/tests/language/mistakes", "/tests/language/files", "/apps"})
            for (const auto& entry : fs::recursive_directory_iterator(source + folder))
                if (entry.path().extension() == ".xml") files_.push_back(written::file(entry.path().string()));
        std::sort(files_.begin() + static_cast<std::ptrdiff_t>(examples_), files_.end());  // folders have no order
    }

    std::string input(unsigned number) {
        random_.seed(number);
        switch (const auto kind = below(16)) {
            case 0:
                return bytes(below(400), 256);
            case 1:
                return soup();
            case 2:
            case 3:
                return document(below(4));
            default: {
                auto text = any();
                for (unsigned i = 0, n = 1 + below(2); i < n; ++i) {
                    if (text.empty()) text = " ";
                    if (kind < 10 || below(2)) change_words(text);
                    else change_bytes(text);
                }
                return text;
            }
        }
    }

  private:
    unsigned below(std::size_t n) { return static_cast<unsigned>(random_() % n); }
    /// Half of them examples, which are right.
    const std::string& any() { return files_[below(below(2) ? examples_ : files_.size())]; }
    std::string word() { return std::string(words[below(std::size(words))]); }
    std::string value() { return std::string(values[below(std::size(values))]); }

    void take_examples(const std::string& text) {
        constexpr std::string_view begin = "```xml\n";
        for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
            at += begin.size();
            files_.push_back(text.substr(at, text.find("```\n", at) - at));
        }
    }

    std::string bytes(unsigned count, unsigned kinds) {
        std::string text;
        for (unsigned i = 0; i < count; ++i) text += static_cast<char>(below(kinds));
        return text;
    }
    /// What means something to a parser, in no order.
    std::string soup() {
        constexpr std::string_view pieces[] = {"<",
                                               ">",
                                               "</",
                                               "/>",
                                               "<!--",
                                               "-->",
                                               "<![CDATA[",
                                               "]]>",
                                               "<!DOCTYPE",
                                               "<!ENTITY",
                                               "&",
                                               "&amp;",
                                               "&#0;",
                                               "&#x10ffff;",
                                               "&lt;",
                                               "<?xml",
                                               "?>",
                                               "\"",
                                               "'",
                                               "=",
                                               " ",
                                               "\n",
                                               "${",
                                               "}",
                                               "(",
                                               ")",
                                               "-",
                                               "\xff",
                                               "\xef\xbb\xbf",
                                               "\xe2\x82"};
        std::string text = below(2) ? "<application xmlns=\"urn:penstock:application:1\" name=\"a\">" : "";
        for (unsigned i = 0, n = below(120); i < n; ++i)
            text += below(3) == 0 ? word() : below(3) == 0 ? value() : std::string(pieces[below(std::size(pieces))]);
        return text + (below(2) ? "</application>" : "");
    }
    /// Well formed, with elements and attributes of the language.
    std::string element(unsigned depth) {
        auto name = word();
        if (below(2)) {
            constexpr std::string_view often[] = {"component", "stream",  "repeat", "parallel",
                                                  "option",    "manager", "group",  "use"};
            name = often[below(std::size(often))];
        }
        std::string text = "<" + name;
        std::vector<std::string> given;
        for (unsigned i = 0, n = below(6); i < n; ++i) {
            const auto attribute = word();
            if (std::find(given.begin(), given.end(), attribute) != given.end()) continue;
            given.push_back(attribute);
            text += " " + attribute + "=\"" + value() + "\"";
        }
        if (depth == 0) return text + "/>";
        text += ">\n";
        for (unsigned i = 0, n = below(5); i < n; ++i) text += element(depth - 1);
        return text + "</" + name + ">\n";
    }
    std::string document(unsigned depth) {
        std::string text =
            "<application xmlns=\"urn:penstock:application:1\" name=\"a\">\n<component name=\"a\" "
            "class=\"numbers\"/><component name=\"b\" class=\"print\"/>"
            "<stream from=\"a.out\" to=\"b.in\"/>\n";
        for (unsigned i = 0, n = below(3); i < n; ++i) text += element(depth);
        return text + "</application>";
    }

    /// One of these from a random place on; none: npos.
    std::size_t find(const std::string& text, char what) {
        const auto at = text.find(what, below(text.size()));
        return at == text.npos ? text.find(what) : at;
    }
    /// Well formed stays well formed, mostly.
    void change_words(std::string& text) {
        const auto quote = find(text, '"');
        const auto end = quote == text.npos ? quote : text.find('"', quote + 1);
        const auto line = find(text, '\n');
        const auto line_end = line == text.npos ? line : std::min(text.find('\n', line + 1), text.size());
        switch (below(8)) {
            case 0:
            case 1:
                if (end != text.npos && end > 1 && text[quote - 1] == '=')
                    text.replace(quote + 1, end - quote - 1, value());
                break;
            case 2: {  // the value of another attribute
                const auto from = find(text, '"');
                const auto to = from == text.npos ? from : text.find('"', from + 1);
                if (end == text.npos || to == text.npos || text[quote - 1] != '=' || text[from - 1] != '=') break;
                const auto other = text.substr(from + 1, to - from - 1);
                text.replace(quote + 1, end - quote - 1, other);
                break;
            }
            case 3: {  // without an attribute
                const auto begin = end == text.npos ? text.npos : text.rfind(' ', quote);
                if (begin != text.npos) text.erase(begin, end + 1 - begin);
                break;
            }
            case 4:
                if (line != text.npos) text.erase(line, line_end - line);
                break;
            case 5:
                if (line != text.npos) text.insert(line, text.substr(line, line_end - line));
                break;
            case 6:
                if (line != text.npos) text.insert(line + 1, element(1));
                break;
            default:
                if (const auto digit = text.find_first_of("0123456789", below(text.size())); digit != text.npos)
                    text[digit] = static_cast<char>('0' + below(10));
                break;
        }
    }
    void change_bytes(std::string& text) {
        const auto at = below(text.size());
        switch (below(8)) {
            case 0:
                text[at] = static_cast<char>(random_());
                break;
            case 1:
                text.erase(at, 1 + below(20));
                break;
            case 2:
                text.insert(at, text.substr(below(text.size()), below(40)));
                break;
            case 3:
                text[at] = "<>\"'&${}/0-9a ()*%+"[below(19)];
                break;
            case 4:
                text.resize(at);
                break;
            case 5:
                text.insert(at, value());
                break;
            case 6:
                text.insert(at, element(1));
                break;
            default: {  // a piece of another file
                const auto& other = any();
                text.insert(at, other.substr(below(other.size()), below(300)));
                break;
            }
        }
    }

    std::vector<std::string> files_;
    std::size_t examples_ = 0;  ///< the first so many
    std::mt19937 random_;
};

std::size_t resident_kilobytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss);
}

}  // namespace

class Fuzz : public testing::TestWithParam<unsigned> {};

TEST_P(Fuzz, every_input_is_refused_or_read) {
    const ApplicationOptions options{.limits = {.elements = 2000}};
    const unsigned count = (std::getenv("PENSTOCK_LONG") != nullptr ? 1'000'000 : 3'000) / shards;
    Inputs inputs;
    unsigned refused = 0;
    const auto before = resident_kilobytes();
    for (unsigned i = 0; i < count; ++i) {
        const unsigned number = GetParam() * count + i;
        const auto text = inputs.input(number);
        const auto findings = check_application_text(text, "fuzz.xml", options);
        const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
        bool errors = false;
        for (const auto& each : findings) {
            errors = errors || each.kind == Finding::Kind::error;
            ASSERT_FALSE(each.message.empty()) << number;
            if (each.where.file != "fuzz.xml") continue;  // it may include others
            ASSERT_GE(each.where.line, 1) << number;
            ASSERT_GE(each.where.column, 1) << number;
            ASSERT_LE(each.where.line, lines) << number << ": " << each.text();
        }
        if (errors) {
            ++refused;
            ASSERT_THROW((void)Application::parse(text, "fuzz.xml", options), ApplicationError) << number;
            continue;
        }
        const auto application = Application::parse(text, "fuzz.xml", options);
        Graph graph;
        application.build(graph);
        ASSERT_EQ(graph.check(), std::vector<std::string>{}) << number;
        const auto again = to_xml(application);
        ASSERT_TRUE(Application::parse(again, "again.xml") == application) << number << "\n" << text << "\n" << again;
    }
    EXPECT_GT(refused, count / 2);
    EXPECT_LT(refused, count - count / 50);
    EXPECT_LT(resident_kilobytes() - before, 2u << 20);
    RecordProperty("inputs", static_cast<int>(count));
}

INSTANTIATE_TEST_SUITE_P(Inputs, Fuzz, testing::Range(0u, shards));
