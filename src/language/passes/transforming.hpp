// An application on its way through passes: the document, and what it means. A pass changes the document; the plan
// tells it, by the places of elements, what each of them became: which streams, which components, which options.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "language/elaboration/elaboration.hpp"
#include "language/plan/plan.hpp"
#include "language/xml/document.hpp"
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
};

struct Profile {
    int targets = 0;
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
