// The names of what may be asked of streams and filters, in the order of their enumerations: the one table for C++,
// Python, the language, drawings and JSON.
#pragma once

#include "penstock/edit.hpp"
#include "penstock/stream_options.hpp"

namespace penstock::streaming {

template <std::size_t n>
using Names = std::array<std::string_view, n>;

inline constexpr Names<6> policy_names{"demand_driven", "round_robin", "random", "broadcast", "by_key", "chosen"};
inline constexpr Names<4> when_full_names{"wait", "drop_oldest", "drop_newest", "fail"};
inline constexpr Names<2> on_failure_names{"stop", "go_on"};
inline constexpr Names<3> on_node_loss_names{"stop", "lose", "replay"};
inline constexpr Names<3> removal_names{"finish", "hand_over", "discard"};

template <class Choice, std::size_t n>
constexpr std::string_view name_of(Choice choice, const Names<n>& names) {
    return names[static_cast<std::size_t>(choice)];
}
static_assert(name_of(Policy::chosen, policy_names) == "chosen");
static_assert(name_of(WhenStreamFull::fail, when_full_names) == "fail");
static_assert(name_of(OnFailure::go_on, on_failure_names) == "go_on");
static_assert(name_of(OnNodeLoss::replay, on_node_loss_names) == "replay");
static_assert(name_of(Removal::discard, removal_names) == "discard");

/// The same with `mark` where C++ has an underscore: '-' in the language, a blank in drawings and in JSON.
template <const auto& names, char mark>
struct Spelt {
    static constexpr auto letters = [] {
        std::array<std::array<char, 16>, names.size()> all{};
        for (std::size_t i = 0; i < names.size(); ++i) std::ranges::replace_copy(names[i], all[i].begin(), '_', mark);
        return all;
    }();
    static constexpr auto words = [] {
        Names<names.size()> all;
        for (std::size_t i = 0; i < names.size(); ++i) all[i] = {letters[i].data(), names[i].size()};
        return all;
    }();
};

}  // namespace penstock::streaming
