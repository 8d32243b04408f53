#include "penstock/transformation.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "language/passes/transforming.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {

void flatten(Transforming& work) {
    inline_groups(work);
    expand(work);
}

namespace {

struct Pass {
    Transformation about;
    int least = 0, otherwise = 0;  ///< of its argument; `otherwise`: where none is given
    std::function<void(Transforming&, int)> apply;
};

const std::vector<Pass>& passes() {
    static const std::vector<Pass> all = {
        {{"prune", "Takes out what no event can ever switch on, and groups that nobody uses.", ""},
         0,
         0,
         [](auto& work, int) { prune(work); }},
        {{"inline", "Puts the parts of groups where the groups are used.", ""},
         0,
         0,
         [](auto& work, int) { inline_groups(work); }},
        {{"unroll", "Makes several stages each time round a repetition.", "how many (2)"},
         2,
         2,
         [](auto& work, int factor) { unroll(work, factor); }},
        {{"tasks", "Turns slices into instances: data parallelism into task parallelism.", ""},
         0,
         0,
         [](auto& work, int) { slices_to_tasks(work); }},
        {{"expand", "Expands repetitions and parallel parts.", ""}, 0, 0, [](auto& work, int) { expand(work); }},
        {{"size", "Gives components copies, and streams capacities, as a profile shows them to be needed.", ""},
         0,
         0,
         [](auto& work, int) { size(work); }},
        {{"place", "Puts components on targets by what a profile says that they have to do.",
          "targets (as many as the profile's)"},
         1,
         0,
         [](auto& work, int targets) { place(work, targets); }},
        {{"fuse", "Puts neighbours on one target, where buffers are handed on without a queue.",
          "targets over which they are dealt (1)"},
         1,
         1,
         [](auto& work, int targets) { fuse(work, targets); }},
    };
    return all;
}

void apply(Transforming& work, const std::string& named) {
    const auto equals = named.find('=');
    const auto name = named.substr(0, equals);
    const auto found =
        std::find_if(passes().begin(), passes().end(), [&](const Pass& each) { return each.about.name == name; });
    if (found == passes().end()) {
        std::vector<std::string> names;
        for (const auto& each : passes()) names.push_back(each.about.name);
        throw UsageError("there is no pass " + in_quotes(name) + hint(name, names));
    }
    int argument = found->otherwise;
    if (equals != named.npos) {
        if (found->about.argument.empty())
            throw UsageError("the pass " + in_quotes(name) + " takes nothing behind '='");
        constexpr int most = 1000;
        const auto given = integer_of(named.substr(equals + 1));
        if (!given || *given < found->least || *given > most)
            throw UsageError("the pass " + in_quotes(named) + " should give an integer from " +
                             std::to_string(found->least) + " to " + std::to_string(most) + ": " +
                             found->about.argument);
        argument = static_cast<int>(*given);
    }
    found->apply(work, argument);
}

}  // namespace
}  // namespace penstock::language

namespace penstock {

const std::vector<Transformation>& transformations() {
    static const std::vector<Transformation> all = [] {
        std::vector<Transformation> made;
        for (const auto& each : language::passes()) made.push_back(each.about);
        return made;
    }();
    return all;
}

std::string transform_text(const std::string& text, const std::vector<std::string>& passes, const std::string& file,
                           const TransformOptions& options) {
    language::Transforming work(text, file, options);
    for (const auto& each : passes) language::apply(work, each);
    return work.text();
}

std::string transform(const std::string& path, const std::vector<std::string>& passes,
                      const TransformOptions& options) {
    return transform_text(language::read_file(path, options.application.limits.bytes), passes, path, options);
}

}  // namespace penstock
