// What is looked at before a text is parsed, in one pass without recursion, so that nothing hostile comes to the
// parser.

#include "language/xml/document.hpp"
#include "trace/text.hpp"

namespace penstock::language {
namespace {

bool is_allowed(std::optional<char32_t> character) noexcept {
    return character && *character != 0xfffe && *character != 0xffff &&
           (*character >= 0x20 || *character == '\t' || *character == '\n' || *character == '\r');
}

bool is_known_reference(std::string_view name) noexcept {
    if (name.starts_with("#x"))
        return name.size() > 2 && name.size() <= 8 && name.find_first_not_of("0123456789abcdefABCDEF", 2) == name.npos;
    if (name.starts_with("#"))
        return name.size() > 1 && name.size() <= 8 && name.find_first_not_of("0123456789", 1) == name.npos;
    return name == "amp" || name == "lt" || name == "gt" || name == "quot" || name == "apos";
}

class Scan {
  public:
    Scan(std::string_view text, const ApplicationLimits& limits) : text_(text), limits_(limits) {}

    Refusal run() {
        for (auto rest = text_; !rest.empty();) {
            const auto at = text_.size() - rest.size();
            if (static_cast<signed char>(rest.front()) >= ' ') rest.remove_prefix(1);  // plain, as nearly all are
            else if (!is_allowed(trace::take_character(rest)))
                return {at, "this is not a character of UTF-8 that XML allows: save the file as UTF-8"};
        }
        while (at_ < text_.size() && refusal_.message.empty()) step();
        return refusal_;
    }

  private:
    void refuse(std::size_t offset, std::string message) {
        if (refusal_.message.empty()) refusal_ = {offset, std::move(message)};
    }
    void pass(std::string_view end) {
        const auto found = text_.find(end, at_);
        at_ = found == text_.npos ? text_.size() : found + end.size();
    }
    void reference() {
        const auto end = text_.find(';', at_);
        const auto name =
            end == text_.npos || end > at_ + 32 ? std::string_view() : text_.substr(at_ + 1, end - at_ - 1);
        if (!is_known_reference(name))
            refuse(at_,
                   "entities are not read, but for &amp; &lt; &gt; &quot; &apos; and numbers of characters: write '&' "
                   "as &amp;");
        ++at_;
    }
    void step() {
        const auto rest = text_.substr(at_);
        if (rest.front() == '&') return reference();
        if (rest.front() != '<') {
            ++at_;
        } else if (rest.starts_with("<!--")) {
            at_ += 4;
            pass("-->");
        } else if (rest.starts_with("<![CDATA[")) {
            refuse(at_, "CDATA sections are not read: the language has no text between elements");
        } else if (rest.starts_with("<!")) {
            refuse(at_, "document types and entities are not read: take this declaration out");
        } else if (rest.starts_with("<?")) {
            declaration();
        } else {
            tag();
        }
    }
    void declaration() {
        const auto end = std::min(text_.find("?>", at_), text_.size());
        const auto whole = text_.substr(at_, end - at_);
        if (at_ != 0 || !whole.starts_with("<?xml "))
            return refuse(at_, "processing instructions are not read: take this one out");
        const auto encoding = whole.find("encoding");
        if (encoding != whole.npos) {
            const auto quote = whole.find_first_of("\"'", encoding);
            auto name = quote == whole.npos ? std::string() : std::string(whole.substr(quote + 1, 5));
            std::transform(name.begin(), name.end(), name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
            if (name != "utf-8")
                return refuse(
                    at_ + encoding,
                    "applications are written in UTF-8: save the file so, and say encoding=\"UTF-8\" or nothing");
        }
        at_ = std::min(end + 2, text_.size());
    }
    void tag() {
        const auto begin = at_;
        const bool closes = begin + 1 < text_.size() && text_[begin + 1] == '/';
        bool empty = false;
        for (++at_; at_ < text_.size() && text_[at_] != '>' && refusal_.message.empty();) {
            if (text_[at_] == '"' || text_[at_] == '\'') value();
            else empty = text_[at_++] == '/';
        }
        ++at_;
        if (closes) {
            if (depth_ > 0) --depth_;
        } else if (!empty && ++depth_ > limits_.depth) {
            refuse(begin, "elements are nested deeper than " + std::to_string(limits_.depth) + ": make groups of them");
        }
    }
    void value() {
        const char quote = text_[at_];
        const auto begin = ++at_;
        while (at_ < text_.size() && text_[at_] != quote && refusal_.message.empty()) {
            if (text_[at_] == '&') reference();
            else if (text_[at_] == '<')
                refuse(at_, "an attribute cannot contain '<': write it as &lt;, or close the attribute before it");
            else ++at_;
        }
        if (at_ - begin > limits_.attribute_bytes)
            refuse(begin, "an attribute is longer than " + std::to_string(limits_.attribute_bytes) + " bytes");
        if (at_ < text_.size()) ++at_;
    }

    std::string_view text_;
    const ApplicationLimits& limits_;
    std::size_t at_ = 0, depth_ = 0;
    Refusal refusal_;
};

}  // namespace

Refusal refusal_of(std::string_view text, const ApplicationLimits& limits) {
    if (text.size() > limits.bytes) return {0, "the text is larger than " + std::to_string(limits.bytes) + " bytes"};
    return Scan(text, limits).run();
}

}  // namespace penstock::language
