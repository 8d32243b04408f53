// Newick's form, read and written without recursion: files may nest as deep as they like.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include "apps/likelihood/tree.hpp"

namespace penstock::apps::likelihood {
namespace {

constexpr std::string_view ends_a_word = "()[],:;' \t\r\n";

class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : text_{text}, file_{file} {}

    [[noreturn]] void refuse(const std::string& what) const { refuse(what, at_); }
    [[noreturn]] void refuse(const std::string& what, std::size_t at) const {
        const auto before = text_.substr(0, at);
        const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
        const auto begin = before.rfind('\n');
        const std::size_t column = begin == before.npos ? at + 1 : at - begin;
        throw MalformedFile(file_, line, "character " + std::to_string(column) + ": " + what);
    }
    /// The next character that is neither space nor comment; 0 at the end.
    char peek() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '[') {
                const auto end = text_.find(']', at_);
                if (end == text_.npos) refuse("a comment without its ]");
                at_ = end + 1;
            } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
                ++at_;
            } else {
                return c;
            }
        }
        return '\0';
    }
    std::size_t at() const noexcept { return at_; }
    void skip() { ++at_; }
    std::string found() { return at_ < text_.size() ? "'" + shown(text_.substr(at_, 1)) + "'" : "the end"; }

    /// A name or a label; empty where there is none.
    std::string word() {
        if (peek() != '\'') {
            const auto end = std::min(text_.find_first_of(ends_a_word, at_), text_.size());
            const auto word = text_.substr(at_, end - at_);
            at_ = end;
            return std::string(word);
        }
        std::string word;
        for (skip(); at_ < text_.size(); ++at_) {
            if (text_[at_] != '\'') {
                word += text_[at_];
            } else if (text_.substr(at_ + 1, 1) == "'") {
                word += text_[at_++];
            } else {
                skip();
                return word;
            }
        }
        refuse("a name without its closing quote");
    }
    double length() {
        if (peek() != ':') refuse("a branch without a length (: and a number), before " + found());
        skip();
        (void)peek();
        double value = 0;
        const char* const end = text_.data() + text_.size();
        const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
        if (error != std::errc{} || !std::isfinite(value)) refuse("a branch whose length is no number");
        if (value < 0) refuse("a branch of a length below 0");
        at_ = static_cast<std::size_t>(stop - text_.data());
        return value;
    }

  private:
    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
};

/// A node as it is read.
struct Draft {
    std::optional<std::size_t> parent;
    std::vector<std::size_t> children;
    double length = 0;
    std::optional<Node> tip;
};

std::vector<Draft> read_drafts(std::string_view text, std::span<const std::string> names, const std::string& file) {
    std::unordered_map<std::string_view, Node> numbers;
    for (std::size_t i = 0; i < names.size(); ++i) numbers.emplace(names[i], static_cast<Node>(i));
    std::vector<bool> seen(names.size());
    Reader reader(text, file);
    if (reader.peek() != '(') reader.refuse("a tree in Newick's form begins with (, and here is " + reader.found());
    std::vector<Draft> drafts(1);
    reader.skip();
    std::size_t open = 0;     // the node whose children are read
    bool before_node = true;  // and a child comes next
    while (true) {
        const char c = reader.peek();
        if (before_node && c == '(') {
            drafts[open].children.push_back(drafts.size());
            drafts.push_back({open, {}, 0, {}});
            open = drafts.size() - 1;
            reader.skip();
        } else if (before_node) {
            const std::size_t at = reader.at();
            const auto name = reader.word();
            if (name.empty()) reader.refuse("a name or ( should come here, and not " + reader.found());
            const auto number = numbers.find(name);
            if (number == numbers.end()) reader.refuse("the alignment has no sequence " + shown(name), at);
            if (seen[number->second]) reader.refuse("the name " + shown(name) + " occurs a second time", at);
            seen[number->second] = true;
            drafts[open].children.push_back(drafts.size());
            drafts.push_back({open, {}, reader.length(), number->second});
            before_node = false;
        } else if (c == ',') {
            reader.skip();
            before_node = true;
        } else if (c == ')') {
            reader.skip();
            (void)reader.word();
            if (!drafts[open].parent) break;
            drafts[open].length = reader.length();
            open = *drafts[open].parent;
        } else {
            reader.refuse(", or ) should come here, and not " + reader.found());
        }
    }
    if (reader.peek() == ':') (void)reader.length();  // of a branch above the root, on which nothing depends
    if (reader.peek() != ';') reader.refuse("the tree ends with ; and not with " + reader.found());
    reader.skip();
    if (reader.peek() != '\0') reader.refuse("there is more behind the end of the tree: " + reader.found());
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!seen[i]) throw MalformedFile(file, 0, "the tree lacks the sequence " + shown(names[i]));
    return drafts;
}

