#include "language/library/component_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "process/fork.hpp"

namespace penstock {

LibraryRefused::LibraryRefused(std::string path, Reason reason, const std::string& what)
    : UsageError("the library " + path + " gives no component classes: " + what), path_(std::move(path)),
      reason_(reason) {}

namespace language {
namespace {

using Reason = LibraryRefused::Reason;

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

}  // namespace language
}  // namespace penstock
