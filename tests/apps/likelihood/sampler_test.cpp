#include "apps/likelihood/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "apps/likelihood/likelihood.hpp"
#include "apps/likelihood/ways.hpp"

namespace {

using namespace penstock::apps::likelihood;
using penstock::apps::Range;

Model model_of(Kind kind, std::size_t categories) {
    Model model;
    model.kind = kind;
    model.shares = {0.3, 0.2, 0.25, 0.25};
    model.kappa = 2;
    model.alpha = 0.7;
    model.categories = categories;
    return model;
}

/// Sequences of nothing but gaps: they say nothing, so the posterior is the prior.
Alignment silent(std::size_t taxa) {
    Alignment alignment;
    for (std::size_t i = 0; i < taxa; ++i) {
        alignment.names.push_back("t" + std::to_string(i));
        alignment.sequences.push_back({any_base, any_base});
    }
    return alignment;
}

template <class Real>
void expect_that_what_is_kept_is_what_would_be_computed_anew(Kind kind, std::size_t taxa) {
    Chance chance(21);
    const Model model = model_of(kind, 3);
    const Tree tree = random_tree(taxa, 0.1, chance);
    const Patterns patterns(evolve(tree, model, 100, chance));
    Chain<Real> chain(patterns, random_tree(taxa, 0.1, chance), model, 0.1, 5);
    Likelihood<Real> anew(patterns, 3);
    for (int i = 0; i < 4000; ++i) {
        chain.step(i % 2 == 0 ? 1 : 0.1);
        if (i % 10 != 0) continue;
        anew.set_model(chain.model());
        ASSERT_EQ(chain.log_likelihood(), anew.evaluate(chain.tree())) << i;
        ASSERT_EQ(chain.log_prior(), log_prior(chain.tree(), chain.model(), 0.1)) << i;
        for (const Node node : Order(chain.tree()).nodes)
            for (const Node child : chain.tree().children(node)) ASSERT_EQ(chain.tree().parent(child), node);
    }
    for (std::size_t move = 0; move < moves; ++move) {
        const auto& count = chain.counts()[move];
        EXPECT_TRUE(count.proposed < 100 || count.taken > 0) << name(static_cast<Move>(move));
    }
}

TEST(Chain, keeps_exactly_what_would_be_computed_anew) {
    expect_that_what_is_kept_is_what_would_be_computed_anew<double>(Kind::gtr, 12);
    expect_that_what_is_kept_is_what_would_be_computed_anew<double>(Kind::hky85, 150);  // some nodes are rescaled
    expect_that_what_is_kept_is_what_would_be_computed_anew<float>(Kind::jc69, 20);
    expect_that_what_is_kept_is_what_would_be_computed_anew<double>(Kind::jc69, 3);
    expect_that_what_is_kept_is_what_would_be_computed_anew<double>(Kind::jc69, 4);
}

TEST(Chain, without_data_samples_the_prior) {
    constexpr std::size_t taxa = 5;
    constexpr double mean_length = 0.2;
    const Patterns patterns(silent(taxa));
    Chance chance(22);
    Chain<double> chain(patterns, random_tree(taxa, mean_length, chance), model_of(Kind::hky85, 2), mean_length, 6);
    std::map<std::string, double> shapes;
    double length = 0, squares = 0, alpha = 0, half = 0, share = 0, share_squares = 0;
    constexpr int samples = 40'000, every = 20;
    for (int i = 0; i < samples * every; ++i) {
        chain.step(1);
        if (i % every != 0) continue;
        shapes[shape_of(chain.tree())] += 1.0 / samples;
        length += chain.tree().length() / samples;
        squares += chain.tree().length() * chain.tree().length() / samples;
        alpha += chain.model().alpha / samples;
        half += (chain.model().kappa < 1 ? 1.0 : 0) / samples;
        share += chain.model().shares[2] / samples;
        share_squares += chain.model().shares[2] * chain.model().shares[2] / samples;
    }
    ASSERT_EQ(shapes.size(), 15u);
    for (const auto& [shape, frequency] : shapes) EXPECT_NEAR(frequency, 1.0 / 15, 0.008) << shape;
    EXPECT_NEAR(length, 7 * mean_length, 0.03);
    EXPECT_NEAR(squares, 7 * 8 * mean_length * mean_length, 0.1);  // a gamma distribution of shape 7
    EXPECT_NEAR(alpha, 1, 0.1);
    EXPECT_NEAR(half, 0.5, 0.05);  // kappa / (1 + kappa) is uniform
    EXPECT_NEAR(share, 0.25, 0.02);
    EXPECT_NEAR(share_squares, 0.1, 0.012);  // uniform over all shares
}

/// The posterior of the three shapes over four sequences under JC69, by the rule of Gauss and Laguerre over the five
/// lengths: the zeros of the polynomial of this degree and their weights.
struct Exact {
    std::map<std::string, double> shapes;
    double length = 0;  ///< the mean of the tree's
};

Exact exact_posterior(const Alignment& alignment, double mean_length, int degree) {
    std::vector<double> points, weights;
    const auto laguerre = [degree](double x) {
        double before = 1, now = 1 - x;
        for (int k = 1; k < degree; ++k) {
            const double next = ((2 * k + 1 - x) * now - k * before) / (k + 1);
            before = now;
            now = next;
        }
        return std::pair(now, before);
    };
    double last = 0;
    for (double x = 1e-4; static_cast<int>(points.size()) < degree; x += 1e-3) {
        if ((laguerre(x).first < 0) == (laguerre(x + 1e-3).first < 0)) continue;
        double low = x, high = x + 1e-3;
        for (int i = 0; i < 80; ++i) {
            const double middle = (low + high) / 2;
            ((laguerre(low).first < 0) == (laguerre(middle).first < 0) ? low : high) = middle;
        }
        last = (low + high) / 2;
        const double slope = degree * laguerre(last).second / last;  // of the polynomial, up to the sign
        points.push_back(last);
        weights.push_back(1 / (last * slope * slope));
    }
    const Patterns patterns(alignment);
    const auto same = [](double t) { return 0.25 + 0.75 * std::exp(-4 * t / 3); };
    const auto other = [](double t) { return 0.25 - 0.25 * std::exp(-4 * t / 3); };
    std::vector<double> stays, goes;
    for (const double point : points) {
        stays.push_back(same(point * mean_length));
        goes.push_back(other(point * mean_length));
    }
    // ((0, a), (b, c)): the branches of the tips, and the one between.
    const std::size_t shapes[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};
    Exact exact;
    double total = 0;
    const auto n = static_cast<std::size_t>(degree);
    for (const auto& tips : shapes) {
        double mass = 0, lengths = 0;
        std::size_t at[5];
        for (std::size_t all = 0; all < n * n * n * n * n; ++all) {
            std::size_t rest = all;
            double weight = 1, length = 0;
            for (auto& each : at) {
                each = rest % n;
                rest /= n;
                weight *= weights[each];
                length += points[each] * mean_length;
            }
            if (weight < 1e-14) continue;
            double likelihood = 1;
            for (std::size_t pattern = 0; pattern < patterns.count(); ++pattern) {
                const auto p = [&](std::size_t tip, std::size_t state) {
                    const auto bases = patterns.bases()[patterns.codes(tips[tip])[pattern]];
                    return (bases >> state & 1) != 0 ? stays[at[tip]] : goes[at[tip]];
                };
                double left[4], right[4], right_sum = 0, sum = 0;
                for (std::size_t s = 0; s < 4; ++s) {
                    left[s] = p(0, s) * p(1, s);
                    right_sum += right[s] = p(2, s) * p(3, s);
                }
                for (std::size_t s = 0; s < 4; ++s)
                    sum += 0.25 * left[s] * (stays[at[4]] * right[s] + goes[at[4]] * (right_sum - right[s]));
                likelihood *= std::pow(sum, patterns.weights()[pattern]);
            }
            mass += weight * likelihood;
            lengths += weight * likelihood * length;
        }
        std::string shape = tips[1] == 1 ? "2 3" : tips[1] == 2 ? "1 3" : "1 2";
        exact.shapes[shape] = mass;
        exact.length += lengths;
        total += mass;
    }
    for (auto& [shape, mass] : exact.shapes) mass /= total;
    exact.length /= total;
    return exact;
}

TEST(Sampler, has_the_posterior_of_a_tree_space_that_can_be_enumerated) {
    constexpr double mean_length = 0.25;
    const Alignment alignment = parse_fasta(">a\nACGTAAAACA\n>b\nACGTACAACA\n>c\nACGTCAGACC\n>d\nACGTCCAGCC\n", "a");
    const Exact coarse = exact_posterior(alignment, mean_length, 7), exact = exact_posterior(alignment, mean_length, 9);
    for (const auto& [shape, probability] : exact.shapes)
        ASSERT_NEAR(probability, coarse.shapes.at(shape), 2e-3) << shape;  // the rule has enough points
    const Patterns patterns(alignment);
    Chance chance(23);
    std::map<std::string, double> found;
    double length = 0, samples = 0;
    const Sampling sampling{.generations = 400'000, .every = 10, .chains = 2, .mean_length = mean_length, .seed = 3};
    sample(patterns, random_tree(4, 0.1, chance), Model{}, sampling, [&](const Sample& one) {
        ++found[shape_of(one.tree)];
        length += one.tree.length();
        ++samples;
    });
    ASSERT_EQ(found.size(), 3u);
    for (const auto& [shape, probability] : exact.shapes) {
        EXPECT_NEAR(found.at(shape) / samples, probability, 0.015) << shape;
        EXPECT_GT(probability, 0.02) << "else this shows little";
    }
    EXPECT_NEAR(length / samples, exact.length, 0.02 * exact.length);
}

struct Sampled {
    std::vector<Sample> samples;
    Tally tally;
};

Sampled sampled(const Patterns& patterns, const Tree& tree, const Sampling& sampling) {
    Sampled found;
    found.tally = sample(patterns, tree, model_of(Kind::hky85, 2), sampling,
                         [&](const Sample& one) { found.samples.push_back(one); });
    return found;
}

TEST(Sampler, gives_the_same_samples_on_every_number_of_ranks) {
    Chance chance(24);
    const Tree tree = random_tree(9, 0.1, chance);
    const Patterns patterns(evolve(tree, model_of(Kind::hky85, 2), 120, chance));
    Sampling sampling{.generations = 3000, .every = 50, .chains = 5, .temperature = 0.3, .swap_every = 3, .seed = 8};
    const Sampled alone = sampled(patterns, tree, sampling);
    ASSERT_EQ(alone.samples.size(), 61u);
    EXPECT_EQ(alone.tally.swaps_proposed, 1000u);
    EXPECT_GT(alone.tally.swaps_taken, 0u);
    for (const int ranks : {2, 3, 5}) {
        sampling.ranks = ranks;
        const Sampled shared = sampled(patterns, tree, sampling);
        ASSERT_EQ(shared.samples.size(), alone.samples.size()) << ranks;
        for (std::size_t i = 0; i < alone.samples.size(); ++i) {
            EXPECT_EQ(shared.samples[i].generation, 50 * i);
            EXPECT_EQ(shared.samples[i].tree, alone.samples[i].tree) << ranks << " ranks, sample " << i;
            EXPECT_EQ(shared.samples[i].model, alone.samples[i].model) << ranks << " ranks, sample " << i;
            EXPECT_EQ(shared.samples[i].log_likelihood, alone.samples[i].log_likelihood);
        }
        EXPECT_EQ(shared.tally.taken, alone.tally.taken);
        EXPECT_EQ(shared.tally.swaps_taken, alone.tally.swaps_taken);
        EXPECT_EQ(shared.tally.swaps_proposed, alone.tally.swaps_proposed);
    }
}

TEST(Chain, gives_the_same_states_when_tasks_share_its_patterns) {
    Chance chance(25);
    const Tree tree = random_tree(9, 0.1, chance);
    const Patterns patterns(evolve(tree, Model{}, 400, chance));
    Chain<double> alone(patterns, tree, Model{}, 0.1, 9);
    penstock::Machine machine{{.targets = 2}};
    const auto ranges = equal_ranges(patterns.blocks(), 32, 3);
    Chain<double> shared(patterns, tree, Model{}, 0.1, 9,
                         [&](std::size_t, const auto& body) { deal(machine, ranges, body); });
    for (int i = 0; i < 1000; ++i) {
        alone.step(1);
        shared.step(1);
        ASSERT_EQ(alone.log_likelihood(), shared.log_likelihood()) << i;
    }
    EXPECT_EQ(alone.tree(), shared.tree());
}

TEST(Sampler, can_be_given_up_and_passes_errors_on) {
    Chance chance(26);
    const Tree tree = random_tree(6, 0.1, chance);
    const Patterns patterns(evolve(tree, Model{}, 50, chance));
    for (const int ranks : {1, 2}) {
        Sampling sampling{.generations = 1'000'000'000'000, .chains = 2, .ranks = ranks};
        EXPECT_THROW(sample(
                         patterns, tree, Model{}, sampling, [](const Sample&) {},
                         [](double) { throw std::runtime_error("enough"); }),
                     std::runtime_error)
            << ranks;
        EXPECT_ANY_THROW(sample(patterns, tree, Model{}, sampling, [](const Sample& one) {
            if (one.generation > 0) throw std::runtime_error("no room");
        })) << ranks;
    }
    Sampling wrong{.chains = 2, .ranks = 3};
    EXPECT_THROW(sample(patterns, tree, Model{}, wrong, {}), penstock::UsageError);
    wrong = {.every = 0};
    EXPECT_THROW(sample(patterns, tree, Model{}, wrong, {}), penstock::UsageError);
}

TEST(Consensus, has_the_branches_of_more_than_half_of_the_trees) {
    const std::vector<std::string> names{"a", "b", "c", "d", "e"};
    Consensus consensus(5);
    for (const char* const text :
         {"(a:1,(b:1,c:1):2,(d:1,e:1):1);", "(a:1,(b:1,c:1):4,(d:1,e:1):1);", "(a:3,(b:1,c:1):3,(d:1,e:1):1);",
          "(a:3,(b:1,d:1):3,(c:1,e:1):1);", "(a:2,b:1,(c:1,(d:1,e:1):3):1);"})
        consensus.add(parse_newick(text, names, "t"));
    EXPECT_EQ(consensus.trees(), 5u);
    EXPECT_EQ(consensus.newick(names), "(a:2,(b:1,c:1)0.6:3,(d:1,e:1)0.8:1.5);");
    ASSERT_EQ(consensus.shapes().size(), 3u);
    EXPECT_EQ(consensus.shapes().front(), (std::pair<std::string, std::size_t>("1 2 | 3 4", 3)));
}

TEST(Trace, has_a_column_for_each_parameter) {
    for (const Kind kind : {Kind::jc69, Kind::hky85, Kind::gtr}) {
        for (const std::size_t categories : {1u, 4u}) {
            Chance chance(27);
            const Model model = model_of(kind, categories);
            const Sample one{100, -12.5, -3, random_tree(4, 0.1, chance), model};
            const auto tabs = [](const std::string& line) { return std::ranges::count(line, '\t'); };
            EXPECT_EQ(tabs(trace_head(model)), tabs(trace_line(one)));
            EXPECT_TRUE(trace_line(one).starts_with("100\t-15.5\t-12.5\t-3\t"));
        }
    }
}

}  // namespace
