#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>

#include "language/elaboration/elaboration.hpp"
#include "machine/said_by.hpp"
#include "penstock/machine.hpp"

namespace penstock {
namespace language {

ParameterValues values_of(const ApplicationProgram& program,
                          const std::vector<std::pair<std::string, std::string>>& settings) {
    Element root{.name = "application", .file = &program.name};
    root.set("xmlns", std::string(namespace_name));
    root.set("name", program.name);
    for (const auto& parameter : program.parameters) {
        auto& element = root.children.emplace_back(Element{.name = "parameter", .file = &program.name});
        element.set("name", parameter.name);
        element.set("type", parameter.type);
        for (const auto& [attribute, value] : {std::pair{"default", &parameter.otherwise},
                                               {"least", &parameter.least},
                                               {"most", &parameter.most},
                                               {"unit", &parameter.unit}})
            if (!value->empty() || (attribute == std::string_view("default") && parameter.type == "text"))
                element.set(attribute, *value);
    }
    Plan plan;
    std::vector<Finding> findings;
    const ApplicationOptions options{.settings = settings};
    Elaboration elaboration(plan, options, findings);
    elaboration.run(root);
    std::erase_if(findings, [](const Finding& each) { return each.kind == Finding::Kind::warning; });
    if (!findings.empty()) throw UsageError(list_of(findings, "\n", std::mem_fn(&Finding::message)));
    ParameterValues values;
    for (const auto& [name, variable] : elaboration.variables()) values.emplace(name, ParameterValue(variable.value));
    return values;
}

}  // namespace language

namespace {

constexpr int told = 2, interrupted_by_signal = 130;

struct Wishes {
    std::vector<std::pair<std::string, std::string>> settings{};
    std::optional<int> targets{};
    std::optional<bool> worker_processes{};
    std::vector<std::string> libraries{};
    std::string name{}, graph{}, trace{};
    bool help = false;
};

Wishes wishes_of(int count, const char* const* arguments) {
    Wishes wishes;
    for (int i = 1; i < count; ++i) {
        std::string_view option = arguments[i];
        if (option == "--help" || option == "-h") {
            wishes.help = true;
            continue;
        }
        std::string value;
        if (const auto equals = option.find('='); option.starts_with("--") && equals != option.npos) {
            value = option.substr(equals + 1);
            option = option.substr(0, equals);
        } else if (i + 1 < count) {
            value = arguments[i + 1];
        } else if (option.starts_with("--")) {
            throw UsageError("the option " + std::string(option) + " needs a value; --help tells which");
        }
        if (std::string_view(arguments[i]) == option) ++i;
        if (option == "--set") {
            const auto equals = value.find('=');
            if (equals == value.npos) throw UsageError("--set takes name=value, not '" + value + "'");
            wishes.settings.emplace_back(value.substr(0, equals), value.substr(equals + 1));
        } else if (option == "--targets") {
            const auto number = language::integer_of(value);
            if (!number || *number < 0 || *number > MachineOptions::max_targets)
                throw UsageError("--targets takes a number from 0 to " + std::to_string(MachineOptions::max_targets) +
                                 ", not '" + value + "'");
            wishes.targets = static_cast<int>(*number);
        } else if (option == "--isolation") {
            if (std::ranges::find(language::isolation_words, value) == std::end(language::isolation_words))
                throw UsageError("--isolation takes thread or process, not '" + value + "'");
            wishes.worker_processes = value == "process";
        } else if (option == "--library") wishes.libraries.push_back(value);
        else if (option == "--name") wishes.name = value;
        else if (option == "--graph") wishes.graph = value;
        else if (option == "--trace") wishes.trace = value;
        else throw UsageError("there is no option '" + std::string(option) + "'; --help tells which there are");
    }
    return wishes;
}

void tell_help(const ApplicationProgram& program) {
    std::printf(
        "%s%s%s\n\n  --set NAME=VALUE   gives a parameter a value; may be repeated\n"
        "  --library FILE     a shared library with component classes%s; may be repeated\n"
        "  --targets N        targets besides this thread; by default one for each processor but one\n"
        "  --isolation WHERE  where filters live: thread, or process, in worker processes\n"
        "  --name NAME        lets penstock top, draw and send find it while it runs\n"
        "  --graph FILE       writes the graph with its figures, for penstock draw\n"
        "  --trace FILE       writes the timeline, for ui.perfetto.dev\n",
        program.name.c_str(), program.documentation.empty() ? "" : ": ", program.documentation.c_str(),
        program.libraries.empty() ? "" : ", in the place of those that this program was written with");
    if (!program.libraries.empty()) std::printf("\nlibraries:\n");
    for (const auto& each : program.libraries) std::printf("  %s\n", each.c_str());
    if (!program.parameters.empty()) std::printf("\nparameters:\n");
    for (const auto& each : program.parameters)
        std::printf("  %s (%s%s%s)%s%s%s\n", each.name.c_str(), each.type.c_str(),
                    each.otherwise.empty() ? "" : ", by itself ", each.otherwise.c_str(),
                    each.unit.empty() ? "" : " in ", each.unit.c_str(),
                    each.documentation.empty() ? "" : (": " + each.documentation).c_str());
}

std::atomic<bool> interrupted{false};

/// The second one ends the program at once.
void note_interruption(int) {
    if (interrupted.exchange(true)) _exit(interrupted_by_signal);
}

MachineOptions options_for(const Application& application, const Wishes& wishes) {
    MachineOptions options;
    if (wishes.targets) options.targets = *wishes.targets;
    const bool needed = application.needs_processes();
    if (needed && !wishes.worker_processes.value_or(true))
        throw UsageError(
            "there are components that are to live in worker processes: leave --isolation out, or say process");
    if (!needed && !wishes.worker_processes.value_or(false)) return options;
    if (options.targets == 0) throw UsageError("worker processes are targets, and --targets 0 asks for none");
    launch();  // nothing has begun yet
    options.isolation = Isolation::process;
    return options;
}

void load_libraries(const ApplicationProgram& program, const Wishes& wishes) {
    for (const auto& path : wishes.libraries) Components::known().load(path);
    if (!wishes.libraries.empty()) return;
    try {
        for (const auto& path : program.libraries) Components::known().load(path);
    } catch (const LibraryRefused& refused) {
        throw UsageError(refused.what() + std::string("; --library FILE names another one in its place"));
    }
}

/// Before anything runs: what took hours would be lost.
void refuse_unwritable(const std::string& path) {
    if (path.empty()) return;
    const bool fresh = !std::filesystem::exists(path);
    if (!std::ofstream(path, std::ios::app)) throw UsageError("cannot write '" + path + "': is its folder there?");
    if (fresh) std::filesystem::remove(path);
}

int run(const ApplicationProgram& program, const Wishes& wishes) {
    refuse_unwritable(wishes.graph);
    refuse_unwritable(wishes.trace);
    if (wishes.worker_processes.value_or(false)) launch();  // libraries may start threads
    load_libraries(program, wishes);
    const auto application = program.build(language::values_of(program, wishes.settings));
    Machine machine(options_for(application, wishes));
    if (!wishes.trace.empty()) machine.start_timeline();
    interrupted.store(false);
    std::signal(SIGINT, note_interruption);
    auto running = application.start(machine, {.name = wishes.name});
    auto over = std::async(std::launch::async, [&] {
        running.finish();
        if (!wishes.graph.empty()) running.run().save(wishes.graph);
    });
    for (bool closed = false; over.wait_for(std::chrono::milliseconds(2)) != std::future_status::ready;)
        if (interrupted.load() && !closed) {
            std::fprintf(stderr,
                         "%s: the sources end, and what is under way goes through; Ctrl-C again stops at once\n",
                         program.name.c_str());
            running.run().close();
            closed = true;
        }
    over.get();
    if (!wishes.trace.empty()) {
        machine.stop_timeline();
        std::ofstream file(wishes.trace);
        if (!(file << machine.timeline_json()).flush())
            throw UsageError("cannot write the timeline to '" + wishes.trace + "'");
    }
    return interrupted.load() ? interrupted_by_signal : 0;
}

}  // namespace

int run_program(int count, const char* const* arguments, const ApplicationProgram& program) {
    try {
        const auto wishes = wishes_of(count, arguments);
        if (!wishes.help) return run(program, wishes);
        tell_help(program);
        return 0;
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "%s: %s\n", program.name.c_str(), said_by(wrong));
        return told;
    }
}

}  // namespace penstock
