
#include <map>

#include "language/library/component_library.hpp"
#include "language/xml/text.hpp"
#include "process/fork.hpp"
#include "stream/door/palette.hpp"

namespace penstock {
namespace {

/// One for all: whoever adds or asks is through in no time. The classes that a process knows are looked up in a forked
/// child too. Kinds of filters never die under it: their destructors are the user's, and may wait for another lock
/// (Python's).
constinit ProcessMutex lock;

/// Before main, in every program that has classes.
const bool palette_offered = (streaming::Palette::offer(), true);

ComponentClass described(const std::string& name, std::string documentation,
                         std::shared_ptr<const streaming::FilterKind> kind, ComponentOrigin origin) {
    Graph graph;
    graph.add_kind("", {}, kind);
    return {name, std::move(documentation), std::move(graph.description().filters.front()), std::move(kind),
            std::move(origin)};
}

/// Puts another state with this change in the place of the one that there is, which stays where `make` throws.
template <class State>
void change(std::shared_ptr<const State>& state, const auto& make) {
    std::shared_ptr<State> next;  // dies behind the lock where this throws
    const std::lock_guard guard(lock);
    next = std::make_shared<State>(*state);
    make(*next);
    state = std::move(next);
}

}  // namespace

/// A source, and what was made of it.
struct Components::Late {
    explicit Late(std::shared_ptr<const ComponentSource> of) : source(std::move(of)) {}

    const ComponentClass* find(const std::string& name) {
        const auto known = [&] {
            const auto found = made.find(name);
            return found == made.end() ? nullptr : &found->second;
        };
        {
            const std::lock_guard guard(lock);
            if (const auto* const found = known()) return found;
        }
        // Not under the lock: it may wait for one that others hold while they ask here.
        auto given = source->make(name);
        if (!given) return nullptr;
        auto fresh = described(name, std::move(given->documentation), std::move(given->kind), std::move(given->origin));
        const std::lock_guard guard(lock);
        made.try_emplace(name, std::move(fresh));  // unless somebody else was first
        return known();
    }

    const std::shared_ptr<const ComponentSource> source;
    std::map<std::string, ComponentClass> made;
};

struct Components::State {
    std::map<std::string, std::shared_ptr<const ComponentClass>> classes;
    std::vector<std::shared_ptr<Late>> late;
};

Components::Components() : state_(std::make_shared<State>()) {}
Components::Components(const Components& other) : state_(other.state()) {}
Components& Components::operator=(const Components& other) {
    auto state = other.state();
    const std::lock_guard guard(lock);
    state_.swap(state);  // the old one dies behind the lock
    return *this;
}
Components::~Components() = default;

std::shared_ptr<const Components::State> Components::state() const {
    const std::lock_guard guard(lock);
    return state_;
}

Components& Components::known() {
    static constinit std::atomic<Components*> all{nullptr};  // never destroyed
    auto* known = all.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    auto fresh = std::make_unique<Components>(builtin());
    if (all.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) known = fresh.release();
    return *known;
}

void Components::add_kind(const std::string& name, std::string documentation,
                          std::shared_ptr<const streaming::FilterKind> kind, ComponentOrigin origin) {
    if (!language::is_class_name(name))
        throw UsageError("'" + name +
                         "' cannot name a component class: a name is a letter, then letters, digits, '-', '_' and ':'");
    auto made =
        std::make_shared<ComponentClass>(described(name, std::move(documentation), std::move(kind), std::move(origin)));
    change(state_, [&](State& next) {
        if (!next.classes.try_emplace(name, std::move(made)).second)
            throw UsageError("there is a component class '" + name + "' already: give this one another name");
    });
}

std::vector<std::string> Components::load(const std::string& path) {
    const auto& library = language::library_at(path);
    const ComponentOrigin origin{ComponentOrigin::Kind::library, library.path};
    std::vector<std::string> names;
    std::vector<std::shared_ptr<ComponentClass>> made;  // not under the lock: the library makes one of each
    for (const auto& each : library.classes) {
        names.push_back(each->name);
        made.push_back(std::make_shared<ComponentClass>(
            described(each->name, each->documentation, language::library_kind(each), origin)));
    }
    change(state_, [&](State& next) {
        for (auto& fresh : made) {
            auto& at = next.classes[fresh->name];
            if (at == nullptr) at = std::move(fresh);
            else if (at->origin != origin)
                throw LibraryRefused(
                    library.path, LibraryRefused::Reason::name_taken,
                    "it has a class " + language::in_quotes(fresh->name) + ", and there is one of that name already" +
                        (at->origin.kind == ComponentOrigin::Kind::library ? ", of the library " + at->origin.name
                                                                           : "") +
                        ": give one of the two another name, or leave this library out");
        }
    });
    return names;
}

void Components::add_source(std::shared_ptr<const ComponentSource> source) {
    change(state_, [&](State& next) { next.late.push_back(std::make_shared<Late>(std::move(source))); });
}

const ComponentClass* Components::find(const std::string& name) const {
    const auto state = this->state();
    const auto found = state->classes.find(name);
    if (found != state->classes.end()) return found->second.get();
    if (!language::is_class_name(name)) return nullptr;
    for (const auto& late : state->late)
        if (const auto* const made = late->find(name)) return made;
    return nullptr;
}

const ComponentClass* Components::of_type(const std::string& type) const {
    const auto state = this->state();
    for (const auto& [name, each] : state->classes)
        if (each->filter.type == type) return each.get();
    for (const auto& late : state->late) {
        const std::lock_guard guard(lock);
        for (const auto& [name, each] : late->made)
            if (each.filter.type == type) return &each;
    }
    return nullptr;
}

std::vector<std::string> Components::names() const {
    const auto state = this->state();
    auto all = language::names_of(state->classes);
    for (const auto& late : state->late)
        for (auto& name : late->source->names()) all.push_back(std::move(name));
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace penstock
