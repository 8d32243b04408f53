// language layer: filter classes by name, so that a graph that is written down can say which filters it is made of.
//
//     register_component<Blur>("blur", "Smooths an image by a Gaussian.");  // before applications are read
//     Components::known().load("./libfilters.so");  // component_library.h says what such a library is
//     for (const auto& name : Components::known().names()) std::puts(name.c_str());
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/graph.hpp"

namespace penstock {

/// Who a class is of.
struct ComponentOrigin {
    /// Who offers it.
    enum class Kind : std::uint8_t { program, library, python };
    Kind kind = Kind::program;  ///< program: Penstock itself, or who called register_component()
    std::string name{};         ///< the library's path; the Python package, where it is of one
    friend bool operator==(const ComponentOrigin&, const ComponentOrigin&) = default;
};

/// A class of filters. Its settings are what the filter makes of itself when nobody sets them.
struct ComponentClass {
    std::string name;           ///< as files write it
    std::string documentation;  ///< one line
    FilterDescription filter;   ///< ports, settings and what the class says of itself; without a name
    std::shared_ptr<const streaming::FilterKind> kind;  ///< how its filters are made
    ComponentOrigin origin{};                           ///< where it comes from
};

/// A shared library gives no classes. what() says which library, why, and what to do.
class LibraryRefused : public UsageError {
  public:
    /// Why a library is refused.
    enum class Reason : std::uint8_t {
        no_file,          ///< there is no file there
        no_library,       ///< the system cannot load it
        no_entry,         ///< it has no penstock_component_library()
        other_version,    ///< of the interface
        bad_description,  ///< what it says of its classes breaks a rule
        name_taken,       ///< of a class
    };
    LibraryRefused(std::string path, Reason reason, const std::string& what);
    /// Of the library.
    const std::string& path() const noexcept { return path_; }
    /// Why it was refused.
    Reason reason() const noexcept { return reason_; }

  private:
    std::string path_;
    Reason reason_;
};

/// Where classes come from that are made when they are first asked for. Any thread; two may ask for the same at once.
struct ComponentSource {
    virtual ~ComponentSource() = default;
    /// Without making any.
    virtual std::vector<std::string> names() const = 0;
    struct Made {
        std::string documentation;                          ///< one line
        std::shared_ptr<const streaming::FilterKind> kind;  ///< how its filters are made
        ComponentOrigin origin;                             ///< where it comes from
    };
    /// Nothing when there is none of this name, or it cannot be made.
    virtual std::optional<Made> make(const std::string& name) const = 0;
};

/// Any thread may ask while others add. A copy is as it was when it was made, and costs little; classes stay where they
/// are while a copy has them.
class Components {
  public:
    /// None.
    Components();
    Components(const Components& other);
    Components& operator=(const Components& other);
    ~Components();
    /// The parts that come with Penstock: numbers, scale, shift, pass, add, neighbours, round, sum, count, print,
    /// print-integers.
    static Components builtin();
    /// Those that come with Penstock and what register_component() added. One for the process.
    static Components& known();

    /// Filters of type F, made of `arguments` (copied, for each). Throws UsageError when the name is taken, or is not a
    /// name: a letter, then letters, digits, '-', '_' and ':'.
    template <class F, class... Args>
    void add(const std::string& name, std::string documentation, Args&&... arguments) {
        static_assert(streaming::Firing<F>, "penstock: a filter needs a call operator without arguments");
        using Kind = streaming::FilterKindOf<F, std::decay_t<Args>...>;
        add_kind(name, std::move(documentation), std::make_shared<Kind>(std::forward<Args>(arguments)...));
    }
    void add_kind(const std::string& name, std::string documentation, std::shared_ptr<const streaming::FilterKind> kind,
                  ComponentOrigin origin = {});
    /// The classes of a shared library (component_library.h), and their names. The path is that of a file, from the
    /// current folder where it is not absolute: no other place is looked at. The library stays loaded; loading it again
    /// adds nothing. Throws LibraryRefused, and has added none.
    std::vector<std::string> load(const std::string& path);
    /// Classes that are made when somebody asks for them by a name that nobody has. Copies share what was made.
    void add_source(std::shared_ptr<const ComponentSource> source);

    /// Null when there is none.
    const ComponentClass* find(const std::string& name) const;
    /// The first, by name, whose filters have this type (FilterDescription::type); null when there is none. Linear.
    const ComponentClass* of_type(const std::string& type) const;
    /// In alphabetical order.
    std::vector<std::string> names() const;

  private:
    struct Late;
    struct State;
    std::shared_ptr<const State> state() const;

    std::shared_ptr<const State> state_;  ///< never changed: who adds makes another one
};

/// Makes a filter class known to all applications that are read later. Throws as Components::add() does.
template <class F, class... Args>
void register_component(const std::string& name, std::string documentation, Args&&... arguments) {
    Components::known().add<F>(name, std::move(documentation), std::forward<Args>(arguments)...);
}

}  // namespace penstock
