// A node that has the secret, and says what breaks a rule: it counts as dead, and nothing else is disturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <limits>
#include <random>

#include "nodes/chain.hpp"
#include "nodes/liar.hpp"
#include "penstock/run.hpp"

namespace {

using namespace filters;
using namespace liars;
using namespace std::chrono_literals;
using penstock::nodes::packed;
using penstock::streaming::CreditHead;
using penstock::streaming::DoneHead;
using penstock::streaming::LinkHead;
using penstock::streaming::RunHead;
using penstock::streaming::StationHead;
using wire::comes_true;

/// A chain over one group of nodes.
struct Chain {
    Graph graph;
    Collect* sink = nullptr;
    Chain(const std::string& nodes, OnNodeLoss loss, std::int64_t count) {
        auto& source = graph.add<Numbers>("numbers", {}, count);
        auto& add = graph.add<Add>("add", {.copies = 2, .nodes = nodes, .on_node_loss = loss}, 0);
        sink = &graph.add<Collect>("collect");
        graph.connect(source.out, add.in);
        graph.connect(add.out, sink->in, {.ordered = true});
    }
};

ClusterOptions with_liars(const std::shared_ptr<EngineOfLiars>& engine) {
    auto options = workers(1);
    options.nodes = {{"honest", 1}, {"liars", 1}};
    options.own_engine = engine;
    options.listen = "unix";
    options.time_to_start = 20s;
    return options;
}

/// What a node may say of a buffer that it writes to a stream that leads to the program.
struct Spoken {
    std::uint32_t run = 0;
    std::uint32_t in = 0, out = 0;  ///< numbers of streams: to it, and from it
    DataHead buffer{};              ///< one as it should be, of one number
    std::uint64_t heard = 0;        ///< buffers that have come to it
    void value(Liar& liar) const { liar.say(number(FarKind::data), buffer, std::vector<std::byte>(8)); }
};

/// Both copies' links to the filter come first, then those from it.
Spoken spoken_by(const Liar& liar) {
    Spoken made{.run = liar.run(), .in = 0, .out = 2, .buffer = liar.first(), .heard = liar.heard()};
    made.buffer.link = made.out;
    return made;
}

struct Lie {
    const char* name;
    std::function<void(Liar&, const Spoken&)> say;
    bool whole = true;  ///< the node has done nothing wrong before: who takes its place can go on
};

std::vector<std::byte> event(std::string name, std::uint64_t type = 1) {
    const penstock::streaming::CarriedValue value{type, 7, 0.5, name};
    return packed(std::pair(std::move(name), value));
}

std::vector<std::byte> text(const char* words) {
    const auto bytes = std::as_bytes(std::span(words, std::char_traits<char>::length(words)));
    return {bytes.begin(), bytes.end()};
}

/// Of copies of one filter.
std::vector<std::byte> figures(std::string filter, std::int64_t copies = 2, double load = 0.5) {
    penstock::nodes::FilterFigures of_filter{};
    of_filter.copies = copies;
    of_filter.load = load;
    penstock::nodes::Figures made;
    std::get<1>(made).emplace_back(std::move(filter), of_filter);
    std::get<2>(made).emplace_back("add.out", "collect.in", penstock::nodes::StreamFigures{});
    std::get<3>(made) = "words";
    return packed(made);
}

const std::vector<Lie> lies = {
    {"a_buffer_for_no_stream",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.link = 1'000;
         spoken.value(liar);
     }},
    {"a_buffer_on_a_stream_that_leads_the_other_way",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.link = spoken.in;
         spoken.value(liar);
     }},
    {"a_buffer_that_is_shorter_than_it_says",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.extents[0] = 2;
         spoken.value(liar);
     }},
    {"a_buffer_without_values_that_says_it_has_some",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(FarKind::data), spoken.buffer); }},
    {"a_buffer_whose_size_is_beyond_all_numbers",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.rank = 3;
         spoken.buffer.extents = {std::uint64_t{1} << 32, std::uint64_t{1} << 32, 1};
         liar.say(number(FarKind::data), spoken.buffer);
     }},
    {"a_buffer_of_no_dimensions",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.rank = 0;
         spoken.value(liar);
     }},
    {"a_buffer_of_many_dimensions",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.rank = 4;
         spoken.value(liar);
     }},
    {"a_turn_without_a_buffer_that_has_values",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.skip = 1;
         spoken.value(liar);
     }},
    {"a_turn_without_a_buffer_of_many_dimensions",
     [](Liar& liar, Spoken spoken) {
         spoken.buffer.skip = 1;
         spoken.buffer.rank = 1'000'000;
         liar.say(number(FarKind::data), spoken.buffer);
     }},
    {"a_buffer_behind_the_end_of_its_stream",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::close), LinkHead{spoken.run, spoken.out});
         spoken.value(liar);
     },
     false},
    {"an_end_of_a_stream_that_is_not_there",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(FarKind::close), LinkHead{spoken.run, 77}); }},
    {"an_end_of_a_stream_that_the_program_writes",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(FarKind::close), LinkHead{spoken.run, spoken.in}); }},
    {"an_end_of_a_stream_with_a_payload",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::close), LinkHead{spoken.run, spoken.out}, std::vector<std::byte>(9));
     }},
    {"a_credit_for_more_than_was_sent",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::credit), CreditHead{spoken.run, spoken.in, std::uint64_t{1} << 40, 8, 0});
     }},
    {"a_credit_for_more_bytes_than_were_sent",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::credit), CreditHead{spoken.run, spoken.in, 1, std::uint64_t{1} << 40, 0});
     }},
    {"a_credit_that_is_taken_back",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::credit), CreditHead{spoken.run, spoken.in, 1, 8, 0});
         liar.say(number(FarKind::credit), CreditHead{spoken.run, spoken.in, 0, 0, 0});
     }},
    {"a_credit_for_a_stream_that_it_writes_itself",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::credit), CreditHead{spoken.run, spoken.out, 0, 0, 0});
     }},
    {"an_answer_to_a_buffer_of_no_stream",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(FarKind::done), DoneHead{spoken.run, 99, 0}); }},
    {"an_end_of_a_filter_that_is_not_there",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(FarKind::ended), StationHead{spoken.run, 1'234}); }},
    {"an_end_of_a_filter_of_the_program",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(FarKind::ended), StationHead{spoken.run, 0}); }},
    {"an_event_for_a_filter_that_is_not_there",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::event), StationHead{spoken.run, 1'234}, event("x"));
     }},
    {"an_event_of_garbage",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(FarKind::event), StationHead{spoken.run, StationHead::everybody}, text("no event"));
     }},
    {"an_event_with_more_behind_it",
     [](Liar& liar, const Spoken& spoken) {
         auto bytes = event("x");
         bytes.resize(bytes.size() + 5);
         liar.say(number(FarKind::event), StationHead{spoken.run, StationHead::everybody}, bytes);
     }},
    {"an_end_of_all_sources",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(FarKind::close_all), RunHead{spoken.run}); }},
    {"a_frame_of_a_run_of_no_kind", [](Liar& liar, const Spoken& spoken) { liar.say(30, RunHead{spoken.run}); }},
    {"a_frame_of_no_kind", [](Liar& liar, const Spoken&) { liar.say(number(Control::last), About{}); }},
    {"a_frame_of_the_wires_own", [](Liar& liar, const Spoken&) { liar.say(3, About{}); }},
    {"what_only_the_program_says",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(Control::begin), About{.run = spoken.run}); }},
    {"an_order_to_end_another_node",
     [](Liar& liar, const Spoken&) { liar.say(number(Control::fence), About{.site = 1, .generation = 1}); }},
    {"that_it_is_present_again",
     [](Liar& liar, const Spoken&) {
         liar.say(number(Control::present), About{}, packed(penstock::nodes::Present{"unix:x", "y", 2}));
     }},
    {"that_it_is_ready_for_a_run_of_others",
     [](Liar& liar, const Spoken& spoken) { liar.say(number(Control::ready), About{.run = spoken.run - 1}); }},
    {"a_refusal_of_a_run_of_others",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::refused), About{.run = spoken.run - 1}, text("no"));
     }},
    {"a_refusal_behind_its_yes",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::refused), About{.run = spoken.run}, text("no"));
     }},
    {"an_end_of_its_part_of_a_run_of_others",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::over), About{.run = spoken.run - 1}, packed(penstock::nodes::Over{}));
     }},
    {"an_end_of_its_part_in_garbage",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::over), About{.run = spoken.run}, text("over, and out"));
     }},
    {"what_came_from_a_dead_node_in_garbage",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::fenced), About{.run = spoken.run, .site = 1}, text("everything"));
     }},
    {"figures_in_garbage",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::figures), About{.run = spoken.run}, text("many"));
     }},
    {"a_time_that_nobody_has_asked_for",
     [](Liar& liar, const Spoken&) {
         liar.say(number(Control::clock), About{}, packed(penstock::nodes::ClockAnswer{1, 2}));
     }},
    {"figures_of_a_filter_that_it_does_not_have",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::figures), About{.run = spoken.run}, figures("numbers"));
     }},
    {"figures_of_more_copies_than_it_has",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::figures), About{.run = spoken.run}, figures("add", 3));
     }},
    {"figures_of_fewer_copies_than_none",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::figures), About{.run = spoken.run}, figures("add", -1));
     }},
    {"figures_that_are_no_numbers",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::figures), About{.run = spoken.run},
                  figures("add", 2, std::numeric_limits<double>::quiet_NaN()));
     }},
    {"counters_that_nobody_has_asked_for",
     [](Liar& liar, const Spoken&) {
         liar.say(number(Control::counters), About{}, packed(penstock::nodes::CountersPart{1, 1, 1.0, {}}));
     }},
    {"counters_in_garbage",
     [](Liar& liar, const Spoken&) { liar.say(number(Control::counters), About{}, text("ticks")); }},
    {"a_question_for_counters",
     [](Liar& liar, const Spoken&) { liar.say(number(Control::ask_counters), About{}, packed(std::uint64_t{1})); }},
    {"figures_of_a_run_of_others",
     [](Liar& liar, const Spoken& spoken) {
         liar.say(number(Control::figures), About{.run = spoken.run - 1}, packed(penstock::nodes::Figures{}));
     }},
};

