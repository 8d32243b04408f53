// What frames bring to a run over several nodes.
#include "penstock/carried.hpp"
#include "stream/far/far_run.hpp"
#include "stream/run/run_state.hpp"

namespace penstock::streaming {
namespace {

bool is(const wire::FrameHead& head, FarKind kind) { return head.kind == number(kind); }

/// Does a buffer of these extents have so many bytes?
bool fits(const DataHead& head, std::uint64_t element, std::uint64_t bytes) {
    if (head.rank < 1 || head.rank > Block::max_rank) return false;
    if (head.skip != 0) return bytes == 0;
    std::uint64_t all = std::max<std::uint64_t>(element, 1);
    for (std::uint32_t i = 0; i < head.rank; ++i)
        if (__builtin_mul_overflow(all, head.extents[i], &all)) return false;
    return all == bytes;
}

}  // namespace

bool FarRun::quick(const wire::FrameHead& head) noexcept {
    return is(head, FarKind::data) || is(head, FarKind::credit) || is(head, FarKind::done);
}

FarLink& FarRun::link_numbered(std::uint32_t number, wire::Site from, bool out) {
    FarLink* const found = number < links_.size() ? links_[number].get() : nullptr;
    if (found == nullptr || found->out != out || found->station->site != from)
        throw Error("a node speaks of a stream that does not join it to this one");
    return *found;
}

void FarRun::open() {
    const std::lock_guard of_frames(delivering_);
    if (shut_) return;
    open_ = true;
    for (const auto& far : far_stations_) {
        const std::lock_guard guard(far->lock);
        if (!far->into.empty() || !far->out_of.empty() || std::exchange(far->over, true)) continue;
        far->station->end_reader();  // all that it is joined to runs elsewhere
    }
    for (auto& early : std::exchange(early_, {})) deliver(early.head, early.from, early.block, early.payload);
}

void FarRun::shut() {
    const std::lock_guard of_frames(delivering_);
    shut_ = true;
}

std::byte* FarRun::room(wire::Wire& wire, const wire::FrameHead& head) {
    if (is(head, FarKind::data)) {
        const auto data = head.as<DataHead>();
        const FarLink& far = link_numbered(data.link, wire.site, false);
        if (!fits(data, far.link->from->port->element().size, head.payload_bytes))
            throw Error("a buffer that came has another size than it says");
        Block* const block = patiently([&] { return make_block(far.link->from->pool, head.payload_bytes); });
        incoming_[wire.site] = block;
        return block->data;
    }
    if (!is(head, FarKind::event) || head.payload_bytes > 1 << 20) throw Error("a frame has a payload and should not");
    auto& bytes = incoming_bytes_[wire.site];
    bytes.resize(head.payload_bytes);
    return bytes.data();
}

void FarRun::abandoned(wire::Wire& wire) noexcept {
    if (Block* const block = std::exchange(incoming_[wire.site], nullptr)) give_back(block);
}

void FarRun::arrived(wire::Wire& wire, const wire::FrameHead& head) {
    frames_come_.fetch_add(1, std::memory_order_release);
    Block* block = std::exchange(incoming_[wire.site], nullptr);
    std::vector<std::byte> bytes;
    if (is(head, FarKind::event)) bytes = std::move(incoming_bytes_[wire.site]);
    if (is(head, FarKind::data) && block == nullptr) {  // without values
        const auto data = head.as<DataHead>();
        const FarLink& far = link_numbered(data.link, wire.site, false);
        if (!fits(data, far.link->from->port->element().size, 0))
            throw Error("a buffer that came has another size than it says");
        block = patiently([&] { return make_block(far.link->from->pool, 0); });
    }
    const std::lock_guard of_frames(delivering_);
    if (shut_) return block == nullptr ? void() : give_back(block);
    if (open_) return deliver(head, wire.site, block, bytes);
    early_.push_back({head, wire.site, block, std::move(bytes)});
}

void FarRun::deliver(const wire::FrameHead& head, wire::Site from, Block* block,
                     const std::vector<std::byte>& payload) {
    const auto station_numbered = [&](const auto& all) -> decltype(auto) {
        const auto number = head.as<StationHead>().station;
        if (number >= all.size() || all[number] == nullptr) throw Error("a node speaks of a filter that is not there");
        return *all[number];
    };
    switch (static_cast<FarKind>(head.kind)) {
        case FarKind::data: {
            const auto data = head.as<DataHead>();
            return deliver_block(*links_[data.link], data, block);
        }
        case FarKind::close:
            return take_close(link_numbered(head.as<LinkHead>().link, from, false));
        case FarKind::credit: {
            const auto given = head.as<CreditHead>();
            FarLink& far = link_numbered(given.link, from, true);
            const std::lock_guard guard(far.station->lock);
            return take_credit(far, given);
        }
        case FarKind::done: {
            const auto done = head.as<DoneHead>();
            FarLink& far = link_numbered(done.link, from, true);
            bool suspected = false;
            {
                const std::lock_guard guard(far.station->lock);
                suspected = take_done(far, done.order);
            }
            if (suspected) let_others_go_on(*far.station);  // takes the locks of others
            return;
        }
        case FarKind::ended: {
            FarStation& far = station_numbered(far_numbered_);
            if (far.site != from) throw Error("a node speaks of a filter that another one runs");
            const std::lock_guard guard(far.lock);
            return take_ended(far);
        }
        case FarKind::event: {
            carried::Decoder bytes(payload);
            auto [name, value] = carried::decode<std::pair<std::string, CarriedValue>>(bytes);
            if (bytes.left() != 0) throw Error("an event that came is longer than it says");
            Event event{std::move(name), setting_value(value)};
            if (here_ == 0 && head.as<StationHead>().station == StationHead::everybody) {
                (void)state_.send(event, "");
                return;
            }
            Station& station = station_numbered(stations_);
            auto mail = std::make_unique<EventMail>(std::move(event), nullptr);
            core_.post_counted(station, *mail);
            (void)mail.release();
            return;
        }
        case FarKind::stop:  // of the program, or of a node on which a filter has failed
            if (from != 0 && here_ != 0) throw Error("a node that is not the program ends the run");
            return core_.stop();
        case FarKind::close_all:
            if (from != 0) throw Error("a node that is not the program ends the run");
            return core_.close();
        default:
            throw Error("a frame is of no kind that there is");
    }
}

void FarRun::deliver_block(FarLink& far, const DataHead& head, Block* block) {
    Link& link = *far.link;
    block->kind = head.skip != 0 ? MailKind::skip : MailKind::buffer;
    block->order = head.order;
    block->written = head.written;
    block->tags = head.tags;
    block->tagged = head.tagged != 0;
    block->rank = head.rank;
    std::copy_n(head.extents.begin(), head.rank, block->extents.begin());
    if (far.tracked) {
        bool fresh = false;
        {
            const std::lock_guard guard(lock_);
            fresh = seen_[link.stream].add(head.order);
        }
        if (!fresh) {
            repeated_.fetch_add(1, std::memory_order_relaxed);
            const std::lock_guard guard(far.station->lock);
            ++far.arrived;
            ++far.repeated;
            far.arrived_bytes += block->bytes;
            far.repeated_bytes += block->bytes;
            give_back(block);
            return credit(far);
        }
    }
    {
        const std::lock_guard guard(far.station->lock);
        if (far.closed) [[unlikely]] {
            give_back(block);
            throw Error("a buffer came behind the end of its stream");
        }
        ++far.arrived;
        far.arrived_bytes += block->bytes;
    }
    note_entry(far, head.order);
    link.from->send_by(link, block);
}

void FarRun::take_close(FarLink& far) {
    const std::lock_guard guard(far.station->lock);
    if (std::exchange(far.closed, true)) return;  // a node that took another's place says it again
    link_closed(far);
}

void FarRun::link_closed(FarLink& far) {
    far.link->from->close_link(*far.link);
    --far.station->open;
    end_if_over(*far.station);
}

/// Says what has been taken since, if that is much. Under the far station's lock.
void FarRun::credit(FarLink& far) {
    Link& link = *far.link;
    auto many = std::max<std::uint64_t>((link.capacity.load(std::memory_order_relaxed) + least_window) / 4, 1);
    if (link.capacity_bytes != 0 && link.most_capacity == 0) many = std::min(many, link.free_of_bytes);
    for (;;) {
        const auto taken = link.taken.load(std::memory_order_seq_cst);
        const auto all = taken + far.repeated;
        const auto of_this = all - std::min(all, far.earlier);
        if (of_this - far.told >= many) {
            far.told = of_this;
            const auto bytes = link.taken_bytes.load(std::memory_order_relaxed) + far.repeated_bytes;
            put(*far.station, FarKind::credit,
                CreditHead{number_, far.number, of_this, bytes - std::min(bytes, far.earlier_bytes),
                           link.sink->ran_dry.load(std::memory_order_relaxed)},
                true);
        }
        if (!link.starvation.starve([&] { return link.taken.load(std::memory_order_seq_cst) != taken; })) return;
    }
}

// ---- at a tracked filter's node ----

void FarRun::note_entry(FarLink& far, std::uint64_t order) {
    const Station& sink = *far.link->sink;
    if (!sink.tracked) return;
    const std::lock_guard guard(lock_);
    entered_[&sink][order] = &far;
}

void FarRun::note_exit(Station& station, std::uint64_t order) {
    if (!station.tracked) return;
    FarLink* entry = nullptr;
    {
        const std::lock_guard guard(lock_);
        auto& entered = entered_[&station];
        const auto found = entered.find(order);
        if (found == entered.end()) return;
        entry = found->second;
        entered.erase(found);
    }
    put(*entry->station, FarKind::done, DoneHead{number_, entry->number, order}, true);
}

// ---- ends ----

void FarRun::station_ended(Station& station) noexcept {
    if (station.far != nullptr) return;
    if (here_ != 0 && core_.stopping() && !told_stop_.exchange(true))
        for (const auto& far : far_stations_)
            if (far->site == 0) {
                put(*far, FarKind::stop, RunHead{number_}, true);
                break;
            }
    {
        const std::lock_guard guard(lock_);
        ended_.push_back(&station);
        some_ended_.store(true, std::memory_order_relaxed);
    }
    say_ended();
}

/// Tells those who write to them, or read from them, of stations that have ended, once what these wrote has arrived.
void FarRun::say_ended() {
    if (!some_ended_.load(std::memory_order_relaxed)) return;
    std::vector<Station*> gone;
    {
        const std::lock_guard guard(lock_);
        if (ended_.empty()) return;
        gone = ended_;
    }
    for (Station* const station : gone) {
        bool arrived = true;
        std::vector<FarStation*> tell;  // one of each node
        const auto note = [&](FarStation* of) {
            if (std::ranges::find(tell, of->site, &FarStation::site) == tell.end()) tell.push_back(of);
        };
        for (const auto& far : links_) {
            if (far == nullptr) continue;
            if (far->out && far->link->from->station == station) {
                const std::lock_guard guard(far->station->lock);
                arrived = arrived && far->closed && far->in_flight == 0 && far->held.empty();
                note(far->station);
            } else if (!far->out && far->link->sink == station) {
                note(far->station);
            }
        }
        if (!arrived) continue;
        {
            const std::lock_guard guard(lock_);
            if (std::erase(ended_, station) == 0) continue;  // another thread says it
            some_ended_.store(!ended_.empty(), std::memory_order_relaxed);
            told_.push_back(station);
        }
        for (FarStation* const to : tell) put(*to, FarKind::ended, StationHead{number_, number_of(*station)}, true);
    }
}

/// To a node that is new: it was not there when they ended.
void FarRun::say_again(wire::Site site) {
    std::vector<Station*> all;
    {
        const std::lock_guard guard(lock_);
        all = told_;
    }
    const auto to = std::ranges::find(far_stations_, site, [](const auto& far) { return far->site; });
    for (Station* const station : all)
        if (to != far_stations_.end()) put(**to, FarKind::ended, StationHead{number_, number_of(*station)}, true);
}

std::uint32_t FarRun::number_of(const Station& station) const {
    return static_cast<std::uint32_t>(std::ranges::find(stations_, &station) - stations_.begin());
}

bool FarRun::idle() {
    {
        const std::lock_guard guard(lock_);
        if (!ended_.empty()) return false;
    }
    return std::ranges::all_of(far_stations_, [](const auto& far) {
        const std::lock_guard guard(far->lock);
        return std::ranges::all_of(far->into, [](const FarLink* each) { return each->in_flight == 0; });
    });
}

}  // namespace penstock::streaming
