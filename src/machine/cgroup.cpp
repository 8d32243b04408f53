#include "machine/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "trace/text.hpp"

namespace penstock::cgroup {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::optional<std::uint64_t> number(const std::string& text) { return trace::number_of<std::uint64_t>(text); }

std::optional<std::uint64_t> number_in(const fs::path& file) {
    const auto lines = lines_of(file);
    return lines.empty() ? std::nullopt : number(lines.front());
}

// "cpu,cpuacct" has "cpu".
bool lists(const std::string& commas, const std::string& word) {
    return ("," + commas + ",").find("," + word + ",") != std::string::npos;
}

// mountinfo writes blanks in paths as \040.
std::string unescaped(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            plain.push_back(static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8)));
            i += 3;
        } else {
            plain.push_back(text[i]);
        }
    }
    return plain;
}

// Where a hierarchy is mounted, and which of its groups is seen there (in a container not always the topmost).
struct Mount {
    std::string point;
    std::string group;
};

// An empty controller means the one hierarchy of version 2.
std::optional<Mount> mount_of(const fs::path& root, const std::string& controller) {
    for (const auto& line : lines_of(root / "proc/self/mountinfo")) {
        const auto dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        std::string id, parent, device, group, point, type, source, options;
        std::istringstream(line.substr(0, dash)) >> id >> parent >> device >> group >> point;
        std::istringstream(line.substr(dash + 3)) >> type >> source >> options;
        const bool wanted = controller.empty() ? type == "cgroup2" : type == "cgroup" && lists(options, controller);
        if (wanted) return Mount{unescaped(point), unescaped(group)};
    }
    return std::nullopt;
}

// The group of this process, from proc/self/cgroup: "4:cpu,cpuacct:/a/b", and "0::/a/b" for version 2.
std::optional<std::string> group_of(const fs::path& root, const std::string& controller) {
    for (const auto& line : lines_of(root / "proc/self/cgroup")) {
        const auto first = line.find(':');
        const auto second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const auto controllers = line.substr(first + 1, second - first - 1);
        if (controller.empty() ? controllers.empty() : lists(controllers, controller)) return line.substr(second + 1);
    }
    return std::nullopt;
}

// The folders of this process's group and its ancestors, innermost first.
std::vector<fs::path> folders_of(const fs::path& root, const std::string& controller) {
    const auto group = group_of(root, controller);
    const auto mount = mount_of(root, controller);
    if (!group || !mount) return {};
    std::string below = *group;
    if (mount->group != "/" && below.starts_with(mount->group)) below.erase(0, mount->group.size());
    const fs::path top = root / fs::path(mount->point).relative_path();
    std::vector<fs::path> folders{top};
    fs::path folder = top;
    for (const auto& part : fs::path(below).relative_path()) {
        if (part == "..") return {top};  // outside what this container sees
        folder /= part;
        std::error_code ignored;
        if (!fs::is_directory(folder, ignored)) break;
        folders.push_back(folder);
    }
    std::reverse(folders.begin(), folders.end());
    return folders;
}

std::optional<double> ratio(std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
    if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

template <class T>
void tighten(std::optional<T>& least, std::optional<T> next) {
    if (next && (!least || *next < *least)) least = next;
}

std::optional<double> quota_of_version_2(const fs::path& folder) {
    const auto lines = lines_of(folder / "cpu.max");  // "50000 100000", or "max 100000" without a limit
    if (lines.empty()) return std::nullopt;
    std::string quota, period;
    std::istringstream(lines.front()) >> quota >> period;
    return ratio(number(quota), number(period));
}

std::optional<double> quota_of_version_1(const fs::path& folder) {
    return ratio(number_in(folder / "cpu.cfs_quota_us"), number_in(folder / "cpu.cfs_period_us"));  // quota -1: none
}

std::uint64_t page_cache(const fs::path& folder) {
    std::uint64_t bytes = 0;
    for (const auto& line : lines_of(folder / "memory.stat")) {
        std::string key, value;
        std::istringstream(line) >> key >> value;
        if (key == "inactive_file" || key == "active_file") bytes += number(value).value_or(0);
    }
    return bytes;
}

std::optional<std::uint64_t> left_in(const fs::path& folder, const char* limit_file, const char* usage_file) {
    const auto limit = number_in(folder / limit_file);  // "max" is no number
    const auto usage = number_in(folder / usage_file);
    if (!limit || !usage) return std::nullopt;
    const auto held = *usage - std::min(*usage, page_cache(folder));
    return *limit - std::min(*limit, held);
}

}  // namespace

std::optional<double> processor_quota(const fs::path& root) {
    std::optional<double> least;
    for (const auto& folder : folders_of(root, "")) tighten(least, quota_of_version_2(folder));
    for (const auto& folder : folders_of(root, "cpu")) tighten(least, quota_of_version_1(folder));
    return least;
}

std::optional<std::uint64_t> memory_left(const fs::path& root) {
    std::optional<std::uint64_t> least;
    for (const auto& folder : folders_of(root, "")) tighten(least, left_in(folder, "memory.max", "memory.current"));
    for (const auto& folder : folders_of(root, "memory"))
        tighten(least, left_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes"));
    return least;
}

}  // namespace penstock::cgroup
