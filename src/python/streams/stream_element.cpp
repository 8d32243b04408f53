#include "python/streams/stream_element.hpp"

#include <array>
#include <complex>
#include <cstdint>

#include "python/ranks/rank_session.hpp"

namespace penstock::python {
namespace {

template <class T>
StreamElement row(const char* name) {
    return {name, element_named(name), element_type<T>()};
}

const auto& all() {
    static const std::array<StreamElement, 16> rows{{
        row<bool>("bool"),
        row<std::int8_t>("int8"),
        row<std::int16_t>("int16"),
        row<std::int32_t>("int32"),
        row<std::int64_t>("int64"),
        row<std::uint8_t>("uint8"),
        row<std::uint16_t>("uint16"),
        row<std::uint32_t>("uint32"),
        row<std::uint64_t>("uint64"),
        {"float16", element_named("float16"), {"float16", 2}},  // C++20 has none
        row<float>("float32"),
        row<double>("float64"),
        row<long double>("float128"),
        row<std::complex<float>>("complex64"),
        row<std::complex<double>>("complex128"),
        row<std::complex<long double>>("complex256"),
    }};
    return rows;
}

}  // namespace

const StreamElement& stream_element_named(std::string_view name) {
    for (const auto& each : all())
        if (name == each.name) return each;
    throw ElementError("streams do not carry elements of type " + std::string(name) +
                       "; give a number, bool or complex type, as in \"float32\"");
}

std::string name_of(const ElementType& type) {
    for (const auto& each : all())
        if (each.type == type) return each.name;
    return std::string(type.name);
}

}  // namespace penstock::python
