// The report of a benchmark: a table to read and JSON to keep, with the goals judged.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/options.hpp"

namespace bench {

enum class Direction { at_most, at_least };

/// What decides: the figure itself, or, for parity with a floor or a hand-made version, whether its interval reaches
/// the goal.
enum class Judged { by_value, by_interval };

/// Whether `a` is farther than `b` from what is wanted, judged in this way.
bool worse(const Interval& a, const Interval& b, Direction direction, Judged judged);
/// The same of the worst comparison of each that has rounds enough; what has none is worse than nothing.
bool worse(const Ratio& a, const Ratio& b, Direction direction, Judged judged);

/// Collects rows and goals; finish() prints and writes them.
class Report {
  public:
    /// A named figure of a row: {"median_ns", 66.1}.
    using Figures = std::vector<std::pair<std::string, double>>;

    Report(const About& about, const Options& options);

    /// One measured thing. Rows with the same columns are printed as one table.
    void row(std::string name, Figures figures);
    /// The usual row of each contestant: median, over the floor with its interval, 99.9th percentile. `prefix` goes
    /// before the names. Takes the noise and the voided runs into the report as well.
    void rows(const std::string& prefix, const Result& result);
    /// Judges a goal.
    void goal(std::string name, Interval measured, Direction direction, double goal, Judged judged = Judged::by_value);
    /// Judges it by each standing that has rounds enough for an interval: all must meet it, and the worst is the
    /// figure. What has too few is shown beside it; where nothing has enough, the goal is not judged and not met.
    void goal(std::string name, const Ratio& measured, Direction direction, double goal,
              Judged judged = Judged::by_value);
    /// A goal that could not be measured here, and why: reported as not met.
    void missing(std::string name, Direction direction, double goal, std::string why);
    /// Under which conditions something was measured.
    struct Conditions {
        Interval noise{1, 1, 1};
        double moved = 0;
        int voided = 0;
        bool near = false, far = false;  ///< standings of the processors that were seen

        static Conditions of(const Result& result);
        /// Keeps the worse of both.
        void add(const Conditions& other);
    };
    /// Takes the noise and the drift of a run into the report; the widest noise is shown.
    void conditions(const Result& result) { conditions(Conditions::of(result)); }
    void conditions(const Conditions& conditions);
    /// A sentence that the reader of the figures needs.
    void note(std::string text) { notes_.push_back(std::move(text)); }

    /// Prints the tables, writes the JSON. Gives the exit status: 0 also when a goal was missed (that is a result, not
    /// a failure), 1 when the file cannot be written.
    int finish() const;

  private:
    struct Row {
        std::string name;
        Figures figures;
    };
    struct Goal {
        std::string name;
        std::optional<Interval> measured;
        Direction direction;
        double goal;
        bool met;
        std::string why;
        /// The worst of each standing, and what was not judged; none where the figure says all
        std::vector<Ratio::Of> standings = {};
    };

    void print() const;
    std::string json() const;

    About about_;
    Options options_;
    std::vector<Row> rows_;
    std::vector<Goal> goals_;
    std::vector<std::string> notes_;
    std::optional<Conditions> conditions_;  ///< none: nothing said how noisy it was
};

}  // namespace bench
