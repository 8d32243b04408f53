// Frames of a team from a node that has the secret and is not to be trusted: what breaks a rule makes that node count
// as lost, and what others than its ranks may write stays as it was.
#include <cstdlib>
#include <cstring>

#include "message/mailbox.hpp"
#include "nodes/ranks_support.hpp"
#include "nodes/site.hpp"
#include "sanitizers.hpp"
#include "wire/pair.hpp"

namespace {

using namespace ranks;
using penstock::team::ChangedHead;
using penstock::team::ChangeHead;
using penstock::team::CopyBackHead;
using penstock::team::CopyHead;
using penstock::team::EndedHead;
using penstock::team::FarFrame;
using penstock::team::FarTeam;
using penstock::team::FenceHead;
using penstock::team::frame_of;
using penstock::team::GrantHead;
using penstock::team::OfMemory;
using penstock::team::StoreRecord;
using penstock::team::TeamHead;
namespace wire = penstock::wire;
using wire::comes_true;

constexpr std::uint32_t team_number = 5;
constexpr wire::Site honest_site = 1, liars_site = 2;
constexpr int team_size = 4;  // 0 and 1 are honest

/// The node whose ranks are honest: what it does with frames is an agent's.
class HonestSite final : public penstock::nodes::Site {
  public:
    explicit HonestSite(const wire::EndpointOptions& options) : Site(options) {}

  private:
    void control(wire::Wire&, penstock::nodes::Control, const penstock::nodes::About&,
                 std::span<const std::byte>) override {
        throw Error("nothing of that kind is expected here");
    }
    void changed(wire::Wire& wire) noexcept override {
        if (wire.state() == wire::Wire::State::lost || wire.state() == wire::Wire::State::closed)
            for (const auto& [number, team] : teams) team->wire_lost(wire);
    }
};

/// The other node: keeps what was granted to its ranks, and says what it is told to.
class Liar final : wire::Events {
  public:
    explicit Liar(const wire::EndpointOptions& options) : endpoint_(options, *this) { endpoint_.begin(); }
    ~Liar() override { endpoint_.close(); }
    void dial(const wire::Address& address) { wire_ = endpoint_.dial(honest_site, 1, address); }

    template <class Head>
    void say(FarFrame kind, const Head& head, std::vector<std::byte> payload = {}) {
        say(frame_of(kind, head), std::move(payload));
    }
    void say(const wire::FrameHead& head, std::vector<std::byte> payload = {}) {
        wire_->put(head, std::move(payload));
        wire_->flush();
    }
    bool is_heard() const { return wire_->under_way() == 0; }
    bool is_over() const { return over_; }
    /// Grants rank 0 and 1 the mailbox of its rank 2, as they granted it theirs.
    void grant_mailbox() {
        for (const int to : {0, 1}) {
            std::unique_lock guard(lock_);
            const auto theirs = mailboxes_.find(to);
            if (theirs == mailboxes_.end()) continue;
            auto [head, payload] = theirs->second;
            guard.unlock();
            const std::uint32_t owner = 2;
            std::memcpy(payload.data() + head.name_bytes + offsetof(message::MailboxHeader, owner), &owner,
                        sizeof owner);
            head.owner = 2, head.to = to, head.memory = 1;
            say(FarFrame::grant, head, std::move(payload));
        }
    }
    std::vector<GrantHead> grants() const {
        const std::lock_guard guard(lock_);
        return grants_;
    }
    /// Memory of that kind, of one honest rank to one of its own.
    std::optional<GrantHead> grant_of(std::uint64_t kind, int owner, int to) const {
        for (const auto& each : grants())
            if (each.kind == kind && each.owner == owner && each.to == to) return each;
        return std::nullopt;
    }

