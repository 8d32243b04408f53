// An application on its way through passes: the document, and what it means. A pass changes the document; the plan
// tells it, by the places of elements, what each of them became: which streams, which components, which options.
#pragma once

#include "language/elaboration/elaboration.hpp"
#include "penstock/transformation.hpp"

namespace penstock::language {

// ---- a profile as it was written, for the passes that read it ----

struct ProfiledComponent {
    int copies = 1;
    double firings = 0;
    double service = 0;  ///< seconds a firing; 0: none was timed
    double waits_for_output = 0;
    /// Seconds of one processor.
    double work() const noexcept { return firings * service; }
};

struct ProfiledStream {
    double buffers = 0;
    double capacity = 0;
    double bytes_rate = 0;  ///< a second
};

struct Profile {
    int targets = 0;
    double seconds = 0;
    std::map<std::string, ProfiledComponent> components;
    std::map<std::pair<std::string, std::string>, ProfiledStream> streams;  ///< from, to
};

/// Throws UsageError for a text that is none.
Profile read_profile(const std::string& text);

class Transforming {
  public:
    /// Takes the groups of included files into the document, and the given settings as defaults. Throws
    /// ApplicationError.
    Transforming(const std::string& text, const std::string& file, const TransformOptions& options);

    Element& root() noexcept { return document_->root; }
    const Plan& plan() const noexcept { return *understood_.plan; }
    const Variables& variables() const noexcept { return understood_.elaboration->variables(); }
    const Element* group(const std::string& name) const { return understood_.elaboration->group(name); }
    /// The profile. Throws UsageError, naming the pass, when there is none.
    const Profile& profile(const std::string& pass);

    /// Makes the plan of the document as it is now; places are new. Throws ApplicationError when a pass has broken
    /// something.
    void renew();
    /// Are there no errors? Leaves the plan alone.
    bool is_right() const;
    std::string text() const;
    /// Puts the values of these parameters, and of those that theirs were made of, in their place, and takes them out.
    void fix(std::set<std::string> names);

    /// The streams that an element became, in their order.
    std::vector<const PlanStream*> streams_at(const Element& element) const;
    /// The element that stood there when the plan was made. It is where it was until one is added or taken out.
    Element& element_at(const SourcePlace& where) { return *elements_.at({where.line, where.column}); }

  private:
    /// Reads the text anew, and makes its plan. Throws ApplicationError.
    void read(const std::string& text);
    void take_in_libraries();
    void settings_as_defaults();

    std::string file_;
    TransformOptions options_;
    std::unique_ptr<Document> document_;
    Understood understood_;
    std::map<std::pair<int, int>, std::vector<const PlanStream*>> streams_;
    std::map<std::pair<int, int>, Element*> elements_;
    std::unique_ptr<Profile> profile_;
};

// ---- the passes, with what stands behind '='; each renews the plan before it returns ----

void expand(Transforming& work, int = 0);
void inline_groups(Transforming& work, int = 0);
void unroll(Transforming& work, int factor);
void slices_to_tasks(Transforming& work, int = 0);
void fuse(Transforming& work, int targets);
void prune(Transforming& work, int = 0);
void place(Transforming& work, int targets);
void size(Transforming& work, int = 0);

/// Inlines and expands everything: then each component and each stream has an element of its own.
void flatten(Transforming& work);

// ---- rewriting.cpp: what passes do to elements ----

/// Replaces names in all expressions at and below an element, but not where an index of the same name hides them.
/// Throws ExpressionError.
void replace_names(Element& element, Replacements replacements);
/// Puts a prefix before what the element, and what stands beside its parts in repetitions, options and managers, calls
/// parts of this scope.
void put_prefix(Element& element, const std::string& prefix);
/// Whether an attribute of an element says which parts there are, how many, or how they are called.
bool is_structural(const Element& element, const Attribute& attribute);
/// The names in those expressions at and below an element that are `wanted`.
template <class Wanted>
void collect_names(const Element& element, std::set<std::string>& names, const Wanted& wanted) {
    for (const auto& each : element.attributes)
        if (wanted(element, each)) names.merge(names_in(each.value));
    for (const auto& child : element.children)
        if (child.name != "group") collect_names(child, names, wanted);
}
/// The indices of repetitions and parallel parts below an element.
void collect_indices(const Element& element, std::set<std::string>& names);

/// Whether there is an element of that name below.
bool contains(const Element& element, std::string_view name);
/// What stands in applications, groups and options: not their parameters, events, ports.
bool is_part(const Element& element) noexcept;
/// Copies of the parts of an owner, with these names replaced, behind the others; without comments, unless these are
/// the `first` copies.
void add_copies(std::vector<Element>& others, const Element& owner, const Replacements& replacements, bool first);
/// Calls `visit` for each child of `owner` and, where `visit` says so, for their children, and so on.
void visit_below(Element& owner, const std::function<bool(Element&)>& visit);
/// Calls `visit` for each owner of parts, those within first: this one, its options and managers, and its parallel
/// tasks, where these are to be `entered`. `prefix`: how the names of the parts begin.
void visit_owners(
    Element& owner, const std::function<void(Element&, const std::string& prefix)>& visit,
    const std::function<bool(const Element&)>& entered = [](const Element&) { return true; },
    const std::string& prefix = "");
/// Replaces each child for which `others` returns something by that, in place; its comments go to the first.
void replace_children(Element& owner, const std::function<bool(Element& child, std::vector<Element>& others)>& others);

/// Whether `part` is `of`, or a part of it.
bool lies_in(std::string_view part, std::string_view of) noexcept;

// ---- source_words.cpp: texts, numbers and names of the language as they are written in a program in C++ ----

/// A text as C++ writes it, in quotes.
std::string cpp_text(std::string_view text);
/// A name that is no word of C++, and none that generated programs use themselves.
std::string identifier(std::string_view name);
/// A value by its text, as the type of `like` is written.
std::string literal_of(const std::string& text, const SettingValue& like);
/// A text with expressions as an expression of ParameterValue.
std::string expression_of(std::string_view text);
/// ", {a, b}", or nothing when there are none.
std::string listed(const std::vector<std::string>& parts);
/// A comment of XML as comments of C++.
std::string commented(std::string_view comment, const std::string& indent);

// ---- pass_expand.cpp, for other passes ----

using Wanted = bool (*)(const Transforming& work, const Element& element);
/// Expands those repetitions of the application's own parts for which `wanted` holds; true: there were some. Their
/// numbers are fixed.
bool expand_repetitions(Transforming& work, Wanted wanted);
/// Puts what those outermost parallel parts consist of in their place; `as_tasks`: into parallel tasks of the same
/// name. True: there were some.
bool replace_parallels(Transforming& work, Wanted wanted, bool as_tasks);
/// Fixes the parameters on which it depends which parts there are, and how they are called.
void fix_structure(Transforming& work);
/// Does a stream in it lead to, or come from, what stands in a group or in parallel parts?
bool joins_inner_parts(const Transforming& work, const Element& element);
/// Replaces streams that lead into these parts, or come from them, by those that they became.
void join_directly(Transforming& work, std::span<const std::string> parts);

}  // namespace penstock::language
