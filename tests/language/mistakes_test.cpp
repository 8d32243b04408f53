// Seeded mistakes: for each tests/language/mistakes/NAME.xml, what is said of it, in NAME.txt. To write these anew
// after a message was changed on purpose, and then to read the difference: PENSTOCK_WRITE_EXPECTED=1 test_language
// --gtest_filter='Mistakes.*'
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "language/support.hpp"

namespace fs = std::filesystem;

TEST(Mistakes, each_is_reported_with_its_place_and_how_to_mend_it) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(PENSTOCK_SOURCE "/tests/language/mistakes"))
        if (entry.path().extension() == ".xml") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    EXPECT_GE(files.size(), 30u);
    for (const auto& file : files) {
        const auto found = written::findings(written::file(file.string()), {}, file.filename().string());
        auto expected_file = file;
        expected_file.replace_extension(".txt");
        if (std::getenv("PENSTOCK_WRITE_EXPECTED") != nullptr) std::ofstream(expected_file) << found;
        EXPECT_NE(found, "") << file;
        EXPECT_EQ(found, written::file(expected_file.string())) << file;
    }
}
