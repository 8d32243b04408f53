#include "python/calls/element.hpp"

#include <array>
#include <bit>
#include <string>
#include <utility>

namespace penstock::python {
namespace {

using enum ElementKind;

constexpr std::array<std::pair<std::string_view, Element>, 16> names{{
    {"bool", {boolean, 1}},
    {"int8", {integer, 1}},
    {"int16", {integer, 2}},
    {"int32", {integer, 4}},
    {"int64", {integer, 8}},
    {"uint8", {natural, 1}},
    {"uint16", {natural, 2}},
    {"uint32", {natural, 4}},
    {"uint64", {natural, 8}},
    {"float16", {floating, 2}},
    {"float32", {floating, 4}},
    {"float64", {floating, 8}},
    {"float128", {floating, 16}},
    {"complex64", {complex, 8}},
    {"complex128", {complex, 16}},
    {"complex256", {complex, 32}},
}};

}  // namespace

Element element_named(std::string_view name) noexcept {
    for (const auto& [known, element] : names)
        if (known == name) return element;
    return {};
}

std::string_view name_of(const Element& element) noexcept {
    for (const auto& [name, known] : names)
        if (known == element) return name;
    return "structured";
}

Element element_of_format(const char* format, std::size_t item_bytes) noexcept {
    const auto bytes = static_cast<std::uint16_t>(item_bytes);
    std::string_view code = format == nullptr ? "B" : format;
    if (!code.empty() && std::string_view("@=<>!").find(code.front()) != code.npos) {
        const bool little = code.front() == '<', big = code.front() == '>' || code.front() == '!';
        constexpr bool here_little = std::endian::native == std::endian::little;
        if (bytes > 1 && ((little && !here_little) || (big && here_little))) return {other, bytes};
        code.remove_prefix(1);
    }
    if (code == "?") return {boolean, bytes};
    if (code.size() == 1 && std::string_view("bhilqn").find(code) != code.npos) return {integer, bytes};
    if (code.size() == 1 && std::string_view("cBHILQN").find(code) != code.npos) return {natural, bytes};
    if (code == "e" || code == "f" || code == "d" || code == "g") return {floating, bytes};
    if (code == "Zf" || code == "Zd" || code == "Zg") return {complex, bytes};
    return {other, bytes};
}

}  // namespace penstock::python
