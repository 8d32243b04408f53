// How memory gets from the rank that owns it to the rank that it is granted to. One kind for each substrate.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/rank.hpp"

namespace penstock::team {

/// Stands behind the data, so that the data begins on a page. Written by the owner; `accepted` by those who accept.
struct alignas(128) MemoryNote {
    static constexpr std::uint64_t valid = 0x3145544f4e4e5350;  // "PSNNOTE1"
    static constexpr int words = most_ranks / 64;
    static constexpr std::uint32_t longest_description = 1000;

    std::uint64_t magic = valid;
    std::uint64_t bytes = 0;
    std::uint64_t kind = 0;
    std::uint32_t described = 0;  ///< bytes of `description`
    char description[longest_description]{};
    std::atomic<std::uint64_t> granted[words]{};   ///< a bit for each rank
    std::atomic<std::uint64_t> accepted[words]{};  ///< a bit for each rank

    /// Where it stands behind `bytes` of data; nothing when there can be no such memory.
    static std::optional<std::size_t> offset(std::size_t bytes) noexcept;
};

/// One grant, on its way or waiting to be accepted.
struct Letter {
    std::uint64_t bytes = 0;
    std::uint64_t kind = 0;
    std::shared_ptr<Mapping> memory{};  ///< between threads
    OwnedDescriptor descriptor{};       ///< between processes
    bool descriptor_lost = false;       ///< this process had no descriptor left when it arrived
};

/// Letters that wait to be accepted, in the order in which they arrived.
template <class Key>
using Letters = std::map<Key, std::deque<Letter>>;

/// The oldest letter of this key, if any.
template <class Key>
std::optional<Letter> take_first(Letters<Key>& letters, const Key& key) {
    const auto found = letters.find(key);
    if (found == letters.end()) return std::nullopt;
    Letter letter = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) letters.erase(found);
    return letter;
}

class Exchange {
  public:
    virtual ~Exchange() = default;
    /// New memory of `bytes`, with its note behind it. Throws SystemError.
    RankMemory make(const Member& member, std::string_view name, std::size_t bytes, std::uint64_t kind, Pages pages);
    /// Sends a grant. False when the receiver's box is full just now or its end is gone.
    virtual bool try_send(const Member& member, const RankMemory& memory, int to) = 0;
    /// The oldest grant of this name by this owner that has arrived, if any.
    virtual std::optional<Letter> collect(const Member& member, int owner, const std::string& name) = 0;
    /// Takes in what has arrived, so that senders have room.
    virtual void take_in(const Member&) {}
    /// The memory behind a letter. Throws InvalidGrant, SystemError.
    virtual RankMemory open(Letter letter, int owner, const std::string& name) = 0;

  protected:
    virtual std::shared_ptr<Mapping> allocate(std::string_view name, std::size_t bytes, Pages pages) = 0;
    /// Memory of somebody else's, of which `bytes`, which it has room for, are data.
    static RankMemory opened(std::shared_ptr<Mapping> memory, std::size_t bytes, int owner, const std::string& name);
};

/// Grants between threads: a table that all members have. Safe from any thread.
class ThreadExchange final : public Exchange {
  public:
    bool try_send(const Member& member, const RankMemory& memory, int to) override;
    std::optional<Letter> collect(const Member& member, int owner, const std::string& name) override;
    RankMemory open(Letter letter, int owner, const std::string& name) override;

  private:
    /// Memory of this process asks for huge pages whenever it is large enough.
    std::shared_ptr<Mapping> allocate(std::string_view, std::size_t bytes, Pages) override {
        return std::make_shared<LocalMemory>(bytes);
    }

    std::mutex mutex_;
    Letters<std::tuple<int, int, std::string>> letters_;  ///< by receiver, owner, name
};

/// Grants between processes: descriptors over one datagram socket for each rank, to which all may send and from which
/// it alone receives. One object in each process.
class ProcessExchange final : public Exchange {
  public:
    /// `inbox`: this rank's receiving end; `outboxes`: a sending end for each rank.
    ProcessExchange(OwnedDescriptor inbox, std::vector<OwnedDescriptor> outboxes)
        : inbox_(std::move(inbox)), outboxes_(std::move(outboxes)) {}

    /// The two ends of each rank's box. Throws SystemError.
    struct Boxes {
        std::vector<OwnedDescriptor> receiving;
        std::vector<OwnedDescriptor> sending;

        explicit Boxes(int size);
    };

    bool try_send(const Member& member, const RankMemory& memory, int to) override;
    std::optional<Letter> collect(const Member& member, int owner, const std::string& name) override;
    void take_in(const Member& member) override;
    RankMemory open(Letter letter, int owner, const std::string& name) override;

  private:
    std::shared_ptr<Mapping> allocate(std::string_view name, std::size_t bytes, Pages pages) override {
        return std::make_shared<SharedMemory>(SharedMemory::create("penstock-" + std::string(name), bytes, pages));
    }

    OwnedDescriptor inbox_;
    std::vector<OwnedDescriptor> outboxes_;
    Letters<std::pair<int, std::string>> letters_;  ///< by owner, name
};

}  // namespace penstock::team
