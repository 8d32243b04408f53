// What calls with options ask for: where an affine call goes, notices, call-backs, the notification descriptor.

#include "penstock/detail/task/initiator.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/waiting/notices.hpp"

namespace penstock {
namespace {

constexpr std::size_t affine_places = 4096;  // of 16 bytes

std::size_t place_of(const void* block) noexcept {
    const auto line = reinterpret_cast<std::uintptr_t>(block) / 64;
    return static_cast<std::size_t>(line * 0x9E3779B97F4A7C15u >> 52) % affine_places;
}

}  // namespace

int Initiator::route(const CallOptions& options, const void* home) {
    if (options.time_limit.count() != 0) core_.backend().require(Backend::Ability::time_limits);
    if (options.target != CallOptions::any_target) {
        if (options.target < 0 || options.target >= lanes_.count())
            throw UsageError("this machine has no target " + std::to_string(options.target) +
                             "; its targets are numbered 0 to " + std::to_string(lanes_.count() - 1));
        return options.target;
    }
    if (!options.affine || home == nullptr || lanes_.count() == 0) return any_target;
    if (affine_ == nullptr) affine_ = std::make_unique<AffineBlock[]>(affine_places);
    const auto room = [this](int target) {
        LaneEnd& lane = lanes_[target];
        return lane.ring == nullptr || lane.producer.outstanding() < core_.options().depth ||
               lanes_.reserve(lane) != nullptr;
    };
    AffineBlock& place = affine_[place_of(home)];
    if (place.block == home && (place.target == target_ || room(place.target))) return place.target;
    // A block that nobody has had yet, or whose target has too much to do: the least loaded takes it, in turn among
    // equals.
    place = {home, lanes_.least_loaded_in_turn()};
    return place.target;
}

std::uint32_t Initiator::add_notice(std::uint32_t entry) {
    const bool asks = asked_->then || asked_->deadline.count() > 0 || asked_->notification != Notification::polled;
    const bool inside = in_task();
    if (inside && asked_ != core_.standing_options() && (asked_->then || asked_->notification != Notification::polled))
        throw UsageError(
            "a call inside a task cannot have a call-back or a notification, because its target does not poll; wait "
            "for its "
            "handle instead, or issue it outside");
    if (asked_->then && shared_)
        throw UsageError(
            "this thread shares its initiator with others (a machine gives " + std::to_string(Core::most_threads - 1) +
            " threads one of their own), so a call-back could run on any of them; issue this call on another thread");
    if (!asks || (inside && asked_ == core_.standing_options())) {
        unnoticed_ = true;
        return 0;
    }
    if (notices_ == nullptr) notices_ = std::make_unique<Notices>();
    return notices_->add(*asked_, entry, asked_->notification == Notification::interrupt);
}

void Initiator::note_issued(std::uint32_t notice, const Handle& handle) noexcept {
    (*notices_)[notice].handle = handle;
}

bool Initiator::callbacks_due() const noexcept {
    return notices_ != nullptr && notices_->mail() && !polling_ && !in_task();
}

/// A barrier outside tasks and call-backs also covers what was asked to happen after the tasks.
bool Initiator::notices_left(const Scope& scope) const noexcept {
    return notices_ != nullptr && &scope == &base_ && !polling_ && notices_->outstanding() != 0;
}

/// Does everything outstanding post into the mailbox, so that nothing else need be looked at?
bool Initiator::waits_for_mail() const noexcept {
    return core_.standing_options() != nullptr && notices_ != nullptr && !unnoticed_ && !polling_ &&
           notices_->outstanding() != 0 && !in_task();
}

std::size_t Initiator::run_callbacks() {
    const auto polling = no_callbacks();
    return notices_->run_due(counters_);
}

std::size_t Initiator::poll() {
    require_here();
    const auto alone = this->alone();
    if (notices_ == nullptr || polling_ || in_task()) return 0;
    const auto completed = run_callbacks();
    notices_->throw_failures();
    return completed;
}

int Initiator::notification_descriptor() {
    require_here();
    const auto alone = this->alone();
    if (in_task())
        throw UsageError("a task has no notification descriptor, because its target does not poll; ask outside tasks");
    if (notices_ == nullptr) notices_ = std::make_unique<Notices>();
    return notices_->descriptor();
}

Pending Initiator::pending() const {
    const auto alone = this->alone();
    Pending pending;
    for (const Ring* const ring : base_.rings) pending.tasks += ring->waiting();
    pending.bytes = pending.tasks * (sizeof(TaskRecord) + sizeof(Extension));
    return pending;
}

}  // namespace penstock
