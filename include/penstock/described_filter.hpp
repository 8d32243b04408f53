// stream layer: a filter whose ports and settings are known at run time only: those of other languages, and of graphs
// that are read from a file.
//
//     struct Scale : DescribedFilter {
//         using DescribedFilter::DescribedFilter;
//         bool fire() override {
//             auto buffer = input(0).read();                             // bytes: the description says what they are
//             ...
//             output(0).write(std::move(buffer));
//             return true;
//         }
//     };
//     struct ScaleKind : streaming::FilterKind {
//         FilterDescription description = ...;                           // names, ports, settings
//         std::unique_ptr<streaming::AnyFilter> make() const override { return std::make_unique<Scale>(description); }
//     };
//     graph.add_kind("scale", {}, std::make_shared<ScaleKind>());
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/spread.hpp"

namespace penstock {

/// An input by its description. Its buffers are bytes, with the dimensions that their writer gave them, in elements.
class DescribedInput final : public streaming::InputPort {
  public:
    explicit DescribedInput(const PortDescription& description)
        : InputPort(description.name, description.element,
                    {.required = description.required, .at_least = description.at_least}) {}
    /// The oldest buffer. Throws UsageError when none waits.
    Buffer<std::byte> read() { return Buffer<std::byte>(take()); }
    /// The oldest buffer, or nothing.
    std::optional<Buffer<std::byte>> read_if_any() { return Buffer<std::byte>::if_any(take_if_any()); }
};

/// An output by its description.
class DescribedOutput final : public streaming::OutputPort {
  public:
    explicit DescribedOutput(const PortDescription& description) : OutputPort(description.name, description.element) {}
    /// A buffer from this output's pool, not initialised; `extents`: one to three, in elements. Throws UsageError for
    /// another number of dimensions, std::bad_array_new_length, std::bad_alloc.
    Buffer<std::byte> make(std::span<const std::size_t> extents);
    /// Hands the buffer on. Throws StreamFull where the stream says so.
    void write(Buffer<std::byte>&& buffer) { OutputPort::write(buffer.release()); }
};

/// The number of bytes of so many elements of this size, and a block's dimensions. Throws as DescribedOutput::make()
/// does.
std::size_t bytes_of(std::span<const std::size_t> extents, std::size_t element_bytes);
void set_extents(streaming::Block& block, std::span<const std::size_t> extents);

/// An event output by its description.
class DescribedEventOutput final : public streaming::EventPort {
  public:
    explicit DescribedEventOutput(const EventDescription& description)
        : EventPort(description.name, description.like) {}
    void send(SettingValue value) { EventPort::send(std::move(value)); }
};

/// To be derived from: fire(), and what else of AnyFilter is wanted. The ports and settings are those of the
/// description.
class DescribedFilter : public streaming::AnyFilter {
  public:
    /// Names of element types are not copied: they must live as long as the graph. Throws UsageError for a setting
    /// outside its limits.
    explicit DescribedFilter(const FilterDescription& description);

    void* object() noexcept override { return this; }
    std::string_view type() const noexcept override { return type_; }

  protected:
    /// By its number.
    DescribedInput& input(std::size_t i) noexcept { return *inputs_[i]; }
    /// By its number.
    DescribedOutput& output(std::size_t i) noexcept { return *outputs_[i]; }
    /// By its number.
    SettingValue setting(std::size_t i) const { return settings[i]->value(); }
    /// For firings that go on as tasks.
    Spread& tasks() noexcept { return *tasks_; }
    /// By an event output. Integers are taken for numbers. Throws UsageError for a value of another type.
    void send_event(std::size_t i, SettingValue value);

  private:
    std::string type_;
    std::vector<std::unique_ptr<DescribedInput>> inputs_;
    std::vector<std::unique_ptr<DescribedOutput>> outputs_;
    std::vector<std::shared_ptr<streaming::AnySetting>> owned_settings_;
    std::vector<std::unique_ptr<DescribedEventOutput>> event_outputs_;
    std::unique_ptr<Spread> tasks_;
};

}  // namespace penstock
