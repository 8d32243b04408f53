#include <cmath>
#include <cstring>

#include "machine/said_by.hpp"
#include "penstock/spread.hpp"
#include "penstock/stream_error.hpp"
#include "stream/isolated/worker_filter.hpp"
#include "trace/text.hpp"

namespace penstock {

namespace streaming {

thread_local AnyFilter* Part::current_ = nullptr;

InputPort::InputPort(std::string name, ElementType element, InputOptions options)
    : Port(std::move(name), element), options_(options) {
    if (owner != nullptr) owner->inputs.push_back(this);
}

OutputPort::OutputPort(std::string name, ElementType element) : Port(std::move(name), element) {
    if (owner != nullptr) owner->outputs.push_back(this);
}

AnySetting::AnySetting(std::string name, SettingLimits limits) : Part(std::move(name)), limits_(std::move(limits)) {
    if (owner != nullptr) owner->settings.push_back(this);
}

namespace {

template <class Side>
Side& required(Side* side, const Part& port) {
    if (side == nullptr) [[unlikely]]
        throw UsageError("port '" + port.name() + "' is used outside a running graph");
    return *side;
}

/// Null where nothing waits.
Block* take_at(const InputPort& port) {
    Inlet& in = required(port.inlet, port);
    if (in.station == nullptr) [[unlikely]]
        return WorkerFilter::take(in);
    return in.station->take(in);
}

/// Where nobody handed the buffer over.
[[gnu::noinline]] Block* take_waiting(const InputPort& port) {
    if (Block* const block = take_at(port)) [[likely]]
        return block;
    const Station* const station = port.inlet->station;
    throw UsageError((station == nullptr ? "a filter" : "filter '" + station->name() + "'") + " reads its input '" +
                     port.name() + "', where no buffer waits: ask waiting() first");
}

/// What cannot be handed on as in most firings.
[[gnu::noinline]] void write_elsewhere(const OutputPort& port, Block* block) {
    if (port.outlet != nullptr) return WorkerFilter::write(*port.outlet, block);
    give_back(block);
    (void)required(port.outlet, port);
}

}  // namespace

Block* InputPort::take() {
    return inlet != nullptr && inlet->hand != nullptr ? inlet->station->take_from_hand(*inlet) : take_waiting(*this);
}

Block* InputPort::take_if_any() { return take_at(*this); }

std::size_t OutputPort::units_a_buffer(std::size_t total, std::size_t unit_bytes) const {
    return required(outlet, *this).cuts.units(total, unit_bytes);
}

Block* OutputPort::make(std::size_t bytes, std::size_t reserved_bytes) {
    Outlet& out = required(outlet, *this);
    const auto most = std::max(bytes, reserved_bytes);
    Block* const block = out.station == nullptr ? WorkerFilter::make(out, most) : make_block(out.pool, most);
    block->bytes = bytes;
    return block;
}

Block* OutputPort::wrap(std::span<const std::byte> values, std::shared_ptr<const void> holder) {
    Outlet& out = required(outlet, *this);
    const bool copies = out.station == nullptr;  // a worker's memory is its own
    Block* const block = make(copies ? values.size() : 0, 0);
    if (!copies) streaming::wrap(*block, values, std::move(holder));
    else if (!values.empty()) std::memcpy(block->data, values.data(), values.size());
    return block;
}

void OutputPort::write(Block* block) {
    if (outlet != nullptr && outlet->station != nullptr) [[likely]]
        return outlet->write(block);
    write_elsewhere(*this, block);
}

std::size_t InputPort::waiting() const noexcept {
    return inlet == nullptr ? 0 : inlet->queue.size() + (inlet->hand != nullptr);
}

bool InputPort::ended() const noexcept { return inlet == nullptr || (inlet->open_links == 0 && waiting() == 0); }

void OutputPort::close() {
    if (outlet == nullptr) return;
    if (outlet->station == nullptr) WorkerFilter::close(*outlet);
    else outlet->close_when_empty();
}

bool OutputPort::connected() const noexcept { return outlet != nullptr && outlet->has_reader(); }

bool Outlet::has_reader() const noexcept {
    return std::ranges::any_of(branches, [](const Branch& branch) { return !branch.links.empty(); });
}

void AnySetting::require_within(double value) const {
    const auto [least, most] = std::pair(limits_.least, limits_.most);
    if (value >= least && value <= most) return;
    const std::string range = std::isinf(most)    ? "it is " + trace::exact(least) + " or more"
                              : std::isinf(least) ? "it is " + trace::exact(most) + " or less"
                                                  : "it goes from " + trace::exact(least) + " to " + trace::exact(most);
    throw UsageError("setting '" + name() + "' cannot be " + trace::exact(value) + ": " + range +
                     (limits_.unit.empty() ? "" : " " + limits_.unit));
}

void AnySetting::require_choice(const std::string& value) const {
    const auto& choices = limits_.choices;
    if (choices.empty() || std::ranges::find(choices, value) != choices.end()) return;
    throw UsageError("setting '" + name() + "' cannot be '" + value + "': it is one of " +
                     trace::list_of(choices, ", "));
}

EventPort::EventPort(std::string name, SettingValue like) : Part(std::move(name)), like_(std::move(like)) {
    if (owner != nullptr) owner->event_outputs.push_back(this);
}

void EventPort::send(SettingValue value) {
    if (station != nullptr) return station->send_event(*this, std::move(value));
    WorkerFilter::send_event(*this, std::move(value));
}

void AnySetting::throw_wrong_type(const char* wanted) const {
    throw UsageError("setting '" + name() + "' takes " + wanted);
}

}  // namespace streaming

namespace {

std::string text_of(const Loss& loss) {
    constexpr std::size_t most_named = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(loss.buffers.size(), most_named); ++i) {
        const auto& buffer = loss.buffers[i];
        text += (i == 0 ? "; with it went the buffers " : ", ") + std::to_string(buffer.sequence) + " of '" +
                buffer.filter + "." + buffer.port + "'";
    }
    if (loss.buffers.size() > most_named) text += " and " + std::to_string(loss.buffers.size() - most_named) + " more";
    if (!loss.others.empty()) text += "; these filters lived in the same process, and begin afresh: " + loss.others;
    return text;
}

}  // namespace

GraphError::GraphError(std::vector<std::string> problems)
    : UsageError("this graph cannot run:\n  " + trace::list_of(problems, "\n  ")), problems_(std::move(problems)) {}

FilterFailed::FilterFailed(std::string filter, int copy, std::uint64_t firing, std::exception_ptr cause,
                           std::uint64_t others, Loss loss)
    : Error("filter '" + filter + "' (copy " + std::to_string(copy) + ") " +
            (loss.process ? "lost its process" : "threw") + " in its firing " + std::to_string(firing) + ": " +
            said_by(cause) + text_of(loss) +
            (others != 0 ? "; " + std::to_string(others) + " more firings failed" : "")),
      filter_(std::move(filter)), copy_(copy), firing_(firing), cause_(std::move(cause)), others_(others),
      loss_(std::move(loss)) {}

}  // namespace penstock
