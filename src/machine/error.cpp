#include "penstock/error.hpp"

#include <cstring>

namespace penstock {

SystemError::SystemError(const std::string& what, int number)
    : Error(what + ": " + std::strerror(number)), number_(number) {}

}  // namespace penstock
