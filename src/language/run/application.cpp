#include "language/elaboration/elaboration.hpp"

namespace penstock {
namespace {

using language::Plan;

constexpr std::size_t most_findings = 200;

/// By place, each once.
void put_in_order(std::vector<Finding>& findings) {
    const auto key = [](const Finding& each) {
        return std::tie(each.where.file, each.where.line, each.where.column, each.kind, each.message);
    };
    std::ranges::sort(findings, {}, key);
    const auto again = std::ranges::unique(findings, {}, key);
    findings.erase(again.begin(), again.end());
    if (findings.size() <= most_findings) return;
    const std::vector<Finding> rest(findings.begin() + most_findings, findings.end());
    findings.resize(most_findings);
    findings.push_back({language::has_errors(rest) ? Finding::Kind::error : Finding::Kind::warning, rest.front().where,
                        "and " + std::to_string(rest.size()) + " more"});
}

std::shared_ptr<Plan> plan_of(std::string text, const std::string& file, const ApplicationOptions& options,
                              std::vector<Finding>& findings) {
    std::shared_ptr<Plan> plan;
    if (const auto document = language::read_document(std::move(text), file, options.limits, findings))
        plan = language::understood(document->root, options, findings).plan;
    put_in_order(findings);
    return plan;
}

}  // namespace

std::string Finding::text() const {
    return where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) +
           (kind == Kind::error ? ": error: " : ": warning: ") + message;
}

ApplicationError::ApplicationError(std::vector<Finding> findings)
    : UsageError(language::list_of(findings, "\n", std::mem_fn(&Finding::text))), findings_(std::move(findings)) {}

Application::Application(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

Application Application::read(const std::string& path, const ApplicationOptions& options) {
    return parse(language::read_file(path, options.limits.bytes), path, options);
}

Application Application::parse(const std::string& text, const std::string& file, const ApplicationOptions& options) {
    std::vector<Finding> findings;
    auto plan = plan_of(text, file, options, findings);
    plan->warnings = language::warnings_of(std::move(findings));
    return Application(std::move(plan));
}

const std::string& Application::name() const noexcept { return plan_->name; }
const std::vector<Finding>& Application::warnings() const noexcept { return plan_->warnings; }
std::vector<std::string> Application::events() const { return plan_->events; }

std::vector<std::pair<std::string, bool>> Application::options() const {
    std::vector<std::pair<std::string, bool>> all;
    for (const auto& option : plan_->options) all.emplace_back(option.name, option.initially);
    return all;
}

const std::vector<Nodes>& Application::nodes() const noexcept { return plan_->nodes; }

bool Application::needs_processes() const noexcept {
    return std::ranges::any_of(plan_->components, [](const auto& each) { return each.options.needs_process(); });
}

void Application::build(GraphBuilder& graph) const { language::build(*plan_, plan_->initial(), graph); }

std::vector<Finding> check_application(const std::string& path, const ApplicationOptions& options) {
    return check_application_text(language::read_file(path, options.limits.bytes), path, options);
}

std::vector<Finding> check_application_text(const std::string& text, const std::string& file,
                                            const ApplicationOptions& options) {
    std::vector<Finding> findings;
    (void)plan_of(text, file, options, findings);
    return findings;
}

void from_xml(GraphBuilder& graph, const std::string& text, const ApplicationOptions& options) {
    Application::parse(text, "application.xml", options).build(graph);
}

}  // namespace penstock
