// A thread of the runtime's own: signals of the program are for the program's threads.
#pragma once

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "penstock/error.hpp"
#include "penstock/topology.hpp"

namespace penstock::team {

/// Runs `body` in a thread to which no signal is delivered. Throws SystemError.
template <class Body>
std::thread quiet_thread(const char* name, Body body) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the thread
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
        throw SystemError("cannot start a thread that watches over a team", error.code().value());
    }
}

}  // namespace penstock::team
