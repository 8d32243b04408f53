// stream layer: what a filter is made of: typed ports and settings, which are members of a plain struct and announce
// themselves when the filter is made, so that a graph can name, check and connect them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/buffer.hpp"
#include "penstock/detail/machine/exchanged.hpp"
#include "penstock/detail/task/entry.hpp"

namespace penstock {

/// The type of a stream's values, as a graph compares it. Two types are the same when their names and sizes are.
struct ElementType {
    std::string_view name;  ///< as the source writes it
    std::size_t size = 0;   ///< in bytes
    friend bool operator==(const ElementType&, const ElementType&) = default;
};
template <class T>
constexpr ElementType element_type() noexcept {
    return {entry_name::of_type<T>(), sizeof(T)};
}

/// What an input asks for.
struct InputOptions {
    bool required = true;      ///< false: the filter also fires without a buffer here, and the port may stay open
    std::size_t at_least = 1;  ///< buffers that must wait here; at the end of the stream fewer do
};

/// The value of a setting, whatever its type.
using SettingValue = std::variant<bool, std::int64_t, double, std::string>;

namespace streaming {

struct AnyFilter;
class Station;
struct Inlet;
struct Outlet;

/// What announces itself to the filter that is being made.
class Part {
  public:
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    const std::string& name() const noexcept { return name_; }
    /// The filter that it is a part of; null for one that was made outside a graph.
    AnyFilter* owner = current_;

    /// For the length of a filter's construction: where its parts announce themselves, in the order in which the filter
    /// declares them.
    [[nodiscard]] static Exchanged<AnyFilter*> gathering(AnyFilter& filter) noexcept { return {current_, &filter}; }

  protected:
    explicit Part(std::string name) : name_(std::move(name)) {}
    ~Part() = default;

  private:
    static thread_local AnyFilter* current_;
    std::string name_;
};

/// A port without its type.
class Port : public Part {
  public:
    ElementType element() const noexcept { return element_; }

  protected:
    Port(std::string name, ElementType element) : Part(std::move(name)), element_(element) {}
    ~Port() = default;

  private:
    ElementType element_;
};

class InputPort : public Port {
  public:
    const InputOptions& options() const noexcept { return options_; }
    /// Buffers that wait here now.
    std::size_t waiting() const noexcept;
    /// True when all producers have closed and nothing waits.
    bool ended() const noexcept;
    Inlet* inlet = nullptr;  ///< set while a graph runs

  protected:
    InputPort(std::string name, ElementType element, InputOptions options);
    ~InputPort() = default;
    Block* take();
    Block* take_if_any();

  private:
    InputOptions options_;
};

class OutputPort : public Port {
  public:
    /// No more buffers will come from this filter here. The end of the filter closes all its outputs.
    void close();
    /// Does anybody read this stream?
    bool connected() const noexcept;
    Outlet* outlet = nullptr;  ///< set while a graph runs

  protected:
    OutputPort(std::string name, ElementType element);
    ~OutputPort() = default;
    std::size_t units_a_buffer(std::size_t total, std::size_t unit_bytes) const;
    Block* make(std::size_t bytes, std::size_t reserved_bytes);
    Block* wrap(std::span<const std::byte> values, std::shared_ptr<const void> holder);
    void write(Block* block);
};

}  // namespace streaming

/// Where a filter reads: `Input<float> samples{"samples"};`. T: type of the values of a buffer. Used inside the
/// filter's firing only.
template <class T>
class Input : public streaming::InputPort {
  public:
    /// `name`: unique in its filter.
    explicit Input(std::string name, InputOptions options = {})
        : InputPort(std::move(name), element_type<T>(), options) {}
    /// The oldest buffer. Throws UsageError when none waits (ask waiting() where the input is not required, or to read
    /// more than one).
    Buffer<T> read() { return Buffer<T>(take()); }
    /// The oldest buffer, or nothing.
    std::optional<Buffer<T>> read_if_any() { return Buffer<T>::if_any(take_if_any()); }
};

/// Where a filter writes: `Output<float> result{"result"};`. Used inside the filter's firing only.
template <class T>
class Output : public streaming::OutputPort {
  public:
    /// `name`: unique in its filter.
    explicit Output(std::string name) : OutputPort(std::move(name), element_type<T>()) {}

