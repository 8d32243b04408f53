// The tables in which machines write down which processors they have claimed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/detail/process/identity.hpp"

namespace penstock::budget {

/// One claim.
struct Entry {
    ProcessIdentity process;
    std::uint64_t id = 0;  // unique in its process
    std::vector<int> processors;
    std::string budget;  // its name; only the table of this process holds claims of several
};

class Table {
  public:
    using Change = std::function<void(std::vector<Entry>&)>;

    Table() = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    virtual ~Table() = default;

    /// Gives `change` the claims of the living while nobody else can look, and keeps what it makes of them.
    /// What it throws passes through and leaves the table as it was. Throws SystemError.
    virtual void update(const Change& change) = 0;
};

/// The one that all machines of this process share. Empty in a forked child.
std::shared_ptr<Table> table_of_this_process();

/// One that processes share through a file, which is there only while it has entries.
std::shared_ptr<Table> table_in_file(std::filesystem::path file);

}  // namespace penstock::budget
