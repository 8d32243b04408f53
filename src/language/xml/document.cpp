#include "language/xml/document.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>

#include "language/xml/text.hpp"

#if PENSTOCK_HAVE_PUGIXML
#include <pugixml.hpp>
#endif

namespace penstock::language {
namespace {

std::string indented(std::size_t depth) { return std::string(2 * depth, ' '); }

void write_comments(std::string& out, const std::vector<std::string>& comments, std::size_t depth) {
    for (const auto& comment : comments) out += indented(depth) + "<!--" + comment + "-->\n";
}

void write(std::string& out, const Element& element, std::size_t depth) {
    write_comments(out, element.comments, depth);
    out += indented(depth) + "<" + element.name;
    for (const auto& each : element.attributes) out += attribute_text(each.name, each.value);
    if (element.children.empty() && element.last_comments.empty()) {
        out += "/>\n";
        return;
    }
    out += ">\n";
    for (const auto& child : element.children) write(out, child, depth + 1);
    write_comments(out, element.last_comments, depth + 1);
    out += indented(depth) + "</" + element.name + ">\n";
}

}  // namespace

const Attribute* Element::attribute(std::string_view wanted) const noexcept { return named(attributes, wanted); }

const std::string& Element::value(std::string_view wanted) const noexcept {
    static const std::string none;
    const auto* const found = attribute(wanted);
    return found == nullptr ? none : found->value;
}

SourcePlace Element::place_of(std::string_view attribute_name) const {
    const auto* const found = attribute(attribute_name);
    return found == nullptr ? place() : SourcePlace{*file, found->at.line, found->at.column};
}

void Element::set(std::string_view attribute_name, std::string value) {
    if (auto* const found = named(attributes, attribute_name)) found->value = std::move(value);
    else attributes.push_back({std::string(attribute_name), std::move(value), at});
}

void Element::erase(std::string_view attribute_name) {
    std::erase_if(attributes, [&](const Attribute& each) { return each.name == attribute_name; });
}

void add_error(std::vector<Finding>& findings, SourcePlace where, std::string message) {
    findings.push_back({Finding::Kind::error, std::move(where), std::move(message)});
}

bool has_errors(const std::vector<Finding>& findings) noexcept {
    return std::ranges::find(findings, Finding::Kind::error, &Finding::kind) != findings.end();
}

std::vector<Finding> warnings_of(std::vector<Finding> findings) {
    if (!has_errors(findings)) return findings;
    std::erase_if(findings, [](const Finding& each) { return each.kind == Finding::Kind::warning; });
    throw ApplicationError(std::move(findings));
}

std::string read_file(const std::string& path, std::size_t most) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) throw SystemError("cannot read the application '" + path + "'", errno != 0 ? errno : EIO);
    std::string text;
    char part[65536];
    while (file.read(part, sizeof part), file.gcount() > 0) {
        text.append(part, static_cast<std::size_t>(file.gcount()));
        if (text.size() > most)
            throw UsageError("'" + path + "' is larger than " + std::to_string(most) +
                             " bytes, the most that is read of an application");
    }
    if (file.bad()) throw SystemError("cannot read the application '" + path + "'", errno != 0 ? errno : EIO);
    return text;
}

std::string attribute_text(std::string_view name, std::string_view value) {
    constexpr std::pair<char, std::string_view> escapes[] = {{'&', "&amp;"},  {'<', "&lt;"},   {'>', "&gt;"},
                                                             {'"', "&quot;"}, {'\n', "&#10;"}, {'\r', "&#13;"},
                                                             {'\t', "&#9;"}};
    std::string text = " " + std::string(name) + "=\"";
    for (const char c : value) {
        const auto* const escape = std::ranges::find(escapes, c, [](const auto& each) { return each.first; });
        if (escape != std::end(escapes)) text += escape->second;
        else if (static_cast<unsigned char>(c) >= 0x20) text += c;
        else throw UsageError(in_quotes(value) + " cannot be written as XML: it contains a control character");
    }
    return text + "\"";
}

std::string text_of(const Document& document) {
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    write(out, document.root, 0);
    return out;
}

#if PENSTOCK_HAVE_PUGIXML
namespace {

class Reader {
  public:
    Reader(std::string_view text, const std::string& file, std::vector<Finding>& findings)
        : text_(text), file_(file), findings_(findings) {
        for (std::size_t at = 0; at < text.size(); ++at)
            if (text[at] == '\n') begins_.push_back(at + 1);
    }