class Lies : public testing::TestWithParam<OnNodeLoss> {};
INSTANTIATE_TEST_SUITE_P(All, Lies, testing::Values(OnNodeLoss::stop, OnNodeLoss::replay), [](const auto& each) {
    return std::string(each.param == OnNodeLoss::stop ? "stop" : "replay");
});

/// Under stop the run ends with the typed error; under replay an honest agent takes the place, and the result is right.
TEST_P(Lies, make_their_node_count_as_dead_and_disturb_nothing_else) {
    constexpr std::int64_t count = 500;
    const auto engine = std::make_shared<EngineOfLiars>();
    Cluster cluster(with_liars(engine));
    std::uint64_t replaced = 0;
    for (const auto& lie : lies) {
        SCOPED_TRACE(lie.name);
        if (!lie.whole && GetParam() == OnNodeLoss::replay) continue;
        Chain of_others("honest", OnNodeLoss::stop, 2 * count), with_liar("liars", GetParam(), count);
        auto others = of_others.graph.start(cluster);
        auto run = with_liar.graph.start(cluster);
        const auto liar = engine->liar();
        ASSERT_TRUE(comes_true([&] { return liar->heard() >= 2; }));
        engine->lies = GetParam() == OnNodeLoss::stop;
        lie.say(*liar, spoken_by(*liar));
        auto finished = std::async(std::launch::async, [&] { run.finish(); });
        if (finished.wait_for(20s) != std::future_status::ready) {
            ADD_FAILURE() << "nobody noticed";
            run.stop();
        }
        try {
            finished.get();
            EXPECT_EQ(GetParam(), OnNodeLoss::replay);
            EXPECT_EQ(with_liar.sink->got, numbers(count));
            EXPECT_TRUE(run.lost().empty());
        } catch (const NodeDied& died) {
            EXPECT_EQ(GetParam(), OnNodeLoss::stop) << died.what();
            EXPECT_EQ(died.node(), "liars.0");
        }
        others.finish();
        EXPECT_EQ(of_others.sink->got, numbers(2 * count));
        ++replaced;
        if (GetParam() == OnNodeLoss::replay) {  // the next one lies again
            ASSERT_TRUE(comes_true([&] { return cluster.replaced() == replaced; }));
            engine->lies = true;
            hit(cluster, "liars.0", SIGKILL);
            ++replaced;
        }
        if (!comes_true([&] { return cluster.replaced() == replaced; }, 2s)) replaced = cluster.replaced();
    }
}

