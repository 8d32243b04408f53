// What a run of an application was like: as it is written, and as passes read it.

#include "language/passes/transforming.hpp"
#include "penstock/application_profile.hpp"

namespace penstock {

using language::attribute_text;

ApplicationProfile::ApplicationProfile(std::string application, int targets)
    : application_(std::move(application)), targets_(targets) {}

void ApplicationProfile::look(const RunStatistics& now) {
    seconds_ = std::max(seconds_, now.seconds);
    for (const auto& each : now.filters) {
        auto& seen = filters_[each.name];
        seen.figures = each;
        const auto queue = each.waiting + each.held_back;
        seen.queues += static_cast<double>(queue);
        seen.longest = std::max(seen.longest, queue);
        ++seen.looks;
    }
    for (const auto& each : now.streams) streams_[{each.from, each.to}] = each;
}

std::string ApplicationProfile::text() const {
    const auto number = [](std::string_view name, double value) {
        return attribute_text(name, language::text_of(value));
    };
    const auto count = [](std::string_view name, std::uint64_t value) {
        return attribute_text(name, std::to_string(value));
    };
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<profile" +
                      attribute_text("xmlns", "urn:penstock:profile:1") + attribute_text("application", application_) +
                      number("seconds", seconds_) + attribute_text("targets", std::to_string(targets_)) + ">\n";
    for (const auto& [name, seen] : filters_) {
        const auto& figures = seen.figures;
        out += "  <component" + attribute_text("name", name) +
               attribute_text("copies", std::to_string(figures.copies)) + count("firings", figures.firings) +
               number("service-us", figures.service_us) + number("rate", figures.rate) + number("load", figures.load) +
               number("queue", seen.looks == 0 ? 0 : seen.queues / static_cast<double>(seen.looks)) +
               count("longest-queue", seen.longest) + number("waits-for-input", figures.waits_for_input) +
               number("waits-for-output", figures.waits_for_output) +
               number("waits-for-target", figures.waits_for_target) + "/>\n";
    }
    for (const auto& [ends, figures] : streams_)
        out += "  <stream" + attribute_text("from", ends.first) + attribute_text("to", ends.second) +
               count("buffers", figures.buffers) + number("rate", figures.rate) +
               number("bytes-rate", figures.bytes_rate) + number("capacity", figures.capacity) +
               count("dropped", figures.dropped) + "/>\n";
    return out + "</profile>\n";
}

}  // namespace penstock

namespace penstock::language {

Profile read_profile(const std::string& text) {
    std::vector<Finding> findings;
    const auto document = read_document(text, "profile", {}, findings);
    if (document == nullptr || !findings.empty())
        throw UsageError("this is no profile: " + (findings.empty() ? "it is empty" : findings.front().text()));
    const auto& root = document->root;
    if (root.name != "profile")
        throw UsageError("this is no profile: its outermost element is " + in_quotes(root.name) +
                         "; penstock profile writes one");
    const auto number = [&](const Element& element, std::string_view name) {
        const auto value = number_of(element.value(name));
        if (!value || *value < 0)
            throw UsageError("the profile is wrong: line " + std::to_string(element.at.line) +
                             " should give a number for " + in_quotes(name));
        return *value;
    };
    const auto named = [&](const Element& element, std::string_view name) {
        const auto* const given = element.attribute(name);
        if (given != nullptr) return given->value;
        throw UsageError("the profile is wrong: line " + std::to_string(element.at.line) + " should give " +
                         in_quotes(name));
    };
    Profile made;
    made.targets = static_cast<int>(std::min(number(root, "targets"), 1e6));
    made.seconds = number(root, "seconds");
    for (const auto& child : root.children) {
        if (child.name == "component")
            made.components[named(child, "name")] = {static_cast<int>(std::min(number(child, "copies"), 1e6)),
                                                     number(child, "firings"), number(child, "service-us") / 1e6,
                                                     number(child, "waits-for-output")};
        if (child.name == "stream")
            made.streams[{named(child, "from"), named(child, "to")}] = {
                number(child, "buffers"), number(child, "capacity"), number(child, "bytes-rate")};
    }
    return made;
}

}  // namespace penstock::language
