// What was measured is kept for later processes, and never believed when it could be wrong.
#include "store/ways/store_way_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/topology.hpp"
#include "store/support.hpp"
#include "store/ways/ways.hpp"

namespace {

namespace fs = std::filesystem;
using penstock::StoreWay;
using penstock::StoreWayFile;
using penstock::StoreWays;

class StoreWayFileTest : public ::testing::Test {
  protected:
    StoreWayFileTest() {
        std::string name = (fs::temp_directory_path() / "penstock-ways-XXXXXX").string();
        folder_ = mkdtemp(name.data());
    }
    ~StoreWayFileTest() override { fs::remove_all(folder_); }

    StoreWayFile file() const { return {folder_ / "below" / "stores", machine}; }
    std::string text() const {
        std::ostringstream text;
        text << std::ifstream(file().path()).rdbuf();
        return text.str();
    }
    void write(const std::string& text) const { std::ofstream(file().path(), std::ios::trunc) << text; }

    static constexpr const char* machine = "a processor, 2 cores";
    fs::path folder_;
};

TEST_F(StoreWayFileTest, what_was_saved_is_loaded) {
    EXPECT_FALSE(file().load(100));
    for (const auto way : {StoreWay::plain, StoreWay::demote, StoreWay::stream}) {
        ASSERT_TRUE(file().save(StoreWays(way), 100));
        ASSERT_TRUE(file().load(100));
        EXPECT_EQ(*file().load(100), StoreWays(way));
    }
    const auto measured = StoreWays::measure(std::chrono::minutes(5)).value();
    ASSERT_TRUE(file().save(measured, 100));
    EXPECT_EQ(file().load(100), measured);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "below"), {}), 1) << "no temporary file stays";
}

