#include "language/passes/transforming.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "language/passes/rewriting.hpp"
#include "language/plan/plan_check.hpp"
#include "language/xml/grammar.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

bool has_errors(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& each) { return each.kind == Finding::Kind::error; });
}

struct Understood {
    std::unique_ptr<Plan> plan = std::make_unique<Plan>();
    std::unique_ptr<Elaboration> elaboration;
    std::vector<Finding> findings;
};

Understood understood(const Element& root, const ApplicationOptions& options) {
    Understood made;
    constexpr std::string_view roots[] = {"application"};
    made.plan->known = options.components != nullptr ? *options.components : Components::known();
    check_grammar(root, roots, made.findings);
    if (root.name != roots[0]) return made;
    made.elaboration = std::make_unique<Elaboration>(*made.plan, options, made.findings);
    if (made.elaboration->run(root)) check_plan(*made.plan, root.place(), made.findings);
    return made;
}

const std::array<const char*, 4> expressions_of_parameters = {"default", "least", "most", "unit"};

}  // namespace

Transforming::Transforming(const std::string& text, const std::string& file, const TransformOptions& options)
    : file_(file), options_(options) {
    auto document = read_document(text, file_, options_.application.limits, findings_, Comments::kept);
    if (document == nullptr || has_errors(findings_)) throw ApplicationError(std::exchange(findings_, {}));
    understand(std::move(document));
    take_in_libraries();
    settings_as_defaults();
    renew();
}

void Transforming::understand(std::unique_ptr<Document> document) {
    auto made = understood(document->root, options_.application);
    if (has_errors(made.findings)) {
        std::erase_if(made.findings, [](const Finding& each) { return each.kind == Finding::Kind::warning; });
        throw ApplicationError(std::move(made.findings));
    }
    elaboration_ = std::move(made.elaboration);
    plan_ = std::move(made.plan);
    document_ = std::move(document);
    streams_.clear();
    for (const auto& stream : plan_->streams) streams_[{stream.where.line, stream.where.column}].push_back(&stream);
}

void Transforming::take_in_libraries() {
    const auto groups = elaboration_->library_groups();
    bool first = true;
    replace_children(root(), [&](Element& child, std::vector<Element>& others) {
        if (child.name != "include") return false;
        if (std::exchange(first, false))
            for (const auto* group : groups) others.push_back(*group);
        return true;
    });
}

void Transforming::settings_as_defaults() {
    for (auto& child : root().children)
        if (child.name == "parameter")
            for (const auto& [name, value] : options_.application.settings)
                if (child.attribute("name")->value == name) child.set("default", literal(value));
    options_.application.settings.clear();
}

void Transforming::renew() {
    const auto text = this->text();
    std::vector<Finding> findings;
    auto document = read_document(text, file_, options_.application.limits, findings, Comments::kept);
    if (document == nullptr) throw ApplicationError(std::move(findings));
    understand(std::move(document));
}

bool Transforming::is_right() const { return !has_errors(understood(document_->root, options_.application).findings); }

std::string Transforming::text() const { return text_of(*document_); }

const Profile& Transforming::profile(const std::string& pass) {
    if (options_.profile.empty())
        throw UsageError(
            "the pass '" + pass +
            "' needs the profile of an earlier run: penstock profile FILE -o PROFILE, then --profile PROFILE");
    if (profile_ == nullptr) profile_ = std::make_unique<Profile>(read_profile(options_.profile));
    return *profile_;
}

void Transforming::fix(std::set<std::string> names) {
    std::erase_if(names, [&](const std::string& name) { return !variables().contains(name); });
    // And what their values were made of, which could otherwise still be changed; those come before them.
    for (auto child = root().children.rbegin(); child != root().children.rend(); ++child)
        if (child->name == "parameter" && names.contains(child->attribute("name")->value))
            for (const auto* attribute : expressions_of_parameters)
                if (const auto* const given = child->attribute(attribute)) names.merge(names_in(given->value));
    if (names.empty()) return;
    Replacements values;
    for (const auto& name : names) values[name] = {variables().at(name).value, ""};
    auto& children = root().children;
    std::erase_if(children, [&](const Element& child) {
        return child.name == "parameter" && names.contains(child.attribute("name")->value);
    });
    replace_names(root(), values);
    renew();
}

std::vector<const PlanStream*> Transforming::streams_at(const Element& element) const {
    const auto found = streams_.find({element.at.line, element.at.column});
    return found == streams_.end() ? std::vector<const PlanStream*>() : found->second;
}

std::map<std::pair<int, int>, Element*> Transforming::elements() {
    std::map<std::pair<int, int>, Element*> all;
    visit_below(root(), [&](Element& element) {
        all[{element.at.line, element.at.column}] = &element;
        return true;
    });
    return all;
}

}  // namespace penstock::language
