// A node whose agent is not to be trusted: it greets rightly, takes its part, and then says what a test makes it say.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "nodes/cluster_state.hpp"
#include "nodes/invitation.hpp"
#include "penstock/cluster.hpp"
#include "wire/pair.hpp"

namespace liars {

using penstock::nodes::About;
using penstock::nodes::Control;
using penstock::streaming::DataHead;
using penstock::streaming::FarKind;
namespace wire = penstock::wire;

inline std::uint16_t number(Control what) { return static_cast<std::uint16_t>(what); }
using penstock::streaming::number;

/// One agent of such a node, in this process.
class Liar final : wire::Events {
  public:
    explicit Liar(const std::string& text)
        : invitation_(penstock::nodes::Invitation::of_text(text)), endpoint_({.secret = invitation_.secret,
                                                                              .run = invitation_.run,
                                                                              .site = invitation_.site,
                                                                              .generation = invitation_.generation,
                                                                              .encrypted = invitation_.encrypted,
                                                                              .patience = invitation_.patience},
                                                                             *this) {
        endpoint_.begin();
        wire_ = endpoint_.dial(0, 1, invitation_.program);
        say(number(Control::present), About{}, penstock::nodes::packed(penstock::nodes::Present{"unix:no", "here", 1}));
    }
    ~Liar() override { endpoint_.close(); }

    template <class Head>
    void say(std::uint16_t kind, const Head& head, std::vector<std::byte> payload = {}) {
        say(wire::FrameHead::of(kind, head), std::move(payload));
    }
    void say(const wire::FrameHead& head, std::vector<std::byte> payload = {}) {
        wire_->put(head, std::move(payload));
        wire_->flush();
    }
    /// The program has taken in all that was said.
    bool is_heard() const { return wire_->under_way() == 0; }
    std::uint32_t site() const { return invitation_.site; }
    std::uint32_t run() const { return run_; }
    /// Its part has begun, and so many buffers have come.
    std::uint64_t heard() const { return heard_; }
    /// The first buffer that came.
    DataHead first() const {
        const std::lock_guard guard(lock_);
        return first_;
    }
    /// What it says when it is asked for its counters; before that it says nothing.
    using Counting = std::function<penstock::nodes::CountersPart(std::uint64_t question)>;
    void counts(Counting counting) {
        const std::lock_guard guard(lock_);
        counting_ = std::move(counting);
    }
    /// The program wants nothing of it any more.
    bool is_over() const { return over_; }

  private:
    std::byte* room(wire::Wire&, const wire::FrameHead& head) override { return new std::byte[head.payload_bytes]; }
    void arrived(wire::Wire&, const wire::FrameHead& head, std::byte* payload) override {
        std::uint64_t question = 0;
        if (head.kind == number(Control::ask_counters)) std::memcpy(&question, payload, sizeof question);
        delete[] payload;
        if (head.kind == number(Control::part)) {
            run_ = head.as<About>().run;
            say(number(Control::ready), About{.run = run_});
        } else if (head.kind == number(Control::ask_counters)) {
            const std::lock_guard guard(lock_);
            if (counting_) say(number(Control::counters), About{}, penstock::nodes::packed(counting_(question)));
        } else if (head.kind == number(FarKind::data) && head.as<DataHead>().run == run_) {
            const std::lock_guard guard(lock_);
            if (heard_ == 0) first_ = head.as<DataHead>();
            ++heard_;
        } else if (head.kind == number(Control::end)) {
            over_ = true;
        } else if (head.kind == number(FarKind::stop)) {  // else the run would wait for it
            say(number(Control::over), About{.run = head.as<penstock::streaming::RunHead>().run},
                penstock::nodes::packed(penstock::nodes::Over{}));
        }
    }
    void abandoned(wire::Wire&, const wire::FrameHead&, std::byte* payload) noexcept override { delete[] payload; }
    void changed(wire::Wire& wire) noexcept override {
        if (wire.state() == wire::Wire::State::lost || wire.state() == wire::Wire::State::refused) over_ = true;
    }

    const penstock::nodes::Invitation invitation_;
    wire::Endpoint endpoint_;
    std::shared_ptr<wire::Wire> wire_;
    std::atomic<std::uint32_t> run_{0};
    std::atomic<std::uint64_t> heard_{0};
    std::atomic<bool> over_{false};
    mutable std::mutex lock_;
    DataHead first_{};
    Counting counting_{};
};

/// Agents of "liars.0" are liars, as long as `lies`; all others are processes of this machine.
class EngineOfLiars final : public penstock::Engine {
  public:
    EngineOfLiars() : honest_(penstock::nodes::engine_named({})) {
        honest_->died = [this](int site, std::uint32_t generation, const std::string& how) {
            if (died) died(site, generation, how);
        };
    }
    void start(const penstock::Node& node, const std::string& invitation) override {
        if (!lies || !node.name.starts_with("liars")) return honest_->start(node, invitation);
        auto liar = std::make_shared<Liar>(invitation);
        const std::lock_guard guard(lock_);
        liar_ = std::move(liar);
        ++made_;
    }
    void end(const penstock::Node& node) noexcept override { honest_->end(node); }
    void becomes(const penstock::Node&, const penstock::Node&) override {}

    /// That of the last generation.
    std::shared_ptr<Liar> liar() const {
        const std::lock_guard guard(lock_);
        return liar_;
    }
    int made() const {
        const std::lock_guard guard(lock_);
        return made_;
    }

    std::atomic<bool> lies{true};

  private:
    const std::shared_ptr<penstock::Engine> honest_;
    mutable std::mutex lock_;
    std::shared_ptr<Liar> liar_;
    int made_ = 0;
};

}  // namespace liars
