// How a run over several nodes is made, and what those of its stations that run elsewhere do for whoever posts to them.
#include "stream/far/far_run.hpp"

#include "penstock/carried.hpp"
#include "penstock/described_filter.hpp"
#include "stream/run/run_state.hpp"

namespace penstock::streaming {
namespace {

// What a link between nodes may hold beyond its capacity, at most; many bytes.
constexpr std::uint64_t most_window = 4096, window_bytes = std::uint64_t{32} << 20;

/// Stands for a filter that another node runs.
class FarFilter final : public DescribedFilter {
  public:
    FarFilter(const FilterDescription& description, bool events) : DescribedFilter(description), events_(events) {}
    bool fire() override { return false; }
    bool handles_events() const noexcept override { return events_; }

  private:
    bool events_;
};

struct FarFilterKind final : FilterKind {
    FarFilterKind() { external = true; }
    std::unique_ptr<AnyFilter> make() const override { return nullptr; }
};

FilterDescription description_of_ports(const FilterModel& filter) {
    FilterDescription text;
    text.name = filter.name;
    text.type = filter.first->type();
    for (const auto* port : filter.first->inputs)
        text.inputs.push_back({port->name(), port->element(), port->options().required, port->options().at_least});
    for (const auto* port : filter.first->outputs) text.outputs.push_back({port->name(), port->element()});
    return text;
}

}  // namespace

FarRun::FarRun(RunState& state, Placement placement, wire::Site here, std::uint32_t number)
    : state_(state), core_(state.core), placement_(std::move(placement)), here_(here), number_(number) {}

void FarRun::leave() {
    for (const auto& far : far_stations_) {
        const std::lock_guard guard(far->lock);
        if (const auto wire = std::exchange(far->wire, nullptr)) wire->disown(*this);
    }
    const std::lock_guard guard(lock_);
    program_ = nullptr;
}

FarRun::~FarRun() {
    if (leaving) leaving();
    for (auto& link : links_) {
        if (link == nullptr) continue;
        for (auto& [order, kept] : link->kept)
            if (kept.block != nullptr) give_back(kept.block);
        while (!link->held.empty()) give_back(link->held.pop());
    }
    for (auto& [site, block] : incoming_)
        if (block != nullptr) give_back(block);
    for (auto& early : early_)
        if (early.block != nullptr) give_back(early.block);
}

// ---- while it is made ----

std::unique_ptr<Station> FarRun::make_station(const FilterModel& filter, int copy) {
    FilterOptions options;
    options.on_failure = filter.options.on_failure;
    auto station = std::make_unique<Station>(
        core_, filter.id, filter.name, copy,
        std::make_shared<FarFilter>(description_of_ports(filter), filter.first->handles_events()), FarFilterKind(),
        options);
    station->box.begin_at_rest();
    auto& far = *far_stations_.emplace_back(std::make_unique<FarStation>(*this));
    far.station = station.get();
    far.site = placement_.of(filter.id, copy);
    station->far = &far;
    return station;
}

void FarRun::know(Station& station, std::uint32_t number) {
    if (station.far != nullptr) station.far->number = number;
    stations_.push_back(station.far == nullptr ? &station : nullptr);
    far_numbered_.push_back(station.far);
}

void FarRun::widen(Link& link) {
    const auto capacity = link.capacity.load(std::memory_order_relaxed);
    const bool in_bytes = link.capacity_bytes != 0 && link.most_capacity == 0;  // somebody has asked for that
    link.capacity.store(capacity + least_window, std::memory_order_relaxed);
    link.least_capacity = capacity + least_window;
    link.most_capacity = capacity + most_window;
    link.many_bytes = 2 * window_bytes;
    if (in_bytes) link.capacity_bytes += window_bytes;
    else link.capacity_bytes = 0;
}

void FarRun::know(const StreamModel& stream, Link* link) {
    Station* const source = link == nullptr ? nullptr : link->from->station;
    const bool far_source = source != nullptr && source->far != nullptr;
    const bool far_sink = link != nullptr && link->sink->far != nullptr;
    if (far_source == far_sink) {
        links_.push_back(nullptr);
        return;
    }
    auto& made = *links_.emplace_back(std::make_unique<FarLink>());
    made.link = link;
    made.number = static_cast<std::uint32_t>(links_.size() - 1);
    made.out = far_sink;
    made.station = far_sink ? link->sink->far : source->far;
    const auto tracked_filter = [&](std::uint64_t filter) { return state_.model.filter(filter)->options.tracked(); };
    made.tracked = tracked_filter(far_sink ? stream.to : stream.from);
    by_link_[link] = &made;
    (far_sink ? made.station->into : made.station->out_of).push_back(&made);
    if (far_sink) return widen(*link);
    ++made.station->open;
    // From the first buffer on that is taken, whoever takes one says so.
    link->starvation.starve([] { return false; });
}

std::vector<wire::Site> FarRun::peers() const {
    std::vector<wire::Site> all;
    for (const auto& station : far_stations_)
        if ((!station->into.empty() || !station->out_of.empty()) && std::ranges::find(all, station->site) == all.end())
            all.push_back(station->site);
    return all;
}

void FarRun::set_wire(wire::Site site, std::shared_ptr<wire::Wire> wire) {
    if (site == 0) {
        const std::lock_guard guard(lock_);
        program_ = wire;
    }
    for (const auto& far : far_stations_) {
        const std::lock_guard guard(far->lock);
        if (far->site == site) far->wire = wire;
    }
}

Station* FarRun::station_of(const std::string& filter, int copy) const {
    for (const auto& far : far_stations_)
        if (far->station->name() == filter && far->station->copy() == copy) return far->station;
    return nullptr;
}

void FarRun::tell(FarKind what) noexcept {
    if (here_ != 0 || (what == FarKind::stop && told_stop_.exchange(true))) return;
    std::vector<wire::Site> told;
    for (const auto& far : far_stations_) {
        if (std::ranges::find(told, far->site) != told.end()) continue;
        told.push_back(far->site);
        put(*far, what, RunHead{number_}, true);
    }
}

// ---- at the writer ----

void FarStation::attend() {
    do {
        std::shared_ptr<wire::Wire> to;
        {
            const std::lock_guard guard(lock);
            for (Mail* mail = station->box.take_all(); mail != nullptr;) {
                Mail* const next = mail->next;
                run.take(*this, mail);
                mail = next;
            }
            to = wire;
        }
        if (to != nullptr) to->flush();
    } while (!station->box.rest());
    run.say_ended();
}

std::string FarStation::text() {
    const std::lock_guard guard(lock);
    if (into.empty() && out_of.empty()) return {};
    std::uint64_t sent = 0, flying = 0;
    for (const FarLink* const link : into) {
        sent += link->tracked ? link->kept.size() : link->posted - link->link->taken.load(std::memory_order_relaxed);
        flying += link->in_flight;
    }
    return "  '" + station->name() + "'" + (station->several_copies ? " copy " + std::to_string(station->copy()) : "") +
           " runs on node " + std::to_string(site) + (wire == nullptr ? ", which is being replaced" : "") +
           (ended ? ", and has ended" : "") + ": " + std::to_string(sent) + " buffers from here are there, " +
           std::to_string(flying) + " of them on their way\n";
}

void FarRun::take(FarStation& far, Mail* mail) {
    switch (mail->kind) {
        case MailKind::buffer:
        case MailKind::skip:
            send(link_of(*static_cast<Link*>(mail->from)), static_cast<Block*>(mail));
            break;
        case MailKind::close: {
            Link& link = *static_cast<Link*>(mail->from);
            link.accepted.store(mail->number + 1, std::memory_order_release);
            link_of(link).closed = true;
            put_close(link_of(link));
            end_if_over(far);
            break;
        }
        case MailKind::room: {
            auto* const link = static_cast<Link*>(mail->from);
            if (link == nullptr) break;
            link->starvation.arrived();
            credit(link_of(*link));
            break;
        }
        case MailKind::event: {
            const std::unique_ptr<EventMail> owned(static_cast<EventMail*>(mail));
            if (far.wire != nullptr && !far.ended) put_event(*far.wire, far.number, owned->event);
            far.station->count_handled();
            break;
        }
        default:
            far.station->accept(mail);
            if (far.station->stopping) stop(far);
    }
}

void FarRun::put_event(wire::Wire& to, std::uint32_t station, const Event& event) {
    carried::Encoder bytes;
    carried::encode(bytes, std::pair(event.name, carried_value(event.value)));
    frames_sent_.fetch_add(1, std::memory_order_release);
    to.put(wire::FrameHead::of(streaming::number(FarKind::event), StationHead{number_, station}), bytes.all());
}

void FarRun::raise(const Event& event) {
    std::shared_ptr<wire::Wire> to;
    {
        const std::lock_guard guard(lock_);
        to = program_;
    }
    if (to == nullptr) return;
    put_event(*to, StationHead::everybody, event);
    to->flush();
}

/// The run was stopped: nothing of what is under way matters any more.
void FarRun::stop(FarStation& far) {
    tell(FarKind::stop);
    stopped_.store(true, std::memory_order_relaxed);
    far.ended = true;
    for (FarLink* const each : far.into) each->closed = true;
    if (!std::exchange(far.over, true)) far.station->end_reader();
}

void FarRun::send(FarLink& far, Block* block) {
    Link& link = *far.link;
    link.accepted.store(block->number + 1, std::memory_order_release);
    ++far.posted;
    far.posted_bytes += block->bytes;
    if (far.station->ended) return drop(far, block);
    if (far.tracked && !far.kept.emplace(block->order, KeptBlock{block}).second) {
        core_.broken(std::make_exception_ptr(
            Error("two buffers for the filter '" + far.station->station->name() +
                  "', which other nodes may have to take over, have the same number in their order")));
        return drop(far, block);
    }
    if (link.when_full.load(std::memory_order_relaxed) == WhenStreamFull::drop_oldest &&
        far.in_flight >= link.queue_limit.load(std::memory_order_relaxed) + least_window) [[unlikely]] {
        far.held.push(block);
        if (far.held.size() <= link.queue_limit.load(std::memory_order_relaxed)) return;
        ++link.displaced;
        return drop(far, far.held.pop());
    }
    put_block(far, block);
}

void FarRun::put_block(FarLink& far, Block* block) {
    const auto& wire = far.station->wire;
    if (wire == nullptr || far.waits) {
        if (!far.tracked) drop(far, block);
        return;  // else another node will get it
    }
    DataHead head{.run = number_,
                  .link = far.number,
                  .order = block->order,
                  .written = block->written,
                  .tags = block->tags,
                  .extents = {},
                  .rank = block->rank,
                  .tagged = block->tagged,
                  .skip = block->kind == MailKind::skip};
    const auto element = std::max<std::size_t>(far.link->from->port->element().size, 1);
    std::uint64_t bytes = element;
    for (std::uint32_t i = 0; i < block->rank; ++i) bytes *= head.extents[i] = block->extents[i];
    if (bytes != block->bytes) head.rank = 1, head.extents = {block->bytes / element, 0, 0};
    if (far.tracked) {
        auto& kept = far.kept[block->order];
        kept.under_way = kept.given = true;
    }
    ++far.in_flight;
    if (!far.window.measures())
        far.window.begin_round(far.posted, far.link->taken.load(std::memory_order_relaxed),
                               std::chrono::steady_clock::now());
    frames_sent_.fetch_add(1, std::memory_order_release);
    wire->put(wire::FrameHead::of(streaming::number(FarKind::data), head), {block->data, block->bytes}, this, block);
}

/// Behind its last buffer.
void FarRun::put_close(FarLink& far) {
    if (far.closed && far.held.empty()) put(*far.station, FarKind::close, LinkHead{number_, far.number});
}

/// Nobody will read it: it takes no room.
void FarRun::drop(FarLink& far, Block* block) {
    if (block->kind == MailKind::buffer) tally(far.station->station->dropped);
    const auto bytes = block->bytes;
    ++far.base;  // the node will not count it
    far.base_bytes += bytes;
    if (const auto kept = far.kept.find(block->order); kept != far.kept.end() && kept->second.block == block)
        far.kept.erase(kept);
    give_back(block);
    Link& link = *far.link;
    give_credit(far, link.taken.load(std::memory_order_relaxed) + 1,
                link.taken_bytes.load(std::memory_order_relaxed) + bytes);
}

void FarRun::give_credit(FarLink& far, std::uint64_t taken, std::uint64_t bytes) {
    Link& link = *far.link;
    link.taken_bytes.store(bytes, std::memory_order_relaxed);
    link.taken.store(taken, std::memory_order_seq_cst);
    if (link.starvation.must_tell()) core_.post(*link.from->station, &link.room_mail);
}

void FarRun::take_credit(FarLink& far, const CreditHead& head) {
    if (far.station->ended) return;
    if (head.taken > far.posted - far.base || head.taken_bytes > far.posted_bytes - far.base_bytes)
        throw Error("a node has taken more than it was sent");
    Link& link = *far.link;
    const auto before = link.taken.load(std::memory_order_relaxed), taken = far.base + head.taken;
    if (taken < before) throw Error("a node has taken fewer buffers than it said before");
    const auto bytes = far.posted_bytes / std::max<std::uint64_t>(far.posted, 1);  // of one
    const auto most = std::min(link.most_capacity, std::max(link.least_capacity, window_bytes / std::max(bytes, 1ul)));
    const auto room = link.capacity.load(std::memory_order_relaxed);
    const auto now = far.window.credit(far.posted, before, taken, head.ran_dry, room, {link.least_capacity, most},
                                       std::chrono::steady_clock::now);
    if (now != room) link.capacity.store(now, std::memory_order_relaxed);
    give_credit(far, taken, far.base_bytes + head.taken_bytes);
}

void FarRun::let_go(void* what, bool arrived) noexcept {
    auto* const block = static_cast<Block*>(what);
    FarLink& far = link_of(*static_cast<Link*>(block->from));
    Station& writer = *far.link->from->station;
    const auto order = block->order;
    {
        const std::lock_guard guard(far.station->lock);
        --far.in_flight;
        if (far.tracked) {
            const auto kept = far.kept.find(order);
            if (kept != far.kept.end()) kept->second.under_way = false;
            if (kept != far.kept.end() && kept->second.done) forget(far, block);
        } else {
            if (!arrived && block->kind == MailKind::buffer) tally(far.station->station->lost);
            give_back(block);
        }
        if (arrived && !far.held.empty()) [[unlikely]] {
            put_block(far, far.held.pop());
            put_close(far);
            if (far.station->wire != nullptr) far.station->wire->flush();
        }
    }
    if (!arrived) return;  // maybe within a call that has a far station's lock; recover() goes on
    note_exit(writer, order);
    say_ended();
}

/// It is not needed any more.
void FarRun::forget(FarLink& far, Block* block) {
    far.kept.erase(block->order);
    give_back(block);
}

bool FarRun::take_done(FarLink& far, std::uint64_t order) {
    if (!far.tracked) throw Error("a node says what came of a buffer, and nobody has asked it");
    const auto kept = far.kept.find(order);
    if (kept == far.kept.end()) return false;  // known already
    if (!kept->second.given) throw Error("a node says what came of a buffer that it was not sent");
    const bool suspected = kept->second.deaths != 0;
    if (kept->second.under_way) kept->second.done = true;
    else forget(far, kept->second.block);
    return suspected;
}

/// Sends what waits for the node, in its order.
void FarRun::give_all(FarLink& far) {
    for (auto& [order, kept] : far.kept)
        if (!kept.given) put_block(far, kept.block);
    put_close(far);
}

/// A buffer that a node had died on was not what it died of: those that waited for that are tried.
void FarRun::let_others_go_on(FarStation& far) {
    for (const auto& other : far_stations_) {
        if (other->site != far.site) continue;
        const std::lock_guard guard(other->lock);
        for (FarLink* const link : other->into)
            if (std::exchange(link->waits, false)) {
                give_all(*link);
                if (other->wire != nullptr) other->wire->flush();
                return;
            }
    }
}

void FarRun::take_ended(FarStation& far) {
    if (std::exchange(far.ended, true)) return;
    far.station->read_no_more();
    for (FarLink* const each : far.into) {
        for (auto& [order, kept] : std::exchange(each->kept, {})) {
            if (!kept.under_way) give_back(kept.block);
            else each->kept[order] = kept, each->kept[order].done = true;
        }
        while (!each->held.empty()) give_back(each->held.pop());
        give_credit(*each, each->posted, each->link->taken_bytes.load(std::memory_order_relaxed));
    }
    end_if_over(far);
}

void FarRun::end_if_over(FarStation& far) {
    const bool closed = std::ranges::all_of(far.into, [](const FarLink* each) { return each->closed; });
    if (far.over || !far.ended || !closed || far.open != 0) return;
    far.over = true;
    far.station->end_reader();
}

}  // namespace penstock::streaming
