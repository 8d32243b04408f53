#include "penstock/detail/task/entry.hpp"

#include <atomic>

#include "penstock/detail/task/procedure.hpp"
#include "penstock/error.hpp"

namespace penstock {

std::uint32_t register_entry(const Entry& entry) {
    static std::atomic<std::uint32_t> count{0};
    const auto number = count.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number >= entries.size())
        throw UsageError(
            "this program calls more than 65,535 different procedures; call some of them through one function "
            "that takes the choice as an argument");
    entries[number] = &entry;
    return number;
}

namespace procedure {

void refuse(std::string_view task, int argument, const char* what) {
    throw ArgumentError(std::string(task), argument, what);
}

}  // namespace procedure
}  // namespace penstock
