#include "apps/likelihood/alignment.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <unordered_set>

namespace penstock::apps::likelihood {
namespace {

constexpr std::string_view letters = "?ACMGRSVTWYHKDBN";  // at each set of bases
constexpr std::size_t strict_name = 10;

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_blank(std::string_view line) noexcept { return std::ranges::all_of(line, is_space); }

struct Line {
    std::size_t number;
    std::string_view text;
};

/// Those that are not blank.
std::vector<Line> lines_of(std::string_view text) {
    std::vector<Line> lines;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        ++number;
        if (!is_blank(text.substr(0, end))) lines.push_back({number, text.substr(0, end)});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

/// Takes the next word off the text; empty at its end.
std::string_view next_word(std::string_view& text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    const auto end = static_cast<std::size_t>(std::ranges::find_if(text, is_space) - text.begin());
    const auto word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

/// Appends the bases of a line, without its spaces.
void append(std::vector<Bases>& sequence, const Line& line, std::string_view text, const std::string& file) {
    for (const char c : text) {
        if (is_space(c)) continue;
        const Bases bases = bases_of(c);
        if (bases == 0)
            throw MalformedFile(
                file, line.number,
                "'" + shown({&c, 1}) + "' is no base" + (c == '.' ? ": write the base itself, or - for a gap" : ""));
        sequence.push_back(bases);
    }
}

void check_names(const Alignment& alignment, const std::vector<std::size_t>& lines, const std::string& file) {
    std::unordered_set<std::string_view> known;
    for (std::size_t i = 0; i < alignment.taxa(); ++i)
        if (!known.insert(alignment.names[i]).second)
            throw MalformedFile(file, lines[i], "the name " + shown(alignment.names[i]) + " occurs a second time");
    if (alignment.taxa() < 3)
        throw MalformedFile(file, 0,
                            "a tree needs at least 3 sequences; there are " + std::to_string(alignment.taxa()));
}

/// The two numbers of a PHYLIP file's first line.
std::pair<std::size_t, std::size_t> counts_in(const Line& line, const std::string& file) {
    auto rest = line.text;
    std::size_t counts[2];
    for (std::size_t& count : counts) {
        const auto word = next_word(rest);
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
        if (error != std::errc{} || end != word.data() + word.size() || count == 0)
            throw MalformedFile(file, line.number,
                                "a PHYLIP file begins with the numbers of sequences and sites, and this one with '" +
                                    shown(line.text) + "'");
    }
    if (!is_blank(rest))
        throw MalformedFile(file, line.number,
                            "'" + shown(rest) + "' stands behind the numbers of sequences and sites");
    return {counts[0], counts[1]};
}

/// One way to read the lines behind the first.
struct Layout {
    bool interleaved;
    bool strict;  ///< names of ten characters
};

class Phylip {
  public:
    Phylip(const std::vector<Line>& lines, std::size_t taxa, std::size_t sites, const std::string& file, Layout layout)
        : lines_{lines}, taxa_{taxa}, sites_{sites}, file_{file}, layout_{layout} {}

    Alignment read() {
        for (at_ = 1; at_ < lines_.size(); ++at_) take(lines_[at_]);
        if (alignment_.taxa() < taxa_)
            refuse(lines_.back(), std::to_string(taxa_) + " sequences are announced, and there are " +
                                      std::to_string(alignment_.taxa()));
        for (std::size_t i = 0; i < taxa_; ++i)
            if (alignment_.sequences[i].size() < sites_) refuse_length(i, lines_.back());
        check_names(alignment_, named_in_, file_);
        return std::move(alignment_);
    }
    /// How far it came.
    std::size_t at() const noexcept { return at_; }

  private:
    [[noreturn]] void refuse(const Line& line, const std::string& what) const {
        throw MalformedFile(file_, line.number, what);
    }
    [[noreturn]] void refuse_length(std::size_t i, const Line& line) const {
        refuse(line, "the sequence " + shown(alignment_.names[i]) + " has " +
                         std::to_string(alignment_.sequences[i].size()) + " sites where " + std::to_string(sites_) +
                         " are announced");
    }
    void take(const Line& line) {
        const bool first_round = alignment_.taxa() < taxa_;
        const bool open = !layout_.interleaved && alignment_.taxa() > 0 && alignment_.sequences.back().size() < sites_;
        std::string_view text = line.text;
        std::size_t row = alignment_.taxa();
        if (open) {
            --row;
        } else if (first_round) {
            begin(line, text);
        } else if (layout_.interleaved) {
            row = next_++ % taxa_;
        } else {
            refuse(line, "there is more behind the last of " + std::to_string(taxa_) + " sequences");
        }
        append(alignment_.sequences[row], line, text, file_);
        if (alignment_.sequences[row].size() > sites_) refuse_length(row, line);
    }
    void begin(const Line& line, std::string_view& text) {
        std::string_view name;
        if (layout_.strict) {
            name = text.substr(0, strict_name);
            text.remove_prefix(name.size());
            while (!name.empty() && is_space(name.front())) name.remove_prefix(1);
            while (!name.empty() && is_space(name.back())) name.remove_suffix(1);
        } else {
            name = next_word(text);
        }
        if (name.empty()) refuse(line, "a sequence without a name");
        alignment_.names.emplace_back(name);
        alignment_.sequences.emplace_back();
        named_in_.push_back(line.number);
    }

    const std::vector<Line>& lines_;
    std::size_t taxa_, sites_;
    const std::string& file_;
    Layout layout_;
    Alignment alignment_;
    std::vector<std::size_t> named_in_;
    std::size_t at_ = 0, next_ = 0;
};

}  // namespace

std::string shown(std::string_view text) {
    constexpr std::size_t most = 40;
    std::string result;
    for (const char c : text.substr(0, most)) {
        if (c >= ' ' && c <= '~') {
            result += c;
        } else {
            constexpr std::string_view digits = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(c);
            ((result += "\\x") += digits[byte >> 4]) += digits[byte & 15];
        }
    }
    return text.size() > most ? result + "..." : result;
}

std::string text_of(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad())
        throw SystemError("cannot read the file '" + path + "'", errno != 0 ? errno : EIO);
    return text;
}

Bases bases_of(char character) noexcept {
    const char upper = character >= 'a' && character <= 'z' ? static_cast<char>(character - 'a' + 'A') : character;
    if (upper == 'U') return bases_of('T');
    if (upper == '-' || upper == '?' || upper == 'X') return any_base;
    const auto at = letters.find(upper);
    return at == letters.npos ? Bases{0} : static_cast<Bases>(at);
}

char letter_of(Bases bases) noexcept { return bases == any_base ? '-' : letters[bases & any_base]; }

Alignment parse_phylip(std::string_view text, const std::string& file) {
    const auto lines = lines_of(text);
    if (lines.empty()) throw MalformedFile(file, 0, "it is empty");
    const auto [taxa, sites] = counts_in(lines.front(), file);
    // Nothing in the file says which of these it is. When none fits, the one that came farthest tells what is wrong;
    // but names of ten characters are believed in only where the first sequence cannot be read otherwise: in that form
    // much is a name that is none.
    std::optional<MalformedFile> wrong;
    std::size_t farthest = 0;
    for (const Layout layout : {Layout{true, false}, Layout{false, false}, Layout{true, true}, Layout{false, true}}) {
        Phylip phylip(lines, taxa, sites, file, layout);
        try {
            return phylip.read();
        } catch (const MalformedFile& error) {
            if (wrong && (phylip.at() <= farthest || (layout.strict && farthest > 1))) continue;
            wrong.emplace(error);
            farthest = phylip.at();
        }
    }
    throw *wrong;
}

Alignment parse_fasta(std::string_view text, const std::string& file) {
    Alignment alignment;
    std::vector<std::size_t> named_in;
    for (const Line& line : lines_of(text)) {
        if (line.text.front() == '>') {
            std::string_view rest = line.text.substr(1);
            const auto name = next_word(rest);
            if (name.empty()) throw MalformedFile(file, line.number, "a sequence without a name");
            alignment.names.emplace_back(name);
            alignment.sequences.emplace_back();
            named_in.push_back(line.number);
        } else if (alignment.names.empty()) {
            throw MalformedFile(file, line.number, "a FASTA file begins with '>' and a name");
        } else {
            append(alignment.sequences.back(), line, line.text, file);
        }
    }
    if (alignment.taxa() == 0) throw MalformedFile(file, 0, "it is empty");
    if (alignment.sites() == 0)
        throw MalformedFile(file, named_in.front(), "the sequence " + shown(alignment.names.front()) + " is empty");
    for (std::size_t i = 1; i < alignment.taxa(); ++i)
        if (alignment.sequences[i].size() != alignment.sites())
            throw MalformedFile(file, named_in[i],
                                "the sequence " + shown(alignment.names[i]) + " has " +
                                    std::to_string(alignment.sequences[i].size()) + " sites, and " +
                                    shown(alignment.names.front()) + " has " + std::to_string(alignment.sites()) +
                                    ": sequences must be aligned");
    check_names(alignment, named_in, file);
    return alignment;
}

Alignment read_alignment(const std::string& path) {
    const std::string text = text_of(path);
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && text[first] == '>' ? parse_fasta(text, path) : parse_phylip(text, path);
}

std::string to_phylip(const Alignment& alignment) {
    std::string text = std::to_string(alignment.taxa()) + " " + std::to_string(alignment.sites()) + "\n";
    for (std::size_t i = 0; i < alignment.taxa(); ++i) {
        text += alignment.names[i] + "  ";
        for (const Bases bases : alignment.sequences[i]) text += letter_of(bases);
        text += '\n';
    }
    return text;
}

}  // namespace penstock::apps::likelihood
