#include "peers/photograph.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace bench {
namespace {

std::string python() {
    if (const char* const named = std::getenv("PENSTOCK_BENCH_PYTHON")) return named;
#if defined(PENSTOCK_BENCH_DEFAULT_PYTHON)
    return PENSTOCK_BENCH_DEFAULT_PYTHON;
#else
    return "python3";
#endif
}

}  // namespace

std::optional<Photograph> photograph(const std::string& file) {
    // Names of files are the benchmarks' own, so nothing needs quoting.
    const std::string command = "'" + python() +
                                "' -c \"import importlib.util, pathlib, sys; from PIL import Image; "
                                "folder = pathlib.Path(importlib.util.find_spec('skimage').origin).parent / 'data'; "
                                "Image.open(folder / '" +
                                file + "').convert('RGB').save(sys.stdout.buffer, 'ppm')\" 2>/dev/null";
    const auto close = [](std::FILE* stream) { (void)pclose(stream); };
    const std::unique_ptr<std::FILE, decltype(close)> stream{popen(command.c_str(), "r"), close};
    Photograph made;
    if (!stream || std::fscanf(stream.get(), "P6 %zu %zu 255", &made.columns, &made.rows) != 2 ||
        std::fgetc(stream.get()) == EOF)
        return {};
    made.rgb.resize(made.rows * made.columns * 3);
    if (std::fread(made.rgb.data(), 1, made.rgb.size(), stream.get()) != made.rgb.size()) return {};
    return made;
}

}  // namespace bench
