#include "harness/json.hpp"

#include <cmath>
#include <cstdio>

namespace bench {

void JsonWriter::next() {
    if (!first_) text_ += ',';
    first_ = false;
    if (!text_.empty()) text_ += '\n' + std::string(2 * closing_.size(), ' ');
}

void JsonWriter::key(std::string_view name) {
    next();
    quote(name);
    text_ += ": ";
}

void JsonWriter::quote(std::string_view text) {
    text_ += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            text_ += '\\';
            text_ += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            text_ += escape;
        } else {
            text_ += c;
        }
    }
    text_ += '"';
}

void JsonWriter::open(char bracket) {
    next();
    text_ += bracket;
    closing_ += bracket == '{' ? '}' : ']';
    first_ = true;
}

void JsonWriter::open(std::string_view name, char bracket) {
    key(name);
    text_ += bracket;
    closing_ += bracket == '{' ? '}' : ']';
    first_ = true;
}

void JsonWriter::close() {
    const char bracket = closing_.back();
    closing_.pop_back();
    if (!first_) text_ += '\n' + std::string(2 * closing_.size(), ' ');
    text_ += bracket;
    first_ = false;
}

void JsonWriter::value(std::string_view name, std::string_view text) {
    key(name);
    quote(text);
}

void JsonWriter::value(std::string_view name, double number) {
    key(name);
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.6g", number);
    text_ += std::isfinite(number) ? digits : "null";
}

void JsonWriter::value(std::string_view name, bool truth) {
    key(name);
    text_ += truth ? "true" : "false";
}

}  // namespace bench
