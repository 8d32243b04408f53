// The application for the gallery.
#include <algorithm>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "apps/random.hpp"
#include "apps/synthetic/synthetic.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::synthetic {
namespace {

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = 256;
    if (settings.columns == 0) settings.columns = 64 * 1024 / sizeof(std::uint32_t);
    if (settings.block_rows == 0) settings.block_rows = 16;
    if (settings.block_columns == 0) settings.block_columns = 1;
    for (const Array& input : settings.inputs) {
        if (input.name != "blocks" || input.shape.size() != 2) continue;  // refused by given_input()
        settings.rows = input.shape[0];
        settings.columns = input.shape[1];
    }
    return settings;
}

void fill(Words words, const std::vector<std::uint32_t>* given, Random& random) {
    if (given != nullptr) std::ranges::copy(*given, words.begin());
    else std::ranges::generate(words, [&] { return static_cast<std::uint32_t>(random.integer()); });
}

std::vector<std::uint32_t> table_of(const Settings& settings, Random& random) {
    const auto* given = given_input<std::uint32_t>("synthetic", settings, "table", {0});
    if (given != nullptr && given->size() > settings.columns) {
        throw SettingError("synthetic", "input table",
                           "it has " + std::to_string(given->size()) + " words, and a job reads " +
                               std::to_string(settings.columns) + "; give it at most as many");
    }
    std::vector<std::uint32_t> table(given != nullptr ? given->size() : std::max<std::size_t>(1, settings.columns / 5));
    fill(table, given, random);
    return table;
}

// The state behind a job whose words are all 0 has a closed form of its own: a power of the multiplier.
Check last_word_over_zeros(const Work& work, Machine& machine) {
    const std::vector<std::uint32_t> zeros(work.words);
    std::vector<std::uint32_t> words(work.words);
    machine.call<job>(in(ConstWords{}), in(zeros), out(words), work.cycles).wait();
    const Rounds all = rounds(work.words * work.cycles);
    return {"last word of a job over zeros", static_cast<double>(all.factor * first_state),
            static_cast<double>(words.back()), 0, "a power of the multiplier"};
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("synthetic", settings, {"blocks", "table"});
    const auto* given_blocks =
        given_input<std::uint32_t>("synthetic", settings, "blocks", {settings.rows, settings.columns});
    Random random{settings.seed};
    const std::vector<std::uint32_t> table = table_of(settings, random);
    const Work work{settings.columns, settings.block_rows, static_cast<std::uint32_t>(settings.block_columns), table};

    const JobChain chain = chain_of(work);
    if (const std::size_t room = machine.initiator().local_store_bytes(); chain.local_bytes() > room) {
        throw SettingError("synthetic", "columns",
                           "a chain of jobs of " + std::to_string(work.words) + " words needs " +
                               std::to_string(chain.local_bytes()) + " bytes of local store, and a target has " +
                               std::to_string(room) + "; ask for fewer words");
    }
    const Resident<std::uint32_t> table_at_targets = machine.resident(table);
    const JobChain chain_with_resident = chain_of(work, table_at_targets);

    const std::size_t n = settings.rows * settings.columns;
    Buffer<std::uint32_t> blocks{n}, between{n}, closed{n};
    fill(blocks.span(), given_blocks, random);
    Buffer<std::uint32_t> by_one{n}, by_hand{n}, by_tasks{n}, by_resident{n}, by_chains{n}, by_both{n};
    Team team{processors_of(machine)};
    const auto way = [](std::string name, const Buffer<std::uint32_t>& result, auto body) {
        return Way{std::move(name), [to = result.span()] { std::ranges::fill(to, 0u); }, body};
    };
    const Way ways[] = {
        way("serial", by_one, [&] { return seconds_of([&] { serial(work, blocks.span(), by_one.span()); }); }),
        way("hand", by_hand, [&] { return hand(work, blocks.span(), by_hand.span(), team); }),
        way("tagged", by_tasks,
            [&] { return seconds_of([&] { tagged(work, blocks.span(), by_tasks.span(), between.span(), machine); }); }),
        way("resident", by_resident,
            [&] {
                return seconds_of([&] {
                    resident(work, table_at_targets, blocks.span(), by_resident.span(), between.span(), machine);
                });
            }),
        way("chains", by_chains,
            [&] { return seconds_of([&] { chains(chain, work, blocks.span(), by_chains.span(), machine); }); }),
        way("both", by_both, [&] {
            return seconds_of([&] { chains(chain_with_resident, work, blocks.span(), by_both.span(), machine); });
        })};

    RunResult result;
    result.app = "synthetic";
    result.workers = team.size();
    result.tasks = settings.rows * settings.block_rows;
    result.timings = measure(ways, settings.repetitions, progress);
    in_closed_form(work, blocks.span(), closed.span());
    const auto differ = [](const char* name, const Buffer<std::uint32_t>& words, const Buffer<std::uint32_t>& expected,
                           const char* source) {
        return same_bits<std::uint32_t>("words of " + std::string(name) + " that differ", words.span(), expected.span(),
                                        source);
    };
    result.checks = {last_word_over_zeros(work, machine),
                     differ("serial", by_one, closed, "closed form"),
                     differ("hand", by_hand, by_one, "serial"),
                     differ("tagged", by_tasks, by_one, "serial"),
                     differ("resident", by_resident, by_one, "serial"),
                     differ("chains", by_chains, by_one, "serial"),
                     differ("both", by_both, by_one, "serial")};
    if (settings.keep_arrays) {
        result.arrays = {keep<std::uint32_t>("blocks", {settings.rows, settings.columns}, blocks.span()),
                         keep<std::uint32_t>("table", {table.size()}, table),
                         keep<std::uint32_t>("result", {settings.rows, settings.columns}, by_both.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::synthetic
