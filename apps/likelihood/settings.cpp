#include "apps/likelihood/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "apps/likelihood/made.hpp"
#include "apps/likelihood/patterns.hpp"

namespace penstock::apps::likelihood {
namespace {

std::string plain(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

template <class Number>
Number read(const std::string& name, std::string_view text, Number least, Number most) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most))
        Given::refuse(name, "'" + shown(text) + "' is no number from " + plain(static_cast<double>(least)) + " to " +
                                plain(static_cast<double>(most)));
    return value;
}

}  // namespace

const std::vector<Setting>& all_settings() {
    static const std::vector<Setting> all{
        {"alignment", "",
         "a file, PHYLIP or FASTA; without one an alignment is made (rows: sequences, columns: sites)"},
        {"tree", "", "a file with one tree in Newick's form; without one, neighbour joining"},
        {"model", "GTR", "JC69, HKY85 or GTR"},
        {"shares", "alignment", "of A, C, G and T: as in the alignment, 'equal', or four numbers as 0.3,0.2,0.2,0.3"},
        {"kappa", "2", "HKY85: the rate of A-G and C-T over that of other changes"},
        {"rates", "1,2,1,1,2,1", "GTR: of A-C, A-G, A-T, C-G, C-T and G-T"},
        {"alpha", "0.5", "the shape of the gamma distribution of rates between sites"},
        {"categories", "4", "of rates between sites, 1 to 64; 1: all sites change alike"},
        {"precision", "double", "double or float"},
        {"generations", "0", "of a sampler of trees and parameters (Bayes); 0: none"},
        {"chains", "4", "of the sampler: one samples the posterior, the others flatter distributions"},
        {"ranks", "0", "threads that share the chains; 0: one for each chain, as far as there are workers"},
        {"every", "100", "generations from one sample to the next"},
        {"temperature", "0.1", "chain i begins with the heat 1 / (1 + i temperature)"},
        {"mean-length", "0.1", "of branches, by the prior, which is exponential"},
        {"burn-in", "0.25", "the share of the samples that the consensus leaves out, from the start on"},
        {"output", "",
         "files: samples go to OUTPUT.log (parameters, for Tracer) and OUTPUT.trees, their consensus to "
         "OUTPUT.consensus"},
    };
    return all;
}

Given::Given(const Settings& settings) {
    for (const Setting& setting : all_settings()) texts_[setting.name] = setting.value;
    for (const auto& [name, value] : settings.texts) texts_[name] = value;
}

void Given::refuse(const std::string& name, const std::string& advice) {
    throw SettingError("likelihood", name, advice);
}

double Given::number(const std::string& name, double least, double most) const {
    return read(name, text(name), least, most);
}

std::uint64_t Given::whole(const std::string& name, std::uint64_t least, std::uint64_t most) const {
    return read(name, text(name), least, most);
}

std::vector<double> Given::numbers(const std::string& name, std::size_t count, double least, double most) const {
    std::vector<double> values;
    std::string_view rest = text(name);
    while (true) {
        const auto comma = std::min(rest.find(','), rest.size());
        values.push_back(read(name, rest.substr(0, comma), least, most));
        if (comma == rest.size()) break;
        rest.remove_prefix(comma + 1);
    }
    if (values.size() != count)
        refuse(name, "give " + std::to_string(count) + " numbers with commas between them, and not " +
                         std::to_string(values.size()));
    return values;
}

std::size_t Given::word(const std::string& name, const std::vector<std::string>& words) const {
    const auto found = std::ranges::find(words, text(name));
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    std::string all;
    for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
    refuse(name, "'" + shown(text(name)) + "' is none of " + all);
}

