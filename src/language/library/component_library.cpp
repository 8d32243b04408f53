#include "language/library/component_library.hpp"

#include <dlfcn.h>

#include <complex>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "language/xml/text.hpp"
#include "process/fork.hpp"

namespace penstock {

LibraryRefused::LibraryRefused(std::string path, Reason reason, const std::string& what)
    : UsageError("the library " + path + " gives no component classes: " + what), path_(std::move(path)),
      reason_(reason) {}

namespace language {
namespace {

using Reason = LibraryRefused::Reason;

// ---- what a library says of its classes, looked at before anything of it is used ----

constexpr std::size_t most_listed = 4096;  // of classes, ports and settings each: beyond that a number is garbage

struct NamedElement {
    std::string_view name;
    ElementType type;
};
/// As NumPy calls them. Others are types of the library's own.
constexpr NamedElement elements[] = {{"bool", element_type<bool>()},
                                     {"int8", element_type<std::int8_t>()},
                                     {"int16", element_type<std::int16_t>()},
                                     {"int32", element_type<std::int32_t>()},
                                     {"int64", element_type<std::int64_t>()},
                                     {"uint8", element_type<std::uint8_t>()},
                                     {"uint16", element_type<std::uint16_t>()},
                                     {"uint32", element_type<std::uint32_t>()},
                                     {"uint64", element_type<std::uint64_t>()},
                                     {"float32", element_type<float>()},
                                     {"float64", element_type<double>()},
                                     {"complex64", element_type<std::complex<float>>()},
                                     {"complex128", element_type<std::complex<double>>()}};

/// UTF-8 that can be shown in one line.
bool is_line(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto character = trace::take_character(text);
        if (!character || *character < 0x20 || *character == 0x7f) return false;
    }
    return true;
}

class ClassReader {
  public:
    ClassReader(const penstock_class& given, const std::string& path, std::size_t number)
        : given_(given), path_(path), who_("class " + std::to_string(number)) {}

    std::shared_ptr<const LibraryClass> run() {
        auto made = std::make_shared<LibraryClass>();
        made->path = path_;
        made->name = text(given_.name, "name");
        if (!is_class_name(made->name))
            refuse("is called " + in_quotes(made->name) +
                   ": a name is a letter, then letters, digits, '-', '_' and ':'");
        who_ = "class " + in_quotes(made->name);
        made->documentation = given_.documentation == nullptr ? "" : text(given_.documentation, "documentation");
        made->functions = given_;
        made->table = &given_;
        if (given_.fire == nullptr) refuse("has no fire(): give it one");
        if ((given_.create == nullptr) != (given_.destroy == nullptr))
            refuse("has create() or destroy(), and not the other: give both or neither");
        if ((given_.save == nullptr) != (given_.load == nullptr))
            refuse("has save() or load(), and not the other: give both or neither");
        made->filter.type = made->name;
        made->filter.may_be_copied = given_.may_be_copied != 0;
        made->filter.on_any_input = given_.on_any_input != 0;
        ports("input", given_.inputs, given_.input_count, made->filter.inputs, made->input_dimensions);
        ports("output", given_.outputs, given_.output_count, made->filter.outputs, made->output_dimensions);
        event_outputs(made->filter.event_outputs);
        if (given_.input_count + given_.output_count == 0) refuse("has neither inputs nor outputs: give it one");
        settings(made->filter.settings);
        return made;
    }

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw LibraryRefused(path_, LibraryRefused::Reason::bad_description, who_ + " " + what);
    }

    std::string text(const char* given, const std::string& what) const {
        if (given == nullptr) refuse("has no " + what + ": give it one");
        if (!is_line(given)) refuse("has a " + what + " that is no line of UTF-8: write it so");
        return given;
    }
    template <class T>
    void require_list(const std::string& what, const T* all, std::size_t count) const {
        if (count > most_listed)
            refuse("has " + std::to_string(count) + " " + what + "s, and may have " + std::to_string(most_listed));
        if (all == nullptr && count != 0)
            refuse("has " + std::to_string(count) + " " + what + "s, but says nowhere which: fill in the table");
    }
    std::string name(const char* given, const std::string& what) {
        auto name = text(given, "name of its " + what);
        if (!is_name(name))
            refuse("calls its " + what + " " + in_quotes(name) +
                   ": a name is a letter, then letters, digits, '-' and '_'");
        if (!names_.insert(name).second)
            refuse("has two parts called " + in_quotes(name) + ": ports and settings are called differently");
        return name;
    }