    /// A buffer of `n` values, from this output's pool; not initialised. Throws std::bad_alloc,
    /// std::bad_array_new_length.
    Buffer<T> make(std::size_t n) { return make_shaped(std::array<std::size_t, 1>{n}, 0); }
    Buffer<T> make(std::size_t rows, std::size_t columns) {
        return make_shaped(std::array<std::size_t, 2>{rows, columns}, 0);
    }
    Buffer<T> make(std::size_t rows, std::size_t columns, std::size_t channels) {
        return make_shaped(std::array<std::size_t, 3>{rows, columns, channels}, 0);
    }
    /// An empty buffer to which up to `n` values can be appended.
    Buffer<T> reserve(std::size_t n) { return make_shaped(std::array<std::size_t, 1>{0}, n); }
    /// How much a buffer should hold of a stream that can be cut anywhere: so many of its `total` units (rows, frames)
    /// of `unit` values each, at least 1. Those in all for a stream without an end: SIZE_MAX. Every filter of a run
    /// gets the same answer to the same question, so that two streams can be cut alike. A quarter of a target's local
    /// store at most, so that what is written next to one core is still there when that core reads it; and so many
    /// buffers that each of several threads gets about eight. Costs a few nanoseconds. Throws UsageError outside a run.
    std::size_t units_a_buffer(std::size_t total, std::size_t unit = 1) const {
        std::size_t bytes = 0;
        if (__builtin_mul_overflow(unit, sizeof(T), &bytes)) bytes = std::numeric_limits<std::size_t>::max();
        return OutputPort::units_a_buffer(total, bytes);
    }
    /// A buffer that refers to these values instead of holding a copy. The caller leaves them as they are until its
    /// last reader has dropped it; `holder` is held as long, if there is one, and let go by that reader's thread. Who
    /// edits the buffer gets a copy. In a worker process, and where a reader is one, the values are copied once. Costs
    /// as much as make(0). Throws std::bad_alloc; UsageError for values that do not lie one after the other. (As
    /// Arrow's and GStreamer's buffers wrap memory.)
    Buffer<T> wrap(std::span<const T> values, std::shared_ptr<const void> holder = {}) {
        return wrap(view<const T, 1>{values.data(), {values.size()}}, std::move(holder));
    }
    template <std::size_t Rank>
    Buffer<T> wrap(view<const T, Rank> values, std::shared_ptr<const void> holder = {}) {
        static_assert(Rank >= 1 && Rank <= streaming::Block::max_rank);
        if (!values.contiguous())
            throw UsageError(
                "output '" + name() +
                "' wraps values only that lie one after the other in memory: make() a buffer and copy them");
        return shaped(OutputPort::wrap(std::as_bytes(std::span(values.data(), values.size())), std::move(holder)),
                      values.extents());
    }
    /// Hands the buffer on; the handle is empty afterwards. Never blocks: what the stream has no room for waits here,
    /// and the filter does not fire again before it has gone. Throws StreamFull where the stream says so.
    void write(Buffer<T>&& buffer) { OutputPort::write(buffer.release()); }

  private:
    template <std::size_t Rank>
    Buffer<T> make_shaped(std::array<std::size_t, Rank> extents, std::size_t reserved) {
        std::size_t n = 1;
        for (const auto extent : extents)
            if (__builtin_mul_overflow(n, extent, &n)) throw std::bad_array_new_length();
        if (std::max(n, reserved) > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T))
            throw std::bad_array_new_length();
        return shaped(OutputPort::make(n * sizeof(T), reserved * sizeof(T)), extents);
    }
    template <std::size_t Rank>
    static Buffer<T> shaped(streaming::Block* block, const std::array<std::size_t, Rank>& extents) {
        block->rank = Rank;
        std::copy(extents.begin(), extents.end(), block->extents.begin());
        return Buffer<T>(block);
    }
};

