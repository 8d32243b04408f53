#include "store/ways/store_way_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/topology.hpp"
#include "store/ways/ways.hpp"

namespace penstock {
namespace {

constexpr std::size_t longest = 4096;  // bytes; a longer file is not ours
constexpr double largest_move = 1.5;   // of the round trip to the reader; behind another cache it is 3 times or more

/// $XDG_CACHE_HOME, or ~/.cache; a relative path counts as none.
std::optional<std::filesystem::path> cache_folder() {
    if (const char* given = secure_getenv("XDG_CACHE_HOME"); given != nullptr && *given == '/') return given;
    if (const char* home = secure_getenv("HOME"); home != nullptr && *home == '/')
        return std::filesystem::path(home) / ".cache";
    return std::nullopt;
}

/// What the result depends on: the processors, what they can do, and how far the reader is.
std::string machine_in_one_line(int reader) {
    const auto& topology = Topology::here();
    const auto writer = current_processor();
    const auto distance = topology.find(writer) != nullptr ? topology.distance(writer, reader) : Distance::other;
    return topology.description() + (topology.has_cldemote() ? ", CLDEMOTE" : "") + ", reader at " +
           std::string(name(distance));
}

std::optional<std::string> content_of(const std::filesystem::path& path) {
    const OwnedDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (fstat(file.get(), &status) != 0) return std::nullopt;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return std::nullopt;
    std::array<char, longest> text;
    const auto length = read(file.get(), text.data(), text.size());
    if (length <= 0 || static_cast<std::size_t>(length) == text.size()) return std::nullopt;
    return std::string(text.data(), static_cast<std::size_t>(length));
}

bool write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const auto written = write(file, text.data(), text.size());
        if (written <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

std::optional<StoreWayFile> StoreWayFile::here() {
    const auto reader = reader_processor();
    const auto folder = cache_folder();
    if (!reader || !folder) return std::nullopt;
    auto machine = machine_in_one_line(*reader);
    // A name for the file; which machine it is of stands inside.
    const auto name = "stores-" + std::to_string(std::hash<std::string>()(machine));
    return StoreWayFile(*folder / "penstock" / name, std::move(machine));
}

std::string StoreWayFile::text_of(const StoreWays& ways, long round_trip) const {
    std::string text = "penstock: ways of storing, 3\n" + machine_ + "\nreader " + std::to_string(round_trip) + " ns\n";
    text += "line " + std::to_string(ways.line_picoseconds_) + " ps\n" + std::string(name(ways.smaller_)) + "\n";
    for (std::size_t i = 0; i < StoreWays::sizes.size(); ++i)
        text += std::to_string(StoreWays::sizes[i]) + " " + std::string(name(ways.choices_[i].other)) + " " +
                std::to_string(ways.choices_[i].from) + "\n";
    return text + "end\n";
}

std::optional<StoreWays> StoreWayFile::load(double round_trip) const {
    const auto content = content_of(path_);
    if (!content) return std::nullopt;
    // Read as if it were right; it is, when the same comes out again.
    std::istringstream in(*content);
    std::string word;
    long then = 0;
    std::getline(in, word);
    std::getline(in, word);
    in >> word >> then >> word;
    const auto next_way = [&] {
        in >> word;
        return store_way_of(word).value_or(StoreWay::plain);
    };
    std::uint32_t line = 0;
    in >> word >> line >> word;
    StoreWays ways(next_way());
    ways.line_picoseconds_ = line;
    for (auto& choice : ways.choices_) {
        in >> word;
        choice.other = next_way();
        in >> choice.from;
    }
    const double moved = round_trip / static_cast<double>(then);
    if (*content != text_of(ways, then) || !(moved < largest_move && moved > 1 / largest_move)) return std::nullopt;
    return ways;
}

bool StoreWayFile::save(const StoreWays& ways, double round_trip) const {
    std::error_code error;
    std::filesystem::create_directories(path_.parent_path(), error);
    if (error) return false;
    std::string temporary = path_.string() + ".XXXXXX";
    bool written = false;
    {
        const OwnedDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));
        if (!file) return false;
        written = write_all(file.get(), text_of(ways, std::lround(round_trip)));
    }
    if (written && rename(temporary.c_str(), path_.c_str()) == 0) return true;
    unlink(temporary.c_str());
    return false;
}

}  // namespace penstock
