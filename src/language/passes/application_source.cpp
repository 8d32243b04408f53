#include "penstock/application_source.hpp"

#include <cmath>

#include "language/passes/transforming.hpp"

namespace penstock {
namespace language {
namespace {

/// Attributes whose expressions the program calculates; all others have their values in it.
constexpr std::string_view calculated_attributes =
    "set.value on.value component.copies component.pool nodes.count nodes.memory stream.capacity stream.capacity-bytes "
    "timer.after timer.every";

bool is_fixed(const Element& element, const Attribute& attribute) {
    if (element.name == "on" && attribute.name == "value" && names_in(attribute.value).contains("event")) return true;
    return element.name != "parameter" && !stands_in_list(calculated_attributes, element.name + "." + attribute.name);
}

struct Type {
    std::string of, header, name;
};

std::vector<Type> types_of(const SourceOptions& options) {
    std::vector<Type> all;
    for (const auto& [of, where] : options.types) {
        const auto colon = where.find(':');
        if (colon == where.npos || colon == 0 || colon + 1 == where.size() || where[colon + 1] == ':' ||
            where.find_first_of("\"\n") != where.npos)
            throw UsageError("the type of class " + in_quotes(of) + " is given as " + in_quotes(where) +
                             ", and should be HEADER:TYPE");
        all.push_back({of, where.substr(0, colon), where.substr(colon + 1)});
    }
    return all;
}

class Source {
  public:
    Source(Transforming& work, const SourceOptions& options, const std::string& file, std::vector<std::string> fixed)
        : work_(work), types_(types_of(options)), file_(file), fixed_(std::move(fixed)), name_(work.plan().name),
          function_(identifier(name_)) {}

    std::string program() {
        std::string body;
        for (const auto& child : work_.root().children)
            if (child.name == "event") body += "    app.event(" + quoted(child, "name") + ");\n";
        for (const auto& child : work_.root().children)
            if (child.name == "nodes") body += nodes(child);
        parts(work_.root(), "    ", body);
        for (const auto& child : work_.root().children)
            if (child.name == "timer")
                body += "    app.timer(" + quoted(child, "event") + ", " +
                        seconds(child, child.attribute("after") != nullptr ? "after" : "every") +
                        (child.attribute("every") != nullptr ? ", " + seconds(child, "every") : "") + ");\n";
        std::string out = "// The application '" + name_ + "', as `penstock compile` wrote it from " + file_ + ".\n";
        for (const auto& each : fixed_)
            out += "// It has the value of '" + each + "' of that time, on which it depends which parts there are.\n";
        out += "#include <penstock/penstock.hpp>\n";
        if (general_) out += "#include <penstock/component_classes.hpp>\n";
        std::set<std::string> headers;
        for (const auto& type : types_)
            if (used_types_.contains(type.of) && headers.insert(type.header).second)
                out += "#include \"" + type.header + "\"\n";
        std::string known;
        for (const auto& child : work_.root().children)
            if (child.name == "parameter" && used_.contains(value(child, "name")))
                known += "    const auto& " + identifier(value(child, "name")) + " = parameters.at(" +
                         quoted(child, "name") + ");\n";
        out += "\nusing namespace penstock;\n\nnamespace {\n\nApplication " + function_ + "(const ParameterValues&" +
               (known.empty() ? ") {\n" : " parameters) {\n" + known + "\n");
        return out + "    ApplicationBuilder app(" + cpp_text(name_) + ");\n" + body +
               "    return app.build();\n}\n\n}  // namespace\n\n" + main_function();
    }

    std::string build() const {
        // These are targets of every build.
        constexpr std::string_view taken = "all clean help install test package edit_cache rebuild_cache";
        const auto target = stands_in_list(taken, name_) ? name_ + "_application" : name_;
        return "# Builds '" + name_ +
               "' against an installed penstock: cmake -B build -DCMAKE_PREFIX_PATH=... && cmake --build build\n"
               "cmake_minimum_required(VERSION 3.25)\nproject(" +
               target +
               " LANGUAGES CXX)\n"
               "if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
               "find_package(penstock REQUIRED)\nadd_executable(" +
               target +
               " main.cpp)\n"
               "target_link_libraries(" +
               target + " PRIVATE penstock::penstock" + (general_ ? " " + std::string(of_the_library) : "") + ")\n";
    }

