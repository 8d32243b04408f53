// The search for the cheapest cut: known answers, every placement tried on small problems, and larger ones with a cut
// that was put into them.
#include "nodes/cut_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace {

using namespace penstock::nodes;

constexpr double never = CutProblem::never;

/// Groups with equal shares.
CutProblem even_groups(std::size_t groups) {
    CutProblem made;
    made.shares.assign(groups, 1.0 / static_cast<double>(groups));
    made.memory.assign(groups, never);
    return made;
}
/// `work`: of all; the same wherever it goes.
void add_unit(CutProblem& to, double work, double memory = 0) {
    auto& unit = to.units.emplace_back();
    for (const double share : to.shares) {
        unit.ratio.push_back(work / share);
        unit.memory.push_back(memory);
        unit.own.push_back(0);
    }
}
void only(CutProblem::Unit& unit, std::size_t group) {
    for (std::size_t i = 0; i < unit.ratio.size(); ++i)
        if (i != group) unit.ratio[i] = never;
}
void join(CutProblem& to, std::size_t one, std::size_t other, double bytes) {
    to.edges.push_back({one, other, bytes, std::vector<double>(to.shares.size(), 0), false});
}

/// What a placement costs; nothing where it is against a rule.
struct Measured {
    double cost = 0, balance = 0;
};
std::optional<Measured> measured(const CutProblem& problem, const std::vector<std::size_t>& group) {
    std::vector<double> ratio(problem.shares.size(), 0), memory(problem.shares.size(), 0);
    Measured made;
    for (std::size_t unit = 0; unit < group.size(); ++unit) {
        const auto& it = problem.units[unit];
        if (it.ratio[group[unit]] == never) return std::nullopt;
        ratio[group[unit]] += it.ratio[group[unit]];
        memory[group[unit]] += it.memory[group[unit]];
        made.cost += it.own[group[unit]];
    }
    for (const auto& edge : problem.edges) {
        const bool together = group[edge.one] == group[edge.other];
        if (together && edge.must_part) return std::nullopt;
        made.cost += together ? edge.together[group[edge.one]] : edge.apart;
    }
    for (std::size_t i = 0; i < memory.size(); ++i)
        if (memory[i] > problem.memory[i]) return std::nullopt;
    made.balance = *std::ranges::max_element(ratio);
    return made;
}

/// Every placement: the least balance, and the least cost with no more than that.
struct Everything {
    double least_balance = never, least_cost = never;
};
Everything try_all(const CutProblem& problem, double balance) {
    Everything best;
    std::vector<std::size_t> group(problem.units.size(), 0);
    for (;;) {
        if (const auto one = measured(problem, group)) {
            best.least_balance = std::min(best.least_balance, one->balance);
            if (one->balance <= balance + 1e-12) best.least_cost = std::min(best.least_cost, one->cost);
        }
        std::size_t digit = 0;
        while (digit < group.size() && ++group[digit] == problem.shares.size()) group[digit++] = 0;
        if (digit == group.size()) return best;
    }
}

TEST(CutSearch, a_chain_is_cut_where_least_goes) {
    auto problem = even_groups(2);
    for (int i = 0; i < 4; ++i) add_unit(problem, 0.25);
    join(problem, 0, 1, 100);
    join(problem, 1, 2, 5);
    join(problem, 2, 3, 100);
    only(problem.units[0], 0);
    const auto found = least_cut(problem, 1.0);
    ASSERT_TRUE(found.answer);
    EXPECT_EQ(found.answer->group, (std::vector<std::size_t>{0, 0, 1, 1}));
    EXPECT_EQ(found.answer->cost, 5);
    EXPECT_NEAR(found.answer->balance, 1.0, 1e-9);
    EXPECT_TRUE(found.answer->best);
}

TEST(CutSearch, without_need_for_balance_nothing_is_cut) {
    auto problem = even_groups(3);
    for (int i = 0; i < 6; ++i) add_unit(problem, 1.0 / 6);
    for (std::size_t i = 0; i + 1 < 6; ++i) join(problem, i, i + 1, 10);
    only(problem.units[2], 1);
    const auto found = least_cut(problem, 3.0);
    ASSERT_TRUE(found.answer);
    EXPECT_EQ(found.answer->cost, 0);
    EXPECT_EQ(found.answer->group, std::vector<std::size_t>(6, 1));
}

