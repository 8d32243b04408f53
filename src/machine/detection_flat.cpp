#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "machine/detection.hpp"

namespace penstock::detection {
namespace {

// Where /proc/cpuinfo names a processor (x86 does, aarch64 does not).
std::string model_from_cpuinfo() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return {};
}

std::size_t from_c_library(int name) { return static_cast<std::size_t>(std::max(0L, sysconf(name))); }

}  // namespace

Found flat(const std::vector<int>& allowed) {
    Found found;
    found.model = model_from_cpuinfo();
    found.line_size = from_c_library(_SC_LEVEL1_DCACHE_LINESIZE);
    for (const int index : allowed) {
        Processor processor;
        processor.index = index;
        processor.core = index;
        processor.l1d.bytes = from_c_library(_SC_LEVEL1_DCACHE_SIZE);
        processor.l2.bytes = from_c_library(_SC_LEVEL2_CACHE_SIZE);
        processor.l3.bytes = from_c_library(_SC_LEVEL3_CACHE_SIZE);
        found.processors.push_back(processor);
    }
    return found;
}

}  // namespace penstock::detection
