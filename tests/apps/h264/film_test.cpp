#include "apps/h264/film.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tests/temporary_folder.hpp"

namespace {

using namespace penstock::apps::h264;

class Film : public testing::Test {
  protected:
    std::string write(const std::string& name, const std::string& bytes) {
        const auto path = folder_.path() / name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    std::string why_refused(const std::string& bytes) {
        try {
            FilmReader reader{write("film.y4m", bytes)};
            std::vector<std::uint8_t> picture;
            while (reader.read(picture)) EXPECT_EQ(picture.size(), reader.size().bytes());
        } catch (const FilmError& error) {
            return error.what();
        }
        return "not refused";
    }
    TemporaryFolder folder_;
};

const std::string header = "YUV4MPEG2 W4 H2 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG\n";

TEST_F(Film, is_read_picture_by_picture) {
    FilmReader reader{write("film.y4m", header + "FRAME\nabcdefghijkl" + "FRAME Xcomment\nABCDEFGHIJKL")};
    EXPECT_EQ(reader.size(), (Size{4, 2}));
    EXPECT_EQ(reader.rate(), (Rate{30000, 1001}));
    std::vector<std::uint8_t> picture;
    ASSERT_TRUE(reader.read(picture));
    EXPECT_EQ(std::string(picture.begin(), picture.end()), "abcdefghijkl");
    ASSERT_TRUE(reader.read(picture));
    EXPECT_EQ(std::string(picture.begin(), picture.end()), "ABCDEFGHIJKL");
    EXPECT_FALSE(reader.read(picture));
    EXPECT_EQ(reader.count(), 2u);
}

TEST_F(Film, of_odd_sides_gets_its_last_column_and_row_twice) {
    FilmReader reader{write("film.y4m", "YUV4MPEG2 W3 H3\nFRAME\nabcdefghi1234wxyz")};
    std::vector<std::uint8_t> picture;
    ASSERT_TRUE(reader.read(picture));
    EXPECT_EQ(std::string(picture.begin(), picture.end()), "abccdeffghiighii1234wxyz");
}

TEST_F(Film, of_raw_planes_needs_a_size) {
    const auto path = write("film.yuv", "abcdefghijkl");
    EXPECT_THROW(FilmReader{path}, penstock::UsageError);
    FilmReader reader(path, {4, 2});
    std::vector<std::uint8_t> picture;
    EXPECT_TRUE(reader.read(picture));
    EXPECT_FALSE(reader.read(picture));
    EXPECT_THROW(FilmReader{folder_.path() / "missing.y4m"}, penstock::SystemError);
}

TEST_F(Film, is_refused_with_what_is_wrong_in_it) {
    const std::pair<std::string, std::string> wrong[] = {
        {"", "ends in its header"},
        {"YUV4MPEG2 W4 H2", "ends in its header"},
        {std::string(2000, 'Y'), "no end of line"},
        {"RIFF W4 H2\n", "no YUV4MPEG2"},
        {"YUV4MPEG2 W4\n", "without W (columns) or H (rows)"},
        {"YUV4MPEG2 W0 H2\n", "'W0'"},
        {"YUV4MPEG2 W-4 H2\n", "'W-4'"},
        {"YUV4MPEG2 W4 H99999999999999999999\n", "'H99999999999999999999'"},
        {"YUV4MPEG2 W4x H2\n", "'W4x'"},
        {"YUV4MPEG2 W1 H1\n", "1 x 1"},
        {"YUV4MPEG2 W4 H2 F25\n", "'F25'"},
        {"YUV4MPEG2 W4 H2 It\n", "interlaced"},
        {"YUV4MPEG2 W4 H2 C422\n", "'C422'"},
        {"YUV4MPEG2 W4 H2 C420p10\n", "'C420p10'"},
        {header + "FRAME\nabcdefghijk", "picture 0, of which it has 11 of 12 bytes"},
        {header + "FRAME\nabcdefghijklFRAME\n", "picture 1, of which it has 0 of 12 bytes"},
        {header + "FRAME", "ends in the header of a picture"},
        {header + "PICTURE\nabcdefghijkl", "'PICTURE' where picture 0"},
    };
    for (const auto& [bytes, why] : wrong)
        EXPECT_NE(why_refused(bytes).find(why), std::string::npos) << why_refused(bytes) << ", not: " << why;
}

// Whatever the bytes are, the reader reads pictures or refuses.
TEST_F(Film, with_random_damage_is_read_or_refused) {
    std::mt19937 random{1};
    const std::string whole = header + "FRAME\nabcdefghijklFRAME\nabcdefghijkl";
    int refused = 0;
    for (int turn = 0; turn < 1000; ++turn) {
        std::string bytes = whole;
        for (unsigned i = 0; i <= random() % 4; ++i) {
            const auto at = random() % bytes.size();
            switch (random() % 4) {
                case 0:
                    bytes[at] = static_cast<char>(random());
                    break;
                case 1:
                    bytes.resize(at + 1);
                    break;
                case 2:
                    bytes.insert(at, std::string(random() % 9, "0129 \nW:"[random() % 8]));
                    break;
                default:
                    bytes.erase(at, 1 + random() % 5);
                    if (bytes.empty()) bytes = "Y";
            }
        }
        refused += why_refused(bytes) != "not refused";
    }
    EXPECT_GT(refused, 200);
}

}  // namespace
