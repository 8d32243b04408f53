#include "python/calls/element.hpp"

#include <bit>
#include <complex>

#include "python/ranks/rank_session.hpp"

namespace penstock::python {
namespace {

using enum ElementKind;

template <class T>
ElementRow row(const char* name, ElementKind kind) {
    return {name, {kind, sizeof(T)}, element_type<T>()};
}

const auto& rows() {
    static const std::array<ElementRow, 16> all{{
        row<bool>("bool", boolean),
        row<std::int8_t>("int8", integer),
        row<std::int16_t>("int16", integer),
        row<std::int32_t>("int32", integer),
        row<std::int64_t>("int64", integer),
        row<std::uint8_t>("uint8", natural),
        row<std::uint16_t>("uint16", natural),
        row<std::uint32_t>("uint32", natural),
        row<std::uint64_t>("uint64", natural),
        {"float16", {floating, 2}, {"float16", 2}},  // C++20 has none
        row<float>("float32", floating),
        row<double>("float64", floating),
        row<long double>("float128", floating),
        row<std::complex<float>>("complex64", complex),
        row<std::complex<double>>("complex128", complex),
        row<std::complex<long double>>("complex256", complex),
    }};
    return all;
}

/// Null where there is none.
template <class Key, class Value>
const ElementRow* row_with(Key key, const Value& value) noexcept {
    const auto found = std::ranges::find(rows(), value, key);
    return found == rows().end() ? nullptr : &*found;
}

}  // namespace

Element element_named(std::string_view name) noexcept {
    const ElementRow* const found = row_with(&ElementRow::name, name);
    return found == nullptr ? Element{} : found->element;
}

std::string name_of(const Element& element) {
    const ElementRow* const found = row_with(&ElementRow::element, element);
    return found == nullptr ? "structured" : found->name;
}

const ElementRow& element_of_streams(std::string_view name) {
    if (const ElementRow* const found = row_with(&ElementRow::name, name)) return *found;
    throw ElementError("streams do not carry elements of type " + std::string(name) +
                       "; give a number, bool or complex type, as in \"float32\"");
}

std::string name_of(const ElementType& type) {
    const ElementRow* const found = row_with(&ElementRow::type, type);
    return std::string(found == nullptr ? type.name : found->name);
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
