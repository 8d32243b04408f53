// What the tests of the language share.
#pragma once

#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/application.hpp"
#include "penstock/machine.hpp"

namespace written {

/// Keeps what comes, where the test that registered it finds it.
struct Kept {
    std::mutex lock;
    std::vector<double> values;
};

struct Keep {
    penstock::Input<double> in{"in"};
    Kept* kept;
    explicit Keep(Kept* into) : kept(into) {}
    void operator()() {
        const auto buffer = in.read();
        const std::lock_guard guard(kept->lock);
        kept->values.insert(kept->values.end(), buffer.span().begin(), buffer.span().end());
    }
};

/// The classes that come with Penstock, and `keep`.
inline penstock::Components with_keep(Kept& kept) {
    auto all = penstock::Components::builtin();
    all.add<Keep>("keep", "Keeps what comes.", &kept);
    return all;
}

inline std::string file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string application(const std::string& body) {
    return "<application xmlns=\"urn:penstock:application:1\" name=\"test\">\n" + body + "\n</application>\n";
}

/// The findings as a text, a line each.
inline std::string findings(const std::string& text, const penstock::ApplicationOptions& options = {},
                            const std::string& name = "test.xml") {
    std::string all;
    for (const auto& each : penstock::check_application_text(text, name, options)) all += each.text() + "\n";
    return all;
}

/// What a run of the application's `keep` got, in order of arrival.
inline std::vector<double> results(const std::string& text, penstock::Machine& machine,
                                   penstock::ApplicationOptions options = {}) {
    Kept kept;
    const auto components = with_keep(kept);
    options.components = &components;
    penstock::Application::parse(text, "test.xml", options).start(machine).finish();
    return kept.values;
}

}  // namespace written
