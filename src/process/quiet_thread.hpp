// A thread of the runtime's own: signals of the program are for the program's threads.
#pragma once

#include <pthread.h>

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "penstock/error.hpp"
#include "penstock/topology.hpp"

namespace penstock::process {

/// All signals but those that say that the thread itself went wrong: whoever handles these, to say where, wants to know
/// of this thread too.
inline sigset_t all_but_faults() noexcept {
    sigset_t signals;
    sigfillset(&signals);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&signals, fault);
    return signals;
}

/// Runs `body` in a thread to which no signal from elsewhere is delivered. Throws SystemError.
template <class Body>
std::thread quiet_thread(const char* name, Body body) {
    const sigset_t quiet = all_but_faults();
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, &quiet, &before);  // inherited by the thread
    const struct Restored {
        const sigset_t& mask;
        ~Restored() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
    } restored{before};
    try {
        return std::thread([name, body = std::move(body)] {
            name_this_thread(name);
            body();
        });
    } catch (const std::system_error& error) {
        throw SystemError(std::string("cannot start the thread '") + name + "'", error.code().value());
    }
}

}  // namespace penstock::process
