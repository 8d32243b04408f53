#include <array>

#include "message/engine.hpp"
#include "penstock/message.hpp"

namespace penstock {

std::string_view name(Protocol protocol) noexcept {
    static constexpr std::array<std::string_view, 5> names{"automatic", "ring", "pull", "push", "pure pull"};
    return protocol <= Protocol::pure_pull ? names[static_cast<std::size_t>(protocol)] : "unknown";
}

void Status::throw_not_whole(std::size_t size) const {
    throw UsageError("the message of rank " + std::to_string(source) + " has " + std::to_string(bytes) +
                     " bytes, which is no whole number of elements of " + std::to_string(size) +
                     " bytes; receive it as what was sent");
}

Messenger::Messenger(Rank me, MessengerOptions options)
    : engine_(std::make_unique<message::Engine>(me, std::move(options))) {}
Messenger::~Messenger() = default;

Rank Messenger::rank() const noexcept { return engine_->rank(); }
const MessengerOptions& Messenger::options() const noexcept { return engine_->options(); }

void Messenger::send_bytes(int to, std::span<const std::byte> bytes, std::uint32_t tag) {
    if (!engine_->send_short(to, bytes, tag)) [[unlikely]]
        send_slowly(to, bytes, tag);
}

// Out of the way of the short messages: with these calls in it, a function saves twice as many registers.
void Messenger::send_slowly(int to, std::span<const std::byte> bytes, std::uint32_t tag) {
    engine_->collect_when_done(engine_->start_send(to, bytes, tag));
}

Status Messenger::recv_bytes(int from, std::span<std::byte> into) {
    Status status;
    if (!engine_->receive_short(from, into, status)) [[unlikely]]
        recv_slowly(from, into, status);
    return status;
}

void Messenger::recv_slowly(int from, std::span<std::byte> into, Status& status) {
    status = engine_->collect_when_done(engine_->start_receive(from, into));
}

Request Messenger::isend_bytes(int to, std::span<const std::byte> bytes, std::uint32_t tag) {
    const auto index = engine_->start_send(to, bytes, tag);
    return {index, engine_->operation(index).generation};
}

Request Messenger::irecv_bytes(int from, std::span<std::byte> into) {
    const auto index = engine_->start_receive(from, into);
    return {index, engine_->operation(index).generation};
}

bool Messenger::hands_over(int to) const noexcept { return engine_->hands_over(to); }

void Messenger::throw_too_long(const Status& coming) const {
    throw MessageTooLong(coming.source, coming.bytes, options().longest_vector);
}

void Messenger::send_parcel(int to, std::unique_ptr<message::Parcel> parcel, std::uint32_t tag) {
    engine_->collect_when_done(engine_->start_send(to, {}, tag, std::move(parcel)));
}

message::SegmentPart Messenger::allocate_bytes(std::size_t count, std::size_t size) {
    if (count == 0 || count > std::size_t(-1) / 2 / size)
        throw UsageError("memory for " + std::to_string(count) + " elements of " + std::to_string(size) +
                         " bytes cannot be had; ask for at least one, and for less than there is");
    auto& segments = engine_->segments();
    auto* const data = segments->take(count * size);
    std::memset(data, 0, count * size);  // it may have been used before
    return {data, {segments}};
}

std::unique_ptr<message::Parcel> Messenger::take_parcel(int from, const std::type_info& type) {
    return engine_->take_parcel(from, type);
}

Status Messenger::probe(int from) { return engine_->probe(from); }

std::optional<Status> Messenger::iprobe(int from) {
    if (from != any_source) engine_->check(from);
    engine_->progress();
    return engine_->unclaimed(from);
}

// ---- requests ----

void Messenger::check(const Request& request) const {
    if (engine_->stands_for(request.index_, request.generation_)) return;
    throw UsageError(
        "this request was waited for before, through a copy of it or by a wait for all, or belongs to another "
        "messenger");
}

Status Messenger::wait(Request& request) { return *wait_for(request, std::chrono::nanoseconds::max()); }

std::optional<Status> Messenger::wait_for(Request& request, std::chrono::nanoseconds limit) {
    if (!request) return Status{};
    check(request);
    if (!engine_->await(request.index_, limit)) return std::nullopt;
    return engine_->collect(std::exchange(request, Request{}).index_);
}

std::optional<Status> Messenger::test(Request& request) {
    if (!request) return Status{};
    check(request);
    engine_->progress();
    if (engine_->operation(request.index_).state != message::Operation::State::done) return std::nullopt;
    return engine_->collect(std::exchange(request, Request{}).index_);
}

void Messenger::wait_all(std::span<Request> requests) {
    std::exception_ptr first;
    for (Request& request : requests) {
        try {
            wait(request);
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

void Messenger::wait_all_of(int peer) {
    engine_->check(peer);
    engine_->finish_all(peer);
}

void Messenger::wait_all() { engine_->finish_all(std::nullopt); }

}  // namespace penstock
