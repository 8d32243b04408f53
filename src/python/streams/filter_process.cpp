// Filters whose firings run in the machine's worker interpreters. A firing is issued there and the filter lets its
// thread go; when the outcome has come, the filter takes it and writes. An object of a class lives in one worker.
#include <nanobind/stl/string.h>

#include <optional>
#include <utility>

#include "penstock/error.hpp"
#include "python/calls/array_argument.hpp"
#include "python/calls/python_task.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/workers/process_site.hpp"
#include "python/workers/raised_exception.hpp"

namespace penstock::python {
namespace {

class ProcessFilter final : public SpecFilter {
  public:
    ProcessFilter(std::shared_ptr<const FilterSpec> given, std::shared_ptr<ProcessSite> site)
        : SpecFilter(std::move(given)), site_(std::move(site)) {
        completes_later = true;
        const nb::gil_scoped_acquire acquire;
        remote_ = hold((*spec().make)());
        handles_events_ = spec().keeps_state && nb::cast<bool>(remote_->attr("handles_events"));
        may_finish_ = spec().keeps_state && nb::cast<bool>(remote_->attr("has_finish"));
    }

    bool fire() override {
        if (over_) return false;
        firing_ = begin();
        if (spec().fills)
            for (std::size_t o = 0; o < outputs.size(); ++o) firing_.results.emplace_back(o, make(o, firing_));
        in_python([&] {
            issue("fire", arrays());
            const auto ticket = std::make_shared<std::optional<Spread::Ticket>>(tasks().ticket());
            site_->issued();
            site_->pool()->when_done(task_, nb::cpp_function([this, ticket] {
                                         site_->returned();
                                         ticket->reset();  // this filter may be gone behind it
                                     }));
        });
        return true;
    }

    void complete() override {
        in_python([&] { take_outcome(); });
        write(firing_);
    }

    void finish() override {
        if (spec().keeps_state && (may_finish_ || known_there_)) ask("finish", {});  // which also lets the object go
    }
    void handle(const Event& event) override {
        std::vector<nb::object> arguments;
        {
            const nb::gil_scoped_acquire acquire;
            arguments.push_back(object_of(event));
        }
        ask("on_event", std::move(arguments));
    }
    bool handles_events() const noexcept override { return handles_events_; }

  private:
    /// Views of the buffers, tagged: the pool copies what does not lie in the shared heap. What a firing writes into
    /// comes last.
    std::vector<nb::object> arrays() {
        const StreamNames& names = stream_names();
        std::vector<nb::object> arguments;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            nb::object given = argument(i, firing_);
            const bool one = nb::isinstance(given, names.array);
            arguments.push_back(one ? names.in(given) : std::move(given));
        }
        written_.clear();
        for (auto& [o, buffer] : firing_.results) {
            written_.push_back(hold(array_over(std::move(buffer), *spec().outputs[o], true)));
            arguments.push_back(names.out(*written_.back()));
        }
        firing_.results.clear();
        firing_.inputs.clear();
        return arguments;
    }

    /// Sends one piece of work to a worker. With the interpreter's lock.
    void issue(const char* what, std::vector<nb::object> arguments) {
        nb::list all;
        if (spec().keeps_state) {
            all.append(nb::str(what));
            all.append(nb::bool_(known_there_));
        }
        nb::dict shown;
        for (std::size_t i = 0; i < settings.size(); ++i) shown[settings[i]->name().c_str()] = object_of(setting(i));
        all.append(shown);
        for (auto& argument : arguments) all.append(std::move(argument));
        TaskWishes wishes;
        wishes.limit = spec().limit;
        if (spec().keeps_state) {
            if (worker_ < 0) worker_ = site_->next_worker();
            wishes.target = worker_;
        }
        task_ = site_->pool()->issue(*remote_, nb::tuple(all), {}, wishes);
    }

    /// The same, waiting for it: between firings.
    void ask(const char* what, std::vector<nb::object> arguments) {
        firing_ = {};
        in_python([&] {
            issue(what, std::move(arguments));
            site_->pool()->wait(task_);
            take_outcome();
        });
        write(firing_);
    }

    void take_outcome() {
        const TaskPointer task = std::exchange(task_, nullptr);
        std::vector<nb::object> written;
        for (auto& array : std::exchange(written_, {})) written.push_back(std::move(*array));
        if (task->failed()) {
            task->delivered = true;
            if (task->outcome != Outcome::raised) known_there_ = false;  // its worker is gone, and all that was in it
            const nb::object error = exception_of(*task);
            if (nb::isinstance(error, stream_names().state_lost)) known_there_ = false;
            throw BodyFailed(described_exception(error), task);
        }
        known_there_ = true;
        nb::object result = result_of(*task);
        task->result.reset();  // so that nobody else holds the arrays
        if (nb::isinstance<nb::str>(result) && result.equal(stream_names().ended)) {
            over_ = true;
            return;
        }
        if (!spec().fills) return take_result(std::move(result), firing_);
        take_written(result, written, firing_);
    }

    std::shared_ptr<ProcessSite> site_;
    HeldObject remote_;  ///< what is carried over: penstock._firing.Function or .Object
    Firing firing_;
    TaskPointer task_;
    std::vector<HeldObject> written_;
    int worker_ = -1;
    bool known_there_ = false;  ///< the worker has the object
    bool over_ = false;
    bool handles_events_ = false;
    bool may_finish_ = false;
};

}  // namespace

std::shared_ptr<streaming::FilterKind> process_kind(std::shared_ptr<const FilterSpec> spec,
                                                    std::shared_ptr<ProcessSite> site) {
    return std::make_shared<SpecKind<ProcessFilter, std::shared_ptr<ProcessSite>>>(std::move(spec), std::move(site));
}

}  // namespace penstock::python
