#include "process/processor_budget.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <tuple>
#include <utility>

#include "penstock/error.hpp"
#include "process/fork.hpp"

namespace penstock {
namespace budget {
namespace {

struct ClaimsOfThisProcess {
    ProcessMutex mutex;
    std::uint32_t at_forks = forks();
    std::vector<Entry> entries;
};

}  // namespace

Table table_of_this_process() {
    // Never destroyed: machines with static lifetime give back their claims late.
    static auto& claims = *new ClaimsOfThisProcess;
    return [](const auto& change) {
        const std::lock_guard hold(claims.mutex);
        if (claims.at_forks != forks()) {  // what stands there are the claims of a parent
            claims.entries.clear();
            claims.at_forks = forks();
        }
        auto entries = claims.entries;
        change(entries);
        claims.entries = std::move(entries);
    };
}

std::vector<int> chosen(const Topology& topology, const Claims& claims, int wanted, int near) {
    const auto claims_of = [&](int index) {
        const auto found = claims.find(index);
        return found == claims.end() ? 0 : found->second;
    };
    std::map<int, int> used_cores;
    std::vector<const Processor*> left;
    for (const auto& processor : topology.processors()) {
        used_cores[processor.core] += claims_of(processor.index);
        left.push_back(&processor);
    }
    int centre = topology.find(near) != nullptr ? near : -1;
    const auto rank = [&](const Processor* processor) {
        const auto away = centre < 0 ? Distance::same_processor : topology.distance(centre, processor->index);
        return std::tuple(claims_of(processor->index), processor->index != near, used_cores[processor->core], away,
                          processor->index);
    };
    std::vector<int> taken;
    while (!left.empty() && static_cast<int>(taken.size()) < wanted) {
        const auto best = std::min_element(left.begin(), left.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
        taken.push_back((*best)->index);
        ++used_cores[(*best)->core];
        if (centre < 0) centre = taken.front();
        left.erase(best);
    }
    return taken;
}

}  // namespace budget

namespace {

namespace fs = std::filesystem;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

void refuse_bad_name(std::string_view name) {
    constexpr std::size_t longest = 64;
    const auto legal = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
    if (name.size() > longest || !is_letter_or_digit(name.front()) || !std::all_of(name.begin(), name.end(), legal))
        throw UsageError("\"" + std::string(name) +
                         "\" cannot name a processor budget: use 1 to 64 letters, digits, '-', '_' " +
                         "and '.', a letter or digit first");
}

bool can_create_files_in(const fs::path& folder) { return access(folder.c_str(), W_OK | X_OK) == 0; }

// The first that all processes of the user see is best: the environment may differ between them.
fs::path default_directory() {
    if (can_create_files_in("/dev/shm")) return "/dev/shm";
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime != 0 && can_create_files_in(runtime)) return runtime;
    return fs::temp_directory_path();
}

// Process numbers mean something only inside one pid namespace.
std::string pid_namespace() {
    struct stat status{};
    return stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : "0";
}

fs::path file_of(std::string_view name, const fs::path& directory) {
    const fs::path folder = directory.empty() ? default_directory() : directory;
    return folder / ("penstock-budget-" + std::to_string(geteuid()) + "-" + pid_namespace() + "-" + std::string(name));
}

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void count(budget::Claims& claims, const budget::Entry& entry) {
    for (const int processor : entry.processors) ++claims[processor];
}

}  // namespace

ProcessorClaim::Held::~Held() {
    if (owner != getpid()) return;
    for (const auto& table : tables) {
        try {
            table([&](std::vector<budget::Entry>& all) {
                std::erase_if(all, [&](const budget::Entry& e) { return e.process.pid == owner && e.id == id; });
            });
        } catch (const std::exception&) {
            // The table cannot be written now; the entry falls when this process ends.
        }
    }
}

ProcessorBudget ProcessorBudget::from_environment() {
    const char* name = std::getenv("PENSTOCK_BUDGET");
    return join(name == nullptr ? "" : name);
}

ProcessorBudget ProcessorBudget::join(std::string_view name, const BudgetOptions& options) {
    if (!name.empty()) refuse_bad_name(name);
    ProcessorBudget joined;
    joined.name_ = name;
    joined.topology_ = options.topology != nullptr ? options.topology : &Topology::here();
    joined.table_ =
        name.empty() ? budget::table_of_this_process() : budget::table_in_file(file_of(name, options.directory));
    return joined;
}

ProcessorClaim ProcessorBudget::claim(int wanted, int near) {
    if (wanted < 1)
        throw UsageError("ProcessorBudget::claim: cannot claim " + std::to_string(wanted) +
                         " processors; ask for at least 1");
    const auto local = budget::table_of_this_process();
    budget::Entry entry{.process = ProcessIdentity::of_this_process(), .id = next_id(), .budget = name_};
    int shared = 0;
    const auto choose = [&](const budget::Claims& claims) {
        entry.processors = budget::chosen(*topology_, claims, wanted, near);
        shared = static_cast<int>(std::count_if(entry.processors.begin(), entry.processors.end(),
                                                [&](int processor) { return claims.contains(processor); }));
    };
    // The table of this process holds all its claims, so that machines in different budgets avoid each other too; those
    // of this budget are counted once, in the shared table.
    local([&](std::vector<budget::Entry>& mine) {
        budget::Claims claims;
        for (const auto& other : mine)
            if (name_.empty() || other.budget != name_) count(claims, other);
        if (name_.empty()) {
            choose(claims);
        } else {
            table_([&](std::vector<budget::Entry>& everybodys) {
                for (const auto& other : everybodys) count(claims, other);
                choose(claims);
                everybodys.push_back(entry);
            });
        }
        mine.push_back(entry);
    });
    ProcessorClaim claim;
    claim.processors_ = entry.processors;
    claim.shared_ = shared;
    claim.held_.reset(new ProcessorClaim::Held{{local}, entry.id, entry.process.pid});
    if (!name_.empty()) claim.held_->tables.push_back(table_);
    return claim;
}

std::vector<budget::Entry> ProcessorBudget::members() const {
    std::vector<budget::Entry> found;
    table_([&](const auto& all) { found = all; });
    return found;
}

}  // namespace penstock
