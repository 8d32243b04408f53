// What Penstock says of itself (print.hpp).
#include "penstock/print.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "penstock/penstock.hpp"

using namespace penstock;

namespace {

template <class T>
std::string printed(const T& value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

TEST(print, gives_the_texts_that_people_read) {
    EXPECT_EQ(printed(Topology::here()), Topology::here().description());
    EXPECT_EQ(printed(Distance::shared_l2), "shared L2");
    EXPECT_EQ(printed(Access::inout), "inout");
    EXPECT_EQ(printed(Event{"zoom", 2.5}), "zoom = 2.5");
    EXPECT_EQ(printed(ParameterValue(3)), "3");
    EXPECT_EQ(printed(element_type<float>()), "float");
    EXPECT_EQ(printed(trace::Part::queue_stall), "queue stall");
    EXPECT_EQ(printed(Handle()), "no task");
}

TEST(print, tells_whether_a_task_is_complete) {
    Machine machine{{.targets = 0}};
    const Handle done = machine.call([] {});
    done.wait(help);
    EXPECT_NE(printed(done).find("(complete)"), std::string::npos) << printed(done);
    EXPECT_EQ(printed(machine), machine.description());
}

#if defined(__cpp_lib_format)
TEST(print, is_formatted_like_a_string) { EXPECT_EQ(std::format("[{:>6}]", Access::in), "[    in]"); }
#endif

}  // namespace
