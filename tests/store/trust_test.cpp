// What the kernel keeps from processes of other users (contract 18). Needs to be run by root, who can become somebody
// else.
#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "penstock/barrier.hpp"
#include "penstock/remote.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;

constexpr uid_t nobody = 65534;

/// Tries everything that a process of another user can try on the memory of `owner`. The number of attempts that got
/// through.
int attack(pid_t owner, const std::vector<std::string>& paths, const void* address, int inherited) {
    if (setgid(nobody) != 0 || setuid(nobody) != 0) return 99;
    int through = 0;
    for (const auto& path : paths)
        for (const int way : {O_RDONLY, O_RDWR}) {
            const int number = open(path.c_str(), way);
            if (number < 0) continue;
            ++through;
            close(number);
        }
    const auto memory = "/proc/" + std::to_string(owner) + "/mem";
    if (open(memory.c_str(), O_RDWR) >= 0) ++through;
    char byte = 0;
    iovec here{&byte, 1};
    iovec there{const_cast<void*>(address), 1};
    if (process_vm_readv(owner, &here, 1, &there, 1, 0) >= 0) ++through;
    if (process_vm_writev(owner, &here, 1, &there, 1, 0) >= 0) ++through;
    // Guessed descriptors lead to what was inherited and to nothing else.
    for (int number = inherited; number < 1'000; ++number)
        if (fcntl(number, F_GETFD) >= 0) ++through;
    return through;
}

TEST(Trust, a_process_of_another_user_gets_at_no_region) {
    SKIP_UNDER_THREAD_SANITIZER();
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    penstock::spmd(2,
                   [](Rank me) {
                       penstock::Region<int> region(me, "secret", 1'000);
                       region.grant(1 - me.index());
                       auto remote = penstock::Remote<int>::accept(me, 1 - me.index(), "secret");
                       std::vector<std::string> paths;
                       const auto own = "/proc/" + std::to_string(getpid());
                       for (const auto& entry : std::filesystem::directory_iterator(own + "/fd")) {
                           std::error_code ignored;
                           if (std::filesystem::read_symlink(entry.path(), ignored).string().find("penstock-") !=
                               std::string::npos)
                               paths.push_back(entry.path());
                       }
                       require(paths.size() >= 2, "there is something to steal");
                       const int opened = open(paths.front().c_str(), O_RDWR);
                       require(opened >= 0, "its own user could open it");
                       close(opened);
                       for (const auto& entry : std::filesystem::directory_iterator(own + "/map_files"))
                           paths.push_back(entry.path());
                       const pid_t stranger = fork();
                       if (stranger == 0) {
                           // A stranger has none of this program's descriptors.
                           for (int number = 3; number < 1'000; ++number) close(number);
                           _exit(attack(getppid(), paths, region.data(), 3));
                       }
                       int status = 0;
                       require(waitpid(stranger, &status, 0) == stranger && WIFEXITED(status),
                               "the stranger came to its end");
                       require(WEXITSTATUS(status) == 0, "nothing got through");
                       penstock::Barrier(me, "end").arrive_and_wait();
                   },
                   {.substrate = Substrate::processes});
}

}  // namespace