    Element element(const pugi::xml_node& node) {
        Element made;
        made.name = node.name();
        made.file = &file_;
        auto at = static_cast<std::size_t>(node.offset_debug());
        made.at = spot_at(at == 0 ? 0 : at - 1);  // pugixml tells where the name is
        at += made.name.size();
        std::set<std::string_view> names;
        for (const auto& attribute : node.attributes()) {
            at = text_.find_first_not_of(" \t\r\n", at);
            const auto spot = spot_at(at);
            const auto quote = std::min(text_.find_first_of("\"'", at), text_.size() - 1);
            at = text_.find(text_[quote], quote + 1);
            at = at == text_.npos ? text_.size() : at + 1;
            if (!names.insert(attribute.name()).second)
                say(spot, "the attribute " + in_quotes(attribute.name()) + " is given twice");
            made.attributes.push_back({attribute.name(), attribute.value(), spot});
        }
        std::vector<std::string> comments;
        for (const auto& child : node.children()) {
            if (child.type() == pugi::node_element) {
                made.children.push_back(element(child));
                made.children.back().comments = std::exchange(comments, {});
            } else if (child.type() == pugi::node_comment) comments.emplace_back(child.value());
            else say(made.at, "<" + made.name + "> contains text: the language has attributes and elements only");
        }
        made.last_comments = std::move(comments);
        return made;
    }
    void say(Spot spot, std::string message) {
        add_error(findings_, {file_, spot.line, spot.column}, std::move(message));
    }
    /// The line and column of an offset.
    Spot spot_at(std::size_t offset) const {
        offset = std::min(offset, text_.size());
        const auto line = std::prev(std::upper_bound(begins_.begin(), begins_.end(), offset));
        // Columns are characters, not bytes.
        const auto column = trace::columns_of(text_.substr(*line, offset - *line));
        return {static_cast<int>(line - begins_.begin()) + 1, static_cast<int>(column) + 1};
    }

  private:
    std::string_view text_;
    std::vector<std::size_t> begins_{0};  ///< of lines
    const std::string& file_;
    std::vector<Finding>& findings_;
};

}  // namespace

std::unique_ptr<Document> read_document(std::string text, const std::string& file, const ApplicationLimits& limits,
                                        std::vector<Finding>& findings, Comments comments) {
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
    auto document = std::make_unique<Document>();
    document->file = file;
    Reader reader(text, document->file, findings);
    if (const auto refusal = refusal_of(text, limits); !refusal.message.empty()) {
        reader.say(reader.spot_at(refusal.offset), refusal.message);
        return nullptr;
    }
    pugi::xml_document parsed;
    const auto result = parsed.load_buffer(
        text.data(), text.size(),
        pugi::parse_escapes | pugi::parse_wconv_attribute | (comments == Comments::kept ? pugi::parse_comments : 0u),
        pugi::encoding_utf8);
    if (!result) {
        reader.say(reader.spot_at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, result.offset))),
                   std::string("this is not well-formed XML: ") + result.description());
        return nullptr;
    }
    const auto root = parsed.document_element();
    if (!root) {
        reader.say({},
                   "there is no element: an application begins with <application xmlns=\"urn:penstock:application:1\" "
                   "name=\"...\">");
        return nullptr;
    }
    for (auto other = root.next_sibling(); other; other = other.next_sibling())
        if (other.type() == pugi::node_element)
            reader.say(reader.spot_at(static_cast<std::size_t>(other.offset_debug()) - 1),
                       "a file has one outermost element, and this is a second one");
    document->root = reader.element(root);
    for (auto before = root.previous_sibling(); before; before = before.previous_sibling())
        if (before.type() == pugi::node_comment)
            document->root.comments.insert(document->root.comments.begin(), before.value());
    return document;
}

#else

std::unique_ptr<Document> read_document(std::string, const std::string& file, const ApplicationLimits&,
                                        std::vector<Finding>& findings, Comments) {
    add_error(findings, {file, 1, 1},
              "this Penstock was built without an XML reader: install libpugixml-dev and build it again");
    return nullptr;
}

#endif

}  // namespace penstock::language
