// An application at work: a thread, made when the first event comes, takes the events for its managers, and changes the
// graph one event after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "language/plan/plan.hpp"
#include "penstock/edit.hpp"
#include "process/fork.hpp"

namespace penstock::language {

struct RunningApplication {
    RunningApplication(std::shared_ptr<const Plan> of, Machine& machine, const RunOptions& options);
    ~RunningApplication();
    RunningApplication(const RunningApplication&) = delete;
    RunningApplication& operator=(const RunningApplication&) = delete;

    /// Whether a manager has a rule for it. Called by whoever sends, with the run's structure locked.
    bool take(const Event& event);
    void serve();
    void obey(const std::string& event);
    void end() noexcept;

    const Origin origin{};
    const std::shared_ptr<const Plan> plan;
    std::mutex lock;  ///< of what follows
    std::condition_variable changed;
    std::deque<std::string> events;
    bool busy = false, ending = false;
    std::vector<bool> on;
    std::exception_ptr failure;

    // The thread's own: components as they are now, with the settings and classes that events gave them.
    std::vector<PlanComponent> components;
    Graph graph;
    Run run;
    std::thread thread;
};

}  // namespace penstock::language
