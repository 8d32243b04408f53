#include "nodes/pmix.hpp"

#include <dlfcn.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>

#include "penstock/cluster.hpp"
#include "process/quiet_thread.hpp"

namespace penstock::nodes::pmix {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_farewell = 10s;

struct Functions {
    int (*init)(Process* self, void* info, std::size_t count);
    int (*finalize)(const void* info, std::size_t count);
    int (*put)(std::uint8_t scope, const char* key, Value* value);
    int (*commit)();
    int (*fence)(const Process* processes, std::size_t count, const void* info, std::size_t infos);
    int (*get)(const Process* from, const char* key, const void* info, std::size_t count, Value** value);
    const char* (*error)(int status);
};

struct Loaded {
    Functions functions{};
    std::string missing{};

    Loaded() {
        void* const library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            missing =
                "processes that mpirun or srun has started find one another by PMIx (libpmix.so.2), and it was not "
                "found: install it (Debian, Ubuntu: apt install libpmix2)";
            return;
        }
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            if (function == nullptr) missing = std::string("the libpmix.so.2 that was found has no ") + name;
        };
        find(functions.init, "PMIx_Init");
        find(functions.finalize, "PMIx_Finalize");
        find(functions.put, "PMIx_Put");
        find(functions.commit, "PMIx_Commit");
        find(functions.fence, "PMIx_Fence");
        find(functions.get, "PMIx_Get");
        find(functions.error, "PMIx_Error_string");
    }
};

const Functions& found() {
    static const Loaded all;
    if (!all.missing.empty()) throw PmixMissing(all.missing);
    return all.functions;
}

/// This process in its job.
class Job {
  public:
    Job() : pmix_(found()) { check(pmix_.init(&self_, nullptr, 0), "PMIx_Init"); }

    std::uint32_t rank() const noexcept { return self_.rank; }
    std::uint32_t size() const {
        const auto value = get(all_ranks, job_size);
        if (value->type != type_uint32) throw Error("PMIx does not say how many processes the job has");
        return value->data.number;
    }
    void put(const std::string& name, std::string text) {
        Value value{};
        value.type = type_string;
        value.data.string = text.data();
        check(pmix_.put(to_all, key(name).text, &value), "PMIx_Put");
    }
    void commit() { check(pmix_.commit(), "PMIx_Commit"); }
    /// All processes of the job have come here, and what they put can be got.
    void fence() {
        const auto all = of(all_ranks);
        check(pmix_.fence(&all, 1, nullptr, 0), "PMIx_Fence");
    }
    std::string text_of_first(const std::string& name) const {
        const auto value = get(0, name);
        if (value->type != type_string || value->data.string == nullptr)
            throw Error("the first process of the job has put something else than a text");
        return value->data.string;
    }
    void leave() { check(pmix_.finalize(nullptr, 0), "PMIx_Finalize"); }

  private:
    struct Key {
        char text[key_bytes];
    };
    static Key key(const std::string& name) {
        Key made{};
        name.copy(made.text, key_bytes - 1);
        return made;
    }
    struct Free {
        void operator()(Value* value) const noexcept {
            if (value->type == type_string) std::free(value->data.string);
            std::free(value);
        }
    };
    std::unique_ptr<Value, Free> get(std::uint32_t rank, const std::string& name) const {
        const auto from = of(rank);
        Value* value = nullptr;
        check(pmix_.get(&from, key(name).text, nullptr, 0, &value), "PMIx_Get");
        if (value == nullptr) throw Error("PMIx has no value for '" + name + "'");
        return std::unique_ptr<Value, Free>(value);
    }
    Process of(std::uint32_t rank) const noexcept {
        Process made = self_;
        made.rank = rank;
        return made;
    }
    void check(int status, const char* function) const {
        if (status != 0)
            throw Error(std::string(function) + " failed: " + pmix_.error(status) +
                        " (was every process of the job started by one mpirun or srun?)");
    }

    const Functions& pmix_;
    Process self_{};
};

std::string name_for(std::uint32_t rank) { return "penstock.invitation." + std::to_string(rank); }

/// The first process, which joins the job once.
struct First {
    std::mutex lock{};
    std::unique_ptr<Job> job{};
    bool has_left = false;
};
First& first() {
    static auto* const kept = new First;  // a thread may still wait for others when the process ends
    return *kept;
}

/// Under the lock.
Job& join(First& from) {
    if (from.has_left)
        throw UsageError(
            "the other processes of this job belong to a cluster already, or have ended: a job has one cluster with "
            "the engine 'pmix'; run several graphs on that one");
    if (!in_job())
        throw UsageError(
            "the engine 'pmix' is for programs that are started by `mpirun -n N` or `srun --mpi=pmix -n N`, and this "
            "one was not (PMIX_RANK is not set)");
    if (is_other())
        throw UsageError(
            "this is not the first process of its job, which alone makes the cluster: have each process call "
            "become_agent(\"pmix\") before that");
    if (from.job == nullptr) from.job = std::make_unique<Job>();
    return *from.job;
}

}  // namespace

bool in_job() noexcept { return std::getenv("PMIX_RANK") != nullptr && std::getenv("PMIX_NAMESPACE") != nullptr; }

bool is_other() noexcept { return in_job() && std::strcmp(std::getenv("PMIX_RANK"), "0") != 0; }

std::uint32_t processes_of_job() {
    auto& process = first();
    const std::lock_guard guard(process.lock);
    return join(process).size();
}

void give(const std::vector<std::string>& texts) {
    auto& process = first();
    const std::lock_guard guard(process.lock);
    auto& job = join(process);
    process.has_left = true;
    for (std::size_t i = 0; i < texts.size(); ++i) job.put(name_for(static_cast<std::uint32_t>(i + 1)), texts[i]);
    job.commit();
    job.fence();
    job.leave();
}

void send_away() noexcept {
    struct Sent {
        std::mutex lock{};
        std::condition_variable changed{};
        bool done = false;
    };
    try {
        const auto sent = std::make_shared<Sent>();
        process::quiet_thread("penstock pmix", [sent] {
            try {
                give(std::vector<std::string>(processes_of_job() - 1));
            } catch (const std::exception&) {  // they have gone already, or mpirun ends them with this process
            }
            const std::lock_guard guard(sent->lock);
            sent->done = true;
            sent->changed.notify_all();
        }).detach();
        std::unique_lock guard(sent->lock);
        sent->changed.wait_for(guard, longest_farewell, [&] { return sent->done; });
    } catch (const std::exception&) {  // no memory, no thread: mpirun ends them with this process
    }
}

std::string await_text() {
    Job job;
    job.fence();
    auto text = job.text_of_first(name_for(job.rank()));
    job.leave();
    return text;
}

}  // namespace penstock::nodes::pmix
