// Figures as text: a table (CSV) with a row for each buffer.
#include <charconv>
#include <map>
#include <tuple>

#include "components/classes.hpp"
#include "components/ends/names.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

std::string text_of(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// As RFC 4180 has it.
std::string cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == text.npos) return text;
    std::string made = "\"";
    for (const char each : text) made += each == '"' ? "\"\"" : std::string(1, each);
    return made + "\"";
}

/// Rows stand in the order of their numbers, whatever the order in which they come.
struct WriteTable {
    Input<double> values{"values"};
    Setting<std::string> path{"path", "", {.doc = "The file."}};
    Setting<std::string> columns{
        "columns", "", {.doc = "Names of the values, with blanks between; empty: value-1, value-2 ..."}};
    Naming naming{"item-"};

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which table is written: set `path`");
        file_ = std::make_unique<FileBeside>(path);
        naming.begin();
    }
    void operator()() {
        const auto read = values.read();
        const auto& tags = read.tags();
        auto row = cell(naming.of(tags.user));
        for (const double value : read.span()) row += "," + text_of(value);
        if (width_ != 0 && width_ != read.size())
            throw UsageError("a row of " + std::to_string(read.size()) + " values came behind one of " +
                             std::to_string(width_));
        width_ = read.size();
        rows_.emplace(std::tuple(tags.user[0], tags.user[1], tags.sequence), row + "\n");
    }
    void finish() {
        std::string head = "name", rest = columns.get();
        for (std::size_t i = 0; i < width_; ++i) {
            const auto begin = std::min(rest.find_first_not_of(' '), rest.size());
            const auto end = std::min(rest.find(' ', begin), rest.size());
            head += "," + (begin == end ? "value-" + std::to_string(i + 1) : cell(rest.substr(begin, end - begin)));
            rest.erase(0, end);
        }
        head += "\n";
        file_->write(std::span<const char>(head));
        for (const auto& [place, row] : rows_) file_->write(std::span<const char>(row));
        file_->put_in_place();
    }

  private:
    std::unique_ptr<FileBeside> file_;
    std::multimap<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::string> rows_;
    std::size_t width_ = 0;
};

}  // namespace

void add_tables(Components& components) {
    components.add<WriteTable>("write-table", "A table (CSV) with a row for each buffer: its name, and its values.");
}

}  // namespace penstock::components
