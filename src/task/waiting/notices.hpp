// task layer: what an initiator asked of single tasks beyond running them: a call-back, a deadline, a post into its
// mailbox. Made at the first such call; a task that has a notice carries its index in its descriptor, all others carry
// 0.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <vector>

#include "penstock/call_options.hpp"
#include "penstock/detail/trace/counters.hpp"
#include "penstock/handle.hpp"
#include "task/calls/completion_mailbox.hpp"

namespace penstock {

/// Written by the initiator before the task is published and read by whoever completes it; `link` is the mailbox's.
struct Notice {
    std::atomic<std::uint32_t> link{0};
    bool interrupts = false;     ///< signal the descriptor when the initiator sleeps
    std::uint32_t entry = 0;     ///< of the task, for the trace
    std::uint64_t deadline = 0;  ///< tick; 0: none
    std::function<void(Handle)> then{};
    Handle handle{};  ///< the initiator's: known after the task was published
};

class Notices {
  public:
    ~Notices();

    // ---- the initiator ----

    /// A notice for the task about to be issued. Throws QueueFull when four million are outstanding, std::bad_alloc.
    std::uint32_t add(const CallOptions& options, std::uint32_t entry, bool interrupts);
    Notice& operator[](std::uint32_t index) noexcept { return (*chunks_[index / chunk_size])[index % chunk_size]; }
    /// The notice is free again: its task has completed, or was refused.
    void remove(std::uint32_t index) noexcept;
    std::size_t outstanding() const noexcept { return outstanding_; }

    /// Is there something to collect, or a call-back that waits for its turn?
    bool mail() const noexcept { return !mailbox_.empty() || !due_.empty(); }
    /// Empties the mailbox: notices without a call-back are free again, the others wait for next_due(). Returns how
    /// many there were.
    std::size_t collect() noexcept;
    /// Runs the call-backs that are due now, not those that become due meanwhile, and keeps what they throw. Returns
    /// how many tasks have completed since it was asked last.
    std::size_t run_due(trace::InitiatorCounters& counters);
    /// The thread has ended, and its call-backs with it. False while notices may still come in.
    bool forget() noexcept;
    /// The descriptor that becomes readable when a task that interrupts has completed. Throws SystemError.
    int descriptor();
    /// Makes the next interrupting completion signal the descriptor; signals it at once when one is waiting already.
    /// Does nothing before somebody has asked for the descriptor.
    void arm() noexcept;
    /// Sleeps until the descriptor is signalled, at most `longest`.
    void sleep(std::chrono::milliseconds longest);

    // ---- whoever completes the task ----

    /// The last touch: the notice may belong to another task from here on.
    void completed(std::uint32_t index) noexcept;

    // ---- what call-backs threw (the initiator) ----

    void keep_failure(std::exception_ptr cause) { failures_.push_back(std::move(cause)); }
    /// Throws CallbackFailed for the first failure kept, and forgets them.
    void throw_failures();

  private:
    static constexpr std::uint32_t chunk_size = 1024;
    using Chunk = std::array<Notice, chunk_size>;

    void signal() noexcept;
    /// The oldest completed task whose call-back has not run, taken out of the list; 0 for none.
    std::uint32_t next_due() noexcept;

    CompletionMailbox<> mailbox_;
    // Chunks never move: the publication of a task makes its notice's chunk visible too.
    std::array<std::unique_ptr<Chunk>, 4096> chunks_{};
    std::atomic<int> descriptor_{-1};
    std::uint32_t used_ = 1;           ///< 0 stands for no notice
    std::vector<std::uint32_t> free_;  ///< has room for all of them, and so have the next two
    std::vector<std::uint32_t> taken_;
    std::vector<std::uint32_t> due_;  ///< in the reverse of the order in which they completed
    std::size_t outstanding_ = 0;
    std::vector<std::exception_ptr> failures_;
};

}  // namespace penstock
