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
//     bool operator()()                              false: this filter has ended (a source that has no more to give);
//                                                    other results than nothing and bool do not compile
//     void start();                                  when the run begins: the place to write what a cycle begins with
//     void finish();                                 after the last firing, when it may still write
//     void on_event(const Event&);                   between firings
//     EventOutput<double> moved{"moved"};            a member: events that it sends itself
//     Spread tasks;                                  a member: a firing may go on as tasks (spread.hpp)
//     void take_over(Old& predecessor);              when it replaces a running filter of type Old
//     auto state() { return std::tie(sum, count); }  the members that are its state, for filters in worker processes
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/carried.hpp"
#include "penstock/port.hpp"

namespace penstock {

/// A message outside the streams (Space-RTS), to a filter, a group or the whole graph. Handled between firings, in
/// order.
struct Event {
    std::string name;            ///< what happened
    SettingValue value = false;  ///< with which value
};

class Spread;

namespace streaming {

struct AnyFilter {
    AnyFilter() = default;
    virtual ~AnyFilter() = default;
    AnyFilter(const AnyFilter&) = delete;
    AnyFilter& operator=(const AnyFilter&) = delete;

    /// False: it has ended.
    virtual bool fire() = 0;
    virtual void start() {}
    virtual void finish() {}
    virtual void handle(const Event&) {}
    /// Between a firing that went on as tasks and the next one. A filter that `completes_later` writes here what it
    /// found, not in fire().
    virtual void complete() {}
    bool completes_later = false;
    virtual bool handles_events() const noexcept { return false; }
    /// The filter itself, and its type.
    virtual void* object() noexcept = 0;
    virtual std::string_view type() const noexcept = 0;
    /// Does it say what its state is? Then the state can go to another process, and come back.
    virtual bool has_state() const noexcept { return false; }
    virtual void save_state(carried::Encoder&) {}
    virtual void load_state(carried::Decoder&) {}

    std::vector<InputPort*> inputs;
    std::vector<OutputPort*> outputs;
    std::vector<AnySetting*> settings;
    std::vector<EventPort*> event_outputs;
    std::vector<Spread*> spreads;
    std::uint64_t id = 0;  ///< its number in its graph
};

template <class F>
concept Firing = requires(F& filter) { filter(); };

template <class F>
concept WithState = requires(F& filter) { filter.state(); };

/// What state() returns: a std::tie of members that can be carried.
template <class State>
struct StateParts;
template <class... Each>
struct StateParts<std::tuple<Each&...>> {
    static_assert((carried::possible<Each> && ...),
                  "penstock: state() must name members that are trivially copyable, strings, containers of these, "
                  "pairs, tuples or optionals");
};

template <class F>
class FilterHolder final : public AnyFilter {
    using Result = decltype(std::declval<F&>()());
    static_assert(
        std::is_void_v<Result> || std::is_same_v<Result, bool>,
        "penstock: the call operator of a filter returns nothing, or bool: false when it has no more to give");

  public:
    template <class Arguments>
    explicit FilterHolder(const Arguments& arguments) : filter_(make(*this, arguments)) {}
    bool fire() override {
        if constexpr (std::is_same_v<decltype(filter_()), bool>) return filter_();
        else return filter_(), true;
    }
    void start() override {
        if constexpr (requires(F& f) { f.start(); }) filter_.start();
    }
    void finish() override {
        if constexpr (requires(F& f) { f.finish(); }) filter_.finish();
    }
    void handle(const Event& event) override {
        if constexpr (requires(F& f) { f.on_event(event); }) filter_.on_event(event);
    }
    bool handles_events() const noexcept override {
        return requires(F& f, const Event& event) { f.on_event(event); };
    }
    void* object() noexcept override { return &filter_; }
    std::string_view type() const noexcept override { return entry_name::of_type<F>(); }
    bool has_state() const noexcept override { return WithState<F>; }
    void save_state(carried::Encoder& to) override {
        if constexpr (WithState<F>) {
            (void)StateParts<decltype(filter_.state())>{};
            std::apply([&](const auto&... each) { (carried::encode(to, each), ...); }, filter_.state());
        }
    }
    void load_state(carried::Decoder& from) override {
        if constexpr (WithState<F>)
            std::apply([&](auto&... each) { (carried::decode_into(from, each), ...); }, filter_.state());
    }

  private:
    template <class Arguments>
    static F make(AnyFilter& holder, const Arguments& arguments) {
        const auto gathering = Part::gathering(holder);
        return std::make_from_tuple<F>(arguments);
    }

    F filter_;
};

/// How the copies of a filter are made, and what its type says of it.
struct FilterKind {
    virtual ~FilterKind() = default;
    virtual std::unique_ptr<AnyFilter> make() const = 0;
    /// Writes down what a copy is made of, and returns the function that makes one of it, in whichever process. Throws
    /// carried::NotCarried.
    using Maker = std::unique_ptr<AnyFilter> (*)(carried::Decoder&);
    virtual Maker write_down(carried::Encoder&) const {
        throw carried::NotCarried("filters of this kind are made in the program only");
    }
    /// How an interpreter of a language makes it on another machine: which language, and what that needs. Nothing: it
    /// does not.
    struct Recipe {
        std::string form;
        std::string name;
        std::vector<std::byte> bytes;
    };
    virtual std::optional<Recipe> recipe() const { return std::nullopt; }
    using RecipeReader = std::shared_ptr<const FilterKind> (*)(const Recipe&);
    /// Has kinds of this form made by `reader`, to the program's end.
    static void read_recipes(const std::string& form, RecipeReader reader);
    /// Throws UsageError when nobody here reads that form.
    static std::shared_ptr<const FilterKind> of_recipe(const Recipe& recipe);

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
    Maker write_down(carried::Encoder& to) const override {
        std::size_t number = 0;
        std::apply([&](const auto&... each) { (write_down_one(to, ++number, each), ...); }, arguments_);
        return [](carried::Decoder& from) -> std::unique_ptr<AnyFilter> {
            if constexpr ((carried::possible<Args> && ...))
                return std::make_unique<FilterHolder<F>>(std::tuple<Args...>{carried::decode<Args>(from)...});
            else return nullptr;
        };
    }

  private:
    template <class T>
    static void write_down_one(carried::Encoder& to, std::size_t number, const T& value) {
        const auto which = [number] {
            return "argument " + std::to_string(number) + ", of type " + std::string(entry_name::of_type<T>()) + ", ";
        };
        if constexpr (carried::possible<T>) {
            try {
                carried::encode(to, value);
            } catch (const carried::NotCarried& refusal) {
                throw carried::NotCarried(which() + refusal.what());
            }
        } else {
            throw carried::NotCarried(
                which() +
                "is neither trivially copyable, nor a string, nor a container, pair, tuple or optional of such");
        }
    }

    std::tuple<Args...> arguments_;
};

}  // namespace streaming
}  // namespace penstock
