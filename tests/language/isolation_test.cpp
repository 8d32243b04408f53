// Components that ask where they live.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "language/support.hpp"
#include "tests/task/isolation_support.hpp"

using namespace penstock;
using written::application;

namespace {

/// The number of the process that it fires in, for each value; at `fatal` the process ends.
struct Where {
    Input<double> in{"in"};
    Output<double> out{"out"};
    Setting<double> fatal{"fatal", -1.0};
    void operator()() {
        auto buffer = in.read();
        for (double& value : buffer.edit()) {
            if (value == fatal) raise(SIGKILL);
            value = static_cast<double>(getpid());
        }
        out.write(std::move(buffer));
    }
};

struct Found {
    std::vector<double> processes;
    std::string failure;
};

Found found(const std::string& attributes, const MachineOptions& options, const std::string& fatal = "-1") {
    written::Kept kept;
    auto components = written::with_keep(kept);
    components.add<Where>("where", "Tells its process.");
    Machine machine(options);
    Found result;
    try {
        Application::parse(application("<component name=\"numbers\" class=\"numbers\"><set name=\"count\" "
                                       "value=\"20\"/></component><component name=\"where\" class=\"where\" " +
                                       attributes + "><set name=\"fatal\" value=\"" + fatal +
                                       R"("/></component><component name="keep" class="keep" isolation="thread"/>
            <stream from="numbers.out" to="where.in"/><stream from="where.out" to="keep.in"/>)"),
                           "test.xml", {.components = &components})
            .start(machine)
            .finish();
    } catch (const Error& error) {
        result.failure = error.what();
    }
    result.processes = kept.values;
    return result;
}

}  // namespace

TEST(LanguageIsolation, a_component_lives_where_it_says_on_a_machine_of_worker_processes) {
    SKIP_WITHOUT_PROCESSES();
    const auto here = static_cast<double>(getpid());
    const std::vector<double> all_here(20, here);
    EXPECT_EQ(found("isolation=\"thread\"", task_tests::isolated(2)).processes, all_here);
    for (const std::string attributes : {"", "isolation=\"process\"", "isolation=\"process\" time-limit=\"100\""}) {
        const auto away = found(attributes, task_tests::isolated(2));
        EXPECT_EQ(away.failure, "");
        ASSERT_EQ(away.processes.size(), 20u);
        for (const double process : away.processes) EXPECT_NE(process, here) << attributes;
    }
    EXPECT_EQ(found("", {.targets = 2}).processes, all_here);
}

TEST(LanguageIsolation, a_component_that_ends_its_process_loses_its_buffer_alone) {
    SKIP_WITHOUT_PROCESSES();
    const auto seen = found("isolation=\"process\" on-failure=\"go-on\"", task_tests::isolated(1), "7");
    EXPECT_EQ(seen.processes.size(), 19u);
    EXPECT_NE(seen.failure.find("'where'"), std::string::npos) << seen.failure;
}

TEST(LanguageIsolation, a_machine_without_worker_processes_refuses_what_needs_them_by_name) {
    EXPECT_NE(found("isolation=\"process\"", {.targets = 1})
                  .failure.find("'where' is to live in a worker process, and the machine has none"),
              std::string::npos);
    EXPECT_NE(found("time-limit=\"1\"", {.targets = 1}).failure.find("'where' has a time limit"), std::string::npos);
    const auto needs = [](const std::string& attributes) {
        return Application::parse(application("<component name=\"numbers\" class=\"numbers\" " + attributes + "/>"))
            .needs_processes();
    };
    EXPECT_FALSE(needs(""));
    EXPECT_FALSE(needs("isolation=\"thread\""));
    EXPECT_TRUE(needs("isolation=\"process\""));
    EXPECT_TRUE(needs("time-limit=\"1\""));
}

TEST(LanguageIsolation, words_and_limits_that_are_none_are_refused) {
    const auto findings = [](const std::string& attributes) {
        return written::findings(application("<component name=\"numbers\" class=\"numbers\" " + attributes + "/>"));
    };
    EXPECT_NE(findings("isolation=\"thraed\"")
                  .find("test.xml:2:43: error: 'isolation' is 'thraed', and should be 'thread' or 'process'"),
              std::string::npos);
    EXPECT_NE(findings("time-limit=\"0\"").find("'time-limit' is '0', and should be a number from 0.001 to 1620"),
              std::string::npos);
}
