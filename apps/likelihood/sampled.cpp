#include "apps/likelihood/sampled.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "apps/compare.hpp"
#include "apps/likelihood/likelihood.hpp"
#include "apps/measure.hpp"

namespace penstock::apps::likelihood {
namespace {

/// A file that grows line by line.
class Lines {
  public:
    explicit Lines(std::string path) : path_{std::move(path)} {
        errno = 0;
        file_.open(path_);
        check();
    }
    void write(const std::string& lines) {
        errno = 0;
        file_ << lines << std::flush;
        check();
    }

  private:
    void check() const {
        if (!file_) throw SystemError("cannot write the file '" + path_ + "'", errno != 0 ? errno : EIO);
    }
    std::string path_;
    std::ofstream file_;
};

std::string percent(std::uint64_t part, std::uint64_t whole) {
    const double share = static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
    return digits_of(std::round(1000 * share) / 10) + " %";
}

template <class Real>
double computed_anew(const Patterns& patterns, const Sample& sample) {
    Likelihood<Real> likelihood(patterns, sample.model.categories);
    likelihood.set_model(sample.model);
    return likelihood.evaluate(sample.tree);
}

}  // namespace

std::string digits_of(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

void sample_trees(const Given& given, const Sampling& sampling, const Alignment& alignment, const Patterns& patterns,
                  const Tree& tree, const Model& model, const std::function<void(double)>& done, RunResult& result) {
    const double first = given.number("burn-in", 0, 0.99) * static_cast<double>(sampling.generations);
    const std::string& output = given.text("output");
    std::optional<Lines> trace, trees, common;
    if (!output.empty()) {
        trace.emplace(output + ".log");
        trees.emplace(output + ".trees");
        common.emplace(output + ".consensus");
        trace->write(trace_head(model));
    }
    Consensus consensus(alignment.taxa());
    std::optional<Sample> last;
    const auto take = [&](const Sample& sample) {
        if (trace) {
            trace->write(trace_line(sample));
            trees->write(to_newick(sample.tree, alignment.names) + "\n");
        }
        if (static_cast<double>(sample.generation) >= first) consensus.add(sample.tree);
        last = sample;
    };
    Tally tally;
    const double seconds = seconds_of([&] { tally = sample(patterns, tree, model, sampling, take, done); });
    if (consensus.trees() == 0) consensus.add(last->tree);  // fewer generations than from one sample to the next
    const std::string newick = consensus.newick(alignment.names);
    if (common) common->write(newick + "\n");

    const double expected =
        sampling.single_precision ? computed_anew<float>(patterns, *last) : computed_anew<double>(patterns, *last);
    result.checks.push_back(same_bits<double>("log-likelihoods of the last sample that differ",
                                              {&last->log_likelihood, 1}, {&expected, 1}, "computed anew"));
    const auto tell = [&](const std::string& name, const std::string& value) {
        result.findings.emplace_back(name, value);
    };
    for (std::size_t i = 0; i < moves; ++i) {
        if (tally.proposed[i] == 0) continue;
        std::string what{"changes of "};
        what.append(name(static_cast<Move>(i))).append(" that were taken");
        tell(what, percent(tally.taken[i], tally.proposed[i]));
    }
    if (tally.swaps_proposed != 0)
        tell("exchanges of heats that were taken", percent(tally.swaps_taken, tally.swaps_proposed));
    tell("most frequent shape", percent(consensus.shapes().front().second, consensus.trees())
                                    .append(" of ")
                                    .append(std::to_string(consensus.trees()))
                                    .append(" samples"));
    tell("consensus", newick);
    tell("generations a second", digits_of(std::round(static_cast<double>(sampling.generations) / seconds)));
    tell("chains", std::to_string(sampling.chains));
    tell("ranks", std::to_string(sampling.ranks));
}

}  // namespace penstock::apps::likelihood
