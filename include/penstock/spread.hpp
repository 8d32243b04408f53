// stream layer: a firing that goes on as tasks on many targets. The filter issues them and returns at once; what it has
// written is sent when the last of them has completed, and only then does it fire again. No thread waits. (Cell-Space's
// components stand for several jobs likewise.)
//
//     struct Blur {
//         Input<float> in{"in"};
//         Output<float> out{"out"};
//         Spread tasks;
//         void operator()() {
//             auto& from = tasks.keep(in.read());
//             auto to = out.make(from.size());
//             tasks.for_each(rows, [x = from.span(), y = to.edit()](std::size_t row) { blur_row(x, y, row); });
//             out.write(std::move(to));
//         }
//     };
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "penstock/machine.hpp"
#include "penstock/port.hpp"

namespace penstock {

namespace streaming {
class Station;
}

/// A member of a filter. Used inside its firing only.
class Spread : public streaming::Part {
  public:
    Spread();

    /// Issues `body()` as a task. What it refers to must live until the firing's last task has completed: values that
    /// were written, and buffers that were kept. When it throws, the firing has failed.
    template <class F>
    void call(F body) {
        if (at_once_ != nullptr) return body();
        Machine& machine = begin_task();
        Ticket ticket(station_);  // goes with the task, or here when there is no memory for one
        machine.call(boxed([body = std::move(body), ticket = std::move(ticket)]() mutable {
            Ticket task(std::move(ticket));  // the last of them that goes sends what was written
            try {
                body();
            } catch (...) {
                task.fail(std::current_exception());
            }
        }));
    }

    /// Calls body(i) for each i below n, in tasks of `grain` calls each; 0: as many tasks as four for each target.
    template <class F>
    void for_each(std::size_t n, F body, std::size_t grain = 0) {
        if (n == 0) return;
        if (grain == 0) grain = std::max<std::size_t>(1, n / (4 * workers()));
        const auto shared = std::make_shared<F>(std::move(body));
        for (std::size_t first = 0; first < n; first += grain)
            call([shared, first, last = std::min(n, first + grain)] {
                for (std::size_t i = first; i < last; ++i) (*shared)(i);
            });
    }

    /// Something that others do for this firing, which is not over before the ticket is gone. Any thread may say so.
    class Ticket {
      public:
        Ticket(Ticket&& other) noexcept : station_(std::exchange(other.station_, nullptr)) {}
        Ticket& operator=(Ticket&& other) noexcept {
            std::swap(station_, other.station_);
            return *this;
        }
        ~Ticket();
        /// The firing has failed.
        void fail(std::exception_ptr cause);

      private:
        friend class Spread;
        explicit Ticket(streaming::Station* station) noexcept : station_(station) {}
        streaming::Station* station_;
    };
    /// Throws UsageError outside a firing.
    Ticket ticket() {
        begin_task();
        return Ticket(station_);
    }

    /// Holds a buffer until the firing's last task has completed.
    template <class T>
    Buffer<T>& keep(Buffer<T>&& buffer) {
        auto held = std::make_shared<Buffer<T>>(std::move(buffer));
        hold(held);
        return *held;
    }

    streaming::Station* station_ = nullptr;  ///< set while a graph runs
    /// In a worker process: tasks run inside the call, and what is kept is kept here until the firing ends.
    void keep_at_once(std::vector<std::shared_ptr<void>>* kept) noexcept { at_once_ = kept; }

  private:
    std::vector<std::shared_ptr<void>>* at_once_ = nullptr;
    Machine& begin_task();
    std::size_t workers() const;
    void hold(std::shared_ptr<void> object);
};

}  // namespace penstock