Model model_of(const Given& given, const Alignment& alignment) {
    constexpr double least = 1e-6, most = 1e6;
    Model model;
    model.kind = static_cast<Kind>(given.word("model", {"JC69", "HKY85", "GTR"}));
    model.kappa = given.number("kappa", least, most);
    std::ranges::copy(given.numbers("rates", 6, least, most), model.rates.begin());
    model.alpha = given.number("alpha", 1e-3, 1e3);
    model.categories = given.whole("categories", 1, kernels::likelihood::most_categories);
    if (const auto& shares = given.text("shares"); shares == "alignment") {
        std::ranges::copy(base_shares(alignment), model.shares.begin());
    } else if (shares != "equal") {
        const auto numbers = given.numbers("shares", 4, least, 1);
        double sum = 0;
        for (const double number : numbers) sum += number;
        if (std::abs(sum - 1) > 1e-4) Given::refuse("shares", "they must add up to 1, and not to " + plain(sum));
        for (std::size_t i = 0; i < numbers.size(); ++i) model.shares[i] = numbers[i] / sum;
    }
    if (model.kind == Kind::jc69) model.shares = Model{}.shares;
    return model;
}

Alignment alignment_of(const Given& given, const Settings& settings) {
    if (!given.text("alignment").empty()) return read_alignment(given.text("alignment"));
    if (const auto* values = given_input<std::uint8_t>("likelihood", settings, "alignment", {0, 0})) {
        const auto& shape = settings.inputs.front().shape;
        Alignment alignment;
        for (std::size_t taxon = 0; taxon < shape[0]; ++taxon) {
            const auto row = std::span{*values}.subspan(taxon * shape[1], shape[1]);
            if (std::ranges::any_of(row, [](Bases bases) { return bases == 0 || bases > any_base; }))
                Given::refuse("input alignment", "its values are sets of bases, 1 to 15: A is 1, C 2, G 4, T 8");
            alignment.names.push_back("t" + std::to_string(taxon + 1));
            alignment.sequences.emplace_back(row.begin(), row.end());
        }
        if (shape[0] < 3) Given::refuse("input alignment", "a tree needs at least 3 sequences");
        return alignment;
    }
    constexpr std::size_t taxa = 42, sites = 1000, most_taxa = 1'000'000;
    constexpr double mean_length = 0.1;
    const std::size_t rows = settings.rows != 0 ? settings.rows : taxa;
    const std::size_t columns = settings.columns != 0 ? settings.columns : sites;
    if (rows < 3 || rows > most_taxa) throw SettingError("likelihood", "rows", "ask for 3 to 1000000 sequences");
    Chance chance(settings.seed);
    Model model;
    model.kind = Kind::gtr;
    model.shares = {0.3, 0.2, 0.2, 0.3};
    model.rates = {1, 3, 0.8, 0.9, 3.5, 1};
    model.alpha = 0.5;
    model.categories = 4;
    return evolve(random_tree(rows, mean_length, chance), model, columns, chance);
}

Sampling sampling_of(const Given& given, const Settings& settings, std::size_t workers) {
    constexpr std::uint64_t most = 1'000'000'000'000, most_chains = 256;
    Sampling sampling;
    sampling.generations = given.whole("generations", 0, most);
    sampling.chains = given.whole("chains", 1, most_chains);
    const std::size_t ranks = given.whole("ranks", 0, sampling.chains);
    sampling.ranks = static_cast<int>(ranks != 0 ? ranks : std::min(sampling.chains, workers));
    sampling.every = given.whole("every", 1, most);
    sampling.temperature = given.number("temperature", 0, 100);
    sampling.mean_length = given.number("mean-length", 1e-4, 10);
    sampling.seed = settings.seed;
    sampling.single_precision = given.text("precision") == "float";
    return sampling;
}

Tree tree_of(const Given& given, const Alignment& alignment) {
    const std::string& file = given.text("tree");
    if (!file.empty()) return parse_newick(text_of(file), alignment.names, file);
    constexpr std::size_t most = 3000;  // joining takes taxa^3 steps
    if (alignment.taxa() > most)
        Given::refuse("tree", "give one: neighbour joining takes too long for " + std::to_string(alignment.taxa()) +
                                  " sequences");
    return join_neighbours(alignment);
}

}  // namespace penstock::apps::likelihood
