// task layer: the local store of a target, in which arguments are staged. Sized from its L2 cache; used as a stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/trace/counters.hpp"

namespace penstock {

/// Who wants to know when arguments were copied into a local store and back.
class CopyObserver {
  public:
    virtual void copied(bool back, std::uint64_t begin, std::uint64_t end, std::size_t bytes) noexcept = 0;

  protected:
    ~CopyObserver() = default;
};

/// Who asks for the next task's arguments while a task that has staged its own runs.
class FetchAhead {
  public:
    virtual void fetch_ahead() noexcept = 0;

  protected:
    ~FetchAhead() = default;
};

/// Used by one thread. Memory is taken at the first use. What does not fit comes from the heap, at the heap's cost.
class LocalStore {
  public:
    /// Of every block: two cache lines, so that neighbours are never fetched together and wide elements fit.
    static constexpr std::size_t alignment = 128;

    explicit LocalStore(std::size_t bytes) noexcept : capacity_(bytes) {}
    LocalStore(const LocalStore&) = delete;
    LocalStore& operator=(const LocalStore&) = delete;

    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t used() const noexcept { return used_; }
    /// Which of its machine's local stores this is: the targets' first, then those of threads that help.
    std::uint32_t worker() const noexcept { return worker_; }
    void set_worker(std::uint32_t worker) noexcept { worker_ = worker; }
    /// In a worker process: where it notes which step of a chain it runs, for who buries it, and which of its machine's
    /// workers it is, from 1; null and 0 in threads.
    std::atomic<std::uint32_t>* step_note() const noexcept { return step_note_; }
    std::uint64_t incarnation() const noexcept { return incarnation_; }
    void set_process(std::atomic<std::uint32_t>& step_note, std::uint64_t incarnation) noexcept {
        step_note_ = &step_note;
        incarnation_ = incarnation;
    }

    /// `bytes` bytes at `alignment`, until the enclosing Mark ends. Throws std::bad_alloc.
    std::byte* allocate(std::size_t bytes);
    /// Where bytes copied in or out are counted, for the trace.
    void count_in(trace::TargetCounters& counters) noexcept { counters_ = &counters; }
    /// Who is told of copies from now on; null: nobody, and no copy is timed.
    void observe(CopyObserver* observer) noexcept { observer_ = observer; }
    /// Before a copy into the store or back. What it gives is for copied().
    std::uint64_t copies() const noexcept { return observer_ == nullptr ? 0 : Clock::ticks(); }
    /// After it.
    void copied(bool back, std::uint64_t begin, std::size_t bytes) noexcept {
        if (counters_ != nullptr) counters_->staged_bytes.add(bytes);
        if (begin != 0 && observer_ != nullptr) observer_->copied(back, begin, Clock::ticks(), bytes);
    }

    /// Who is called, once, when the next task's arguments have landed and its body is about to begin; null: nobody.
    void when_landed(FetchAhead* ahead) noexcept { ahead_ = ahead; }
    /// Between the copies of a task into the store and its body.
    void landed() noexcept {
        if (ahead_ != nullptr) std::exchange(ahead_, nullptr)->fetch_ahead();
    }

    /// Frees what was allocated since its construction.
    class Mark {
      public:
        explicit Mark(LocalStore& store) noexcept : store_(store), used_(store.used_), heap_(store.heap_.size()) {}
        ~Mark() {
            store_.used_ = used_;
            store_.heap_.resize(heap_);
        }
        Mark(const Mark&) = delete;
        Mark& operator=(const Mark&) = delete;

      private:
        LocalStore& store_;
        std::size_t used_;
        std::size_t heap_;
    };

  private:
    std::size_t capacity_;
    std::uint32_t worker_ = 0;
    std::atomic<std::uint32_t>* step_note_ = nullptr;
    std::uint64_t incarnation_ = 0;
    std::size_t used_ = 0;
    trace::TargetCounters* counters_ = nullptr;
    CopyObserver* observer_ = nullptr;
    FetchAhead* ahead_ = nullptr;
    std::unique_ptr<std::byte[]> memory_;
    std::byte* base_ = nullptr;
    std::vector<std::unique_ptr<std::byte[]>> heap_;
};

}  // namespace penstock
