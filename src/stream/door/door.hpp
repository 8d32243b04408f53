// The door of a run: a name under which other processes of the same user can look at it and send events to it.
//
// A visitor connects to a Unix socket and speaks HTTP; what is said and answered is JSON (docs/door.md):
//     GET  /v1/graph          the graph and its figures (json_of), with "name" and "process"
//     GET  /v1/watch?every=S  the same, a line each S seconds, until the run ends
//     GET  /v1/report         "report": what each filter does and what it waits for, in words
//     GET  /v1/xml            "xml": the graph as an application
//     GET  /v1/components     the component classes that edits may name
//     POST /v1/events         {"name", "value", "to"}: "reached", how many filters got it
//     POST /v1/edits          {"edits": [...]} (remote_edit.hpp): all of them, or none and "problems"
//     POST /v1/close, /v1/stop
// What cannot be done is answered with "error". One thread serves all visitors; it sleeps in poll() and touches nothing
// of the run meanwhile. It makes edits, too: until the filters that one touches have ended their firings, others wait.
#pragma once

#include <list>
#include <string_view>
#include <thread>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/stream_options.hpp"
#include "stream/door/http.hpp"

namespace penstock::streaming {

struct RunState;

class Door {
  public:
    static constexpr const char* space = "penstock-run";
    static constexpr std::size_t longest_name = 64;

    /// A door with the name that the options or the environment give; null when neither does. Throws UsageError for a
    /// name that cannot be or that the options give and another run has, SystemError. A name of the environment that is
    /// taken gets a number behind it.
    static std::unique_ptr<Door> open(RunState& run, const RunOptions& options);
    ~Door();

    const std::string& name() const noexcept { return name_; }
    /// Lets visitors in from now on. Throws SystemError.
    void serve();
    /// Nobody is in any more when this returns. Not on the door's own thread.
    void close() noexcept;

  private:
    struct Visitor {
        OwnedDescriptor connection;
        std::chrono::steady_clock::time_point until;
        std::string heard{};
        std::string answer{};  ///< not empty once there is one
        std::size_t said = 0;
        /// Who watches: how often, and when next; else 0
        std::chrono::nanoseconds every{0};
        std::chrono::steady_clock::time_point next{};
    };

    Door(RunState& run, std::string name, OwnedDescriptor listening);
    void attend_all() noexcept;
    void step();
    void let_in();
    /// False when the visitor is to go.
    bool listen_to(Visitor& visitor);
    bool speak_to(Visitor& visitor);
    void answer(Visitor& visitor, const HttpRequest& request);
    std::string answer_to(const HttpRequest& request);
    std::string graph();
    /// Looks again for those who watch and whose time has come. Milliseconds until the next one's, at most 100.
    int look_again();

    RunState& run_;
    std::string name_;
    OwnedDescriptor listening_;
    OwnedDescriptor stop_;  ///< an eventfd
    std::list<Visitor> visitors_;
    bool no_descriptors_ = false;  ///< so nobody can be let in for a while
    int process_;                  ///< a forked child has no thread
    std::thread thread_;           ///< last: it uses the others
};

}  // namespace penstock::streaming