  private:
    static std::string value(const Element& element, std::string_view attribute) {
        return substituted(element.value(attribute), {});
    }
    static std::string quoted(const Element& element, std::string_view attribute) {
        return cpp_text(value(element, attribute));
    }
    /// The value of an attribute as C++, in which parameters are calculated with.
    std::string calculated(const Element& element, std::string_view attribute, const SettingValue& like) {
        const auto& text = element.value(attribute);
        auto names = names_in(text);
        if (names.empty()) return literal_of(value(element, attribute), like);
        used_.merge(names);
        return expression_of(text);
    }
    std::string integer(const Element& element, std::string_view attribute, std::int64_t least, const char* most) {
        auto text = calculated(element, attribute, std::int64_t{0});
        if (names_in(element.value(attribute)).empty()) return text;
        if (text.find_first_of(" ") != text.npos) text = "(" + text + ")";
        return text + ".integer(" + cpp_text(attribute) + ", " + std::to_string(least) + ", " + most + ")";
    }
    std::string seconds(const Element& timer, std::string_view attribute) {
        auto text = calculated(timer, attribute, 0.0);
        if (names_in(timer.value(attribute)).empty()) return text;
        return "(" + text + ").number(" + cpp_text(attribute) + ", 0, 1e9)";
    }

    std::string nodes(const Element& group) {
        std::string text = "    app.nodes({.name = " + quoted(group, "name");
        if (group.attribute("count") != nullptr)
            text += ", .count = static_cast<int>(" + integer(group, "count", 1, "4'096") + ")";
        if (group.attribute("cpus") != nullptr || group.attribute("memory") != nullptr) {
            text += ", .needs = {";
            if (group.attribute("cpus") != nullptr) text += ".cpus = " + value(group, "cpus") + ", ";
            if (group.attribute("memory") != nullptr)
                text += ".memory = static_cast<std::uint64_t>(" + integer(group, "memory", 0, "1LL << 50") + ")";
            text += "}";
        }
        return text + "});\n";
    }

    std::string options_of(const Element& component) {
        std::vector<std::string> all;
        if (const auto* const copies = component.attribute("copies")) {
            if (!names_in(copies->value).empty())
                all.push_back(".copies = static_cast<int>(" + integer(component, "copies", 1, "100'000") + ")");
            else if (copies->value == "automatic") all.emplace_back(".copies = FilterOptions::automatic");
            else all.push_back(".copies = " + value(component, "copies"));
        }
        if (const auto targets = list_of(words_of(value(component, "targets")), ", "); !targets.empty())
            all.push_back(".targets = {" + targets + "}");
        if (const auto classes = list_of(words_of(value(component, "target-classes")), ", ", cpp_text);
            !classes.empty())
            all.push_back(".target_classes = {" + classes + "}");
        if (component.attribute("near") != nullptr) all.push_back(".near = " + quoted(component, "near"));
        if (value(component, "on-failure") == "go-on") all.emplace_back(".on_failure = OnFailure::go_on");
        if (component.attribute("pool") != nullptr) all.push_back(".pool = " + size(component, "pool", "1 << 30"));
        if (const auto limit = number_of(value(component, "time-limit")))
            all.push_back(".time_limit = std::chrono::nanoseconds(" + std::to_string(std::llround(*limit * 1e9)) + ")");
        if (component.attribute("isolation") != nullptr)
            all.push_back(value(component, "isolation") == "process" ? ".isolation = Isolation::process"
                                                                     : ".isolation = Isolation::none");
        if (component.attribute("nodes") != nullptr) all.push_back(".nodes = " + quoted(component, "nodes"));
        if (const auto loss = value(component, "on-node-loss"); !loss.empty())
            all.push_back(".on_node_loss = OnNodeLoss::" + loss);
        return listed(all);
    }
    std::string size(const Element& element, std::string_view attribute, const char* most) {
        const auto text = integer(element, attribute, 0, most);
        return names_in(element.value(attribute)).empty() ? text : "static_cast<std::size_t>(" + text + ")";
    }
    std::string options_of_stream(const Element& stream) {
        std::vector<std::string> all;
        const auto word = [&](const char* attribute, const auto& words, const auto& names, const char* field,
                              const char* type) {
            const auto given = value(stream, attribute);
            for (std::size_t i = 0; i < std::size(words); ++i)
                if (given == words[i])
                    all.push_back("." + std::string(field) + " = " + type + "::" + std::string(names[i]));
        };
        word("policy", policy_words, streaming::policy_names, "policy", "Policy");
        if (stream.attribute("capacity") != nullptr)
            all.push_back(".capacity = " + size(stream, "capacity", "std::int64_t{1} << 40"));
        if (stream.attribute("capacity-bytes") != nullptr)
            all.push_back(".capacity_bytes = " + size(stream, "capacity-bytes", "std::int64_t{1} << 40"));
        word("when-full", when_full_words, streaming::when_full_names, "when_full", "WhenStreamFull");
        for (const auto* flag : {"ordered", "fuse", "feedback"})
            if (stream.attribute(flag) != nullptr) all.push_back("." + std::string(flag) + " = " + value(stream, flag));
        if (stream.attribute("name") != nullptr) all.push_back(".name = " + quoted(stream, "name"));
        return listed(all);
    }

