#include "language/passes/transforming.hpp"

namespace penstock::language {

void flatten(Transforming& work) {
    inline_groups(work);
    expand(work);
}

namespace {

struct Pass {
    const char *name, *purpose, *argument;  ///< as of Transformation
    void (*apply)(Transforming&, int);
    int least = 0, otherwise = 0;  ///< of its argument; `otherwise`: where none is given
};

constexpr Pass passes[] = {
    {"prune", "Takes out what no event can ever switch on, and groups that nobody uses.", "", prune},
    {"inline", "Puts the parts of groups where the groups are used.", "", inline_groups},
    {"unroll", "Makes several stages each time round a repetition.", "how many (2)", unroll, 2, 2},
    {"tasks", "Turns slices into instances: data parallelism into task parallelism.", "", slices_to_tasks},
    {"expand", "Expands repetitions and parallel parts.", "", expand},
    {"size", "Gives components copies, and streams capacities, as a profile shows them to be needed.", "", size},
    {"place", "Puts components on targets by what a profile says that they have to do.",
     "targets (as many as the profile's)", place, 1},
    {"fuse", "Puts neighbours on one target, where buffers are handed on without a queue.",
     "targets over which they are dealt (1)", fuse, 1, 1},
};

void apply(Transforming& work, const std::string& text) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    const auto* const found = named(passes, name);
    if (found == nullptr)
        throw UsageError("there is no pass " + in_quotes(name) + hint(name, names_of(transformations())));
    int argument = found->otherwise;
    if (equals != text.npos) {
        if (*found->argument == 0) throw UsageError("the pass " + in_quotes(name) + " takes nothing behind '='");
        constexpr int most = 1000;
        const auto given = integer_of(text.substr(equals + 1));
        if (!given || *given < found->least || *given > most)
            throw UsageError("the pass " + in_quotes(text) + " should give an integer from " +
                             std::to_string(found->least) + " to " + std::to_string(most) + ": " + found->argument);
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
        for (const auto& each : language::passes) made.push_back({each.name, each.purpose, each.argument});
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
