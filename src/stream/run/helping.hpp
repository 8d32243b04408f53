// A thread that runs a run's stations while it waits for something, for the length of a turn.
#pragma once

#include "stream/run/run_core.hpp"
#include "stream/run/server.hpp"

namespace penstock::streaming {

class Helping {
  public:
    explicit Helping(RunCore& run) noexcept : server(run, Server::helper), run_(run), here_(server) {
        run_.begin_help();
    }
    ~Helping() { run_.end_help(); }
    Helping(const Helping&) = delete;
    Helping& operator=(const Helping&) = delete;

    Server server;

  private:
    RunCore& run_;
    Server::Here here_;
};

}  // namespace penstock::streaming
