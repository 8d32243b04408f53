// stream layer: the mail box of a filter that no thread owns: what is sent to it, and whether somebody is about to
// look, in one word.
//
// Any thread posts. Whoever posts into a box at rest is told so and must see to it that the filter is run; nobody else
// is told until it has been. So a filter is run by one thread at a time, without a lock, and each post costs one
// compare-and-swap.
//
// Happens-before. post() and take_all() are those of a push_list.hpp. rest() publishes what the run before it wrote
// (release), and the post or the claim that finds the box at rest acquires it: so each run of the filter sees what the
// run before it wrote, also on another thread. tests/model/mail_model_test.cpp checks this code.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/push_list.hpp"

namespace penstock::streaming {

enum class MailKind : std::uint8_t {
    buffer,
    skip,   ///< a turn in the order in which nothing was written
    close,  ///< the link's last
    room,   ///< there is room again
    event,
    command,  ///< something that the station itself must do
    /// The turn of a station that was made ready through its box and has a home now: its home shall look into the box
    visit,
    tasks,  ///< the tasks of a firing have completed
    wake,   ///< the station shall look whether it has something to do
};

/// Whatever is sent to a filter. Lies in one box at a time.
struct Mail {
    Mail* next = nullptr;
    void* from = nullptr;      ///< the link that a buffer or a close came by
    std::uint64_t number = 0;  ///< of the mail in its link, from 0
    MailKind kind = MailKind::buffer;
};

template <class Item = Mail, class Policy = StandardAtomics>
class MailBox {
  public:
    /// True when the box was at rest: the caller must have the filter run.
    bool post(Item* mail) noexcept {
        bool rested = false;
        posted_.push(mail, [&](Item* newest) {
            rested = newest == resting();
            mail->next = rested ? nullptr : newest;
            return true;
        });
        return rested;
    }

    /// The caller runs the filter without any mail, if nobody else does. False when the box is not at rest.
    bool claim() noexcept {
        Item* rested = resting();
        return at_rest() && posted_.newest().compare_exchange_strong(rested, nullptr, std::memory_order_acq_rel,
                                                                     std::memory_order_relaxed);
    }

    /// Everything that was posted since, oldest first, linked by `next`; null for nothing. Only for whoever runs the
    /// filter.
    Item* take_all() noexcept {
        if (!has_mail()) return nullptr;
        Item* newest = posted_.take_all(nullptr);
        Item* oldest = nullptr;
        while (newest != nullptr) {
            Item* const older = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = older;
        }
        return oldest;
    }

    /// Whoever runs the filter has nothing to do any more. False when something was posted meanwhile: then it must go
    /// on.
    bool rest() noexcept {
        Item* nothing = nullptr;
        return posted_.newest().compare_exchange_strong(nothing, resting(), std::memory_order_acq_rel,
                                                        std::memory_order_relaxed);
    }

    bool has_mail() const noexcept {
        Item* const newest = posted_.newest().load(std::memory_order_relaxed);
        return newest != nullptr && newest != resting();
    }
    bool at_rest() const noexcept { return posted_.newest().load(std::memory_order_acquire) == resting(); }
    /// Before anybody posts: the box begins as one whose filter is about to be run.
    void begin_at_rest() noexcept { posted_.newest().store(resting(), std::memory_order_relaxed); }

  private:
    /// An address that is no item's.
    Item* resting() const noexcept { return reinterpret_cast<Item*>(const_cast<MailBox*>(this)); }

    PushList<Item*, Policy> posted_{nullptr};
};

}  // namespace penstock::streaming
