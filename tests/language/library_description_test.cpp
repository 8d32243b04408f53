// What a library says of its classes is looked at before anything of it is used: each mistake is told with the class,
// and what to do.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "language/library/component_library.hpp"

using namespace penstock;

namespace {

int fire(void*, penstock_firing*) { return PENSTOCK_GO_ON; }
void* create(const penstock_class*) { return nullptr; }
std::size_t save(void*, void*, std::size_t) { return 0; }

/// A library without a mistake, until a test makes one.
struct Table {
    std::vector<penstock_port> inputs{{"in", "float64", 0, 0, 0, 0}}, outputs{{"out", "pixel", 3, 2, 0, 0}};
    std::vector<penstock_setting> settings{{"level", {PENSTOCK_NUMBER, 0, 0.5, nullptr}, "dB", -1, 1}};
    std::vector<penstock_class> classes{penstock_class{}};
    penstock_library library{PENSTOCK_COMPONENT_INTERFACE, nullptr, 0};

    Table() {
        auto& of = classes[0];
        of.name = "blur";
        of.inputs = inputs.data();
        of.input_count = 1;
        of.outputs = outputs.data();
        of.output_count = 1;
        of.settings = settings.data();
        of.setting_count = 1;
        of.fire = fire;
    }
    penstock_class& of() { return classes[0]; }
    language::Library read() {
        library.classes = classes.data();
        library.class_count = classes.size();
        return language::described(library, "blur.so");
    }
};

std::string refusal(const std::function<void(Table&)>& mistake) {
    Table table;
    mistake(table);
    try {
        (void)table.read();
    } catch (const LibraryRefused& refused) {
        EXPECT_EQ(refused.reason(), LibraryRefused::Reason::bad_description);
        EXPECT_EQ(refused.path(), "blur.so");
        const std::string said = refused.what(), begin = "the library blur.so gives no component classes: ";
        EXPECT_EQ(said.substr(0, begin.size()), begin);
        return said.substr(begin.size());
    }
    return "it was taken";
}

}  // namespace

TEST(LibraryDescription, a_table_without_mistakes_is_taken) {
    Table table;
    const auto read = table.read();
    ASSERT_EQ(read.classes.size(), 1u);
    const auto& blur = *read.classes[0];
    EXPECT_EQ(blur.name, "blur");
    EXPECT_EQ(blur.filter.inputs[0].element, element_type<double>());
    EXPECT_EQ(blur.filter.inputs[0].at_least, 1u);
    EXPECT_TRUE(blur.filter.inputs[0].required);
    EXPECT_EQ(blur.filter.outputs[0].element, (ElementType{"pixel", 3}));
    EXPECT_EQ(blur.output_dimensions, std::vector<std::size_t>{2});
    EXPECT_EQ(blur.filter.settings[0].value, SettingValue(0.5));
    EXPECT_EQ(blur.filter.settings[0].limits.least, -1);
}

TEST(LibraryDescription, without_limits_any_value_may_be_given) {
    Table table;
    table.settings[0].least = table.settings[0].most = 0;
    EXPECT_EQ(table.read().classes[0]->filter.settings[0].limits.most, INFINITY);
}

TEST(LibraryDescription, each_mistake_is_told) {
    const std::vector<std::pair<std::function<void(Table&)>, std::string>> mistakes{
        {[](Table& t) { t.classes.clear(); }, "it has no classes: list them in its table"},
        {[](Table& t) { t.classes.push_back(t.of()); }, "it has two classes called 'blur': give one another name"},
        {[](Table& t) { t.of().name = nullptr; }, "class 0 has no name: give it one"},
        {[](Table& t) { t.of().name = "2d"; },
         "class 0 is called '2d': a name is a letter, then letters, digits, '-', '_' and ':'"},
        {[](Table& t) { t.of().name = "bl\xffur"; }, "class 0 has a name that is no line of UTF-8: write it so"},
        {[](Table& t) { t.of().documentation = "two\nlines"; },
         "class 'blur' has a documentation that is no line of UTF-8: write it so"},
        {[](Table& t) { t.of().documentation = "\xed\xa0\x80"; },
         "class 'blur' has a documentation that is no line of UTF-8: write it so"},
        {[](Table& t) { t.of().fire = nullptr; }, "class 'blur' has no fire(): give it one"},
        {[](Table& t) { t.of().create = create; },
         "class 'blur' has create() or destroy(), and not the other: give both or neither"},
        {[](Table& t) { t.of().save = save; },
         "class 'blur' has save() or load(), and not the other: give both or neither"},
        {[](Table& t) { t.of().input_count = t.of().output_count = 0; },
         "class 'blur' has neither inputs nor outputs: give it one"},
        {[](Table& t) { t.of().inputs = nullptr; },
         "class 'blur' has 1 inputs, but says nowhere which: fill in the table"},
        {[](Table& t) { t.of().output_count = 5000; }, "class 'blur' has 5000 outputs, and may have 4096"},
        {[](Table& t) { t.inputs[0].name = nullptr; }, "class 'blur' has no name of its input 0: give it one"},
        {[](Table& t) { t.inputs[0].name = "a.b"; },
         "class 'blur' calls its input 0 'a.b': a name is a letter, then letters, digits, '-' and '_'"},
        {[](Table& t) { t.outputs[0].name = "in"; },
         "class 'blur' has two parts called 'in': ports and settings are called differently"},
        {[](Table& t) { t.inputs[0].element = nullptr; },
         "class 'blur' does not say of which type the values at input 'in' are: say it, as in \"float64\""},
        {[](Table& t) { t.inputs[0].element = ""; },
         "class 'blur' has a type of input 'in' that is no line of UTF-8: name it, as in \"float64\""},
        {[](Table& t) { t.inputs[0].element_size = 4; },
         "class 'blur' says that a float64 at input 'in' has 4 bytes: it has 8"},
        {[](Table& t) { t.outputs[0].element_size = 0; },
         "class 'blur' does not say how many bytes a pixel at output 'out' has: only float64 and its like are known by "
         "themselves"},
        {[](Table& t) { t.outputs[0].dimensions = 4; },
         "class 'blur' says that output 'out' has buffers of 4 dimensions: say 1 to 3, or 0 for any of these"},
        {[](Table& t) { t.settings[0].name = "in"; },
         "class 'blur' has two parts called 'in': ports and settings are called differently"},
        {[](Table& t) { t.settings[0].value.kind = 4; },
         "class 'blur' has a kind of setting 'level' that there is not: say PENSTOCK_BOOLEAN, PENSTOCK_INTEGER, "
         "PENSTOCK_NUMBER or PENSTOCK_TEXT"},
        {[](Table& t) { t.settings[0].least = 2; },
         "class 'blur' has limits of setting 'level' between which nothing is: give the smaller one as least"},
        {[](Table& t) { t.settings[0].most = NAN; },
         "class 'blur' has limits of setting 'level' between which nothing is: give the smaller one as least"},
        {[](Table& t) { t.settings[0].value.number = 2; },
         "class 'blur' gives setting 'level' the value 2, which is outside its own limits"},
        {[](Table& t) { t.settings[0].value.number = NAN; },
         "class 'blur' gives setting 'level' the value nan, which is outside its own limits"},
        {[](Table& t) { t.settings[0].unit = "\x01"; },
         "class 'blur' has a unit of setting 'level' that is no line of UTF-8: write it so"},
    };
    for (const auto& [mistake, said] : mistakes) EXPECT_EQ(refusal(mistake), said);
}
