#include "apps/likelihood/tree.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "apps/likelihood/made.hpp"

namespace {

using namespace penstock::apps::likelihood;

const std::vector<std::string> names{"a", "b", "c", "d", "it's (e)"};

Tree parse(const std::string& text, std::size_t taxa = 5) {
    return parse_newick(text, std::span{names}.first(taxa), "t");
}

std::string refusal(const std::string& text) {
    try {
        parse(text);
    } catch (const MalformedFile& error) {
        return error.what();
    }
    return "";
}

TEST(Newick, is_read_and_written) {
    const std::string text = "(a:1,(b:2,c:3):0.5,(d:4,'it''s (e)':5):0.25);";
    const Tree tree = parse(text);
    EXPECT_EQ(shape_of(tree), "1 2 | 3 4");
    EXPECT_DOUBLE_EQ(tree.length(), 15.75);
    EXPECT_EQ(parse(to_newick(tree, names)), tree);
    EXPECT_EQ(to_newick(tree, names), "(a:1,(b:2,c:3):0.5,(d:4,'it''s (e)':5):0.25);");
}

TEST(Newick, has_one_tree_whatever_the_root_and_the_order) {
    const Tree tree = parse("(a:1,(b:2,c:3):0.5,(d:4,'it''s (e)':5):0.25);");
    const char* const same[] = {
        "((a:1,(b:2,c:3):0.5):0.05,(d:4,'it''s (e)':5)0.9:0.2);",
        " ( ( 'it''s (e)' : 5 , d : 4 ) [comment; (]: 0.25 , ( c : 3, b : 2 )0.99 : 5e-1 , a : 1 ) root : 7 ; ",
        "(((b:2,c:3):0.5,a:1,(d:4,'it''s (e)':5):0.25):1);",
        "(b:1.5,(c:3,(a:1,(d:4,'it''s (e)':5):0.25):0.5):0.5);",
    };
    for (const char* const text : same) {
        const Tree other = parse(text);
        EXPECT_EQ(shape_of(other), shape_of(tree)) << text;
        EXPECT_NEAR(other.length(), tree.length(), 1e-12) << text;
    }
}

TEST(Newick, gets_more_nodes_where_more_than_three_branches_meet) {
    const Tree tree = parse("(a:1,b:1,c:1,d:1,'it''s (e)':1);");
    EXPECT_DOUBLE_EQ(tree.length(), 5);
    EXPECT_EQ(Order(tree).nodes.size(), 3u);
}

TEST(Newick, is_refused_with_the_place_and_what_is_wrong) {
    EXPECT_EQ(refusal(""), "t:1: character 1: a tree in Newick's form begins with (, and here is the end");
    EXPECT_EQ(refusal("(a:1,\n(b:2,x:3):1);"), "t:2: character 6: the alignment has no sequence x");
    EXPECT_EQ(refusal("(a:1,a:2);"), "t:1: character 6: the name a occurs a second time");
    EXPECT_EQ(refusal("(a:1,b:2,c:3);"), "t: the tree lacks the sequence d");
    EXPECT_EQ(refusal("(a:1,b,c:3);"), "t:1: character 7: a branch without a length (: and a number), before ','");
    EXPECT_EQ(refusal("(a:1,b:-2,c:3);"), "t:1: character 8: a branch of a length below 0");
    EXPECT_EQ(refusal("(a:1,b:x,c:3);"), "t:1: character 8: a branch whose length is no number");
    EXPECT_EQ(refusal("(a:1,b:inf,c:3);"), "t:1: character 8: a branch whose length is no number");
    EXPECT_EQ(refusal("(a:1,,b:2);"), "t:1: character 6: a name or ( should come here, and not ','");
    EXPECT_EQ(refusal("(a:1"), "t:1: character 5: , or ) should come here, and not the end");
    EXPECT_EQ(refusal("(a:1[b"), "t:1: character 5: a comment without its ]");
    EXPECT_EQ(refusal("('a:1"), "t:1: character 6: a name without its closing quote");
    EXPECT_NE(refusal("(a:1,b:2,(c:1,(d:1,'it''s (e)':1):1):1)").find("the tree ends with ;"), std::string::npos);
    EXPECT_NE(refusal("(a:1,b:2,(c:1,(d:1,'it''s (e)':1):1):1);(").find("more behind the end"), std::string::npos);
}

TEST(Newick, may_nest_deeper_than_a_stack_of_calls) {
    constexpr std::size_t depth = 200'000;
    std::string text(depth, '(');
    text += "a:1,b:1,c:1";
    for (std::size_t i = 1; i < depth; ++i) text += "):1";
    EXPECT_EQ(shape_of(parse(text + ");", 3)), "");
}

TEST(Newick, of_any_bytes_is_read_or_refused) {
    const std::string good = "((a:1,(b:2,c:3)0.5:0.5)[x]:0.05,(d:4,'it''s (e)':5):2e-1);";
    std::mt19937 random(2);
    std::size_t read = 0;
    for (int i = 0; i < 30'000; ++i) {
        std::string text = good;
        for (std::size_t change = random() % 3 + 1; change > 0; --change) {
            const std::size_t at = random() % (text.size() + 1);
            if (random() % 3 == 0) text.insert(at, 1, static_cast<char>(random()));
            else if (random() % 2 == 0) text.erase(at, random() % 4);
            else text.insert(at, 1, "()[],:;' abc019.e-"[random() % 18]);
        }
        try {
            const Tree tree = parse(text);
            ++read;
            ASSERT_EQ(Order(tree).nodes.size(), 3u) << text;
            ASSERT_EQ(shape_of(parse(to_newick(tree, names, 17))), shape_of(tree)) << text;
        } catch (const MalformedFile& error) {
            ASSERT_EQ(error.file(), "t");
        }
    }
    EXPECT_GT(read, 100u);
}

TEST(Order, has_children_first_and_a_room_that_grows_as_a_logarithm) {
    Chance chance(3);
    for (const std::size_t taxa : {3u, 4u, 17u, 300u}) {
        const Tree tree = random_tree(taxa, 0.1, chance);
        const Order order(tree);
        ASSERT_EQ(order.nodes.size(), taxa - 2);
        EXPECT_EQ(order.nodes.back(), tree.top());
        EXPECT_LE(order.room, 10u);
        std::vector<Node> holds(order.room, 0);  // whose result lies at each place
        for (const Node node : order.nodes) {
            for (const Node child : tree.children(node)) {
                EXPECT_EQ(tree.parent(child), node);
                if (tree.is_tip(child)) continue;
                EXPECT_EQ(holds[order.places[child]], child);
                EXPECT_NE(order.places[child], order.places[node]);
            }
            holds[order.places[node]] = node;
        }
    }
}

TEST(RandomTrees, have_each_shape_equally_often) {
    Chance chance(4);
    std::map<std::string, int> counts;
    constexpr int trees = 15'000;
    for (int i = 0; i < trees; ++i) ++counts[shape_of(random_tree(5, 0.1, chance))];
    ASSERT_EQ(counts.size(), 15u);
    for (const auto& [shape, count] : counts) EXPECT_NEAR(count, trees / 15, 150) << shape;  // 5 deviations
}

TEST(NeighbourJoining, finds_the_tree_of_sequences_that_evolved_along_it) {
    Chance chance(5);
    for (int i = 0; i < 5; ++i) {
        Tree tree = random_tree(12, 0.1, chance);
        for (Node node = 1; node < tree.nodes(); ++node) tree.set_length(node, 0.05 + tree.length(node));
        const Tree found = join_neighbours(evolve(tree, Model{}, 20'000, chance));
        EXPECT_EQ(shape_of(found), shape_of(tree));
        EXPECT_NEAR(found.length(), tree.length(), 0.05 * tree.length());
    }
}

TEST(Chance, has_the_moments_of_its_distributions) {
    Chance chance(6);
    constexpr int count = 200'000;
    double exponential = 0, normal = 0, square = 0, small = 0, large = 0;
    for (int i = 0; i < count; ++i) {
        exponential += chance.exponential(0.5);
        const double x = chance.normal();
        normal += x;
        square += x * x;
        small += chance.gamma(0.4);
        large += chance.gamma(3);
    }
    EXPECT_NEAR(exponential / count, 0.5, 0.006);
    EXPECT_NEAR(normal / count, 0, 0.012);
    EXPECT_NEAR(square / count, 1, 0.016);
    EXPECT_NEAR(small / count, 0.4, 0.008);
    EXPECT_NEAR(large / count, 3, 0.02);
}

}  // namespace
