// The program's own ends of streams: what its threads do as the stations that never fire.

#include "penstock/run.hpp"
#include "stream/run/run_core.hpp"

namespace penstock::streaming {
namespace {

void take_in(Station& station) {
    station.empty_box();
    if (station.stopping && !station.ended()) station.end();
}

template <class Side>
Station& station_of(Side* side, const Part& port) {
    if (side == nullptr)
        throw RunEnded("the port '" + port.name() + "' of the program's own belongs to no graph that runs");
    side->station->run().require_here();
    if (Server::current != nullptr)
        throw UsageError("the program's own end '" + side->station->name() +
                         "' of a stream cannot be used inside a filter");
    return *side->station;
}

/// Sends what is held back, running filters meanwhile. While an edit holds the station it sends nothing, as any other.
void send_all(Station& station, Outlet& outlet) {
    take_in(station);
    while (!station.ended() && (station.held || !outlet.flush())) {
        station.run().help_until([&] { return station.box.has_mail() || station.run().stopping(); }, "room in a stream",
                                 false, true, RunCore::Help::own);
        take_in(station);
    }
}

}  // namespace

void attend_program_end(Station& station) {
    const std::unique_lock lock(station.program, std::try_to_lock);
    if (!lock.owns_lock()) return;
    if (station.box.has_mail()) take_in(station);
    if (station.ended() || station.inlets.empty()) return;
    // one that an edit still wires has no link yet
    if (!station.unborn && station.inlets[0]->open_links == 0) station.end_reader();
}

void make_way_at(Station& station) {
    attend_program_end(station);
    const std::unique_lock lock(station.program, std::try_to_lock);
    if (lock.owns_lock()) station.free_room();
}

void close_program_end(Station& station) {
    const std::lock_guard lock(station.program);
    if (station.ended()) return;
    send_all(station, *station.outlets[0]);
    if (!station.ended()) station.end();
}

Block* program_make(OutputPort& port, std::size_t bytes) {
    Station& station = station_of(port.outlet, port);
    const std::lock_guard lock(station.program);
    return make_block(port.outlet->pool, bytes);
}

Block* program_wrap(OutputPort& port, std::span<const std::byte> values, std::shared_ptr<const void> holder) {
    Block* const block = program_make(port, 0);
    wrap(*block, values, std::move(holder));
    return block;
}

void program_write(OutputPort& port, Block* block) {
    Buffer<std::byte> held(block);
    Station& station = station_of(port.outlet, port);
    const std::lock_guard lock(station.program);
    take_in(station);
    if (station.ended())
        throw RunEnded("the stream of '" + station.name() + "' has ended: nothing can be written any more");
    port.outlet->write(held.release());
    send_all(station, *port.outlet);
}

void program_close(OutputPort& port) {
    if (port.outlet != nullptr) close_program_end(station_of(port.outlet, port));
}

Block* program_read(InputPort& port, bool wait) {
    Station& station = station_of(port.inlet, port);
    Inlet& inlet = *port.inlet;
    const std::lock_guard lock(station.program);
    for (;;) {
        take_in(station);
        if (Block* const block = station.take(inlet)) return block;
        if (inlet.open_links == 0) station.end_reader();
        if (station.over() || station.ended() || !wait) return nullptr;
        RunCore& run = station.run();
        run.help_until([&] { return station.box.has_mail() || run.stopping(); }, "a buffer", !run.program_writes(),
                       true, RunCore::Help::own);
        if (run.stopping() && !station.box.has_mail()) return nullptr;
    }
}

}  // namespace penstock::streaming