    void ports(const std::string& kind, const penstock_port* given, std::size_t count,
               std::vector<PortDescription>& made, std::vector<std::size_t>& dimensions) {
        require_list(kind, given, count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto& port = given[i];
            const auto own = name(port.name, kind + " " + std::to_string(i));
            const auto what = kind + " " + in_quotes(own);
            made.push_back({own, element(port, what), port.optional == 0, std::max<std::size_t>(port.at_least, 1)});
            if (port.dimensions > streaming::Block::max_rank)
                refuse("says that " + what + " has buffers of " + std::to_string(port.dimensions) +
                       " dimensions: say 1 to 3, or 0 for any of these");
            dimensions.push_back(port.dimensions);
        }
    }
    ElementType element(const penstock_port& port, const std::string& what) const {
        if (port.element == nullptr)
            refuse("does not say of which type the values at " + what + " are: say it, as in \"float64\"");
        const std::string_view name = port.element;
        if (name.empty() || !is_line(name))
            refuse("has a type of " + what + " that is no line of UTF-8: name it, as in \"float64\"");
        if (const auto* const known = named(elements, name)) {
            if (port.element_size != 0 && port.element_size != known->type.size)
                refuse("says that a " + std::string(name) + " at " + what + " has " +
                       std::to_string(port.element_size) + " bytes: it has " + std::to_string(known->type.size));
            return known->type;
        }
        if (port.element_size == 0)
            refuse("does not say how many bytes a " + std::string(name) + " at " + what +
                   " has: only float64 and its like are known by themselves");
        return {name, port.element_size};
    }

    void settings(std::vector<SettingDescription>& made) {
        require_list("setting", given_.settings, given_.setting_count);
        for (std::size_t i = 0; i < given_.setting_count; ++i) {
            const auto& setting = given_.settings[i];
            auto& described = made.emplace_back();
            described.name = name(setting.name, "setting " + std::to_string(i));
            const auto what = "setting " + in_quotes(described.name);
            described.value = value(setting.value, what);
            if (setting.unit != nullptr) described.limits.unit = text(setting.unit, "unit of " + what);
            if (setting.least != 0 || setting.most != 0) {
                if (!(setting.least <= setting.most))
                    refuse("has limits of " + what + " between which nothing is: give the smaller one as least");
                described.limits.least = setting.least;
                described.limits.most = setting.most;
            }
            if (!is_within(described.value, described.limits))
                refuse("gives " + what + " the value " + text_of(described.value) +
                       ", which is outside its own limits");
        }
    }
    void event_outputs(std::vector<EventDescription>& made) {
        require_list("event output", given_.event_outputs, given_.event_output_count);
        for (std::size_t i = 0; i < given_.event_output_count; ++i) {
            auto own = name(given_.event_outputs[i].name, "event output " + std::to_string(i));
            const auto what = "event output " + in_quotes(own);
            made.push_back(
                {std::move(own),
                 value({.kind = given_.event_outputs[i].kind, .integer = 0, .number = 0, .text = nullptr}, what)});
        }
    }
    SettingValue value(const penstock_value& given, const std::string& what) const {
        if (given.kind == PENSTOCK_BOOLEAN) return given.integer != 0;
        if (given.kind == PENSTOCK_INTEGER) return given.integer;
        if (given.kind == PENSTOCK_NUMBER) return given.number;
        if (given.kind == PENSTOCK_TEXT) return given.text == nullptr ? "" : text(given.text, "value of " + what);
        refuse("has a kind of " + what +
               " that there is not: say PENSTOCK_BOOLEAN, PENSTOCK_INTEGER, PENSTOCK_NUMBER or PENSTOCK_TEXT");
    }

    const penstock_class& given_;
    const std::string& path_;
    std::string who_;
    std::set<std::string> names_;
};

}  // namespace

