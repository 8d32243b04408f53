#include "message/segments.hpp"

#include "penstock/detail/message/memory.hpp"

namespace penstock::message {

std::string segment_name(const std::string& messenger, std::uint64_t number) {
    return messenger + "/" + std::to_string(number);
}

void GiveBack::operator()(std::byte* data) const noexcept { segments->give_back(data); }

std::byte* Segments::take(std::size_t bytes) {
    // One that is free and not much too large, before a new one.
    if (const auto found = free_.lower_bound(bytes); found != free_.end() && found->first / 2 <= bytes) {
        auto* const data = segments_[found->second].memory.data();
        free_.erase(found);
        return data;
    }
    const auto number = segments_.size();
    if (number == most_segments)
        throw UsageError("a messenger has at most " + std::to_string(most_segments) +
                         " pieces of memory to send from; keep and reuse them");
    auto memory = me_.make(segment_name(messenger_, number), bytes, segment_kind);
    by_address_.emplace(memory.data(), number);
    segments_.push_back({std::move(memory), std::vector<bool>(static_cast<unsigned>(me_.size()))});
    return segments_.back().memory.data();
}

void Segments::give_back(std::byte* data) {
    const auto number = by_address_.at(data);
    free_.emplace(segments_[number].memory.size(), number);
}

std::optional<Segments::Location> Segments::find(const std::byte* data, std::uint64_t bytes) const {
    auto after = by_address_.upper_bound(data);
    if (after == by_address_.begin()) return std::nullopt;
    const auto& [begin, number] = *--after;
    const auto offset = static_cast<std::uint64_t>(data - begin);
    const auto size = segments_[number].memory.size();
    if (offset > size || bytes > size - offset) return std::nullopt;
    return Location{number, offset};
}

void Segments::grant(std::uint64_t number, int peer) {
    Segment& segment = segments_[number];
    if (segment.granted[static_cast<unsigned>(peer)]) return;
    me_.grant(segment.memory, peer);
    segment.granted[static_cast<unsigned>(peer)] = true;
}

}  // namespace penstock::message
