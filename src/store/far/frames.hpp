// What the nodes of a team say to one another: the kinds of frames, and what their heads hold.
#pragma once

#include <cstdint>

#include "wire/frame.hpp"

namespace penstock::team {

/// In the head of each frame stands first which team. Kinds below are those of graphs, kinds above those of clusters.
enum class FarFrame : std::uint16_t {
    grant = 40,  ///< GrantHead; payload: name, description
    accepted,    ///< OfMemory: a grant was taken
    dropped,     ///< OfMemory: a holder has no more of it
    stores,      ///< TeamHead; payload: StoreRecord and bytes, again and again
    copy,        ///< CopyHead; payload: bytes for the memory
    copy_back,   ///< CopyBackHead
    change,      ///< ChangeHead
    changed,     ///< ChangedHead: the answer
    fence,       ///< FenceHead: has all that came before been applied?
    fenced,      ///< FenceHead: the answer
    ended,       ///< EndedHead: a rank
    last
};
inline constexpr std::uint16_t first_far_frame = static_cast<std::uint16_t>(FarFrame::grant);
static_assert(first_far_frame > wire::number(wire::FrameKind::first_of_users));

struct TeamHead {
    std::uint32_t team;
};
struct GrantHead {
    std::uint32_t team;
    std::uint32_t memory;  ///< its number at its owner's node
    std::int32_t owner;
    std::int32_t to;
    std::uint64_t bytes;
    std::uint64_t kind;
    std::uint32_t name_bytes;
};
struct OfMemory {
    std::uint32_t team;
    std::uint32_t memory;
    std::int32_t rank;
};
struct StoreRecord {
    std::uint32_t memory;
    std::uint32_t bytes;
    std::uint64_t offset;
};
struct CopyHead {
    static constexpr std::uint32_t no_word = 0;
    std::uint32_t team;
    std::uint32_t memory;
    std::uint64_t offset;
    std::uint64_t word;  ///< its place in the memory
    std::uint64_t value;
    std::uint32_t word_bytes;  ///< 4 or 8, or none
    std::uint32_t wakes;       ///< the owner is woken
};
struct CopyBackHead {
    std::uint32_t team;
    std::uint32_t memory;
    std::uint64_t offset;
    std::int32_t to;  ///< whose shadow
    std::uint32_t value;
};
struct ChangeHead {
    std::uint32_t team;
    std::uint32_t memory;
    std::uint64_t number;  ///< of the question
    std::uint64_t value;
    std::uint64_t expected;
    std::uint32_t what;  ///< WordChange
};
struct ChangedHead {
    std::uint32_t team;
    std::uint32_t written;
    std::uint64_t number;
    std::uint64_t before;
};
struct FenceHead {
    std::uint32_t team;
    std::uint32_t nothing;
    std::uint64_t number;
};
struct EndedHead {
    std::uint32_t team;
    std::int32_t rank;
    std::uint32_t state;
};

template <class Head>
wire::FrameHead frame_of(FarFrame kind, const Head& head) noexcept {
    return wire::FrameHead::of(static_cast<std::uint16_t>(kind), head);
}

}  // namespace penstock::team