    /// What a setting is given, there or in a rule.
    std::string given(const Element& element, const ComponentClass& of, const std::string& setting) {
        return calculated(element, "value", setting_of(of, setting).value);
    }

    void parts(const Element& owner, const std::string& indent, std::string& out) {
        for (const auto& child : owner.children) {
            if (is_part(child))
                for (const auto& comment : child.comments) out += commented(comment, indent);
            if (child.name == "component") component(child, indent, out);
            else if (child.name == "stream")
                out += indent + "app.connect(" + quoted(child, "from") + ", " + quoted(child, "to") +
                       options_of_stream(child) + ");\n";
            else if (child.name == "signal")
                out += indent + "app.signal(" + quoted(child, "from") + ", " + quoted(child, "event") + ");\n";
            else if (child.name == "option") option(child, indent, out);
            else if (child.name == "manager") parts(child, indent, out);
        }
        // Rules are about what has been described.
        if (&owner != &work_.root()) return;
        visit_below(work_.root(), [&](Element& element) {
            if (element.name == "on") rule(element, indent, out);
            return true;
        });
    }
    void component(const Element& element, const std::string& indent, std::string& out) {
        constexpr std::string_view known =
            "name class copies targets target-classes near on-failure pool isolation time-limit nodes on-node-loss doc";
        for (const auto& each : element.attributes)
            if (!stands_in_list(known, each.name))
                throw UsageError("a program cannot say " + in_quotes(each.name) + " of a component yet: take it from " +
                                 in_quotes(value(element, "name")));
        const auto name = value(element, "name"), of = value(element, "class");
        const auto type = std::ranges::find(types_, of, &Type::of);
        if (type != types_.end()) used_types_.insert(of);
        out += indent + "app.add" +
               (type != types_.end() ? "<" + type->name + ">(" + cpp_text(name)
                                     : "(" + cpp_text(name) + ", " + cpp_text(of)) +
               options_of(element) + ");\n";
        const auto* const described = work_.plan().known.find(of);
        if (type == types_.end()) note_use(*described, name);
        for (const auto& child : element.children)
            if (child.name == "set")
                out += indent + "app.set(" + cpp_text(name) + ", " + quoted(child, "name") + ", " +
                       given(child, *described, value(child, "name")) + ");\n";
    }
    /// What CMake links and the origin is called of the classes that <penstock/component_classes.hpp> registers.
    static constexpr std::string_view of_the_library = "penstock::component_classes";

