#include "apps/report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::apps {
namespace {

std::string text(const std::vector<std::size_t>& shape) {
    std::string result;
    for (const std::size_t extent : shape) {
        if (!result.empty()) result += " x ";
        result += extent == 0 ? "any" : std::to_string(extent);
    }
    return result;
}

bool fits(const std::vector<std::size_t>& shape, const std::vector<std::size_t>& wanted) {
    return std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end(),
                      [](std::size_t extent, std::size_t want) { return want == 0 || extent == want; });
}

// The word of NumPy for it.
template <class T>
const char* word();
template <>
const char* word<float>() {
    return "float32";
}
template <>
const char* word<double>() {
    return "float64";
}
template <>
const char* word<std::complex<float>>() {
    return "complex64";
}
template <>
const char* word<std::complex<double>>() {
    return "complex128";
}
template <>
const char* word<std::uint32_t>() {
    return "uint32";
}
template <>
const char* word<std::uint8_t>() {
    return "uint8";
}

}  // namespace

double Timing::median() const {
    if (seconds.empty()) return 0;
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

bool Check::ok() const noexcept { return std::abs(actual - expected) <= tolerance; }

bool RunResult::ok() const noexcept {
    return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.ok(); });
}

const Timing& RunResult::timing(const std::string& way) const {
    for (const Timing& timing : timings) {
        if (timing.way == way) return timing;
    }
    throw UsageError(app + " was not run the way called " + way);
}

const Array& RunResult::array(const std::string& name) const {
    for (const Array& array : arrays) {
        if (array.name == name) return array;
    }
    throw UsageError(app + " kept no array " + name + ": set keep_arrays, and see its header for the names");
}

template <class T>
const std::vector<T>* given_input(const std::string& app, const Settings& settings, const std::string& name,
                                  const std::vector<std::size_t>& shape) {
    for (const Array& input : settings.inputs) {
        if (input.name != name) continue;
        const auto* values = std::get_if<std::vector<T>>(&input.values);
        if (values == nullptr) {
            throw SettingError(app, "input " + name, std::string("give it as ") + word<T>());
        }
        if (!fits(input.shape, shape)) {
            throw SettingError(app, "input " + name,
                               "its shape is " + text(input.shape) + "; give it as " + text(shape));
        }
        std::size_t count = 1;
        for (const std::size_t extent : input.shape) count *= extent;
        if (count != values->size()) {
            throw SettingError(app, "input " + name,
                               "its shape " + text(input.shape) + " needs " + std::to_string(count) +
                                   " values, and it has " + std::to_string(values->size()));
        }
        return values;
    }
    return nullptr;
}

template const std::vector<float>* given_input<float>(const std::string&, const Settings&, const std::string&,
                                                      const std::vector<std::size_t>&);
template const std::vector<double>* given_input<double>(const std::string&, const Settings&, const std::string&,
                                                        const std::vector<std::size_t>&);
template const std::vector<std::complex<float>>* given_input<std::complex<float>>(const std::string&, const Settings&,
                                                                                  const std::string&,
                                                                                  const std::vector<std::size_t>&);
template const std::vector<std::complex<double>>* given_input<std::complex<double>>(const std::string&, const Settings&,
                                                                                    const std::string&,
                                                                                    const std::vector<std::size_t>&);
template const std::vector<std::uint32_t>* given_input<std::uint32_t>(const std::string&, const Settings&,
                                                                      const std::string&,
                                                                      const std::vector<std::size_t>&);
template const std::vector<std::uint8_t>* given_input<std::uint8_t>(const std::string&, const Settings&,
                                                                    const std::string&,
                                                                    const std::vector<std::size_t>&);

void check_settings(const std::string& app, const Settings& settings, const std::vector<std::string>& names) {
    if (settings.repetitions < 1) throw SettingError(app, "repetitions", "ask for at least 1");
    const std::pair<const char*, std::size_t> sides[] = {{"rows", settings.rows},
                                                         {"columns", settings.columns},
                                                         {"block_rows", settings.block_rows},
                                                         {"block_columns", settings.block_columns}};
    for (const auto& [name, side] : sides) {
        if (side > largest_side) throw SettingError(app, name, "ask for at most " + std::to_string(largest_side));
    }
    for (const Array& input : settings.inputs) {
        if (std::find(names.begin(), names.end(), input.name) == names.end()) {
            std::string known;
            for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
            throw SettingError(app, "input " + input.name, "there is none of that name; it takes " + known);
        }
        if (std::find(input.shape.begin(), input.shape.end(), 0u) != input.shape.end()) {
            throw SettingError(app, "input " + input.name, "it is empty; give it at least one value");
        }
    }
}

}  // namespace penstock::apps
