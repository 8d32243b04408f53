// task layer: a chain as it is described, and as targets run it.
//
// Each step keeps what the descriptor of its call would have held (the same packing, pack.hpp) and a list of patches:
// where an address, a length or a value stands that only the issue or the local store can give. A step without patches
// runs from its template as it is, which all targets share and none writes; another is copied to the stack (a line or
// four) and patched. `./bench jobs` prints what a step costs.
//
// A Description grows while the chain is described. The first issue makes an Image of it, which never changes, and
// which lives until the last task that runs it has ended (use_count.hpp). Who changes the description later gets
// another image at the next issue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/detail/task/chain_argument.hpp"
#include "penstock/detail/task/descriptor.hpp"
#include "penstock/detail/task/footprint.hpp"
#include "penstock/detail/task/local_store.hpp"
#include "penstock/detail/task/resident_argument.hpp"
#include "penstock/detail/task/use_count.hpp"
#include "penstock/heap.hpp"

namespace penstock::isolated {
class Carrier;
}

namespace penstock::chain {

class Image;

/// The packed arguments of one step: the line, then the extension.
struct alignas(64) Packed {
    std::byte line[64];
    Extension extension;
};

/// One thing to write into a copy of a step's packed arguments before it runs.
struct Patch {
    enum class Kind : std::uint8_t {
        span,   ///< address and length of a parameter
        part,   ///< address of a part of a parameter
        local,  ///< address in the local store
        bytes,  ///< a parameter in its packed form: views, scalars
    };
    Kind kind = Kind::bytes;
    std::uint16_t to = 0;     ///< byte of Packed
    std::uint32_t index = 0;  ///< of the parameter or local block
    std::uint32_t from = 0;   ///< byte of the parameters' values
    std::uint32_t count = 0;  ///< bytes to copy
    std::size_t offset = 0;   ///< bytes from the beginning of the parameter or of the local store
};

struct Step {
    std::uint32_t entry = 0;
    std::uint32_t first_patch = 0;
    std::uint32_t patches = 0;
    bool extended = false;
    /// Throws CannotCarryOver for an argument that means nothing in another process; null where nobody knows.
    void (*check_carried)(const Packed&, const isolated::Carrier&) = nullptr;
    Packed packed{};
};

/// What a target needs to run a chain. It and all that it points to lie in an Image, or in the shared heap for worker
/// processes.
struct Program {
    const Step* steps = nullptr;
    const Patch* patches = nullptr;
    std::size_t count = 0;  ///< steps
    std::size_t local_bytes = 0;
    const char* name = nullptr;
    std::size_t name_length = 0;
    Image* image = nullptr;  ///< whose uses the task counts; null where the program that issued it does

    /// Runs all steps in order. `values`: those of the parameters, laid out by the chain. What a step throws comes out
    /// as StepFailed, and no further step runs. Local memory is freed.
    void run(LocalStore& store, const std::byte* values) const;
    /// "blur (step 1 of 2 of chain sharpen)"; steps count from 1 here.
    std::string step_name(std::size_t step) const;

  private:
    void run_patched(const Step& step, LocalStore& store, const std::byte* local, const std::byte* values) const;
    [[noreturn]] void throw_step_failed(std::size_t step) const;
};

/// What a step threw, on its way to whoever keeps the failure of the chain's task. `task`: the step's procedure, and
/// which step of which chain it is.
struct StepFailed {
    std::string task;
    std::exception_ptr cause;
};

/// What all issues of one parameter must keep to.
struct Requirement {
    std::size_t least = 0;          ///< elements
    std::size_t most = UINT32_MAX;  ///< a step's descriptor holds 32 bits of a length
    bool read_first = false;        ///< the first step that uses it reads it: it cannot be out
    bool used = false;
};

/// A step has this memory beside a parameter, and one of the two is written: they must not meet.
struct Hazard {
    std::uint32_t parameter = 0;
    std::size_t offset = 0;  ///< bytes of the parameter's part
    std::size_t bytes = 0;   ///< of the part, or any_count for all of it
    Bounds bounds;
    Footprint footprint;
    std::uint32_t entry = 0;
    int argument = 0;
};

/// Resident data that a step names. An image holds the version that is current when it is made.
struct ResidentPlace {
    std::shared_ptr<resident::State> state;
    std::size_t step = 0;
    std::uint16_t to = 0;  ///< byte of Packed
};

class Description {
  public:
    explicit Description(std::string name, std::size_t parameters);