    /// The program finds the class by its name: at home, or in a library.
    void note_use(const ComponentClass& of, const std::string& component) {
        if (of.origin.name == of_the_library) general_ = true;
        if (of.origin.kind == ComponentOrigin::Kind::library) libraries_.insert(of.origin.name);
        if (of.origin.kind == ComponentOrigin::Kind::python)
            throw UsageError("component " + in_quotes(component) + " is of class " + in_quotes(of.name) +
                             ", which is written in Python" +
                             (of.origin.name.empty() ? "" : " (package " + of.origin.name + ")") +
                             ", and a program in C++ has no Python: give a C++ type for it (--type " + of.name +
                             "=HEADER:TYPE), or run the file itself");
    }
    void option(const Element& element, const std::string& indent, std::string& out) {
        std::string while_on, while_off;
        parts(element, indent + "    ", while_on);
        for (const auto& child : element.children)
            if (child.name == "otherwise") parts(child, indent + "    ", while_off);
        out += indent + "app.option(" + quoted(element, "name") + ", " +
               (value(element, "initially") == "on" ? "true" : "false") + ", [&] {\n" + while_on + indent + "}";
        if (!while_off.empty()) out += ", [&] {\n" + while_off + indent + "}";
        out += ");\n";
    }
    void rule(const Element& element, const std::string& indent, std::string& out) {
        out += indent + "app.on(" + quoted(element, "event") + ")";
        if (element.attribute("is") != nullptr) out += ".when(" + quoted(element, "is") + ")";
        const auto bound = [&](const char* attribute, const char* otherwise) {
            return element.attribute(attribute) == nullptr ? otherwise : literal_of(value(element, attribute), 0.0);
        };
        if (element.attribute("least") != nullptr || element.attribute("most") != nullptr)
            out += ".when(" + bound("least", "{}") + ", " + bound("most", "{}") + ")";
        for (const auto* verb : {"enable", "disable", "toggle"})
            if (element.attribute(verb) != nullptr) out += "." + std::string(verb) + "(" + quoted(element, verb) + ")";
        if (element.attribute("component") != nullptr) {
            const auto component = value(element, "component");
            if (element.attribute("setting") != nullptr) {
                const auto setting = value(element, "setting");
                if (names_in(element.value("value")).contains("event"))
                    out += ".set_by(" + cpp_text(component) + ", " + cpp_text(setting) + ", " +
                           cpp_text(element.value("value")) + ")";
                else
                    out += ".set(" + cpp_text(component) + ", " + cpp_text(setting) + ", " +
                           given(element, *named(work_.plan().components, component)->of, setting) + ")";
            } else {
                const auto of = value(element, "class");
                const auto& described = *work_.plan().known.find(of);
                note_use(described, component);
                std::vector<std::string> settings;
                for (const auto& child : element.children)
                    settings.push_back("{" + quoted(child, "name") + ", " +
                                       given(child, described, value(child, "name")) + "}");
                out += ".replace(" + cpp_text(component) + ", " + cpp_text(of) + listed(settings) + ")";
            }
        }
        out += ";\n";
    }

    std::string main_function() const {
        std::string out =
            "int main(int count, char** arguments) {\n" +
            std::string(general_ ? "    register_component_classes();\n" : "") +
            "    return run_program(count, arguments,\n                       {.name = " + cpp_text(name_);
        if (work_.root().attribute("doc") != nullptr)
            out += ",\n                        .documentation = " + cpp_text(work_.root().value("doc"));
        std::string parameters;
        for (const auto& child : work_.root().children) {
            if (child.name != "parameter") continue;
            parameters += std::string(parameters.empty() ? "" : ",\n                                       ") +
                          "{.name = " + quoted(child, "name") + ", .type = " + quoted(child, "type");
            for (const auto& [attribute, field] :
                 {std::pair{"default", "otherwise"}, {"least", "least"}, {"most", "most"}, {"unit", "unit"}})
                if (const auto* const given = child.attribute(attribute))
                    parameters += ", ." + std::string(field) + " = " + cpp_text(given->value);
            if (child.attribute("doc") != nullptr) parameters += ", .documentation = " + cpp_text(child.value("doc"));
            parameters += "}";
        }
        if (!parameters.empty()) out += ",\n                        .parameters = {" + parameters + "}";
        if (!libraries_.empty())
            out += ",\n                        .libraries = {" + list_of(libraries_, ", ", cpp_text) + "}";
        return out + ",\n                        .build = " + function_ + "});\n}\n";
    }

    Transforming& work_;
    const std::vector<Type> types_;
    const std::string file_;
    const std::vector<std::string> fixed_;
    const std::string name_, function_;
    std::set<std::string> used_, used_types_, libraries_;
    bool general_ = false;  // a component is of the library of classes that does real work
};

}  // namespace
}  // namespace language

ApplicationSource source_of(const std::string& path, const SourceOptions& options) {
    return source_of_text(language::read_file(path, options.application.limits.bytes), path, options);
}

ApplicationSource source_of_text(const std::string& text, const std::string& file, const SourceOptions& options) {
    language::Transforming work(text, file, {.application = options.application});
    std::vector<std::string> before;
    for (const auto& [name, value] : work.variables()) before.push_back(name);
    language::flatten(work);
    std::set<std::string> names;
    language::collect_names(work.root(), names, language::is_fixed);
    work.fix(names);
    std::erase_if(before, [&](const std::string& name) { return work.variables().contains(name); });
    language::Source source(work, options, file.substr(file.rfind('/') + 1), before);
    auto program = source.program();
    return {std::move(program), source.build(), std::move(before)};
}

}  // namespace penstock
