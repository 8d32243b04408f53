// A strict reader of JSON (RFC 8259) for the tests: what it takes, any reader takes.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::test {

struct Json {
    enum class Kind { null, boolean, number, text, list, object } kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::string text;
    std::vector<Json> list;
    std::map<std::string, Json> object;

    const Json& operator[](const std::string& key) const {
        const auto found = object.find(key);
        if (found == object.end()) throw std::runtime_error("no member " + key);
        return found->second;
    }
    const Json& operator[](const char* key) const { return (*this)[std::string(key)]; }
    bool has(const std::string& key) const { return object.count(key) != 0; }
};

class JsonReader {
  public:
    static Json read(std::string_view text) {
        JsonReader reader(text);
        Json value = reader.value();
        reader.space();
        if (!reader.rest_.empty()) reader.fail("something after the value");
        return value;
    }

  private:
    explicit JsonReader(std::string_view text) : rest_(text) {}

    [[noreturn]] void fail(const std::string& why) const {
        throw std::runtime_error(why + " before: " + std::string(rest_.substr(0, 40)));
    }
    char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
    char take() {
        if (rest_.empty()) fail("text ends early");
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    void expect(std::string_view word) {
        if (rest_.substr(0, word.size()) != word) fail("expected " + std::string(word));
        rest_.remove_prefix(word.size());
    }
    void space() {
        while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') take();
    }

    Json value() {
        space();
        Json out;
        switch (peek()) {
            case '{':
                members(out);
                break;
            case '[':
                elements(out);
                break;
            case '"':
                out.kind = Json::Kind::text;
                out.text = string();
                break;
            case 't':
            case 'f':
                out.kind = Json::Kind::boolean;
                out.boolean = peek() == 't';
                expect(out.boolean ? "true" : "false");
                break;
            case 'n':
                expect("null");
                break;
            default:
                number(out);
        }
        return out;
    }

    void members(Json& out) {
        out.kind = Json::Kind::object;
        expect("{");
        space();
        if (peek() == '}') return expect("}");
        while (true) {
            space();
            const std::string key = string();
            space();
            expect(":");
            if (!out.object.emplace(key, value()).second) fail("member twice: " + key);
            space();
            if (peek() != ',') return expect("}");
            take();
        }
    }

    void elements(Json& out) {
        out.kind = Json::Kind::list;
        expect("[");
        space();
        if (peek() == ']') return expect("]");
        while (true) {
            out.list.push_back(value());
            space();
            if (peek() != ',') return expect("]");
            take();
        }
    }

    std::string string() {
        expect("\"");
        std::string out;
        for (char c = take(); c != '"'; c = take()) {
            if (static_cast<unsigned char>(c) < 0x20) fail("raw control character");
            out += c == '\\' ? escape() : std::string(1, c);
        }
        return out;
    }

    std::string escape() {
        const char c = take();
        switch (c) {
            case '"':
            case '\\':
            case '/':
                return std::string(1, c);
            case 'n':
                return "\n";
            case 'r':
                return "\r";
            case 't':
                return "\t";
            case 'u':
                break;
            default:
                fail("unknown escape");
        }
        unsigned code = 0;
        for (int i = 0; i < 4; ++i) {
            const char digit = take();
            if (!std::isxdigit(static_cast<unsigned char>(digit))) fail("bad \\u");
            code = code * 16 + static_cast<unsigned>(std::strtoul(std::string(1, digit).c_str(), nullptr, 16));
        }
        if (code >= 0x80) fail("the tests expect ASCII behind \\u");
        return std::string(1, static_cast<char>(code));
    }

    void number(Json& out) {
        const std::string_view start = rest_;
        if (peek() == '-') take();
        if (peek() == '0') {
            take();
        } else {
            digits();
        }
        if (peek() == '.') {
            take();
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            take();
            if (peek() == '+' || peek() == '-') take();
            digits();
        }
        out.kind = Json::Kind::number;
        out.number = std::strtod(std::string(start.substr(0, start.size() - rest_.size())).c_str(), nullptr);
    }

    void digits() {
        if (!std::isdigit(static_cast<unsigned char>(peek()))) fail("expected a digit");
        while (std::isdigit(static_cast<unsigned char>(peek()))) take();
    }

    std::string_view rest_;
};

}  // namespace penstock::test