/// `text` with `to` in the place of `from`, which stands in it.
std::string with(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST_F(StoreWayFileTest, the_way_depends_on_how_far_the_reader_is) {
    ASSERT_TRUE(file().save(StoreWays(StoreWay::plain), 100));
    write(with(with(text(), "16384 plain 4294967295", "16384 stream 1500"), "65536 plain 4294967295",
               "65536 demote 400"));
    const auto ways = file().load(100);
    ASSERT_TRUE(ways);
    for (const std::size_t bytes : {16'384u, 65'535u}) {
        EXPECT_EQ(ways->of(bytes), StoreWay::plain);
        EXPECT_EQ(ways->of(bytes, 1.5), StoreWay::plain);
        EXPECT_EQ(ways->of(bytes, 1.6), StoreWay::stream);
    }
    EXPECT_EQ(ways->of(65'536), StoreWay::demote);
    EXPECT_EQ(ways->of(65'536, 0.3), StoreWay::plain) << "nearer than when it was measured";
    for (const double farther : {0.01, 1.0, 1000.0}) {
        EXPECT_EQ(ways->of(16'383, farther), StoreWay::plain);
        EXPECT_EQ(ways->of(1 << 30, farther), StoreWay::plain);
        EXPECT_EQ(StoreWays(StoreWay::stream).of(1 << 30, farther), StoreWay::stream) << "the user's wish";
    }
}

TEST_F(StoreWayFileTest, where_two_measurements_differ_blocks_go_plain) {
    ASSERT_TRUE(file().save(StoreWays(StoreWay::plain), 100));
    const auto both = with(text(), "\n512 plain 4294967295", "\n512 demote 900");
    write(both);
    const auto one = file().load(100);
    write(with(both, "4194304 plain 4294967295", "4194304 stream 950"));
    const auto other = file().load(100);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(other->of(4 << 20), StoreWay::stream);
    EXPECT_EQ(other->where_agreed(*one).of(4 << 20), StoreWay::plain);
    EXPECT_EQ(other->where_agreed(*one).of(4 << 20, 1000), StoreWay::plain) << "however far the reader is";
    EXPECT_EQ(one->where_agreed(*other), *one);
    EXPECT_EQ(other->where_agreed(*other), *other);
}

TEST_F(StoreWayFileTest, another_machines_file_is_not_taken) {
    ASSERT_TRUE(file().save(StoreWays(StoreWay::stream), 100));
    EXPECT_FALSE((StoreWayFile{file().path(), "another processor"}.load(100)));
    EXPECT_FALSE((StoreWayFile{file().path(), "a processor"}.load(100))) << "nor one whose name only begins alike";
}

TEST_F(StoreWayFileTest, what_was_measured_when_the_reader_was_elsewhere_is_not_taken) {
    ASSERT_TRUE(file().save(StoreWays(StoreWay::stream), 100));
    for (const double near : {70.0, 100.0, 149.0}) EXPECT_TRUE(file().load(near)) << near;
    for (const double far : {0.0, 1.0, 66.0, 151.0, 450.0, -100.0}) EXPECT_FALSE(file().load(far)) << far;
    ASSERT_TRUE(file().save(StoreWays(StoreWay::stream), 0));
    EXPECT_FALSE(file().load(0)) << "nor what cannot be";
}

TEST_F(StoreWayFileTest, a_spoilt_file_is_not_taken) {
    ASSERT_TRUE(file().save(StoreWays(StoreWay::stream), 100));
    const std::string whole = text();
    for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
        write(whole.substr(0, length));
        ASSERT_FALSE(file().load(100)) << "cut after " << length << " bytes";
    }
    for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
        std::string spoilt = whole;
        spoilt[i] = spoilt[i] == 'x' ? 'y' : 'x';
        write(spoilt);
        ASSERT_FALSE(file().load(100)) << "another letter at " << i;
    }
    write(whole + "more");
    EXPECT_FALSE(file().load(100));
    write(whole + std::string(10'000, ' '));
    EXPECT_FALSE(file().load(100));
    write(whole);
    EXPECT_EQ(file().load(100), StoreWays(StoreWay::stream));
}

TEST_F(StoreWayFileTest, what_others_could_have_written_is_not_taken) {
    ASSERT_TRUE(file().save(StoreWays(StoreWay::stream), 100));
    const fs::path path = file().path(), aside = folder_ / "aside";
    for (const mode_t open : {S_IWGRP, S_IWOTH}) {
        ASSERT_EQ(chmod(path.c_str(), S_IRUSR | S_IWUSR | open), 0);
        EXPECT_FALSE(file().load(100));
    }
    ASSERT_EQ(chmod(path.c_str(), S_IRUSR | S_IWUSR), 0);
    EXPECT_TRUE(file().load(100));
    fs::rename(path, aside);
    fs::create_symlink(aside, path);
    EXPECT_FALSE(file().load(100)) << "a link";
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), S_IRUSR | S_IWUSR), 0);
    EXPECT_FALSE(file().load(100)) << "a pipe, without waiting for a writer";
    fs::remove(path);
    fs::create_directory(path);
    EXPECT_FALSE(file().load(100)) << "a folder";
}

TEST_F(StoreWayFileTest, a_folder_that_cannot_be_made_does_no_harm) {
    std::ofstream(folder_ / "below") << "a file where the folder should be";
    EXPECT_FALSE(file().save(StoreWays(StoreWay::plain), 100));
    EXPECT_FALSE(file().load(100));
}

/// The environment as it was, at the end.
class Environment {
  public:
    Environment(std::string name, const char* value) : name_(std::move(name)) {
        if (const char* before = getenv(name_.c_str())) before_ = before;
        value != nullptr ? setenv(name_.c_str(), value, 1) : unsetenv(name_.c_str());
    }
    ~Environment() { before_ ? setenv(name_.c_str(), before_->c_str(), 1) : unsetenv(name_.c_str()); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    std::string name_;
    std::optional<std::string> before_;
};

TEST_F(StoreWayFileTest, the_file_lies_in_the_users_cache_folder) {
    if (penstock::Topology::here().usable() < 2) GTEST_SKIP() << "nothing is measured on one processor";
    {
        const Environment cache("XDG_CACHE_HOME", folder_.c_str());
        ASSERT_TRUE(StoreWayFile::here());
        EXPECT_EQ(StoreWayFile::here()->path().parent_path(), folder_ / "penstock");
    }
    const Environment home("HOME", folder_.c_str());
    for (const char* unusable : {static_cast<const char*>(nullptr), "", "relative/path"}) {
        const Environment cache("XDG_CACHE_HOME", unusable);
        ASSERT_TRUE(StoreWayFile::here());
        EXPECT_EQ(StoreWayFile::here()->path().parent_path(), folder_ / ".cache" / "penstock");
    }
    const Environment cache("XDG_CACHE_HOME", nullptr), no_home("HOME", nullptr);
    EXPECT_FALSE(StoreWayFile::here());
}

/// What a fresh process takes, as the exit code of one: 0 for `wanted`.
class FreshProcess : public StoreWayFileTest {
  protected:
    FreshProcess() : cache_("XDG_CACHE_HOME", folder_.c_str()) { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    void SetUp() override {
        if (store_tests::thread_sanitizer) GTEST_SKIP() << "starts a process";
        if (penstock::Topology::here().usable() < 2) GTEST_SKIP() << "nothing is measured on one processor";
    }
    static double reader() { return penstock::measure_round_trip().value_or(0); }
    /// Whether stores into memory that another processor reads all the time go the way for a far reader.
    static bool follows_a_reader() {
        std::vector<std::byte> block(8192, std::byte{7});
        penstock::ReaderDistance nobody;
        if (nobody.way(block.data(), 63) != StoreWay::plain || nobody.way(block.data(), 64) != StoreWay::stream)
            return false;
        std::atomic<bool> stop{false};
        std::thread reader([&] {
            static_cast<void>(penstock::pin_this_thread(*penstock::reader_processor()));
            const volatile std::byte* const bytes = block.data();
            while (!stop.load(std::memory_order_relaxed))
                for (std::size_t i = 0; i < block.size(); i += 64) static_cast<void>(bytes[i]);
        });
        bool followed = false;
        penstock::ReaderDistance distance;  // goes up in steps, one a look: in 64 KiB, and in a millisecond
        for (int look = 0; look < 2'000 && !followed; ++look) {
            for (int store = 0; store < 16; ++store)
                followed = distance.way(block.data(), 4096) == StoreWay::stream || followed;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        stop = true;
        reader.join();
        return followed && block == std::vector<std::byte>(8192, std::byte{7});
    }
    [[noreturn]] void leave(bool good) const {
        fs::remove_all(folder_);
        _exit(good ? 0 : 1);
    }

    Environment cache_;
};

// Measured ways go plain below 64 B, so these can only come from the file. On a busy machine the reader may seem to
// move in between, and the file is rightly not taken: a few attempts, each in a process of its own.
TEST_F(FreshProcess, takes_what_an_earlier_one_saved) {
    EXPECT_EXIT(
        {
            const Environment wish("PENSTOCK_STORES", nullptr);
            bool taken = false;
            for (int attempt = 0; attempt < 50 && !taken; ++attempt) {
                const pid_t child = fork();
                if (child == 0) {
                    StoreWayFile::here()->save(StoreWays(StoreWay::stream), reader());
                    _exit(StoreWays::here() == StoreWays(StoreWay::stream) ? 0 : 1);
                }
                int status = 1;
                taken = waitpid(child, &status, 0) == child && status == 0;
            }
            leave(taken);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, goes_by_how_far_its_reader_is_and_leaves_memory_as_it_is) {
    EXPECT_EXIT(
        {
            const Environment wish("PENSTOCK_STORES", nullptr);
            bool followed = false;
            for (int attempt = 0; attempt < 50 && !followed; ++attempt) {
                const pid_t child = fork();
                if (child == 0) {
                    // Any line that another processor has had is much farther than this file says of a line.
                    const auto kept = *StoreWayFile::here();
                    kept.save(StoreWays(StoreWay::plain), reader());
                    std::ostringstream saved;
                    saved << std::ifstream(kept.path()).rdbuf();
                    std::string text = with(saved.str(), "line 0 ps", "line 1 ps");
                    text = with(text, "\n64 plain 4294967295", "\n64 stream 0");
                    text = with(text, "4096 plain 4294967295", "4096 stream 2000");
                    std::ofstream(kept.path(), std::ios::trunc) << text;
                    _exit(StoreWays::here().line_time() > 0 && follows_a_reader() ? 0 : 1);
                }
                int status = 1;
                followed = waitpid(child, &status, 0) == child && status == 0;
            }
            leave(followed);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, measures_again_when_asked) {
    EXPECT_EXIT(
        {
            const Environment wish("PENSTOCK_STORES", "measure");
            StoreWayFile::here()->save(StoreWays(StoreWay::stream), reader());
            leave(StoreWays::here().of(1) == StoreWay::plain);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, measures_where_the_file_is_spoilt_and_says_nothing) {
    EXPECT_EXIT(
        {
            const Environment wish("PENSTOCK_STORES", nullptr);
            StoreWayFile::here()->save(StoreWays(StoreWay::stream), reader());
            std::ofstream(StoreWayFile::here()->path(), std::ios::app) << "and more";
            leave(StoreWays::here().of(1) == StoreWay::plain);
        },
        ::testing::ExitedWithCode(0), "^$");
}

TEST_F(FreshProcess, takes_the_environments_word_over_the_file) {
    EXPECT_EXIT(
        {
            const Environment wish("PENSTOCK_STORES", "demote");
            StoreWayFile::here()->save(StoreWays(StoreWay::stream), reader());
            leave(StoreWays::here() == StoreWays(StoreWay::demote));
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, refuses_a_word_that_is_no_way) {
    EXPECT_EXIT(
        {
            const Environment wish("PENSTOCK_STORES", "sideways");
            try {
                StoreWays::here();
            } catch (const penstock::UsageError& error) {
                leave(std::string(error.what()).find("sideways") != std::string::npos);
            }
            leave(false);
        },
        ::testing::ExitedWithCode(0), "");
}

}  // namespace