/// A frame that is often right, and often nearly so.
class Babble {
  public:
    explicit Babble(std::uint64_t seed) : random_(seed) {}

    void begin() { taken_ = 0; }

    void say(Liar& liar, const Spoken& spoken) {
        auto [head, payload] = frame(spoken, liar.site());
        if (one_of(100)) head.body[random_() % 48] ^= static_cast<std::byte>(1u << random_() % 8);
        if (!payload.empty() && one_of(60)) payload[random_() % payload.size()] ^= static_cast<std::byte>(random_());
        if (!payload.empty() && one_of(120)) payload.resize(random_() % payload.size());
        if (one_of(150)) payload.resize(payload.size() + 1 + random_() % 40);
        if (one_of(200)) head.kind = static_cast<std::uint16_t>(random_() % 90);
        liar.say(head, std::move(payload));
    }

  private:
    using Frame = std::pair<wire::FrameHead, std::vector<std::byte>>;
    bool one_of(unsigned many) { return random_() % many == 0; }
    /// Mostly the right one, or close to it.
    std::uint64_t near(std::uint64_t right) {
        switch (random_() % 80) {
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
    std::uint32_t near32(std::uint32_t right) { return static_cast<std::uint32_t>(near(right)); }
    std::string words() { return std::string(random_() % 20, 'w'); }

    Frame frame(const Spoken& spoken, std::uint32_t site) {
        const auto run = one_of(50) ? near32(spoken.run) : spoken.run;
        const auto in = near32(spoken.in + static_cast<std::uint32_t>(random_() % 2));
        const auto out = near32(spoken.out + static_cast<std::uint32_t>(random_() % 2));
        const About about{run, site, 0};
        const auto of_run = [](FarKind kind, const auto& head) { return wire::FrameHead::of(number(kind), head); };
        const auto of_cluster = [&](Control what) { return wire::FrameHead::of(number(what), about); };
        switch (random_() % 16) {
            case 0:
            case 1:
            case 2:
            case 3: {
                auto buffer = spoken.buffer;
                buffer.run = run;
                buffer.link = out;
                buffer.order = near(random_() % (spoken.heard + 1));
                buffer.extents[0] = 1 + random_() % 64;
                buffer.extents[1] = one_of(2) ? 0 : random_();
                buffer.skip = one_of(8);
                std::vector<std::byte> values(buffer.skip ? 0 : 8 * buffer.extents[0]);
                return {of_run(FarKind::data, buffer), std::move(values)};
            }
            case 4:
            case 5: {
                if (one_of(3) && taken_ + 4 < spoken.heard / 2) ++taken_;
                return {of_run(FarKind::credit, CreditHead{run, spoken.in, near(taken_), near(8 * taken_), 0}), {}};
            }
            case 6:
            case 7:
                return {of_run(FarKind::done, DoneHead{run, in, near(random_() % (spoken.heard + 1))}), {}};
            case 8:
                if (!one_of(20)) return {of_cluster(Control::ready), {}};
                return {of_run(FarKind::close, LinkHead{run, out}), {}};
            case 9:
                if (!one_of(20)) return {of_run(FarKind::done, DoneHead{run, in, 0}), {}};
                return {of_run(FarKind::ended, StationHead{run, near32(1)}), {}};
            case 10:
                return {of_run(FarKind::event, StationHead{run, one_of(2) ? StationHead::everybody : near32(2)}),
                        event(words(), random_() % 5)};
            case 11:
                return {of_cluster(Control::log), text("a line of what it prints")};
            case 12: {
                if (one_of(40))
                    return {of_cluster(Control::counters),
                            packed(penstock::nodes::CountersPart{near(1), near(5), 1.0, {}})};
                return {of_cluster(Control::figures), figures(one_of(40) ? words() : "add", one_of(40) ? 9 : 2)};
            }
            case 13: {
                penstock::nodes::SeenOrders seen{{near(0), {{random_() % 9, near(9)}, {random_(), random_()}}}};
                return {of_cluster(Control::fenced), packed(seen)};
            }
            case 14: {
                if (!one_of(20)) return {of_cluster(Control::ready), {}};
                penstock::nodes::Over over{one_of(2) ? "" : "it threw",
                                           one_of(2) ? "add" : words(),
                                           static_cast<std::int64_t>(near(0)),
                                           near(3),
                                           {}};
                std::get<4>(over).emplace_back(words(), 0, random_(), words(), random_(), random_());
                return {of_cluster(Control::over), packed(over)};
            }
            default:
                if (!one_of(20)) return {of_cluster(Control::log), text("another line")};
                return {of_cluster(one_of(2) ? Control::unreachable : Control::refused), text("because")};
        }
    }

    std::mt19937_64 random_;
    std::uint64_t taken_ = 0;  ///< of what has come, as it says
};

class RandomLies : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Shards, RandomLies, testing::Range(0, 8));

/// The others' runs are right all the time; what comes of the liar's is an end: its own, or by a typed error.
TEST_P(RandomLies, end_nothing_but_their_own_node_and_its_runs) {
    const std::uint64_t frames = (std::getenv("PENSTOCK_LONG") != nullptr ? 1'000'000 : 8'000) / 8;
    const auto engine = std::make_shared<EngineOfLiars>();
    auto options = with_liars(engine);
    options.machine.targets = 2;
    Cluster cluster(options);
    Babble babble(static_cast<std::uint64_t>(GetParam()));
    std::uint64_t said = 0;
    int rounds = 0;
    while (said < frames) {
        Chain with_liar("liars", rounds % 2 == 0 ? OnNodeLoss::replay : OnNodeLoss::stop, 1'000'000'000);
        std::unique_ptr<penstock::Run> run;
        try {
            run = std::make_unique<penstock::Run>(with_liar.graph.start(cluster));
        } catch (const Error&) {  // it died, or refused
            continue;
        }
        if (rounds++ % 20 == 0) {
            Chain of_others("honest", OnNodeLoss::stop, 300);
            auto others = of_others.graph.start(cluster);
            others.finish();
            ASSERT_EQ(of_others.sink->got, numbers(300));
        }
        const auto liar = engine->liar();
        ASSERT_TRUE(comes_true([&] { return liar->heard() >= 2 || liar->is_over() || run->ended(); }));
        babble.begin();
        for (int n = 0; n < 100 && !liar->is_over() && !run->ended(); ++n) {
            constexpr int at_once = 8;
            for (int i = 0; i < at_once; ++i) babble.say(*liar, spoken_by(*liar));
            ASSERT_TRUE(comes_true([&] { return liar->is_heard() || liar->is_over(); }));
            said += liar->is_over() ? 1 : at_once;  // who is dead is not heard any more
        }
        run->stop();
        try {
            run->finish();
        } catch (const Error&) {
        }
    }
    EXPECT_GE(engine->made(), 2);
}

}  // namespace
