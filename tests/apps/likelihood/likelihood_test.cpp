#include "apps/likelihood/likelihood.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "apps/likelihood/made.hpp"
#include "apps/likelihood/partials.hpp"
#include "apps/likelihood/ways.hpp"
#include "kernels/instruction_set.hpp"

namespace {

using namespace penstock::apps::likelihood;
using penstock::Machine;
using penstock::apps::Range;
using penstock::apps::Team;

Model gtr(std::size_t categories) {
    Model model;
    model.kind = Kind::gtr;
    model.shares = {0.35, 0.15, 0.2, 0.3};
    model.rates = {1, 3, 0.7, 0.5, 4, 1.2};
    model.alpha = 0.4;
    model.categories = categories;
    return model;
}

using Matrix = std::array<std::array<long double, 4>, 4>;

Matrix product(const Matrix& a, const Matrix& b) {
    Matrix c{};
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int k = 0; k < 4; ++k) c[i][j] += a[i][k] * b[k][j];
    return c;
}

/// exp(Q t) by its series, from the definition of the model: nothing of what is tested.
Matrix probabilities(const Model& model, long double t) {
    const int at[4][4] = {{-1, 0, 1, 2}, {0, -1, 3, 4}, {1, 3, -1, 5}, {2, 4, 5, -1}};
    const auto shares = model.kind == Kind::jc69 ? Model{}.shares : model.shares;
    const auto rate = [&](int i, int j) {
        if (model.kind == Kind::gtr) return model.rates[static_cast<std::size_t>(at[i][j])];
        return model.kind == Kind::hky85 && i % 2 == j % 2 ? model.kappa : 1.0;
    };
    Matrix q{};
    long double changes = 0;
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j)
            if (i != j) q[i][j] = static_cast<long double>(rate(i, j)) * shares[j], q[i][i] -= q[i][j];
        changes -= shares[i] * q[i][i];
    }
    constexpr int halvings = 20;
    for (auto& row : q)
        for (auto& value : row) value *= t / changes / (1 << halvings);
    Matrix sum{}, term{};
    for (int i = 0; i < 4; ++i) sum[i][i] = term[i][i] = 1;
    for (int k = 1; k < 12; ++k) {
        term = product(term, q);
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) sum[i][j] += term[i][j] /= k;
    }
    for (int i = 0; i < halvings; ++i) sum = product(sum, sum);
    return sum;
}

/// The sum over all states of all inner nodes, pattern by pattern.
long double by_definition(const Tree& tree, const Alignment& alignment, const Model& model) {
    const auto shares = model.kind == Kind::jc69 ? Model{}.shares : model.shares;
    const auto rates = model.category_rates();
    long double total = 0;
    for (std::size_t site = 0; site < alignment.sites(); ++site) {
        long double likelihood = 0;
        for (const double rate : rates) {
            std::vector<Matrix> p(tree.nodes());
            for (Node node = 1; node < tree.nodes(); ++node) p[node] = probabilities(model, tree.length(node) * rate);
            std::size_t states = 1;
            for (std::size_t inner = tree.taxa(); inner < tree.nodes(); ++inner) states *= 4;
            for (std::size_t all = 0; all < states; ++all) {
                const auto state = [&](Node inner) { return all >> (2 * (inner - tree.taxa())) & 3; };
                const auto to = [&](Node node, std::size_t from) {
                    if (!tree.is_tip(node)) return p[node][from][state(node)];
                    long double sum = 0;
                    for (std::size_t s = 0; s < 4; ++s)
                        if ((alignment.sequences[node][site] >> s & 1) != 0) sum += p[node][from][s];
                    return sum;
                };
                long double product = shares[state(tree.top())];
                long double sum = 0;
                for (std::size_t s = 0; s < 4; ++s)
                    if ((alignment.sequences[0][site] >> s & 1) != 0) sum += p[tree.top()][state(tree.top())][s];
                product *= sum;
                for (std::size_t inner = tree.taxa(); inner < tree.nodes(); ++inner)
                    for (const Node child : tree.children(static_cast<Node>(inner)))
                        product *= to(child, state(static_cast<Node>(inner)));
                likelihood += product / rates.size();
            }
        }
        total += std::log(likelihood);
    }
    return total;
}