/// A neighbour and how far it is.
struct Edge {
    std::size_t to;
    double length;
};

}  // namespace

Tree parse_newick(std::string_view text, std::span<const std::string> names, const std::string& file) {
    const auto drafts = read_drafts(text, names, file);
    std::vector<std::vector<Edge>> edges(drafts.size());
    std::size_t start = 0;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
        if (drafts[i].tip == Node{0}) start = i;
        if (!drafts[i].parent) continue;
        edges[i].push_back({*drafts[i].parent, drafts[i].length});
        edges[*drafts[i].parent].push_back({i, drafts[i].length});
    }
    for (std::size_t root = 0; edges[root].size() == 1;) {  // brackets around a whole tree
        const std::size_t inside = edges[root][0].to;
        std::erase_if(edges[inside], [&](const Edge& edge) { return edge.to == root; });
        root = inside;
    }
    // From tip 0 outwards. A node with one way on is a point of its branch; one with more than two gets more nodes.
    Tree tree(names.size());
    auto next = static_cast<Node>(names.size());
    struct Visit {
        std::size_t draft, from;
        double length;
        Node parent;
        std::size_t place;
    };
    std::vector<Visit> left{{edges[start][0].to, start, edges[start][0].length, 0, 0}};
    const auto hang = [&](Node made, const Visit& visit) {
        if (visit.parent == 0) tree.set_top(made);
        else tree.attach(visit.parent, visit.place, made);
        tree.set_length(made, visit.length);
    };
    while (!left.empty()) {
        Visit visit = left.back();
        left.pop_back();
        if (const auto tip = drafts[visit.draft].tip) {
            hang(*tip, visit);
            continue;
        }
        auto on = edges[visit.draft];
        std::erase_if(on, [&](const Edge& edge) { return edge.to == visit.from; });
        if (on.size() == 1) {
            left.push_back({on[0].to, visit.draft, visit.length + on[0].length, visit.parent, visit.place});
            continue;
        }
        for (std::size_t i = 0; i + 1 < on.size(); ++i) {
            const Node made = next++;
            hang(made, visit);
            left.push_back({on[i].to, visit.draft, on[i].length, made, 0});
            if (i + 2 == on.size()) left.push_back({on[i + 1].to, visit.draft, on[i + 1].length, made, 1});
            visit = {visit.draft, visit.from, 0, made, 1};
        }
    }
    return tree;
}

std::string newick_name(const std::string& name) {
    if (!name.empty() && name.find_first_of(ends_a_word) == name.npos) return name;
    std::string quoted = "'";
    for (const char c : name) (quoted += c) += c == '\'' ? "'" : "";
    return quoted + "'";
}

std::string to_newick(const Tree& tree, std::span<const std::string> names, int digits) {
    const auto length = [&](Node node) {
        char text[64];
        std::snprintf(text, sizeof text, ":%.*g", digits, tree.length(node));
        return std::string(text);
    };
    const auto name = [&](Node tip) { return newick_name(names[tip]); };
    // Tip 0 hangs at the same node as the first two.
    std::string text = "(" + name(0) + length(tree.top());
    struct Visit {
        Node node;
        bool opened;
    };
    std::vector<Visit> left{{tree.children(tree.top())[1], false}, {tree.children(tree.top())[0], false}};
    bool after_node = true;
    while (!left.empty()) {
        const auto [node, opened] = left.back();
        left.pop_back();
        if (!opened && after_node) text += ',';
        after_node = true;
        if (tree.is_tip(node)) {
            text += name(node) + length(node);
        } else if (opened) {
            text += ")" + length(node);
        } else {
            text += '(';
            after_node = false;
            left.push_back({node, true});
            left.push_back({tree.children(node)[1], false});
            left.push_back({tree.children(node)[0], false});
        }
    }
    return text + ");";
}

}  // namespace penstock::apps::likelihood
