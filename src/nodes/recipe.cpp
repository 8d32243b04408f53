#include "nodes/recipe.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "machine/said_by.hpp"

namespace penstock::nodes {
namespace {

using streaming::FilterKind;

/// What an object file that is loaded is called, and where; by an address in it.
struct Loaded {
    std::uintptr_t base = 0;
    std::string identity{};  ///< the linker's hash of what is in it; empty where it has none
};

struct Search {
    std::uintptr_t address;
    const std::string* identity;
    Loaded found{};
};

std::string identity_in(const dl_phdr_info& object) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const auto& segment = object.dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        const auto* at = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
        const auto* const end = at + segment.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const auto aligned = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
            const auto* const name = at + sizeof note;
            const auto* const text = name + aligned(note.n_namesz);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
                return {text, note.n_descsz};
            at = text + aligned(note.n_descsz);
        }
    }
    return {};
}

int look_at(dl_phdr_info* object, std::size_t, void* what) {
    auto& search = *static_cast<Search*>(what);
    bool here = search.identity != nullptr && identity_in(*object) == *search.identity;
    for (int i = 0; search.identity == nullptr && i < object->dlpi_phnum; ++i) {
        const auto begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        here = here || (object->dlpi_phdr[i].p_type == PT_LOAD && search.address >= begin &&
                        search.address < begin + object->dlpi_phdr[i].p_memsz);
    }
    if (here) search.found = {object->dlpi_addr, identity_in(*object)};
    return here ? 1 : 0;
}

/// A filter of a type that is not known here by name.
struct BuiltKind final : FilterKind {
    Maker maker;
    std::vector<std::byte> arguments;

    std::unique_ptr<streaming::AnyFilter> make() const override {
        carried::Decoder from(arguments);
        return maker(from);
    }
};

struct BuildHead {
    std::uint64_t offset;
    std::uint64_t may_be_copied;
    std::uint64_t on_any_input;
};

constexpr const char* no_build_id =
    "the program was linked without a build-id, so an agent cannot know whether it is the same";

std::optional<Recipe> recipe_of_build(const FilterKind& kind, std::string& why) {
    carried::Encoder arguments;
    FilterKind::Maker maker = nullptr;
    try {
        maker = kind.write_down(arguments);
    } catch (const carried::NotCarried& refusal) {
        why = said_by(refusal);
        return std::nullopt;
    }
    Search search{reinterpret_cast<std::uintptr_t>(maker), nullptr};
    dl_iterate_phdr(&look_at, &search);
    if (search.found.identity.empty()) {
        why = no_build_id;
        return std::nullopt;
    }
    carried::Encoder bytes;
    carried::encode(bytes, BuildHead{search.address - search.found.base, kind.may_be_copied, kind.on_any_input});
    bytes.bytes(arguments.all().data(), arguments.all().size());
    return Recipe{"build", search.found.identity, bytes.all()};
}

}  // namespace

BuildPlace place_in_build(const void* address) {
    Search search{reinterpret_cast<std::uintptr_t>(address), nullptr};
    dl_iterate_phdr(&look_at, &search);
    if (search.found.identity.empty()) throw UsageError(no_build_id);
    return {search.found.identity, search.address - search.found.base};
}

const void* address_in_build(const std::string& identity, std::uint64_t offset) {
    Search search{0, &identity};
    dl_iterate_phdr(&look_at, &search);
    if (search.found.identity.empty()) return nullptr;
    return reinterpret_cast<const void*>(search.found.base + offset);
}

std::optional<Recipe> recipe_of(const FilterKind& kind, const std::string& type, const Components& components,
                                std::string& why) {
    for (const auto& name : components.names())
        if (const auto* const found = components.find(name); found != nullptr && found->kind.get() == &kind)
            return Recipe{"component", name, {}};
    if (auto own = kind.recipe()) return Recipe{own->form, own->name, std::move(own->bytes)};
    if (auto built = recipe_of_build(kind, why)) return built;
    why = "its class (" + type + ") has no component name, and " + why;
    return std::nullopt;
}

std::shared_ptr<const FilterKind> kind_of(const Recipe& recipe, const Components& components) {
    if (recipe.form == "component") {
        if (const auto* const found = components.find(recipe.name)) return found->kind;
        throw UsageError("there is no component '" + recipe.name +
                         "' here: the agent must register or load it too (become_agent, penstock agent --library)");
    }
    if (recipe.form == "build") {
        Search search{0, &recipe.name};
        dl_iterate_phdr(&look_at, &search);
        if (search.found.identity.empty())
            throw UsageError(
                "its class has no component name, and the agent is not the same build of the program: register it by "
                "name (register_component), or start the program itself as the agent (become_agent)");
        carried::Decoder from(recipe.bytes);
        const auto head = carried::decode<BuildHead>(from);
        auto kind = std::make_shared<BuiltKind>();
        kind->may_be_copied = head.may_be_copied != 0;
        kind->on_any_input = head.on_any_input != 0;
        kind->maker = reinterpret_cast<FilterKind::Maker>(search.found.base + head.offset);
        kind->arguments.assign(recipe.bytes.begin() + sizeof head, recipe.bytes.end());
        return kind;
    }
    return FilterKind::of_recipe({recipe.form, recipe.name, recipe.bytes});
}

}  // namespace penstock::nodes