struct Case {
    Case(std::size_t taxa, std::size_t sites, const Model& with, std::uint64_t seed)
        : chance{seed}, model{with}, tree{random_tree(taxa, 0.15, chance)},
          alignment{evolve(tree, model, sites, chance)} {}
    /// Gaps and bases that are not known for sure.
    void blur() {
        for (auto& sequence : alignment.sequences)
            for (Bases& bases : sequence)
                if (chance.below(8) == 0) bases |= static_cast<Bases>(chance.below(16));
    }
    Chance chance;
    Model model;
    Tree tree;
    Alignment alignment;
};

TEST(Likelihoods, are_the_sums_over_all_states_that_define_them) {
    for (const Kind kind : {Kind::jc69, Kind::hky85, Kind::gtr}) {
        for (const std::size_t categories : {1u, 4u, 5u}) {
            for (const std::size_t taxa : {3u, 4u, 6u}) {
                Model model = gtr(categories);
                model.kind = kind;
                model.kappa = 3.3;
                Case each(taxa, 20, model, 100 * taxa + categories);
                each.blur();
                const Patterns patterns(each.alignment);
                const long double expected = by_definition(each.tree, each.alignment, model);
                Likelihood<double> likelihood(patterns, categories);
                likelihood.set_model(model);
                EXPECT_NEAR(likelihood.evaluate(each.tree) / expected, 1, 1e-13) << taxa << " " << categories;
                Likelihood<float> with_floats(patterns, categories);
                with_floats.set_model(model);
                EXPECT_NEAR(with_floats.evaluate(each.tree) / expected, 1, 3e-7) << taxa << " " << categories;
            }
        }
    }
}

TEST(Likelihoods, do_not_underflow_on_trees_of_thousands) {
    Case each(3000, 40, gtr(4), 7);
    const Patterns patterns(each.alignment);
    Likelihood<double> likelihood(patterns, 4);
    likelihood.set_model(each.model);
    Likelihood<float> with_floats(patterns, 4);
    with_floats.set_model(each.model);
    const double found = likelihood.evaluate(each.tree);
    EXPECT_LT(found, -40 * 1000.0);  // far below the least double
    EXPECT_TRUE(std::isfinite(found));
    EXPECT_NEAR(with_floats.evaluate(each.tree) / found, 1, 1e-6);
}

TEST(Likelihoods, of_branches_of_no_length_are_those_of_equal_sequences) {
    const Alignment alignment = parse_fasta(">a\nACGT\n>b\nACGT\n>c\nACGT\n", "a");
    const Patterns patterns(alignment);
    Likelihood<double> likelihood(patterns, 1);
    likelihood.set_model(Model{});
    const Tree tree = parse_newick("(a:0,b:0,c:0);", alignment.names, "t");
    EXPECT_NEAR(likelihood.evaluate(tree), 4 * std::log(0.25), 1e-14);
    const Alignment other = parse_fasta(">a\nACGT\n>b\nACGA\n>c\nACGT\n", "a");
    const Patterns others(other);
    Likelihood<double> impossible(others, 1);
    impossible.set_model(Model{});
    EXPECT_EQ(impossible.evaluate(tree), -std::numeric_limits<double>::infinity());
}