  private:
    std::byte* room(wire::Wire&, const wire::FrameHead& head) override { return new std::byte[head.payload_bytes]; }
    void arrived(wire::Wire&, const wire::FrameHead& head, std::byte* payload) override {
        const std::unique_ptr<std::byte[]> owned(payload);
        if (head.kind != static_cast<std::uint16_t>(FarFrame::grant)) return;
        const std::lock_guard guard(lock_);
        const auto grant = head.as<GrantHead>();
        grants_.push_back(grant);
        if (grant.kind == message::mailbox_kind && grant.to == 2)
            mailboxes_[grant.owner] = {grant, {payload, payload + head.payload_bytes}};
    }
    void abandoned(wire::Wire&, const wire::FrameHead&, std::byte* payload) noexcept override { delete[] payload; }
    void changed(wire::Wire& wire) noexcept override {
        if (wire.state() != wire::Wire::State::joined && wire.state() != wire::Wire::State::waits) over_ = true;
    }

    wire::Endpoint endpoint_;
    std::shared_ptr<wire::Wire> wire_;
    std::atomic<bool> over_{false};
    mutable std::mutex lock_;
    std::vector<GrantHead> grants_;
    std::map<int, std::pair<GrantHead, std::vector<std::byte>>> mailboxes_;  ///< of honest ranks
};

constexpr std::size_t open_size = 512, own_size = 512;

/// Two honest ranks, which go on with one another whatever the liar says.
class Honest final : public penstock::team::FarProgram {
  public:
    std::atomic<bool> stop{false};
    std::atomic<int> rounds{0};

    void run(Rank me, std::vector<std::byte>&) override {
        const int other = 1 - me.index();
        Region<std::int64_t> open(me, "open", open_size), own(me, "own", own_size);
        Counter word(me, "word");
        tries([&] {
            for (const int liar : {2, 3}) open.grant(liar), word.grant(liar);
        });
        own.grant(other);
        auto remote = Remote<std::int64_t>::accept(me, other, "own");
        Messenger post(me);
        int from_liar = 0;
        std::optional<Request> coming = post.irecv(2, from_liar);
        for (std::int64_t round = 1, goes_on = 1; goes_on != 0; ++round) {
            std::vector<std::int64_t> values(own_size, round), got(own_size);
            remote.store(0, values);
            post.send(other, values);
            expect(post.recv(other, got).bytes == sizeof(std::int64_t) * own_size, "the length of a message");
            expect(got == values, "a message between honest ranks");
            for (std::size_t i = 0; i < own_size; ++i) expect(own[i] == round, "memory of honest ranks alone");
            tries([&] { (void)Remote<std::int64_t>::accept(me, 2, "lies", 1ms); });
            if (coming && !tries([&] {
                    if (post.wait_for(*coming, 100us)) coming = post.irecv(2, from_liar);
                }))
                coming.reset();
            if (me.index() == 0) {  // both end in the same round
                goes_on = stop ? 0 : 1;
                post.send(1, goes_on);
                std::int64_t again = -1;
                post.recv(1, again);
                expect(again == goes_on, "a short message between honest ranks");
            } else {
                post.recv(0, goes_on);
                post.send(0, goes_on);
            }
            rounds = static_cast<int>(round);
        }
    }

  private:
    /// False: it failed as it may where the other is a liar.
    template <class Step>
    static bool tries(Step&& step) {
        try {
            step();
            return true;
        } catch (const Error&) {
            return false;
        }
    }
};

/// A team of an honest node and a liar, in this process.
class Two {
  public:
    Two()
        : secret_(wire::Secret::random()), site_(options(honest_site)), liar(options(liars_site)),
          team_(std::make_shared<FarTeam>(plan(), honest_site,
                                          FarTeam::Options{.accept_within = 3s,
                                                           .pin = false,
                                                           .look = [this] { return site_.endpoint.look(); },
                                                           .look_away = [this] { site_.endpoint.look_away(); }})) {
        const auto address = site_.endpoint.listen(
            wire::Address::of_text("unix:ranks-nonsense-" + std::to_string(getpid()) + "." + std::to_string(++made_)));
        site_.endpoint.begin();
        auto wire = site_.endpoint.expect(liars_site, 1);
        team_->set_wire(liars_site, wire);
        site_.enter(team_);
        liar.dial(address);
        thread_ = std::thread([this] {
            team_->run(honest, [this](const penstock::team::RankEnd& end) {
                const std::lock_guard guard(lock_);
                ends_.push_back(end);
            });
        });
    }
    ~Two() { end(); }
    /// How the honest ranks ended.
    std::vector<penstock::team::RankEnd> end() {
        honest.stop = true;
        if (thread_.joinable()) {
            thread_.join();
            site_.leave(*team_);
            site_.endpoint.close();
        }
        const std::lock_guard guard(lock_);
        return ends_;
    }

