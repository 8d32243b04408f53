#include "penstock/described_filter.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace penstock {

Buffer<std::byte> DescribedOutput::make(std::span<const std::size_t> extents) {
    auto* const block = OutputPort::make(bytes_of(extents, element().size), 0);
    set_extents(*block, extents);
    return Buffer<std::byte>(block);
}

std::size_t bytes_of(std::span<const std::size_t> extents, std::size_t element_bytes) {
    if (extents.empty() || extents.size() > streaming::Block::max_rank)
        throw UsageError("a buffer has one to three dimensions, not " + std::to_string(extents.size()));
    std::size_t bytes = element_bytes;
    for (const auto extent : extents)
        if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > std::numeric_limits<std::size_t>::max() / 2)
            throw std::bad_array_new_length();
    return bytes;
}

void set_extents(streaming::Block& block, std::span<const std::size_t> extents) {
    block.rank = static_cast<std::uint32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), block.extents.begin());
}

DescribedFilter::DescribedFilter(const FilterDescription& description) : type_(description.type) {
    const streaming::Part::Gathering gathering(*this);
    for (const auto& port : description.inputs) inputs_.push_back(std::make_unique<DescribedInput>(port));
    for (const auto& port : description.outputs) outputs_.push_back(std::make_unique<DescribedOutput>(port));
    for (const auto& setting : description.settings)
        std::visit(
            [&]<class T>(const T& value) {
                owned_settings_.push_back(std::make_shared<Setting<T>>(setting.name, value, setting.limits));
            },
            setting.value);
    tasks_ = std::make_unique<Spread>();
}

}  // namespace penstock