/// What a setting may be, in which unit, and what it is for.
struct SettingLimits {
    std::string unit{};                                       ///< for people
    double least = -std::numeric_limits<double>::infinity();  ///< the smallest value
    double most = std::numeric_limits<double>::infinity();    ///< the largest
    std::vector<std::string> choices{};                       ///< of a text: one of these; none: any text
    std::string doc{};                                        ///< one line
};

namespace streaming {

/// A setting without its type.
class AnySetting : public Part {
  public:
    const SettingLimits& limits() const noexcept { return limits_; }
    virtual SettingValue value() const = 0;
    /// Throws UsageError for a value of another type or outside the limits.
    virtual void set(const SettingValue& value) = 0;
    virtual void check(const SettingValue& value) const = 0;

  protected:
    AnySetting(std::string name, SettingLimits limits);
    ~AnySetting() = default;
    void require_within(double value) const;
    void require_choice(const std::string& value) const;
    [[noreturn]] void throw_wrong_type(const char* wanted) const;

  private:
    SettingLimits limits_;
};

}  // namespace streaming

/// A value that is given from outside, by name if need be: `Setting<double> sigma{"sigma", 1.5, {.unit = "pixels",
/// .least = 0}};`. T: bool, an integer, a floating-point number or std::string.
template <class T>
class Setting final : public streaming::AnySetting {
    static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::string>,
                  "penstock: a setting is a number, a bool or a std::string");

  public:
    /// Throws UsageError when the first value is outside its own limits.
    Setting(std::string name, T first, SettingLimits limits = {}) : AnySetting(std::move(name), std::move(limits)) {
        *this = std::move(first);
    }

    /// Throws UsageError for a value outside the limits.
    Setting& operator=(T value) {
        require(value);
        value_ = std::move(value);
        return *this;
    }
    /// Its value now.
    operator const T&() const noexcept { return value_; }
    /// Its value now.
    const T& get() const noexcept { return value_; }

    /// Its value, whatever its type.
    SettingValue value() const override {
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) return value_;
        else if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(value_);
        else return static_cast<double>(value_);
    }
    /// As the assignment.
    void set(const SettingValue& value) override { *this = converted(value); }
    /// Throws what set() would throw.
    void check(const SettingValue& value) const override { require(converted(value)); }

  private:
    void require(const T& value) const {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) require_within(static_cast<double>(value));
        if constexpr (std::is_same_v<T, std::string>) require_choice(value);
    }
    T converted(const SettingValue& value) const {
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
            if (const auto* const given = std::get_if<T>(&value)) return *given;
            throw_wrong_type(std::is_same_v<T, bool> ? "true or false" : "a text");
        } else if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
            if constexpr (std::is_integral_v<T>)
                if (!std::in_range<T>(*integer)) throw_wrong_type("an integer that fits its type");
            return static_cast<T>(*integer);
        } else if (const auto* const number = std::get_if<double>(&value);
                   number != nullptr && std::is_floating_point_v<T>) {
            return static_cast<T>(*number);
        } else {
            throw_wrong_type(std::is_integral_v<T> ? "an integer" : "a number");
        }
    }

    T value_{};
};

namespace streaming {

/// An event output without its type.
class EventPort : public Part {
  public:
    /// A value of the type that its events have.
    const SettingValue& like() const noexcept { return like_; }
    Station* station = nullptr;  ///< set while a graph runs in this process

  protected:
    EventPort(std::string name, SettingValue like);
    ~EventPort() = default;
    void send(SettingValue value);

  private:
    SettingValue like_;
};

}  // namespace streaming

/// Where a filter sends events, messages outside the streams: `EventOutput<double> moved{"moved"};`. Used inside the
/// filter's functions only. What it sends is called as FilterOptions::events says, and by itself as the output; it goes
/// to all filters that handle events, and to Run::listen(). T: bool, std::int64_t, double or std::string.
template <class T = bool>
class EventOutput final : public streaming::EventPort {
  public:
    explicit EventOutput(std::string name) : EventPort(std::move(name), SettingValue(T{})) {}
    void send(T value) { EventPort::send(SettingValue(std::move(value))); }
    void send()
        requires(std::is_same_v<T, bool>)
    {
        EventPort::send(true);
    }
};

}  // namespace penstock
