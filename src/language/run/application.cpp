#include "penstock/application.hpp"

#include <algorithm>
#include <tuple>

#include "language/elaboration/elaboration.hpp"
#include "language/plan/plan.hpp"
#include "language/plan/plan_check.hpp"
#include "language/run/running_application.hpp"
#include "language/xml/document.hpp"
#include "language/xml/grammar.hpp"

namespace penstock {
namespace {

using language::Plan;

constexpr std::size_t most_findings = 200;

/// By place, each once.
void put_in_order(std::vector<Finding>& findings) {
    const auto key = [](const Finding& each) {
        return std::tie(each.where.file, each.where.line, each.where.column, each.kind, each.message);
    };
    std::sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
    findings.erase(std::unique(findings.begin(), findings.end(),
                               [&](const Finding& a, const Finding& b) { return key(a) == key(b); }),
                   findings.end());
    if (findings.size() <= most_findings) return;
    const auto left = findings.size() - most_findings;
    const auto where = findings[most_findings].where;
    const bool error = std::any_of(findings.begin() + most_findings, findings.end(),
                                   [](const Finding& each) { return each.kind == Finding::Kind::error; });
    findings.resize(most_findings);
    findings.push_back(
        {error ? Finding::Kind::error : Finding::Kind::warning, where, "and " + std::to_string(left) + " more"});
}

std::shared_ptr<Plan> plan_of(std::string text, const std::string& file, const ApplicationOptions& options,
                              std::vector<Finding>& findings) {
    auto plan = std::make_shared<Plan>();
    plan->known = options.components != nullptr ? *options.components : Components::known();
    if (const auto document = language::read_document(std::move(text), file, options.limits, findings)) {
        constexpr std::string_view roots[] = {"application"};
        language::check_grammar(document->root, roots, findings);
        if (document->root.name == roots[0]) {
            language::Elaboration elaboration(*plan, options, findings);
            if (elaboration.run(document->root)) language::check_plan(*plan, document->root.place(), findings);
        }
    }
    put_in_order(findings);
    return plan;
}

bool has_errors(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& each) { return each.kind == Finding::Kind::error; });
}

std::string text_of(const std::vector<Finding>& findings) {
    std::string text;
    for (const auto& each : findings) text += (text.empty() ? "" : "\n") + each.text();
    return text;
}

}  // namespace

std::string Finding::text() const {
    return where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) +
           (kind == Kind::error ? ": error: " : ": warning: ") + message;
}

ApplicationError::ApplicationError(std::vector<Finding> findings)
    : UsageError(text_of(findings)), findings_(std::move(findings)) {}

Application::Application(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

Application Application::read(const std::string& path, const ApplicationOptions& options) {
    return parse(language::read_file(path, options.limits.bytes), path, options);
}

Application Application::parse(const std::string& text, const std::string& file, const ApplicationOptions& options) {
    std::vector<Finding> findings;
    auto plan = plan_of(text, file, options, findings);
    if (has_errors(findings)) {
        std::erase_if(findings, [](const Finding& each) { return each.kind == Finding::Kind::warning; });
        throw ApplicationError(std::move(findings));
    }
    plan->warnings = std::move(findings);
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

bool Application::needs_processes() const noexcept {
    return std::any_of(plan_->components.begin(), plan_->components.end(),
                       [](const language::PlanComponent& each) { return each.options.needs_process(); });
}

void Application::build(GraphBuilder& graph) const { language::build(*plan_, plan_->initial(), graph); }

ApplicationRun Application::start(Machine& machine, const RunOptions& options) const {
    return ApplicationRun(std::make_unique<language::RunningApplication>(plan_, machine, options));
}

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
