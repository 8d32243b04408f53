#include "stream/description/words.hpp"

#include <array>
#include <locale>
#include <sstream>
#include <utility>

namespace penstock::streaming {

const char* text_of(Policy policy) noexcept {
    switch (policy) {
        case Policy::demand_driven:
            return "demand driven";
        case Policy::round_robin:
            return "round robin";
        case Policy::random:
            return "random";
        case Policy::broadcast:
            return "broadcast";
        case Policy::by_key:
            return "by key";
        case Policy::chosen:
            return "chosen";
    }
    return "";
}

const char* text_of(WhenStreamFull what) noexcept {
    switch (what) {
        case WhenStreamFull::wait:
            return "wait";
        case WhenStreamFull::drop_oldest:
            return "drop oldest";
        case WhenStreamFull::drop_newest:
            return "drop newest";
        case WhenStreamFull::fail:
            return "fail";
    }
    return "";
}

std::string short_number(double value, const std::string& unit) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(3);
    for (const auto& [factor, prefix] :
         std::array<std::pair<double, const char*>, 3>{{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}}})
        if (value >= 0.9995 * factor) {
            text << value / factor << prefix << unit;
            return text.str();
        }
    text << value << ' ' << unit;
    return text.str();
}

}  // namespace penstock::streaming
