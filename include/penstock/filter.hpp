// stream layer: a filter as a graph keeps it: any struct with ports as members and a call operator.
//
//     struct Scale {
//         Input<float> x{"x"};
//         Output<float> y{"y"};
//         Setting<double> factor{"factor", 2.0};
//         void operator()() {
//             auto values = x.read();
//             for (auto& value : values.edit()) value *= float(factor);
//             y.write(std::move(values));
//         }
//     };
//
// What else it may have, found by name at compile time:
//     static constexpr bool may_be_copied = true;    several copies may run at once (FilterOptions::copies)
//     static constexpr bool on_any_input = true;     fires when any of its inputs has a buffer, not all
//     bool operator()()                              false: this filter has ended (a source that has no more to give)
//     void start();   void finish();                 when the run begins (the place to write what a cycle begins with); after the last
//                                                    firing, when it may still write
//     void on_event(const Event&);                   between firings
//     Spread tasks;                                  a member: a firing may go on as tasks (spread.hpp)
//     void take_over(Old& predecessor);              when it replaces a running filter of type Old
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/port.hpp"

namespace penstock {

/// A message outside the streams (Space-RTS), to a filter, a group or the whole graph. Handled between firings, in order.
struct Event {
    std::string name;
    SettingValue value = false;
};

class Spread;

namespace streaming {

class AnyFilter {
  public:
    AnyFilter() = default;
    virtual ~AnyFilter() = default;
    AnyFilter(const AnyFilter&) = delete;
    AnyFilter& operator=(const AnyFilter&) = delete;

    /// False: it has ended.
    virtual bool fire() = 0;
    virtual void start() {}
    virtual void finish() {}
    virtual void handle(const Event&) {}
    /// Between a firing that went on as tasks and the next one. A filter that `completes_later` writes here what it found, not in fire().
    virtual void complete() {}
    bool completes_later = false;
    virtual bool handles_events() const noexcept { return false; }
    /// The filter itself, and its type.
    virtual void* object() noexcept = 0;
    virtual std::string_view type() const noexcept = 0;

    std::vector<InputPort*> inputs;
    std::vector<OutputPort*> outputs;
    std::vector<AnySetting*> settings;
    std::vector<Spread*> spreads;

  protected:
    void adopt(Parts& parts);
};

template <class F>
concept Firing = requires(F& filter) { filter(); };

template <class F>
class FilterHolder final : public AnyFilter {
  public:
    template <class Arguments>
    explicit FilterHolder(const Arguments& arguments) : holder_(make(gathered_, arguments)) {
        adopt(gathered_);
    }
    bool fire() override {
        if constexpr (std::is_same_v<decltype(holder_.filter()), bool>) return holder_.filter();
        else return holder_.filter(), true;
    }
    void start() override {
        if constexpr (requires(F& f) { f.start(); }) holder_.filter.start();
    }
    void finish() override {
        if constexpr (requires(F& f) { f.finish(); }) holder_.filter.finish();
    }
    void handle(const Event& event) override {
        if constexpr (requires(F& f) { f.on_event(event); }) holder_.filter.on_event(event);
    }
    bool handles_events() const noexcept override { return requires(F& f, const Event& event) { f.on_event(event); }; }
    void* object() noexcept override { return &holder_.filter; }
    std::string_view type() const noexcept override { return entry_name::of_type<F>(); }
    F& filter() noexcept { return holder_.filter; }

  private:
    struct Held {
        template <class... Args>
        explicit Held(std::in_place_t, const Args&... arguments) : filter(arguments...) {}
        explicit Held(std::in_place_t) : filter() {}
        F filter;
    };
    template <class Arguments>
    static Held make(Parts& parts, const Arguments& arguments) {
        const Part::Gathering gathering(parts);
        return std::apply([](const auto&... each) { return Held(std::in_place, each...); }, arguments);
    }

    Parts gathered_;
    Held holder_;
};

/// How the copies of a filter are made, and what its type says of it.
struct FilterKind {
    virtual ~FilterKind() = default;
    virtual std::unique_ptr<AnyFilter> make() const = 0;
    bool may_be_copied = false;
    bool on_any_input = false;
    bool external = false;  ///< the program's own end of a stream
};

template <class F, class... Args>
class FilterKindOf final : public FilterKind {
  public:
    explicit FilterKindOf(Args... arguments) : arguments_(std::move(arguments)...) {
        if constexpr (requires { F::may_be_copied; }) may_be_copied = F::may_be_copied;
        if constexpr (requires { F::on_any_input; }) on_any_input = F::on_any_input;
        if constexpr (requires { F::belongs_to_the_program; }) external = F::belongs_to_the_program;
    }
    std::unique_ptr<AnyFilter> make() const override { return std::make_unique<FilterHolder<F>>(arguments_); }

  private:
    std::tuple<Args...> arguments_;
};

}  // namespace streaming
}  // namespace penstock
