#include "peers/openmpi.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace bench {
namespace {

#if defined(PENSTOCK_BENCH_OPENMPI)
[[noreturn]] void become_the_team(int in, int out, int ranks) {
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    const std::string count = std::to_string(ranks);
    // Its shared-memory transport and nothing else; each rank on a core of its own.
    execlp(PENSTOCK_BENCH_MPIEXEC, PENSTOCK_BENCH_MPIEXEC, "-n", count.c_str(), "--map-by", "core", "--bind-to", "core",
           "--mca", "pml", "ob1", "--mca", "btl", "self,vader", PENSTOCK_BENCH_OPENMPI, static_cast<char*>(nullptr));
    _exit(127);
}
#endif

}  // namespace

OpenMpi::OpenMpi([[maybe_unused]] int ranks) {
#if !defined(PENSTOCK_BENCH_OPENMPI)
    why_ = "peer missing: Open MPI (this program was built without it; install libopenmpi-dev and openmpi-bin)";
#else
    std::signal(SIGPIPE, SIG_IGN);  // a team that is gone is an answer that does not come
    int requests[2], answers[2];
    if (pipe(requests) != 0 || pipe(answers) != 0) throw std::runtime_error("no pipes left: cannot start Open MPI");
    process_ = fork();
    if (process_ == 0) {
        close(requests[1]);
        close(answers[0]);
        become_the_team(requests[0], answers[1], ranks);
    }
    close(requests[0]);
    close(answers[1]);
    to_ = fdopen(requests[1], "w");
    from_ = fdopen(answers[0], "r");
    version_ = process_ > 0 ? answer() : "";
    if (version_.find("Open MPI") == std::string::npos)
        why_ = "peer missing: Open MPI (" + std::string(PENSTOCK_BENCH_MPIEXEC) + " did not start " +
               std::to_string(ranks) + " ranks; its message stands above)";
#endif
}

OpenMpi::~OpenMpi() {
    if (to_) std::fclose(to_);  // which ends its ranks
    if (from_) std::fclose(from_);
    if (process_ > 0) waitpid(process_, nullptr, 0);
}

std::string OpenMpi::answer() {
    char line[256] = "";
    if (std::fgets(line, sizeof line, from_) == nullptr) return "";
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

Contestant OpenMpi::asked(const char* work, std::size_t bytes, std::uint32_t times, int width, double share) {
    const std::string request = std::string(work) + " " + std::to_string(bytes) + " " + std::to_string(times) + " " +
                                std::to_string(width) + "\n";
    return {"Open MPI", [this, request, share] {
                std::fputs(request.c_str(), to_);
                std::fflush(to_);
                const std::string nanoseconds = answer();
                if (nanoseconds.empty()) throw std::runtime_error("Open MPI's ranks ended at: " + request);
                return std::stod(nanoseconds) * share;
            }};
}

Contestant OpenMpi::half_round_trip(std::size_t bytes, std::uint32_t times) { return pairs(bytes, times, 1); }

Contestant OpenMpi::fan(std::size_t bytes, std::uint32_t times, int destinations) {
    return asked("fan", bytes, times, destinations, 1);
}

Contestant OpenMpi::pairs(std::size_t bytes, std::uint32_t times, int pairs) {
    return asked("pairs", bytes, times, pairs, 0.5);
}

}  // namespace bench
