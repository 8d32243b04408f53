// What an exception says of itself.
#pragma once

#include <exception>
#include <string>

namespace penstock {

/// Never null, which the what() of somebody's own class may be.
inline const char* said_by(const std::exception& error) noexcept {
    const char* const text = error.what();
    return text != nullptr ? text : "an exception without a text";
}

inline std::string said_by(const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const std::exception& error) {
        return said_by(error);
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

}  // namespace penstock