  private:
    wire::EndpointOptions options(wire::Site site) const {
        return {.secret = secret_, .run = 9, .site = site, .generation = 1, .encrypted = false, .patience = 5s};
    }
    static penstock::team::TeamPlan plan() {
        return {.number = team_number,
                .size = team_size,
                .nodes = {{honest_site, 1, "honest", getpid()}, {liars_site, 1, "liars", getpid()}}};
    }
    static inline int made_ = 0;

    const wire::Secret secret_;
    HonestSite site_;

  public:
    Honest honest;
    Liar liar;

  private:
    std::shared_ptr<FarTeam> team_;
    std::thread thread_;
    std::mutex lock_;
    std::vector<penstock::team::RankEnd> ends_;
};

/// What a liar has been granted by rank 0, to its rank 2.
struct Known {
    GrantHead open, mailbox;
};
std::optional<Known> known_to(const Liar& liar) {
    const auto open = liar.grant_of(region::kind<std::int64_t>(), 0, 2);
    const auto mailbox = liar.grant_of(message::mailbox_kind, 0, 2);
    return open && mailbox ? std::optional(Known{*open, *mailbox}) : std::nullopt;
}

std::vector<std::byte> stored(std::uint32_t memory, std::uint64_t offset, std::uint32_t bytes) {
    std::vector<std::byte> made(sizeof(StoreRecord) + bytes);
    const StoreRecord record{memory, bytes, offset};
    std::memcpy(made.data(), &record, sizeof record);
    return made;
}
void store(Liar& liar, const GrantHead& in, std::uint64_t offset, std::uint32_t bytes) {
    liar.say(FarFrame::stores, TeamHead{team_number}, stored(in.memory, offset, bytes));
}
CopyHead copy_into(const GrantHead& in) {
    return {.team = team_number, .memory = in.memory, .offset = 0, .word = 0, .value = 1, .word_bytes = 0, .wakes = 0};
}
GrantHead granted(int owner, int to, std::uint64_t bytes, std::uint32_t name_bytes) {
    return {.team = team_number,
            .memory = 7,
            .owner = owner,
            .to = to,
            .bytes = bytes,
            .kind = region::kind<std::int64_t>(),
            .name_bytes = name_bytes};
}
std::vector<std::byte> name(const char* text) {
    const auto bytes = std::as_bytes(std::span(text, std::strlen(text)));
    return {bytes.begin(), bytes.end()};
}
/// Of the mailbox of rank 0: what rank `writer` writes there.
std::vector<penstock::team::MemoryPart> parts_of(const Known& known, int writer) {
    return message::Mailbox::parts_of(known.mailbox.bytes, team_size, writer);
}

struct Lie {
    const char* name;
    std::function<void(Liar&, const Known&)> say;
};

const std::vector<Lie> lies = {
    {"a store into memory that is not there",
     [](Liar& liar, const Known& known) {
         auto nowhere = known.open;
         nowhere.memory += 100;
         store(liar, nowhere, 0, 8);
     }},
    {"a store beyond its memory", [](Liar& liar, const Known& known) { store(liar, known.open, known.open.bytes, 8); }},
    {"a store across the end of its memory",
     [](Liar& liar, const Known& known) { store(liar, known.open, known.open.bytes - 4, 8); }},
    {"a store at a place beyond all numbers",
     [](Liar& liar, const Known& known) { store(liar, known.open, ~std::uint64_t{3}, 8); }},
    {"half a record of a store",
     [](Liar& liar, const Known&) { liar.say(FarFrame::stores, TeamHead{team_number}, name("stores")); }},
    {"a store of more than has come",
     [](Liar& liar, const Known& known) {
         auto bytes = stored(known.open.memory, 0, 64);
         bytes.resize(bytes.size() - 1);
         liar.say(FarFrame::stores, TeamHead{team_number}, std::move(bytes));
     }},
    {"a copy beyond its memory",
     [](Liar& liar, const Known& known) {
         auto head = copy_into(known.open);
         head.offset = known.open.bytes - 4;
         liar.say(FarFrame::copy, head, std::vector<std::byte>(8));
     }},
    {"a word of three bytes",
     [](Liar& liar, const Known& known) {
         auto head = copy_into(known.open);
         head.word_bytes = 3;
         liar.say(FarFrame::copy, head);
     }},
    {"a word between words",
     [](Liar& liar, const Known& known) {
         auto head = copy_into(known.open);
         head.word_bytes = 8, head.word = 4;
         liar.say(FarFrame::copy, head);
     }},
    {"a word beyond its memory",
     [](Liar& liar, const Known& known) {
         auto head = copy_into(known.open);
         head.word_bytes = 8, head.word = known.open.bytes;
         liar.say(FarFrame::copy, head);
     }},
    {"a header in an honest rank's place",
     [](Liar& liar, const Known& known) { store(liar, known.mailbox, parts_of(known, 1)[3].offset, 8); }},
    {"bytes in an honest rank's ring",
     [](Liar& liar, const Known& known) {
         auto head = copy_into(known.mailbox);
         head.offset = parts_of(known, 1)[4].offset;
         liar.say(FarFrame::copy, head, std::vector<std::byte>(8));
     }},
    {"an honest rank's count",
     [](Liar& liar, const Known& known) {
         auto head = copy_into(known.mailbox);
         head.word_bytes = 8, head.word = parts_of(known, 1)[0].offset;
         liar.say(FarFrame::copy, head);
     }},
    {"the beginning of a mailbox", [](Liar& liar, const Known& known) { store(liar, known.mailbox, 0, 8); }},
    {"a change of the beginning of a mailbox",
     [](Liar& liar, const Known& known) {
         liar.say(FarFrame::change, ChangeHead{team_number, known.mailbox.memory, 1, 5, 0, 1});
     }},
    {"what the owner of a mailbox says of it",
     [](Liar& liar, const Known& known) {  // behind the last count in its own lane
         auto head = copy_into(known.mailbox);
         head.word_bytes = 4, head.word = parts_of(known, 3)[0].offset - 128;
         liar.say(FarFrame::copy, head);
     }},
    {"headers beyond its own",
     [](Liar& liar, const Known& known) {
         const auto own = parts_of(known, 3)[3];
         store(liar, known.mailbox, own.offset + own.bytes - 4, 8);
     }},
    {"a change in no way that there is",
     [](Liar& liar, const Known& known) {
         liar.say(FarFrame::change, ChangeHead{team_number, known.open.memory, 1, 5, 0, 9});
     }},
    {"a grant by an honest rank",
     [](Liar& liar, const Known&) { liar.say(FarFrame::grant, granted(0, 1, 64, 4), name("lies")); }},
    {"a grant to a rank that is not there",
     [](Liar& liar, const Known&) { liar.say(FarFrame::grant, granted(2, 4, 64, 4), name("lies")); }},
    {"a grant to its own rank",
     [](Liar& liar, const Known&) { liar.say(FarFrame::grant, granted(2, 3, 64, 4), name("lies")); }},
    {"a grant without a name", [](Liar& liar, const Known&) { liar.say(FarFrame::grant, granted(2, 0, 64, 0)); }},
    {"a grant with half a name",
     [](Liar& liar, const Known&) { liar.say(FarFrame::grant, granted(2, 0, 64, 5), name("lies")); }},
    {"a grant with a long description",
     [](Liar& liar, const Known&) { liar.say(FarFrame::grant, granted(2, 0, 64, 4), std::vector<std::byte>(1'500)); }},
    {"a grant of more than there can be",
     [](Liar& liar, const Known&) { liar.say(FarFrame::grant, granted(2, 0, ~std::uint64_t{0}, 4), name("lies")); }},
    {"a word for others behind its memory",
     [](Liar& liar, const Known&) {  // there lies what this process has noted of that memory
         liar.say(FarFrame::grant, granted(2, 0, 4'096, 5), name("kept "));
         liar.say(FarFrame::copy_back, CopyBackHead{team_number, 7, 4'096 + 24, 0, ~std::uint32_t{0}});
     }},
    {"that an honest rank has accepted",
     [](Liar& liar, const Known& known) { liar.say(FarFrame::accepted, OfMemory{team_number, known.open.memory, 1}); }},
    {"that a rank which is not there has accepted",
     [](Liar& liar, const Known& known) {
         liar.say(FarFrame::accepted, OfMemory{team_number, known.open.memory, -1});
     }},
    {"that it has dropped what it had dropped",
     [](Liar& liar, const Known& known) {
         for (int i = 0; i < 2; ++i) liar.say(FarFrame::dropped, OfMemory{team_number, known.open.memory, 2});
     }},
    {"that an honest rank has dropped",
     [](Liar& liar, const Known& known) { liar.say(FarFrame::dropped, OfMemory{team_number, known.open.memory, 1}); }},
    {"an answer to a fence that was not asked",
     [](Liar& liar, const Known&) { liar.say(FarFrame::fenced, FenceHead{team_number, 0, std::uint64_t{1} << 40}); }},
    {"the end of an honest rank",
     [](Liar& liar, const Known&) {
         liar.say(FarFrame::ended, EndedHead{team_number, 0, static_cast<std::uint32_t>(team::State::finished)});
     }},
    {"the end of a rank that is not there",
     [](Liar& liar, const Known&) {
         liar.say(FarFrame::ended, EndedHead{team_number, 4, static_cast<std::uint32_t>(team::State::finished)});
     }},
    {"an end that is none",
     [](Liar& liar, const Known&) {
         liar.say(FarFrame::ended, EndedHead{team_number, 2, static_cast<std::uint32_t>(team::State::running)});
     }},
    {"a frame of a team of no kind", [](Liar& liar, const Known&) { liar.say(FarFrame::last, TeamHead{team_number}); }},
};

void expect_honest(Two& two) {
    const int rounds = two.honest.rounds;
    EXPECT_TRUE(comes_true([&] { return two.honest.rounds > rounds + 1; }));
    const auto ends = two.end();
    ASSERT_EQ(ends.size(), 2u);
    for (const auto& end : ends) EXPECT_EQ(end.state, team::State::finished) << end.text;
}

TEST(RanksNonsense, lies_make_their_node_count_as_lost_and_honest_ranks_go_on) {
    for (const auto& lie : lies) {
        SCOPED_TRACE(lie.name);
        Two two;
        ASSERT_TRUE(comes_true([&] { return known_to(two.liar).has_value(); }));
        lie.say(two.liar, *known_to(two.liar));
        EXPECT_TRUE(comes_true([&] { return two.liar.is_over(); }));
        expect_honest(two);
    }
}

TEST(RanksNonsense, what_a_rank_may_write_is_written) {
    // A liar may store plainly what honest nodes publish word by word, and a rank reads it meanwhile.
    if (penstock_tests::thread_sanitizer) GTEST_SKIP() << "what a liar stores is no data race of ours";
    Two two;
    ASSERT_TRUE(comes_true([&] { return known_to(two.liar).has_value(); }));
    const auto known = *known_to(two.liar);
    store(two.liar, known.open, known.open.bytes - 8, 8);
    two.liar.grant_mailbox();
    for (const auto& part : parts_of(known, 2)) store(two.liar, known.mailbox, part.offset, 8);
    ASSERT_TRUE(comes_true([&] { return two.liar.is_heard(); }));
    EXPECT_FALSE(two.liar.is_over());
    expect_honest(two);
}

/// A frame that is often right, and often nearly so.
class Babble {
  public:
    explicit Babble(std::uint64_t seed) : random_(seed) {}

    void say(Liar& liar) {
        const auto grants = liar.grants();
        if (grants.empty()) return;
        auto [head, payload] = frame(grants[random_() % grants.size()]);
        if (one_of(150)) head.body[random_() % 48] ^= static_cast<std::byte>(1u << random_() % 8);
        if (!payload.empty() && one_of(60)) payload[random_() % payload.size()] ^= static_cast<std::byte>(random_());
        if (!payload.empty() && one_of(150)) payload.resize(random_() % payload.size());
        if (one_of(200)) payload.resize(payload.size() + 1 + random_() % 40);
        if (one_of(400)) head.kind = static_cast<std::uint16_t>(40 + random_() % 14);
        liar.say(head, std::move(payload));
    }

  private:
    using Frame = std::pair<wire::FrameHead, std::vector<std::byte>>;
    bool one_of(unsigned many) { return random_() % many == 0; }
    /// Mostly the right one, or close to it.
    std::uint64_t near(std::uint64_t right) {
        switch (random_() % 200) {
            case 0:
                return right + 1;
            case 1:
                return right - 1;
            case 2:
                return random_();
            default:
                return right;
        }
    }
    /// Where that rank may write in it, or nearly.
    team::MemoryPart part_of(const GrantHead& in) {
        if (in.kind != message::mailbox_kind) return {0, in.bytes};
        const auto parts = message::Mailbox::parts_of(in.bytes, team_size, one_of(100) ? 1 : in.to);
        return parts[random_() % parts.size()];
    }
    std::vector<std::byte> values(std::size_t count) {
        std::vector<std::byte> made(count);
        for (auto& each : made) each = static_cast<std::byte>(one_of(3) ? random_() : random_() % 12);
        return made;
    }

    Frame frame(const GrantHead& in) {
        const auto memory = static_cast<std::uint32_t>(near(in.memory));
        const auto own = static_cast<std::int32_t>(near(static_cast<std::uint64_t>(in.to)));
        const auto part = part_of(in);
        const auto most = std::min<std::uint64_t>(part.bytes, one_of(20) ? 40'000 : 200);
        const auto bytes = 8 * (random_() % (most / 8 + 1));
        const auto offset = near(part.offset + 8 * (random_() % ((part.bytes - bytes) / 8 + 1)));
        switch (random_() % 12) {
            case 0:
            case 1: {
                auto records = stored(memory, offset, static_cast<std::uint32_t>(bytes));
                const auto of = values(bytes);
                std::copy(of.begin(), of.end(), records.begin() + sizeof(StoreRecord));
                if (one_of(3)) {
                    const auto more = records;
                    records.insert(records.end(), more.begin(), more.end());
                }
                return {frame_of(FarFrame::stores, TeamHead{team_number}), std::move(records)};
            }
            case 2:
            case 3: {
                auto head = copy_into(in);
                head.memory = memory;
                head.offset = offset;
                head.word_bytes = one_of(3) ? 0 : one_of(4) ? 4 : 8;
                head.word = near(part.offset + 8 * (random_() % (part.bytes / 8)));
                head.value = one_of(4) ? random_() : random_() % 70;
                head.wakes = one_of(2);
                return {frame_of(FarFrame::copy, head), values(bytes)};
            }
            case 4: {
                const bool messages = one_of(4);
                auto head = granted(2, static_cast<int>(near(random_() % 2)), near(8 * (1 + random_() % 64)), 4);
                head.owner = static_cast<std::int32_t>(near(2 + random_() % 2));
                head.memory = static_cast<std::uint32_t>(random_() % 6);
                if (messages)
                    head = {team_number, head.memory, head.owner, head.to, in.bytes, message::mailbox_kind, 8};
                auto payload = name(messages ? "messages" : "lies");
                if (messages || one_of(4)) {
                    const auto more = values(messages ? 36 : random_() % 80);
                    payload.insert(payload.end(), more.begin(), more.end());
                }
                return {frame_of(FarFrame::grant, head), std::move(payload)};
            }
            case 5:
                return {frame_of(FarFrame::accepted, OfMemory{team_number, memory, own}), {}};
            case 6:
                if (one_of(20)) return {frame_of(FarFrame::dropped, OfMemory{team_number, memory, own}), {}};
                [[fallthrough]];
            case 7: {
                const CopyBackHead head{team_number, static_cast<std::uint32_t>(random_() % 6),
                                        near(4 * (random_() % 16)), static_cast<std::int32_t>(random_() % 2),
                                        static_cast<std::uint32_t>(random_())};
                return {frame_of(FarFrame::copy_back, head), {}};
            }
            case 8: {
                const ChangeHead head{
                    team_number,   in.kind == message::mailbox_kind && !one_of(50) ? memory + 100 : memory,
                    random_() % 9, random_(),
                    random_() % 2, static_cast<std::uint32_t>(near(random_() % 4))};
                if (in.kind == message::mailbox_kind && !one_of(100))
                    return {frame_of(FarFrame::fence, FenceHead{team_number, 0, random_()}), {}};
                return {frame_of(FarFrame::change, head), {}};
            }
            case 9:
                return {frame_of(FarFrame::changed, ChangedHead{team_number, one_of(2), random_() % 9, random_()}), {}};
            case 10:
                return {frame_of(one_of(2) ? FarFrame::fence : FarFrame::fenced, FenceHead{team_number, 0, near(0)}),
                        {}};
            default:
                if (!one_of(60)) return {frame_of(FarFrame::fence, FenceHead{team_number, 0, random_()}), {}};
                return {
                    frame_of(FarFrame::ended, EndedHead{team_number, own, static_cast<std::uint32_t>(random_() % 6)}),
                    {}};
        }
    }

    std::mt19937_64 random_;
};

class RandomRanksNonsense : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Shards, RandomRanksNonsense, testing::Range(0, 8));

TEST_P(RandomRanksNonsense, ends_nothing_but_its_own_node) {
    if (penstock_tests::thread_sanitizer) GTEST_SKIP() << "what a liar stores is no data race of ours";
    const std::uint64_t frames = (std::getenv("PENSTOCK_LONG") != nullptr ? 1'000'000 : 8'000) / 8;
    Babble babble(static_cast<std::uint64_t>(GetParam()));
    std::uint64_t said = 0;
    int over = 0;
    for (int round = GetParam(); said < frames; ++round) {
        Two two;
        ASSERT_TRUE(comes_true([&] { return known_to(two.liar).has_value(); }));
        if (round % 16 != 0) two.liar.grant_mailbox();  // else who looks for it waits in vain
        for (int n = 0; n < 100 && !two.liar.is_over(); ++n) {
            constexpr int at_once = 8;
            for (int i = 0; i < at_once; ++i) babble.say(two.liar);
            ASSERT_TRUE(comes_true([&] { return two.liar.is_heard() || two.liar.is_over(); }));
            said += two.liar.is_over() ? 1 : at_once;  // who is lost is not heard any more
        }
        over += two.liar.is_over() ? 1 : 0;
        expect_honest(two);
        if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "after " << said << " frames";
    }
    EXPECT_GE(over, 1);
}

}  // namespace