    std::uint64_t id() const noexcept { return id_; }
    const std::string& name() const noexcept { return name_; }
    const std::vector<Step>& steps() const noexcept { return steps_; }
    const std::vector<Requirement>& requirements() const noexcept { return requirements_; }
    const std::vector<Hazard>& hazards() const noexcept { return hazards_; }

    /// A local block. Throws UsageError when it has 2^32 elements or more.
    Location add_local(std::size_t count, std::size_t element);
    /// Notes that the next step uses `place`. Throws UsageError for another chain's place, ArgumentError for a block
    /// that is read before anything was written to it.
    void use(const Location& place, Access access, std::string_view task, int argument);
    /// The next step's argument takes `count` elements of a parameter whose size each issue gives.
    void require(const Location& place, std::size_t least, std::size_t most);
    void add_hazard(Hazard hazard) { hazards_.push_back(std::move(hazard)); }
    void add_resident(std::shared_ptr<resident::State> state, std::uint16_t to) {
        residents_.push_back({std::move(state), steps_.size(), to});
    }
    const std::vector<ResidentPlace>& residents() const noexcept { return residents_; }
    /// Held around issues of a chain with resident data, whose image changes with their versions.
    std::mutex& mutex() noexcept { return mutex_; }
    void add_patch(const Patch& patch) { patches_.push_back(patch); }
    /// Ends the step whose patches were added.
    void add_step(std::uint32_t entry, const Packed& packed, bool extended,
                  void (*check_carried)(const Packed&, const isolated::Carrier&) = nullptr);
    /// Forgets the patches and hazards of a step that was refused.
    void give_up_step() noexcept;

    [[noreturn]] void refuse_size(std::size_t parameter, std::size_t size) const;
    [[noreturn]] void refuse(std::size_t parameter, const std::string& what) const;
    [[noreturn]] void refuse_overlap(const Hazard& hazard) const;

  private:
    friend class Image;
    struct Local {
        std::size_t bytes = 0;
        std::size_t first = static_cast<std::size_t>(-1);  ///< the steps that use it
        std::size_t last = 0;
        bool written = false;
    };

    std::uint64_t id_;
    std::string name_;
    std::vector<Step> steps_;
    std::vector<Patch> patches_;
    std::vector<Local> locals_;
    std::vector<Requirement> requirements_;
    std::vector<Hazard> hazards_;
    std::vector<ResidentPlace> residents_;
    std::mutex mutex_;
    std::size_t step_hazards_ = 0;  ///< hazards of complete steps
    std::size_t step_patches_ = 0;  ///< patches of complete steps
};

/// What targets run. Immutable; counted.
class Image final : public Shared {
  public:
    explicit Image(const Description& description);
    ~Image() override;

    const Program& program() const noexcept { return program_; }
    void run(LocalStore& store, const std::byte* values) const { program_.run(store, values); }
    /// The same in the shared heap, made at the first issue to worker processes of that machine. Throws
    /// CannotCarryOver, SystemError.
    const Program& share(isolated::Carrier& carrier);
    void end_elsewhere() noexcept override { end(0); }

    /// Begins a use: of this, and of the resident data that it names. False when one of these has a newer version.
    bool begin() noexcept;
    /// Ends it. The last thing that a task does here.
    void end(std::uint32_t worker) noexcept {
        for (const auto& [state, version] : versions_) version->uses.end(worker);
        uses.end(worker);
    }
    /// Bytes of the local store that its blocks take, those whose lives do not meet sharing room.
    std::size_t local_bytes() const noexcept { return local_bytes_; }
    /// Throws UsageError: the local store is smaller than this chain's blocks.
    [[noreturn]] void refuse_local_store(std::size_t bytes) const;

  private:
    struct Copy {
        std::shared_ptr<SharedHeap> heap;
        Program* program = nullptr;
    };
    struct ResidentStep {
        resident::Version* version = nullptr;
        std::size_t step = 0;
        std::uint16_t to = 0;  ///< byte of Packed
    };
    static std::vector<std::size_t> lay_out(const std::vector<Description::Local>& locals, std::size_t& total);

    std::string name_;
    std::vector<Step> steps_;
    std::vector<Patch> patches_;
    std::vector<std::pair<std::size_t, std::size_t>> blocks_;  ///< local blocks: offset and bytes
    std::vector<std::pair<std::shared_ptr<resident::State>, std::shared_ptr<resident::Version>>> versions_;
    std::vector<ResidentStep> residents_;
    std::size_t local_bytes_ = 0;
    Program program_;
    std::mutex mutex_;
    std::vector<Copy> copies_;  ///< under mutex_: one for each machine of worker processes
};

}  // namespace penstock::chain
