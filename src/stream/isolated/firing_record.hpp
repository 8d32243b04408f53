// What the program and a worker process share about a filter that lives in the worker: what the filter is made of, the
// firing that it is asked for, and what it did. Lies in the machine's shared heap, at one address in both, together
// with the values of all buffers.
//
// The program writes a job and issues a task for it; the worker does the job and writes a report, which holds from the
// store to `done`. Before that store only `taken` counts: how many buffers it has read in this job. While it does a job
// the worker may ask for memory, and waits for the answer. The program checks what a worker wrote against what it knows
// itself (contract 19).
#pragma once

#include "penstock/carried.hpp"
#include "penstock/filter.hpp"
#include "stream/run/cuts.hpp"
#include "stream/run/filter_backend.hpp"

namespace penstock::streaming {

/// What a buffer is beside its values.
struct Shape {
    std::uint64_t bytes = 0;
    std::uint32_t rank = 1;
    bool tagged = false;
    Tags tags{};
    std::array<std::size_t, Block::max_rank> extents{};

    static Shape of(const Block& block) noexcept {
        return {block.bytes, block.rank, block.tagged, block.tags, block.extents};
    }
    void give_to(Block& block) const noexcept {
        block.bytes = bytes;
        block.rank = rank;
        block.tagged = tagged;
        block.tags = tags;
        block.extents = extents;
    }
};

/// Memory of the program's that lies with a worker. `slot`: by which both sides know it.
struct Loan {
    std::byte* values = nullptr;
    std::uint64_t capacity = 0;
    std::uint32_t slot = 0;
};

/// A buffer that waits at an input and may be read in this job.
struct Passed {
    Loan memory{};
    std::uint32_t inlet = 0;
    bool shared = false;  ///< others read it too
    std::uint64_t written = 0;
    Shape shape{};
};

/// Memory for a buffer that the filter may make.
struct Granted {
    Loan memory{};
    std::uint32_t outlet = 0;
};

/// What a filter did, in its order.
struct Action {
    enum Kind : std::uint32_t { take, write, give_back, close } kind = take;
    std::uint32_t port = 0;  ///< of take, write and close
    std::uint32_t slot = 0;  ///< of write and give_back
    Shape shape{};           ///< of write
};

/// What a job came to. A report consists of this, the actions, the events, the type and the text of what was thrown,
/// and the state if it has changed, one encoded behind the other.
struct Findings {
    std::uint64_t ticks = 0;  ///< that the firing took
    bool failed = false;
    bool over = false;  ///< the firing said that the filter has ended
    bool made = false;  ///< the object was made in this job
    bool state_changed = false;
};

struct CallRecord {
    FilterCall call = FilterCall::fire;
    bool begun = false;  ///< start() has been called before, in another process if need be
    std::uint64_t number = 0;
    std::uint64_t passed = 0;
    std::uint64_t granted = 0;
    std::uint64_t inlets = 0;
    std::uint64_t outlets = 0;
    std::uint64_t settings_version = 0;
    std::uint64_t settings_bytes = 0;
    std::uint64_t event_bytes = 0;
    // Behind it: Passed[passed], Granted[granted], a byte for each inlet (no more will come), one for each outlet
    // (somebody reads), settings, event.
};

// ---- values of settings as bytes ----

inline void encode_setting(carried::Encoder& to, const SettingValue& value) {
    carried::encode(to, static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& each) { carried::encode(to, each); }, value);
}

/// Throws Error when the bytes are those of no setting.
inline SettingValue decode_setting(carried::Decoder& from) {
    const auto index = carried::decode<std::uint8_t>(from);
    if (index == 0) return carried::decode<bool>(from);
    if (index == 1) return carried::decode<std::int64_t>(from);
    if (index == 2) return carried::decode<double>(from);
    if (index == 3) return carried::decode<std::string>(from);
    carried::Decoder::incomplete();
}

/// What all filters of a run in workers share: where threads of the program that run stations sleep.
struct RunBoard {
    static constexpr std::uint32_t most_bells = 8;
    std::atomic<std::uint64_t> news{0};   ///< the workers': reports and questions so far
    std::atomic<std::uint32_t> armed{0};  ///< the program's: bells that are to be rung, a bit each
    std::array<Doorbell, most_bells> bells{};

    void announce() noexcept {
        news.fetch_add(1, std::memory_order_release);
        const auto some = armed.load(std::memory_order_relaxed);
        for (std::uint32_t bell = 0; bell < most_bells; ++bell)
            if ((some >> bell & 1) != 0) wake_at(bells[bell]);
    }
};

struct FiringRecord {
    static constexpr std::uint32_t most_ports = 32;  ///< of one direction

    // The program's, between jobs.
    std::uint64_t key = 0;
    FilterKind::Maker make = nullptr;
    std::span<const std::byte> arguments;
    std::span<const std::byte> state;  ///< null: as it is made
    std::span<const std::byte> heap;   ///< into which pointers in its state may point
    Cuts cuts{};
    RunBoard* board = nullptr;
    CallRecord* job = nullptr;

    // The program's, also when it answers.
    alignas(128) std::span<std::byte> report;  ///< room for it
    Loan answer{};                             ///< null: there is no memory
    std::atomic<std::uint64_t> answered{0};

    // The worker's.
    alignas(128) std::atomic<std::uint64_t> done{0};  ///< number of the job that is reported
    std::atomic<std::uint64_t> asked{0};              ///< number of its question
    struct Question {
        enum Kind : std::uint32_t { values, own_values, report } kind = values;
        std::uint32_t outlet = 0;
        std::uint64_t bytes = 0;
    } question;
    std::array<std::atomic<std::uint32_t>, most_ports> taken{};
};

}  // namespace penstock::streaming
