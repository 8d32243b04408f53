// What Penstock says of itself, for people: `std::cout << Topology::here()`, and std::format("{}", run.statistics())
// where the standard library has it (g++ 13, clang 17).
#pragma once

#include <concepts>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#if __has_include(<format>)
#include <format>
#endif

#include "penstock/argument.hpp"
#include "penstock/error.hpp"
#include "penstock/filter.hpp"
#include "penstock/handle.hpp"
#include "penstock/machine.hpp"
#include "penstock/message.hpp"
#include "penstock/parameter_value.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_statistics.hpp"
#include "penstock/topology.hpp"
#include "penstock/trace.hpp"

namespace penstock {

// text_of(x): the text for each type that can be printed.

inline std::string text_of(const Topology& here) { return here.description(); }
inline std::string text_of(const Machine& machine) { return machine.description(); }
inline std::string text_of(const RunStatistics& done) { return done.text(); }
/// What each filter is doing and what it waits for, a line each.
inline std::string text_of(const Run& run) { return run.report(); }
inline std::string text_of(const trace::Breakdown& breakdown) { return trace::table(breakdown); }
inline std::string text_of(const ParameterValue& value) { return value.text(); }
inline std::string text_of(const ElementType& type) { return std::string(type.name); }
inline std::string text_of(Distance distance) { return std::string(name(distance)); }
inline std::string text_of(trace::Part part) { return std::string(trace::word(part)); }
inline std::string text_of(Access access) {
    return access == Access::in ? "in" : access == Access::out ? "out" : "inout";
}
/// "name = value".
inline std::string text_of(const Event& event) { return event.name + " = " + ParameterValue(event.value).text(); }
inline std::string text_of(const Handle& task) {
    if (task.none()) return "no task";
    return "task " + std::to_string(task.number()) + (task.ready() ? " (complete)" : " (not complete)");
}
inline std::string text_of(const Status& status) {
    return std::to_string(status.bytes) + " bytes, tag " + std::to_string(status.tag) + ", rank " +
           std::to_string(status.source);
}

/// A type of which Penstock has a text; nothing is converted to one.
template <class T>
concept Printable =
    (std::same_as<T, Topology> || std::same_as<T, Machine> || std::same_as<T, RunStatistics> || std::same_as<T, Run> ||
     std::same_as<T, trace::Breakdown> || std::same_as<T, ParameterValue> || std::same_as<T, ElementType> ||
     std::same_as<T, Distance> || std::same_as<T, trace::Part> || std::same_as<T, Access> || std::same_as<T, Event> ||
     std::same_as<T, Handle> || std::same_as<T, Status>);

template <Printable T>
std::ostream& operator<<(std::ostream& to, const T& value) {
    return to << text_of(value);
}

namespace trace {
using penstock::operator<<;
}

}  // namespace penstock

#if defined(__cpp_lib_format)
/// Takes the format of a string: "{:>20}".
template <penstock::Printable T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
    template <class Context>
    auto format(const T& value, Context& context) const {
        return std::formatter<std::string_view, char>::format(penstock::text_of(value), context);
    }
};
#endif
