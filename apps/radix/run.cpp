// The application for the gallery.
#include <algorithm>
#include <vector>

#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "apps/radix/radix.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::radix {
namespace {

constexpr std::size_t default_keys = std::size_t{1} << 20;

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = given;
    if (settings.columns == 0) settings.columns = default_keys;
    settings.rows = 1;
    check_settings("radix", settings, {"keys"});
    const auto* keys = given_input<Key>("radix", settings, "keys", {0});
    if (keys != nullptr) settings.columns = keys->size();
    const std::size_t n = settings.columns;

    const Problem problem{n};
    generate(problem.keys.span(), settings.seed);
    if (keys != nullptr) std::ranges::copy(*keys, problem.keys.data());
    const RankOptions options{.ranks = machine.targets() + 1};
    std::vector<Key> by_one(n), by_sharing(n), by_lines(n), by_pushing(n), by_pushing_lines(n), scratch(n);
    const auto forget = [&] { std::ranges::fill(problem.sorted.span(), Key{0}); };
    const auto ranks = [&](Variant variant, std::vector<Key>& into) {
        return [&, variant] {
            const double seconds = parallel(problem, variant, options);
            std::ranges::copy(problem.sorted.span(), into.begin());
            return seconds;
        };
    };
    const Way ways[] = {
        {"serial", [] {}, [&] { return seconds_of([&] { serial(problem.keys.span(), by_one, scratch); }); }},
        {"shared", forget, ranks(Variant::shared, by_sharing)},
        {"lines", forget, ranks(Variant::lines, by_lines)},
        {"push-lines", forget, ranks(Variant::push_lines, by_pushing_lines)},
        {"push", forget, ranks(Variant::push, by_pushing)}};

    RunResult result;
    result.app = "radix";
    result.workers = options.ranks;
    result.tasks = static_cast<std::size_t>(kernels::radix::rounds) * 2 * static_cast<std::size_t>(options.ranks);
    result.timings = measure(ways, settings.repetitions, progress);
    std::vector<Key> sorted(problem.keys.span().begin(), problem.keys.span().end());
    std::ranges::sort(sorted);
    result.checks = {same_bits<Key>("keys of serial out of place", by_one, sorted, "std::sort"),
                     same_bits<Key>("keys of shared out of place", by_sharing, sorted, "std::sort"),
                     same_bits<Key>("keys of lines out of place", by_lines, sorted, "std::sort"),
                     same_bits<Key>("keys of push out of place", by_pushing, sorted, "std::sort"),
                     same_bits<Key>("keys of push-lines out of place", by_pushing_lines, sorted, "std::sort")};
    if (settings.keep_arrays)
        result.arrays = {keep<Key>("keys", {n}, problem.keys.span()), keep<Key>("result", {n}, by_pushing)};
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::radix
