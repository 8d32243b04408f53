// A tree of elements as XML again.
#include "language/xml/document.hpp"
#include "language/xml/text.hpp"

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

std::string attribute_text(std::string_view name, std::string_view value) {
    std::string text = " " + std::string(name) + "=\"";
    for (const char c : value) switch (c) {
            case '&':
                text += "&amp;";
                break;
            case '<':
                text += "&lt;";
                break;
            case '>':
                text += "&gt;";
                break;
            case '"':
                text += "&quot;";
                break;
            case '\n':
                text += "&#10;";
                break;
            case '\r':
                text += "&#13;";
                break;
            case '\t':
                text += "&#9;";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20)
                    throw UsageError(in_quotes(value) + " cannot be written as XML: it contains a control character");
                text += c;
        }
    return text + "\"";
}

std::string text_of(const Document& document) {
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    write(out, document.root, 0);
    return out;
}

}  // namespace penstock::language
