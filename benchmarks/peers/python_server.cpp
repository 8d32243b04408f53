#include "peers/python_server.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace bench {
namespace {

const char* python() {
    if (const char* chosen = std::getenv("PENSTOCK_BENCH_PYTHON")) return chosen;
#if defined(PENSTOCK_BENCH_DEFAULT_PYTHON)
    return PENSTOCK_BENCH_DEFAULT_PYTHON;
#else
    return "python3";
#endif
}

[[noreturn]] void become_the_server(const char* script, int in, int out, int threads) {
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    const std::string count = std::to_string(threads);
    for (const char* variable : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"})
        setenv(variable, count.c_str(), 1);
    execlp(python(), python(), script, static_cast<char*>(nullptr));
    _exit(127);
}

}  // namespace

PythonServer::PythonServer(const char* script, int threads) {
    std::signal(SIGPIPE, SIG_IGN);  // a server that is gone is an answer that does not come
    int requests[2], answers[2];
    if (pipe(requests) != 0 || pipe(answers) != 0)
        throw std::runtime_error("no pipes left: cannot start Python's process");
    process_ = fork();
    if (process_ == 0) {
        close(requests[1]);
        close(answers[0]);
        become_the_server(script, requests[0], answers[1], threads);
    }
    close(requests[0]);
    close(answers[1]);
    to_ = fdopen(requests[1], "w");
    from_ = fdopen(answers[0], "r");
    available_ = process_ > 0 && answer() == "ready";
}

PythonServer::~PythonServer() {
    std::fclose(to_);
    std::fclose(from_);
    if (process_ > 0) waitpid(process_, nullptr, 0);
}

std::string PythonServer::answer() {
    char line[256] = "";
    if (std::fgets(line, sizeof line, from_) == nullptr) return "";
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::string PythonServer::ask(const std::string& request) {
    std::fputs((request + "\n").c_str(), to_);
    std::fflush(to_);
    return answer();
}

double PythonServer::nanoseconds(const std::string& request) {
    const std::string number = ask(request);
    if (number.empty()) throw std::runtime_error("the Python process ended at: " + request);
    return std::stod(number);
}

}  // namespace bench
