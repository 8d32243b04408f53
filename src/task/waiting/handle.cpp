#include "penstock/handle.hpp"

#include <exception>

#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/task/initiator.hpp"
#include "penstock/error.hpp"
#include "task/waiting/circles.hpp"

namespace penstock {
namespace {

/// Nobody rings a thread that waits for a task of another thread, so it looks again by itself.
constexpr WaitPolicy outsider{.spin = std::chrono::microseconds(50), .longest_sleep = std::chrono::microseconds(200)};

template <class Poll>
void wait_as_outsider(Poll&& poll) {
    Waiter waiter(outsider);
    waiter.wait(poll, {"a task of another thread", 0});
}

}  // namespace

Ring* Handle::ring() const noexcept {
    Ring* const found = Ring::find(ring_);
    return found != nullptr && found->generation() == generation_ ? found : nullptr;
}

/// Reads nothing of the ring's owner, which another thread may be destroying.
Initiator* Handle::my_initiator(const Ring& ring) const noexcept {
    const auto machine = ring.machine();
    if (ring.generation() != generation_) return nullptr;  // that may be the ring's next machine
    if (Initiator::thread_machine == machine && Initiator::thread_initiator == &ring.owner())
        return Initiator::thread_initiator;
    return Initiator::of_this_thread(machine);
}

bool Handle::complete(const Ring& ring) const noexcept {
    switch (ring.kind()) {
        case Ring::Kind::lane:
            return Producer<TaskPayload>::completed(ring.slots(), &const_cast<Ring&>(ring).credits(), ticket());
        case Ring::Kind::dependent:
        case Ring::Kind::pending:
            return const_cast<Ring&>(ring).completed(ticket().number);
        case Ring::Kind::immediate:
            return true;
    }
    return true;
}

void Handle::wait() const { wait(false); }
void Handle::wait(Help) const { wait(true); }

void Handle::wait(bool helping) const {
    if (none()) return;
    Ring* const where = ring();
    if (where == nullptr) Ring::throw_gone();
    // Threads that share an initiator wait like anybody else, but while they run a task of it.
    if (Initiator* const mine = my_initiator(*where); mine != nullptr && (!mine->shared() || mine->in_task()))
        return mine->wait_for(*this, *where, helping);
    wait_as_outsider([&] { return complete(*where) || where->generation() != generation_; });
    Initiator::throw_failure_of(*this, *where);
    // The machine went meanwhile, and what is known of its tasks with it.
    if (where->generation() != generation_) Ring::throw_gone();
}

bool Handle::ready() const noexcept {
    if (none()) return true;
    Ring* const where = ring();
    if (where == nullptr) return true;
    // The thread's initiator of a machine that is gone may have had the address of another thread's: its machine must
    // be this one too.
    if (Initiator::thread_machine == where->machine() && Initiator::thread_initiator == &where->owner())
        return Initiator::thread_initiator->complete(*this, *where);
    return complete(*where);
}

bool Handle::cancel() const {
    if (ready()) return false;
    Ring* const where = ring();
    if (where == nullptr) return false;
    where->ask_to_cancel(ticket().number);
    return !ready();
}

void wait_all(std::span<const Handle> handles) {
    std::exception_ptr first;
    for (const Handle& handle : handles) {
        try {
            handle.wait(help);
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

std::size_t wait_any(std::span<const Handle> handles) {
    if (handles.empty()) throw UsageError("wait_any of no handles would never return; give it at least one");
    if (handles.size() == 1) return handles.front().wait(help), 0;
    std::size_t done = handles.size();
    const auto look = [&] {
        for (std::size_t i = 0; i < handles.size(); ++i)
            if (handles[i].ready()) return done = i, true;
        return false;
    };
    while (!look()) {
        Initiator* mine = nullptr;
        for (const Handle& handle : handles)
            if (Ring* const where = handle.ring(); where != nullptr && mine == nullptr)
                mine = handle.my_initiator(*where);
        if (mine != nullptr && (!mine->shared() || mine->in_task()))
            mine->wait_while_helping(look, {.who = *mine, .handles = handles});
        else wait_as_outsider(look);
    }
    handles[done].wait();
    return done;
}

}  // namespace penstock
