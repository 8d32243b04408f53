// What a model becomes in a run: stations for the copies of its filters, links for its streams.
#pragma once

#include <map>
#include <tuple>

#include "stream/description/adjacency.hpp"
#include "stream/run/run_core.hpp"

namespace penstock::streaming {

/// A link by what it stands for: stream, copy of the source, copy of the sink.
using LinkName = std::tuple<std::uint64_t, int, int>;

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
    /// Keeps a station, as one of the run.
    Station& keep(std::unique_ptr<Station> station);

    std::unique_ptr<Station> make_station(const Adjacency& adjacency, const FilterModel& filter, int copy) const;
    std::unique_ptr<Link> make_link(const Model& model, const StreamModel& stream, int source_copy,
                                    int sink_copy) const;
    void set_capacity(const Model& model, const StreamModel& stream, Link& link) const;
    /// The outlets' lists of sinks, as the model says, out of the links that there are. For stations that do not fire.
    void set_branches(const Adjacency& adjacency, std::uint64_t filter, Station& station) const;
    void begin(Station& station) const;

  private:
    void build_loops(const Adjacency& adjacency);
    Link* only_sink_to_fuse(const Adjacency& adjacency, const Outlet& outlet) const;

    RunCore& run_;
    std::size_t local_store_bytes_;
};

}  // namespace penstock::streaming
