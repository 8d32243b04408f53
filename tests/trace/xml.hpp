// Checks that a document without declaration and comments is well-formed XML, and counts its elements.
#pragma once

#include <cctype>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::test {

class XmlReader {
  public:
    /// How often each element occurs; throws std::runtime_error when the document is not well-formed.
    static std::map<std::string, int> read(std::string_view text) {
        XmlReader reader(text);
        reader.document();
        return reader.elements_;
    }

  private:
    explicit XmlReader(std::string_view text) : rest_(text) {}

    [[noreturn]] void fail(const std::string& why) const {
        throw std::runtime_error(why + " before: " + std::string(rest_.substr(0, 60)));
    }

    void document() {
        std::vector<std::string> open;
        do {
            if (rest_.empty()) fail("the document ends inside " + (open.empty() ? "nothing" : open.back()));
            if (rest_.front() != '<') {
                if (open.empty()) fail("text outside the root");
                characters("<");
            } else if (rest_.substr(0, 2) == "</") {
                rest_.remove_prefix(2);
                if (name() != open.back()) fail("wrong end tag, open is " + open.back());
                open.pop_back();
                expect(">");
            } else {
                start(open);
            }
        } while (!open.empty());
        if (rest_ != "\n") fail("something after the root");
    }

    void start(std::vector<std::string>& open) {
        expect("<");
        const std::string element = name();
        ++elements_[element];
        std::set<std::string> attributes;
        while (!rest_.empty() && rest_.front() == ' ') {
            rest_.remove_prefix(1);
            if (!attributes.insert(name()).second) fail("attribute twice");
            expect("=\"");
            characters("\"");
            expect("\"");
        }
        if (rest_.substr(0, 1) == "/") {
            expect("/>");
        } else {
            expect(">");
            open.push_back(element);
        }
    }

    void characters(std::string_view stop) {
        while (!rest_.empty() && stop.find(rest_.front()) == std::string_view::npos) {
            const auto c = static_cast<unsigned char>(rest_.front());
            if (c == '<' || (c < 0x20 && c != '\n')) fail("character that must be escaped");
            if (c == '&') reference();
            rest_.remove_prefix(1);
        }
    }

    void reference() {
        const std::string_view entity = rest_.substr(0, rest_.find(';') + 1);
        static const std::set<std::string_view> known{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
        if (known.count(entity) == 0) fail("unknown reference");
    }

    std::string name() {
        std::size_t length = 0;
        while (length < rest_.size() &&
               (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '-')) {
            ++length;
        }
        if (length == 0) fail("expected a name");
        std::string out(rest_.substr(0, length));
        rest_.remove_prefix(length);
        return out;
    }

    void expect(std::string_view word) {
        if (rest_.substr(0, word.size()) != word) fail("expected " + std::string(word));
        rest_.remove_prefix(word.size());
    }

    std::string_view rest_;
    std::map<std::string, int> elements_;
};

}  // namespace penstock::test
