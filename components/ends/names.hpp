// What files that come from others are called: after the file that a source read, or by numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "components/files/beside.hpp"
#include "components/picture.hpp"
#include "penstock/filter.hpp"

namespace penstock::components {

/// What a source reads at a path: told to those in its process who name files after it, as long as it is there.
struct FilesRead {
    std::string path, endings;
    std::vector<std::string> files;

    static std::shared_ptr<const FilesRead> tell(FilesRead read);
    /// What a source that began last reads there; null where there is none.
    static std::shared_ptr<const FilesRead> find(const std::string& path, const std::string& endings);
};

/// Settings of a filter that names files.
struct Naming {
    explicit Naming(std::string otherwise) : otherwise_(std::move(otherwise)) {}
    Setting<std::string> names_of{
        "names-of", "", {.doc = "The source's `path`: names are those of its files; empty: numbers."}};
    Setting<std::string> names_endings{
        "names-endings",
        "",
        {.doc = "The source's `endings`, where it is in another process or several read one folder."}};

    /// Looks for the files. Throws as files_at().
    void begin() {
        if (names_of.get().empty()) return take({});
        const auto read = FilesRead::find(names_of, names_endings);
        take(read != nullptr ? read->files : files_at(names_of, names_endings));
        asked_ = false;  // the source may begin later
    }
    /// For the buffer with these tags; a tile's place in its picture stands behind the name.
    std::string of(const std::array<std::uint64_t, 2>& user) {
        ask_source();
        if (!files_.empty() && user[0] >= files_.size())
            throw UsageError("there is no file number " + std::to_string(user[0]) + " at '" + names_of.get() +
                             "': is it what the source reads?");
        auto name = files_.empty() ? otherwise_ + digits(user[0]) : stems_[user[0]];
        if (user[1] >> 48 != 0 || (user[1] & 0xffffffff) > 0x10001) {
            const auto place = Grid::of(user[1]);
            name += "-" + std::to_string(place.row) + "-" + std::to_string(place.column);
        }
        return name;
    }
    /// For messages: the file, or its number.
    std::string source_of(const std::array<std::uint64_t, 2>& user) {
        ask_source();
        if (user[0] < files_.size()) return "'" + files_[user[0]] + "'";
        return otherwise_ + std::to_string(user[0]) + " (counted from 0; `names-of` has it named)";
    }

  private:
    /// Once it has something to name, the source has begun, which it may not have at the beginning.
    void ask_source() {
        if (std::exchange(asked_, true) || names_of.get().empty()) return;
        if (const auto read = FilesRead::find(names_of, names_endings)) take(read->files);
    }
    void take(std::vector<std::string> files) {
        files_ = std::move(files);
        stems_.clear();
        for (const auto& each : files_) stems_.push_back(stem_of(each));
        auto sorted = stems_;
        std::ranges::sort(sorted);
        if (std::ranges::adjacent_find(sorted) == sorted.end()) return;
        // "a.jpg" and "a.png" would both become "a": they keep their endings.
        for (std::size_t i = 0; i < files_.size(); ++i) stems_[i] = files_[i].substr(files_[i].rfind('/') + 1);
    }
    static std::string digits(std::uint64_t number) {
        const auto text = std::to_string(number);
        return std::string(6 - std::min<std::size_t>(6, text.size()), '0') + text;
    }
    std::string otherwise_;
    std::vector<std::string> files_, stems_;
    bool asked_ = false;
};

}  // namespace penstock::components
