// What an application of the gallery is given and what it hands back: plain data, the same for every application, so
// that a command line, a report or a test needs to know only this.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::apps {

/// A dense array, row-major, with its name and shape.
struct Array {
    std::string name;
    std::vector<std::size_t> shape;
    std::variant<std::vector<float>, std::vector<double>, std::vector<std::complex<float>>,
                 std::vector<std::complex<double>>, std::vector<std::uint32_t>, std::vector<std::uint8_t>>
        values;
};

/// What to run. 0 stands for the application's own default, which the result then states.
struct Settings {
    std::size_t rows = 0;           ///< of the problem: the order for LU, the rows of a matrix or image
    std::size_t columns = 0;        ///< of the problem, where it is not square or a single row
    std::size_t block_rows = 0;     ///< of one task's part: the order of a block for LU, the rows of a tile
    std::size_t block_columns = 0;  ///< of one task's part, where a part has two sides
    std::uint32_t seed = 1;         ///< of the generated input
    int repetitions = 5;            ///< timed runs of each way, interleaved; at least 1
    bool keep_arrays = false;       ///< hand inputs and results back in RunResult::arrays
    std::vector<Array> inputs;      ///< in place of generated ones, by name (see the application's header)
    std::map<std::string, std::string> texts = {};  ///< what only this application has (App::texts), by name
};

/// A setting or an input that the application cannot take.
class SettingError : public UsageError {
  public:
    SettingError(std::string app, std::string setting, const std::string& advice)
        : UsageError(app + ": " + setting + ": " + advice), app_{std::move(app)}, setting_{std::move(setting)} {}

    const std::string& app() const noexcept { return app_; }
    const std::string& setting() const noexcept { return setting_; }

  private:
    std::string app_;
    std::string setting_;
};

/// All timed runs of one way to compute the result (App::ways), in the order in which they ran.
struct Timing {
    std::string way;
    std::vector<double> seconds;

    double median() const;
};

/// One figure compared with what it should be: |actual - expected| <= tolerance.
struct Check {
    std::string name;
    double expected = 0;
    double actual = 0;
    double tolerance = 0;  ///< absolute
    std::string source;    ///< who says what is expected

    bool ok() const noexcept;  ///< false for a figure that is not a number, too
};

/// No side of a problem or of a block may be longer.
inline constexpr std::size_t largest_side = std::size_t{1} << 28;

/// Who is told how far an application has come. Never called inside a timed run. May throw to give up.
struct Progress {
    std::function<void(double fraction)> done;  ///< between runs, from 0 to 1
    /// Right before each timed run of a way, and right after it
    std::function<void(const std::string& way, bool over)> timed;
};

/// What one run of an application found.
struct RunResult {
    std::string app;
    Settings settings;      ///< as used, defaults filled in, inputs left out
    int workers = 0;        ///< threads of every way but the serial one: the workers of a machine, or ranks
    std::size_t tasks = 0;  ///< pieces of work of one run: tagged calls, or what ranks do between two hand-overs
    std::vector<Timing> timings;
    std::vector<Check> checks;
    /// What came out, to read: its name and its value ("log-likelihood", "-6524.19")
    std::vector<std::pair<std::string, std::string>> findings = {};
    std::vector<Array> arrays;
    /// Of the last run by filters, with its figures, as json_of() writes it; empty where there are none
    std::string graph;

    bool ok() const noexcept;                            ///< whether every check holds
    const Timing& timing(const std::string& way) const;  ///< throws UsageError for a way that was not run
    const Array& array(const std::string& name) const;   ///< throws UsageError for an array that was not kept
};

/// The input of this name and shape that the caller gave, or null. An extent of 0 in `shape` takes any. Throws
/// SettingError for another type or number of dimensions, another shape, or a number of values that is not the product
/// of the shape.
template <class T>
const std::vector<T>* given_input(const std::string& app, const Settings& settings, const std::string& name,
                                  const std::vector<std::size_t>& shape);

/// Throws SettingError for inputs that none of `names` claims, for an input without values, for fewer than one
/// repetition, and for sizes above largest_side (so that no product of sizes overflows).
void check_settings(const std::string& app, const Settings& settings, const std::vector<std::string>& names);

}  // namespace penstock::apps
