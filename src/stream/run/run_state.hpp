// What a Run keeps.
#pragma once

#include "penstock/run.hpp"
#include "stream/door/door.hpp"
#include "stream/run/pressure.hpp"
#include "stream/run/run_core.hpp"
#include "task/calls/machine_end.hpp"

namespace penstock::streaming {

class FarRun;
struct Placement;

/// A link by what it stands for: stream, copy of the source, copy of the sink.
using LinkName = std::tuple<std::uint64_t, int, int>;

/// What a model becomes in a run: stations for the copies of its filters, links for its streams.
class Wiring {
  public:
    explicit Wiring(RunCore& run) : run_(run), local_store_bytes_(run.machine().initiator().local_store_bytes()) {}

    /// Stations and links for all of the model; nothing fires yet.
    void build(const Model& model);
    /// Everything begins.
    void begin();

    /// Stations of the copies of each filter.
    std::map<std::uint64_t, std::vector<Station*>> crews;
    std::map<LinkName, Link*> links;
    /// Stations that are the program's own ends of streams; locked by the run's `structure`.
    std::vector<Station*> program_ends;
    /// Has there ever been one? Whoever helps asks behind each firing.
    std::atomic<bool> any_program_end{false};
    FarRun* far = nullptr;  ///< of a run over several nodes
    /// Keeps a station, as one of the run.
    Station& keep(std::unique_ptr<Station> station);

    std::unique_ptr<Station> make_station(const Adjacency& adjacency, const FilterModel& filter, int copy) const;
    std::unique_ptr<Link> make_link(const Model& model, const StreamModel& stream, int source_copy,
                                    int sink_copy) const;
    void set_capacity(const Model& model, const StreamModel& stream, Link& link) const;
    /// The outlets' lists of sinks, as the model says, out of the links that there are. For stations that do not fire.
    void set_branches(const Adjacency& adjacency, std::uint64_t filter, Station& station) const;
    void begin(Station& station) const;
    /// Of all stations.
    void set_depths(const Adjacency& adjacency) const;

  private:
    void build_loops(const Adjacency& adjacency);
    Link* sink_to_fuse(const Adjacency& adjacency, const Outlet& outlet) const;

    RunCore& run_;
    std::size_t local_store_bytes_;
};

/// Counters of copies of one filter, added up.
struct FilterCounts {
    FilterStatistics figures{};  ///< those that are counters
    std::uint64_t service_ticks = 0, sampled = 0;
    std::uint64_t ready_ticks = 0, input_ticks = 0, output_ticks = 0;
    std::uint64_t lived_ticks = 0;  ///< from birth until they were added

    void add(const Station& station);
};

/// Counters of links of one stream, added up.
struct StreamCounts {
    std::uint64_t buffers = 0, posted = 0, right_behind = 0, bytes = 0, dropped = 0;
    std::uint64_t capacity = 0, sinks = 0;  ///< of links that there are

    void add(const Link& link);
};

struct RunState final : MachineEnd::Stoppable {
    /// `resolved`: what is described, behind resolve_places().
    RunState(Machine& machine, Model resolved);
    ~RunState();
    /// Checks everything and makes it; nothing fires yet. `prepare`: before there are stations. Throws as
    /// Graph::start() does.
    static std::unique_ptr<RunState> make(Machine& machine, Model& described, const RunOptions& options,
                                          const std::function<void(RunState&)>& prepare = {});
    /// Everything begins.
    void begin();
    /// Before there are stations: other nodes run some of them.
    void spread_over(Placement placement, std::uint32_t here, std::uint32_t number);

    Model model;  ///< as it runs now
    RunCore core;
    Wiring wiring;
    const std::shared_ptr<MachineEnd> end_of_machine;
    std::atomic<bool> finished{false};
    std::mutex settling;
    const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point ended{};  ///< once it has
    std::chrono::steady_clock::time_point end_or_now() const {
        return finished ? ended : std::chrono::steady_clock::now();
    }
    /// Number of filters that got it.
    int send(const Event& event, const std::string& to, const std::shared_ptr<const void>& beat = {});
    /// The same. Throws UsageError when nobody gets it, RunEnded.
    int send_to_some(const Event& event, const std::string& to);
    /// An event of a timer is left out while the one before waits, and where the time of the next has come already:
    /// they do not pile up.
    void send_again(std::chrono::steady_clock::time_point when, Event event, std::string to,
                    std::chrono::nanoseconds period, std::weak_ptr<const void> before = {});
    std::function<bool(const Event&)> listener{};  ///< under the structure's lock
    std::mutex editing;                            ///< one edit at a time
    TimerThread timer{};                           ///< what is to be done beside the filters
    /// What copies that were retired and links that were taken away have counted, by their numbers in the model: the
    /// figures of their filters and streams go on with it. Under the core's `structure`.
    struct {
        std::map<std::uint64_t, FilterCounts> filters;
        std::map<std::uint64_t, StreamCounts> streams;
    } earlier;
    Pressure pressure{*this};

    /// Takes in what has come to the program's own ends; ends those that have nothing to come.
    void attend_program_ends() { at_program_ends(&attend_program_end); }
    /// Takes what has come to the program's own reading ends out of the streams' room, because the program waits for an
    /// edit and does not read.
    void make_way() { at_program_ends(&make_way_at); }
    /// Checks the edit, then makes it. Not inside a filter.
    void edit(const std::function<void(Edit&)>& describe);
    /// As core.keep_open(). Throws RunEnded.
    RunCore::KeptOpen keep_open();
    /// Makes the edit. The caller holds `editing`.
    void change_to(const Model& wished);
    /// Has it made by the run's own thread.
    void edit_later(std::function<void(Edit&)> describe);
    /// Runs filters on this thread too until all have ended, then settle(). `of_program`: the program waits, not
    /// somebody who stops the run: stalls are reported, and its look_while_waiting is called.
    void help_to_the_end(bool of_program, RunCore::Help help = RunCore::Help::all);
    /// All have ended: waits until nothing of the run is at work any more.
    void settle();
    /// Ends all filters without firing them again, and waits for that. Not inside a filter.
    void stop();
    /// The same. Does not give up where there is no memory.
    void stop_for_good();
    void stop_for_end() noexcept override;
    RunStatistics statistics();
    /// Of what runs in this process alone.
    RunStatistics own_statistics();
    std::vector<NodeStatistics> statistics_by_node();
    /// The graph as it is now.
    GraphDescription description();
    struct Seen {
        GraphDescription graph;
        RunStatistics figures;
    };
    /// Both, with no edit between the two.
    Seen seen() {
        const std::lock_guard lock(core.structure);
        return {description(), statistics()};
    }

    /// Nothing while an edit changes which there are.
    void at_program_ends(void (*act)(Station&));

    std::unique_ptr<FarRun> far{};  ///< of a run over several nodes
    std::unique_ptr<Door> door{};   ///< last, because it uses the others
};

}  // namespace penstock::streaming
