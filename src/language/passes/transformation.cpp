#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "language/passes/transforming.hpp"
#include "penstock/pass.hpp"
#include "process/fork.hpp"

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

// ---- passes of users ----

struct UserPass {
    Transformation of;
    PassFunction apply;
};

/// Who registers makes another list: those that were given out stay. Passes are few.
constinit ProcessMutex lock;
std::vector<UserPass>& user_passes() {
    static auto* const all = new std::vector<UserPass>;
    return *all;
}

ApplicationElement tree_of(const Element& element) {
    ApplicationElement made{.name = element.name, .comments = element.comments};
    for (const auto& each : element.attributes) made.attributes.emplace_back(each.name, each.value);
    for (const auto& child : element.children) made.children.push_back(tree_of(child));
    return made;
}

Element element_of(const ApplicationElement& tree, const std::string* file) {
    Element made{.name = tree.name, .file = file, .comments = tree.comments};
    for (const auto& [name, value] : tree.attributes) made.set(name, value);
    for (const auto& child : tree.children) made.children.push_back(element_of(child, file));
    return made;
}

bool apply_of_user(Transforming& work, const std::string& name, std::optional<int> argument) {
    PassFunction function;
    {
        const std::lock_guard guard(lock);
        const auto found =
            std::ranges::find(user_passes(), name, [](const auto& each) -> const auto& { return each.of.name; });
        if (found == user_passes().end()) return false;
        if (argument && found->of.argument.empty())
            throw UsageError("the pass " + in_quotes(name) + " takes nothing behind '='");
        function = found->apply;
    }
    auto tree = tree_of(work.root());
    function(tree, argument);
    auto last_comments = std::move(work.root().last_comments);
    work.root() = element_of(tree, work.root().file);
    work.root().last_comments = std::move(last_comments);
    try {
        work.renew();
    } catch (const ApplicationError& wrong) {
        throw UsageError("the pass " + in_quotes(name) + " leaves an application that is wrong:\n" + wrong.what());
    }
    return true;
}

void apply(Transforming& work, const std::string& text) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    const auto* const found = named(passes, name);
    if (found == nullptr) {
        std::optional<int> argument;
        if (equals != text.npos) {
            const auto number = integer_of(text.substr(equals + 1));
            if (!number || !std::in_range<int>(*number))
                throw UsageError("the pass " + in_quotes(text) + " should give an integer");
            argument = static_cast<int>(*number);
        }
        if (apply_of_user(work, name, argument)) return;
    }
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

namespace {

std::vector<Transformation> all_transformations() {
    std::vector<Transformation> made;
    for (const auto& each : language::passes) made.push_back({each.name, each.purpose, each.argument});
    for (const auto& each : language::user_passes()) made.push_back(each.of);
    return made;
}

/// All lists that were ever shown, the present one last: who has one may keep it. Under the lock.
std::list<std::vector<Transformation>>& lists() {
    static auto& all = *new std::list<std::vector<Transformation>>;
    return all;
}

}  // namespace

const std::vector<Transformation>& transformations() {
    const std::lock_guard guard(language::lock);
    if (lists().empty()) lists().push_back(all_transformations());
    return lists().back();
}

void register_pass(Transformation of, PassFunction apply) {
    if (!language::is_name(of.name))
        throw UsageError("'" + of.name + "' is no name of a pass: a letter, then letters, digits, '-' and '_'");
    const std::lock_guard guard(language::lock);
    const auto taken = [&](const Transformation& each) { return each.name == of.name; };
    if (std::ranges::any_of(all_transformations(), taken))
        throw UsageError("there is a pass '" + of.name + "' already: give this one another name");
    language::user_passes().push_back({std::move(of), std::move(apply)});
    lists().push_back(all_transformations());
}

std::string ApplicationElement::attribute(const std::string& wanted) const {
    for (const auto& [key, value] : attributes)
        if (key == wanted) return value;
    return {};
}

void ApplicationElement::set(const std::string& wanted, std::string value) {
    for (auto& [key, old] : attributes)
        if (key == wanted) return void(old = std::move(value));
    attributes.emplace_back(wanted, std::move(value));
}

bool ApplicationElement::erase(const std::string& wanted) {
    return std::erase_if(attributes, [&](const auto& each) { return each.first == wanted; }) != 0;
}

void visit(ApplicationElement& element, const std::function<void(ApplicationElement&)>& work) {
    for (auto& child : element.children) {
        work(child);
        visit(child, work);
    }
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
