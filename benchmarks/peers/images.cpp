#include "peers/images.hpp"

#include <sstream>

namespace bench {

ImageLibraries::ImageLibraries() : server_(PENSTOCK_BENCH_IMAGES_SERVER, 1) {
    if (!server_.available()) return;
    std::istringstream words{server_.ask("libraries")};
    for (std::string name; words >> name;) names_.push_back(name);
}

std::string ImageLibraries::list() const {
    std::string all;
    for (const std::string& name : names_) all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? "none" : all;
}

}  // namespace bench