template <class Real>
void expect_the_same_bits_from_every_way(std::size_t categories) {
    Case each(13, 300, gtr(categories), 8);
    each.blur();
    const Patterns patterns(each.alignment);
    const Order order(each.tree);
    Likelihood<Real> likelihood(patterns, categories);
    likelihood.set_model(each.model);
    const double expected = likelihood.evaluate(each.tree);
    const std::vector<double> sites(likelihood.site_logs().begin(), likelihood.site_logs().end());
    const auto check = [&](double found, const char* what, std::size_t wanted, int targets) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected))
            << what << " in tasks of " << wanted << " on " << targets << " targets";
        EXPECT_TRUE(std::ranges::equal(likelihood.site_logs(), sites)) << what;
    };
    Partials<Real> partials(likelihood.branches(), 1);
    for (const int targets : {0, 1, 3}) {
        Machine machine{{.targets = targets}};
        check(automatic(likelihood, each.tree, order, machine), "automatic", 0, targets);
        for (const std::size_t wanted : {0u, 1u, 16u, 100u, 100'000u}) {
            check(tagged(likelihood, each.tree, order, machine, wanted), "tagged", wanted, targets);
            check(loops(likelihood, partials, each.tree, order, machine, wanted), "loops", wanted, targets);
            Dependent<Real> dependent(likelihood, partials, each.tree, order, machine, wanted);
            check(dependent.evaluate(), "dependent", wanted, targets);
            for (int i = 0; i < 3; ++i) check(dependent.replay(), "replayed", wanted, targets);
        }
    }
    for (const int threads : {1, 2, 5}) {
        Team team(std::vector<int>(static_cast<std::size_t>(threads), Team::anywhere));
        double found = 0;
        hand(likelihood, each.tree, order, team, 3, found);
        check(found, "hand", 0, threads);
    }
    using penstock::kernels::InstructionSet;
    for (const auto set : {InstructionSet::plain, InstructionSet::vectors16}) {
        penstock::kernels::limit_instruction_set(set);
        check(likelihood.evaluate(each.tree), "another instruction set", 0, 0);
        Machine machine{{.targets = 0}};
        check(loops(likelihood, partials, each.tree, order, machine, 0), "loops of another instruction set", 0, 0);
        penstock::kernels::limit_instruction_set(InstructionSet::vectors32);
    }
}

TEST(Likelihoods, have_the_same_bits_for_every_distribution_number_of_targets_and_instruction_set) {
    expect_the_same_bits_from_every_way<double>(4);
    expect_the_same_bits_from_every_way<float>(4);
    expect_the_same_bits_from_every_way<double>(1);
    expect_the_same_bits_from_every_way<float>(3);
}

TEST(Likelihoods, of_a_recording_follow_changes_of_lengths_and_of_what_is_rescaled) {
    Case each(200, 30, gtr(2), 9);
    const Patterns patterns(each.alignment);
    const Order order(each.tree);
    Likelihood<double> likelihood(patterns, 2), alone(patterns, 2);
    likelihood.set_model(each.model);
    alone.set_model(each.model);
    Partials<double> partials(likelihood.branches(), 1);
    Machine machine{{.targets = 1}};
    Dependent<double> dependent(likelihood, partials, each.tree, order, machine, 16);
    for (int i = 0; i < 20; ++i) {
        for (Node node = 1; node < each.tree.nodes(); ++node)
            each.tree.set_length(node, each.chance.exponential(i % 2 == 0 ? 0.1 : 1e-5));
        EXPECT_EQ(dependent.replay(), alone.evaluate(each.tree)) << i;
    }
}

TEST(EqualRanges, cover_all_blocks_in_a_multiple_of_the_workers) {
    for (const std::size_t blocks : {1u, 2u, 7u, 64u})
        for (const std::size_t wanted : {0u, 1u, 16u, 33u, 5000u})
            for (const std::size_t workers : {1u, 2u, 3u}) {
                const auto ranges = equal_ranges(blocks, wanted, workers);
                std::size_t next = 0;
                for (const Range& range : ranges) {
                    EXPECT_EQ(range.begin, next);
                    EXPECT_GT(range.end, range.begin);
                    next = range.end;
                }
                EXPECT_EQ(next, blocks);
                EXPECT_TRUE(ranges.size() == blocks || ranges.size() % workers == 0);
            }
}

}  // namespace
