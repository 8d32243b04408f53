// Where the system gives no more: an error where memory is asked for, and never a signal later.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>

#include "penstock/region.hpp"
#include "tests/store/program.hpp"

namespace {

using namespace store_tests;
using penstock::Region;
using penstock::SystemError;

constexpr std::size_t mib = std::size_t{1} << 20;

/// The number of the SystemError that `body` ends with; 0 when it ends well.
template <class Body>
int number_of(Body body) {
    try {
        body();
    } catch (const SystemError& error) {
        return error.number();
    }
    return 0;
}

void write_to(const std::string& file, const std::string& text) {
    std::ofstream out(file);
    out << text << std::flush;
    if (!out) throw std::runtime_error("cannot write to " + file);
}

/// A control group with a limit of memory, of its own and gone with this. Only root can make one, and not everywhere.
class LimitedGroup {
  public:
    explicit LimitedGroup(std::size_t bytes) {
        const auto name = "penstock-test-" + std::to_string(getpid());
        for (const std::string top : {"/sys/fs/cgroup/memory/", "/sys/fs/cgroup/"}) {
            const auto folder = top + name;
            if (mkdir(folder.c_str(), 0755) != 0) continue;
            for (const std::string limit : {"/memory.limit_in_bytes", "/memory.max"}) {
                if (access((folder + limit).c_str(), W_OK) != 0) continue;
                folder_ = folder;
                write_to(folder + limit, std::to_string(bytes));
                return;
            }
            rmdir(folder.c_str());
        }
    }
    LimitedGroup(const LimitedGroup&) = delete;
    LimitedGroup& operator=(const LimitedGroup&) = delete;
    ~LimitedGroup() {
        if (!folder_.empty()) rmdir(folder_.c_str());
    }
    explicit operator bool() const { return !folder_.empty(); }
    void enter() const { write_to(folder_ + "/cgroup.procs", std::to_string(getpid())); }

  private:
    std::string folder_;
};

TEST(Limits, a_region_beyond_the_memory_limit_of_the_control_group_is_an_error_at_its_making) {
    SKIP_UNDER_THREAD_SANITIZER();
    if (penstock_tests::address_sanitizer) GTEST_SKIP() << "the sanitizer itself takes more memory than the limit";
    const LimitedGroup group(96 * mib);
    if (!group) GTEST_SKIP() << "no control group of memory can be made here";
    for (const auto substrate : {Substrate::threads, Substrate::processes}) {
        Program limited([&] {
            group.enter();
            penstock::spmd(1,
                           [](Rank me) {
                               require(number_of([&] { Region<std::byte>(me, "too large", 256 * mib); }) == ENOMEM,
                                       "it is refused");
                               Region<std::byte> fits(me, "fits", 32 * mib);
                               std::ranges::fill(fits.elements(), std::byte{1});  // and what was made is there
                           },
                           {.substrate = substrate});
        });
        EXPECT_EQ(limited.code(), 0) << penstock::name(substrate);
    }
}

TEST(Limits, a_region_for_which_there_is_no_descriptor_is_an_error_at_its_making) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto program = [](Rank me) {
        Region<int> before(me, "before", 10);
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        const rlimit none{3, limit.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
        const int number = number_of([&] { Region<int>(me, "one too many", 10); });
        setrlimit(RLIMIT_NOFILE, &limit);
        require(number == EMFILE, "the limit is named");
        before[9] = 1;
        Region<int>(me, "after", 10);
    };
    penstock::spmd(1, program, {.substrate = Substrate::processes});
}

TEST(Limits, a_team_for_which_there_are_no_descriptors_is_an_error_and_leaves_nothing_behind) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto body = [] {
        penstock::spmd(1, [](Rank) {}, {.substrate = Substrate::processes});  // what is opened once is open now
        const auto before = open_descriptors();
        const int number = number_of([] { penstock::spmd(50, [](Rank) {}, {.substrate = Substrate::processes}); });
        require(number == EMFILE, "the limit is named");
        require(open_descriptors() == before, "nothing is left behind");
        penstock::spmd(2, [](Rank) {}, {.substrate = Substrate::processes});
    };
    EXPECT_EQ(with_few_descriptors(30, body), 0);
}

TEST(Limits, nobody_writes_beyond_the_end_of_shared_memory_by_its_descriptor) {
    const auto memory = penstock::SharedMemory::create("test", 8'192);
    const char byte = 1;
    EXPECT_EQ(pwrite(memory.descriptor(), &byte, 1, 8'192), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_NE(fallocate(memory.descriptor(), FALLOC_FL_PUNCH_HOLE, 0, 4'096), 0)
        << "a hole needs the flag that keeps the size";
    struct stat status{};
    ASSERT_EQ(fstat(memory.descriptor(), &status), 0);
    EXPECT_EQ(status.st_size, 8'192);
}

}  // namespace
