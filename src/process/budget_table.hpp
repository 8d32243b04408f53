// The tables in which machines write down which processors they have claimed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "penstock/detail/process/identity.hpp"

namespace penstock::budget {

/// One claim.
struct Entry {
    ProcessIdentity process;
    std::uint64_t id = 0;  // unique in its process
    std::vector<int> processors{};
    std::string budget{};  // its name; only the table of this process holds claims of several
};

/// Gives a change the claims of the living while nobody else can look, and keeps what it makes of them. What the change
/// throws passes through and leaves the table as it was. Throws SystemError.
using Table = std::function<void(const std::function<void(std::vector<Entry>&)>& change)>;

/// The one that all machines of this process share. Empty in a forked child.
Table table_of_this_process();

/// One that processes share through a file, which is there only while it has entries.
Table table_in_file(std::filesystem::path file);

}  // namespace penstock::budget