TEST(CutSearch, groups_get_work_by_what_they_have) {
    // One group has three quarters of the processors.
    CutProblem problem;
    problem.shares = {0.25, 0.75};
    problem.memory = {never, never};
    for (int i = 0; i < 8; ++i) add_unit(problem, 0.125);
    const auto found = most_even(problem);
    ASSERT_TRUE(found.answer);
    EXPECT_NEAR(found.answer->balance, 1, 1e-9);
    EXPECT_EQ(std::ranges::count(found.answer->group, 0u), 2);
}

TEST(CutSearch, what_must_part_parts_and_what_does_not_fit_goes_elsewhere) {
    auto problem = even_groups(2);
    problem.memory = {100, 60};
    for (int i = 0; i < 3; ++i) add_unit(problem, 1.0 / 3, 40);
    join(problem, 0, 1, 1'000);
    problem.edges[0].must_part = true;
    join(problem, 1, 2, 10);
    const auto found = least_cut(problem, 2);
    ASSERT_TRUE(found.answer);
    EXPECT_NE(found.answer->group[0], found.answer->group[1]);
    EXPECT_EQ(found.answer->group[1], found.answer->group[2]);
    EXPECT_EQ(found.answer->group[1], 0u);  // two of them are too much for the other
    EXPECT_EQ(found.answer->cost, 1'000);
}

TEST(CutSearch, what_cannot_be_is_known_to_be_so) {
    auto problem = even_groups(2);
    for (int i = 0; i < 3; ++i) add_unit(problem, 1.0 / 3);
    const auto uneven = least_cut(problem, 1.2);
    EXPECT_FALSE(uneven.answer);
    EXPECT_TRUE(uneven.searched_all);
    EXPECT_NEAR(most_even(problem).answer->balance, 4.0 / 3, 1e-9);

    problem.memory = {10, 10};
    for (auto& unit : problem.units) unit.memory = {8, 8};
    EXPECT_FALSE(most_even(problem).answer);

    auto triangle = even_groups(2);
    for (int i = 0; i < 3; ++i) add_unit(triangle, 1.0 / 3);
    for (const auto& [one, other] : {std::pair{0, 1}, {1, 2}, {0, 2}}) {
        join(triangle, static_cast<std::size_t>(one), static_cast<std::size_t>(other), 1);
        triangle.edges.back().must_part = true;
    }
    EXPECT_FALSE(most_even(triangle).answer);
    EXPECT_TRUE(most_even(triangle).searched_all);
}

TEST(CutSearch, small_problems_of_every_kind_get_the_answer_that_trying_everything_gives) {
    std::mt19937 chance(7);
    const auto number = [&](int least, int most) {
        return least + static_cast<int>(chance() % static_cast<unsigned>(most - least + 1));
    };
    int answered = 0, refused = 0;
    for (int turn = 0; turn < 400; ++turn) {
        const auto groups = static_cast<std::size_t>(number(2, 3));
        const auto units = static_cast<std::size_t>(number(1, groups == 2 ? 9 : 7));
        CutProblem problem;
        std::vector<int> cpus(groups);
        for (auto& each : cpus) each = number(1, 4);
        int all = 0;
        for (const int each : cpus) all += each;
        for (const int each : cpus) {
            problem.shares.push_back(static_cast<double>(each) / all);
            problem.memory.push_back(number(0, 3) == 0 ? number(20, 60) : never);
        }
        for (std::size_t unit = 0; unit < units; ++unit) {
            add_unit(problem, number(0, 100) / 50.0 / static_cast<double>(units), number(0, 12));
            if (number(0, 3) == 0)
                only(problem.units[unit], static_cast<std::size_t>(number(0, static_cast<int>(groups) - 1)));
            for (auto& own : problem.units[unit].own) own = number(0, 1) * number(0, 20);
            // As filters whose copies are not even on the nodes of a group.
            for (auto& ratio : problem.units[unit].ratio) ratio *= number(0, 3) == 0 ? 1.5 : 1;
        }
        for (std::size_t one = 0; one < units; ++one)
            for (std::size_t other = one + 1; other < units; ++other) {
                if (number(0, 2) != 0) continue;
                join(problem, one, other, number(0, 1'000));
                auto& edge = problem.edges.back();
                for (auto& together : edge.together) together = number(0, 3) == 0 ? edge.apart / 2 : 0;
                edge.must_part = number(0, 9) == 0;
            }
        const double balance = number(10, 25) / 10.0;
        const auto all_tried = try_all(problem, balance);
        const auto even = most_even(problem);
        const auto cheap = least_cut(problem, balance);
        ASSERT_TRUE(even.searched_all && cheap.searched_all) << turn;
        ASSERT_EQ(even.answer.has_value(), all_tried.least_balance < never) << turn;
        ASSERT_EQ(cheap.answer.has_value(), all_tried.least_cost < never) << turn;
        if (even.answer) {
            const auto again = measured(problem, even.answer->group);
            ASSERT_TRUE(again) << turn;
            EXPECT_NEAR(even.answer->balance, all_tried.least_balance, 1e-8) << turn;
            EXPECT_NEAR(again->balance, even.answer->balance, 1e-8) << turn;
        }
        if (cheap.answer) {
            const auto again = measured(problem, cheap.answer->group);
            ASSERT_TRUE(again) << turn;
            EXPECT_NEAR(cheap.answer->cost, all_tried.least_cost, 1e-4) << turn;
            EXPECT_NEAR(again->cost, cheap.answer->cost, 1e-4) << turn;
            EXPECT_LE(again->balance, balance + 1e-6) << turn;
            ++answered;
        } else {
            ++refused;
        }
    }
    EXPECT_GT(answered, 100);  // both happen
    EXPECT_GT(refused, 50);
}

TEST(CutSearch, a_long_chain_is_cut_at_its_thin_places) {
    std::mt19937 chance(11);
    auto problem = even_groups(4);
    constexpr std::size_t length = 120;
    for (std::size_t i = 0; i < length; ++i) add_unit(problem, 1.0 / length);
    for (std::size_t i = 0; i + 1 < length; ++i)
        join(problem, i, i + 1, (i + 1) % (length / 4) == 0 ? 2 : static_cast<double>(100 + chance() % 900));
    const auto found = least_cut(problem, 1.05);
    ASSERT_TRUE(found.answer);
    EXPECT_EQ(found.answer->cost, 6);
}

TEST(CutSearch, a_cut_that_was_put_into_a_large_problem_is_found) {
    // 3 clusters of 30 units, dense within, and few bytes between them.
    std::mt19937 chance(3);
    auto problem = even_groups(3);
    constexpr std::size_t size = 30;
    std::vector<std::size_t> name(3 * size);
    for (std::size_t i = 0; i < name.size(); ++i) name[i] = i;
    std::shuffle(name.begin(), name.end(), chance);
    for (std::size_t i = 0; i < name.size(); ++i) add_unit(problem, 1.0 / static_cast<double>(name.size()));
    for (std::size_t cluster = 0; cluster < 3; ++cluster)
        for (std::size_t i = 0; i < size; ++i)
            for (const std::size_t step : {1u, 2u, 7u})
                join(problem, name[cluster * size + i], name[cluster * size + (i + step) % size], 100);
    for (std::size_t cluster = 0; cluster < 3; ++cluster)
        join(problem, name[cluster * size + 4], name[(cluster + 1) % 3 * size + 11], 1);
    const auto found = least_cut(problem, 1.05);
    ASSERT_TRUE(found.answer);
    EXPECT_EQ(found.answer->cost, 3);
    EXPECT_FALSE(found.answer->best);  // nobody has proved it
    const auto again = measured(problem, found.answer->group);
    ASSERT_TRUE(again);
    EXPECT_LE(again->balance, 1.05 + 1e-6);
}

}  // namespace
