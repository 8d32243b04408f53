// PMIx, by which processes that mpirun or srun has started find one another. The library is found when it is first
// needed: Penstock is built and used without it.
//
// The first process of the job gives each other one a text; then all of them leave PMIx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::nodes::pmix {

// ---- what is used of PMIx's interface, versions 3 to 5, for which its headers are not needed ----

inline constexpr std::size_t name_space_bytes = 256, key_bytes = 512;
inline constexpr std::uint32_t all_ranks = 0xfffffffe;
inline constexpr std::uint8_t to_all = 3;  ///< a scope: on this node and others
inline constexpr std::uint16_t type_string = 3, type_uint32 = 14;
inline constexpr const char* job_size = "pmix.job.size";

struct Process {
    char name_space[name_space_bytes];
    std::uint32_t rank;
};
struct Value {
    std::uint16_t type;
    union {
        char* string;
        std::uint32_t number;
        std::uint64_t room[3];  ///< as large as the largest of them
    } data;
};

/// Has this process been started as one of a job with PMIx?
bool in_job() noexcept;
/// As in_job(), and not the first of it. Without the library.
bool is_other() noexcept;
/// Of the first process: how many there are. Joins the job. Throws PmixMissing, UsageError where there is no job, or
/// this process is not the first of it, or has left it.
std::uint32_t processes_of_job();
/// Of the first process, once: gives these texts to the processes of rank 1, 2 and so on, and leaves the job. Waits for
/// all of them. Throws Error.
void give(const std::vector<std::string>& texts);
/// The others are not needed, and end. Waits for ten seconds at most: those that have not come by then are left alone.
void send_away() noexcept;
/// Of the others: what the first process gives them; empty: nothing is wanted of them. Leaves the job. Throws as above.
std::string await_text();

}  // namespace penstock::nodes::pmix
