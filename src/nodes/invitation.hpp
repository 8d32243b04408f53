// What an agent is given to join a cluster.
#pragma once

#include <chrono>
#include <string>

#include "penstock/options.hpp"
#include "wire/endpoint.hpp"

namespace penstock::nodes {

/// One line of text; it holds the secret.
struct Invitation {
    wire::Address program{};
    wire::Secret secret{};
    std::uint64_t run = 0;
    wire::Site site = 0;
    std::uint32_t generation = 0;
    bool encrypted = true;
    std::chrono::milliseconds patience{0};
    int targets = MachineOptions::one_per_processor;
    Isolation isolation = Isolation::none;  ///< of its machine
    bool pinned = true;                     ///< its targets
    std::string name{};

    std::string text() const;
    /// Throws UsageError.
    static Invitation of_text(const std::string& text);
};

/// Where a program finds the invitation that an engine has started it with.
inline constexpr const char* invitation_variable = "PENSTOCK_INVITATION";

}  // namespace penstock::nodes
