// A thread of the runtime's own: signals of the program are for the program's threads.
#pragma once

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "penstock/detail/machine/waiter.hpp"
#include "penstock/error.hpp"
#include "penstock/topology.hpp"

namespace penstock::process {

/// Runs `body` in a thread to which no signal from elsewhere is delivered. Throws SystemError.
template <class Body>
std::thread quiet_thread(const char* name, Body body) {
    sigset_t quiet, before;
    sigfillset(&quiet);
    // Whoever handles a fault of the thread itself, to say where, wants to know of this thread too.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&quiet, fault);
    pthread_sigmask(SIG_SETMASK, &quiet, &before);  // inherited by the thread
    const struct Restored {
        const sigset_t& mask;
        ~Restored() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
    } restored{before};
    try {
        return std::thread([name, body = std::move(body)] {
            name_this_thread(name);
            waiting::be_always_brief();
            body();
        });
    } catch (const std::system_error& error) {
        throw SystemError(std::string("cannot start the thread '") + name + "'", error.code().value());
    }
}

}  // namespace penstock::process
