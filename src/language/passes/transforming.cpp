#include "language/passes/transforming.hpp"

namespace penstock::language {

Transforming::Transforming(const std::string& text, const std::string& file, const TransformOptions& options)
    : file_(file), options_(options) {
    read(text);
    take_in_libraries();
    settings_as_defaults();
    renew();
}

void Transforming::read(const std::string& text) {
    std::vector<Finding> findings;
    auto document = read_document(text, file_, options_.application.limits, findings, Comments::kept);
    static_cast<void>(warnings_of(findings));
    auto made = understood(document->root, options_.application, findings);
    static_cast<void>(warnings_of(std::move(findings)));
    understood_ = std::move(made);
    document_ = std::move(document);
    streams_.clear();
    elements_.clear();
    for (const auto& stream : plan().streams) streams_[{stream.where.line, stream.where.column}].push_back(&stream);
    visit_below(root(), [&](Element& element) {
        elements_[{element.at.line, element.at.column}] = &element;
        return true;
    });
}

void Transforming::take_in_libraries() {
    auto groups = understood_.elaboration->library_groups();
    replace_children(root(), [&](Element& child, std::vector<Element>& others) {
        if (child.name != "include") return false;
        for (const auto* group : std::exchange(groups, {})) others.push_back(*group);  // in the place of the first
        return true;
    });
}

void Transforming::settings_as_defaults() {
    for (auto& child : root().children)
        if (child.name == "parameter")
            for (const auto& [name, value] : options_.application.settings)
                if (child.value("name") == name) child.set("default", literal(value));
    options_.application.settings.clear();
}

void Transforming::renew() { read(text()); }

bool Transforming::is_right() const {
    std::vector<Finding> findings;
    static_cast<void>(understood(document_->root, options_.application, findings));
    return !has_errors(findings);
}

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
        if (child->name == "parameter" && names.contains(child->value("name")))
            for (const auto* attribute : {"default", "least", "most", "unit"})
                names.merge(names_in(child->value(attribute)));
    if (names.empty()) return;
    Replacements values;
    for (const auto& name : names) values[name] = {variables().at(name).value, ""};
    std::erase_if(root().children, [&](const Element& child) {
        return child.name == "parameter" && names.contains(child.value("name"));
    });
    replace_names(root(), values);
    renew();
}

std::vector<const PlanStream*> Transforming::streams_at(const Element& element) const {
    const auto found = streams_.find({element.at.line, element.at.column});
    return found == streams_.end() ? std::vector<const PlanStream*>() : found->second;
}

}  // namespace penstock::language