Library described(const penstock_library& table, const std::string& path) {
    const auto refuse = [&](const std::string& what) {
        throw LibraryRefused(path, LibraryRefused::Reason::bad_description, what);
    };
    if (table.class_count == 0) refuse("it has no classes: list them in its table");
    if (table.class_count > most_listed)
        refuse("it has " + std::to_string(table.class_count) + " classes, and may have " + std::to_string(most_listed));
    if (table.classes == nullptr)
        refuse("it has " + std::to_string(table.class_count) + " classes, but says nowhere which: fill in its table");
    Library made{path, {}};
    std::set<std::string> names;
    for (std::size_t i = 0; i < table.class_count; ++i) {
        made.classes.push_back(ClassReader(table.classes[i], path, i).run());
        const auto& name = made.classes.back()->name;
        if (!names.insert(name).second)
            refuse("it has two classes called " + in_quotes(name) + ": give one another name");
    }
    return made;
}

// ---- loading ----

namespace {

constexpr const char* give_a_path = "give the path of a library, as in ./libfilters.so";

using Loaded = std::map<std::string, Library>;  // by path
constinit ProcessMutex mutex;
constinit Loaded* loaded = nullptr;  // outlives every filter; under the mutex

/// Absolute, without links: one name for each file, in whichever folder a worker process is.
std::string whole_path(const std::string& path) {
    std::error_code error;
    const auto whole = std::filesystem::canonical(path, error);
    if (error)
        throw LibraryRefused(path, Reason::no_file,
                             error == std::errc::no_such_file_or_directory
                                 ? std::string("there is no such file: ") + give_a_path
                                 : error.message() + ": " + give_a_path);
    if (!std::filesystem::is_regular_file(whole, error))
        throw LibraryRefused(path, Reason::no_file, std::string("this is no file: ") + give_a_path);
    return whole.string();
}

/// The loader's own words begin with the path.
std::string reason_of_loader(const std::string& path) {
    const char* const said = dlerror();
    std::string text = said == nullptr ? "no reason is given" : said;
    if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
    return text;
}

Library loaded_from(const std::string& path) {
    // Held open for good once its classes are known; one that is refused goes, so that it can be mended and tried
    // again.
    std::unique_ptr<void, int (*)(void*)> handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), &dlclose);
    if (handle == nullptr)
        throw LibraryRefused(path, Reason::no_library,
                             "the system cannot load it (" + reason_of_loader(path) +
                                 "): give a shared library for this machine (cc -shared -fPIC)");
    using Entry = decltype(&penstock_component_library);
    const auto entry = reinterpret_cast<Entry>(dlsym(handle.get(), "penstock_component_library"));
    if (entry == nullptr)
        throw LibraryRefused(path, Reason::no_entry,
                             "it exports no function penstock_component_library: write one as "
                             "penstock/component_library.h says, with C linkage");
    const auto* const table = entry();
    if (table == nullptr)
        throw LibraryRefused(path, Reason::bad_description,
                             "its penstock_component_library() returned nothing: let it return its table");
    if (table->interface_version != PENSTOCK_COMPONENT_INTERFACE)
        throw LibraryRefused(path, Reason::other_version,
                             "it was made for version " + std::to_string(table->interface_version) +
                                 " of the interface, and this is version " +
                                 std::to_string(PENSTOCK_COMPONENT_INTERFACE) +
                                 ": build it with the component_library.h of this Penstock");
    auto library = described(*table, path);
    static_cast<void>(handle.release());
    return library;
}

}  // namespace

const Library& library_at(const std::string& path) {
    const auto whole = whole_path(path);
    {
        const std::lock_guard lock(mutex);
        if (loaded == nullptr) loaded = new Loaded;
        if (const auto found = loaded->find(whole); found != loaded->end()) return found->second;
    }
    // Not under the lock: a library may do anything when it is loaded. Who comes first is the one that stays.
    auto library = loaded_from(whole);
    const std::lock_guard lock(mutex);
    return loaded->emplace(whole, std::move(library)).first->second;
}

std::string text_of(const LibraryClass& of) {
    std::string text = of.name;
    const auto add = [&text](const auto& each) { text += " " + each; };
    for (const auto* const ports : {&of.filter.inputs, &of.filter.outputs}) {
        add(std::to_string(ports->size()));
        for (const auto& port : *ports)
            add(port.name), add(std::string(port.element.name)), add(std::to_string(port.element.size));
    }
    for (const auto& setting : of.filter.settings) add(setting.name), add(std::to_string(setting.value.index()));
    for (const auto& event : of.filter.event_outputs) add(event.name), add(std::to_string(event.like.index()));
    return text;
}

}  // namespace language
}  // namespace penstock
