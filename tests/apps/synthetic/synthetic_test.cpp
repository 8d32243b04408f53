#include "apps/synthetic/synthetic.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "apps/gallery.hpp"
#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::apps::Random;
using penstock::apps::Team;
namespace synthetic = penstock::apps::synthetic;
using Numbers = std::vector<std::uint32_t>;

Numbers numbers(std::size_t count, std::uint32_t seed) {
    Random random{seed};
    Numbers result(count);
    for (auto& number : result) number = static_cast<std::uint32_t>(random.integer());
    return result;
}

TEST(SyntheticJob, has_the_values_that_were_computed_with_whole_numbers_of_any_size) {
    Numbers words(10);
    synthetic::job({}, Numbers(10, 0), words, 3);
    EXPECT_EQ(words[0], 1664525u * 1664525u * 1664525u);
    EXPECT_EQ(words[9], 2651335705u);
    synthetic::job(Numbers(4, 5), Numbers(6, 5), words, 3);
    EXPECT_EQ(words[0], 602003496u);
    EXPECT_EQ(words[1], 618999003u);
    EXPECT_EQ(words[9], 2372736035u);
    EXPECT_EQ(synthetic::rounds(163'840).factor, 1198129153u);
}

TEST(SyntheticJob, is_what_its_closed_form_is) {
    const Numbers rest = numbers(100, 1);
    for (const std::size_t shared : {0u, 1u, 99u, 100u}) {
        for (const std::uint32_t cycles : {1u, 2u, 7u, 10u}) {
            const Numbers table = numbers(shared, 2);
            Numbers words(shared + rest.size()), closed(words.size());
            synthetic::job(table, rest, words, cycles);
            synthetic::job_in_closed_form(table, rest, closed, cycles);
            EXPECT_EQ(words, closed) << shared << " words of the table, " << cycles << " cycles";
        }
    }
}

// blocks, words of a block, jobs that it goes through, words of the table
using Size = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
class SyntheticSizes : public testing::TestWithParam<Size> {};

TEST_P(SyntheticSizes, every_way_gives_the_same_words) {
    const auto [blocks, words, jobs, shared] = GetParam();
    const Numbers table = numbers(shared, 3), input = numbers(blocks * words, 4);
    const synthetic::Work work{words, jobs, 2, table};
    const Numbers nothing(input.size());
    Numbers closed = nothing, by_one = nothing, between = nothing;
    synthetic::in_closed_form(work, input, closed);
    synthetic::serial(work, input, by_one);
    EXPECT_EQ(by_one, closed);
    for (const int threads : {1, 3}) {
        Team team{threads};
        Numbers by_hand = nothing;
        synthetic::hand(work, input, by_hand, team);
        EXPECT_EQ(by_hand, by_one) << threads << " threads";
    }
    for (const int targets : {0, 2}) {
        Machine machine{{.targets = targets}};
        const auto at_targets = machine.resident(table);
        Numbers result = nothing;
        synthetic::tagged(work, input, result, between, machine);
        EXPECT_EQ(result, by_one) << "tagged, targets: " << targets;
        result = nothing;
        synthetic::resident(work, at_targets, input, result, between, machine);
        EXPECT_EQ(result, by_one) << "resident, targets: " << targets;
        result = nothing;
        synthetic::chains(synthetic::chain_of(work), work, input, result, machine);
        EXPECT_EQ(result, by_one) << "chains, targets: " << targets;
        result = nothing;
        synthetic::chains(synthetic::chain_of(work, at_targets), work, input, result, machine);
        EXPECT_EQ(result, by_one) << "both, targets: " << targets;
    }
}

INSTANTIATE_TEST_SUITE_P(sizes, SyntheticSizes,
                         testing::Values(Size{1, 1, 1, 1}, Size{5, 40, 1, 8}, Size{5, 40, 2, 8}, Size{40, 333, 3, 333},
                                         Size{40, 1000, 5, 200}, Size{7, 16'384, 16, 3276}));

TEST(SyntheticChain, takes_the_room_of_two_blocks_however_many_jobs_it_has) {
    const Numbers table = numbers(10, 5);
    EXPECT_EQ(synthetic::chain_of({1024, 1, 1, table}).local_bytes(), 0u);
    EXPECT_EQ(synthetic::chain_of({1024, 2, 1, table}).local_bytes(), 4096u);
    EXPECT_EQ(synthetic::chain_of({1024, 16, 1, table}).local_bytes(), 8192u);
    EXPECT_EQ(synthetic::chain_of({1024, 16, 1, table}).size(), 16u);
}

TEST(SyntheticApp, refuses_a_table_that_is_longer_than_a_block_and_blocks_that_no_local_store_holds) {
    Machine machine{{.targets = 1, .local_store = 128 * 1024}};
    const auto refused = [&](const penstock::apps::Settings& settings) {
        try {
            run(penstock::apps::find_app("synthetic"), machine, settings);
        } catch (const penstock::apps::SettingError& error) {
            return error.setting();
        }
        return std::string("nothing");
    };
    EXPECT_EQ(refused({.rows = 2, .columns = 32'768, .repetitions = 1, .inputs = {}}), "columns");
    EXPECT_EQ(refused({.rows = 2, .columns = 4, .repetitions = 1, .inputs = {{"table", {5}, Numbers(5)}}}),
              "input table");
    EXPECT_EQ(refused({.rows = 2, .columns = 16'384, .repetitions = 1, .inputs = {}}), "nothing");
}

}  // namespace
