#include "stream/door/http.hpp"

#include <algorithm>
#include <cctype>

#include "trace/text.hpp"

namespace penstock::streaming {
namespace {

bool same_word(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

std::string_view take_line(std::string_view& text) {
    const auto end = text.find("\r\n");
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), line.size() + 2));
    return line;
}

const char* words_for(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 409:
            return "Conflict";
        case 413:
            return "Content Too Large";
        default:
            return "Error";
    }
}

}  // namespace

HttpHeard heard(std::string_view text) {
    const auto end = text.find("\r\n\r\n");
    if (end == text.npos) return {.refused = text.size() > HttpHeard::longest_head ? 413 : 0};
    if (end > HttpHeard::longest_head) return {.refused = 413};
    auto head = text.substr(0, end + 2);
    const auto line = take_line(head);
    const auto first = line.find(' '), second = line.rfind(' ');
    if (first == line.npos || first == second || !line.substr(second + 1).starts_with("HTTP/1."))
        return {.refused = 400};
    const auto target = line.substr(first + 1, second - first - 1);
    std::size_t length = 0;
    while (!head.empty()) {
        const auto field = take_line(head);
        const auto colon = field.find(':');
        if (colon == field.npos) return {.refused = 400};
        const auto name = field.substr(0, colon), value = trimmed(field.substr(colon + 1));
        if (same_word(name, "transfer-encoding")) return {.refused = 400};
        if (!same_word(name, "content-length")) continue;
        const auto said = trace::number_of<std::size_t>(value);
        if (!said) return {.refused = 400};
        length = *said;
    }
    if (length > HttpHeard::longest_body) return {.refused = 413};
    const auto body = text.substr(end + 4);
    if (body.size() < length) return {};
    const auto question = target.find('?');
    return {.request = HttpRequest{std::string(line.substr(0, first)), std::string(target.substr(0, question)),
                                   question == target.npos ? "" : std::string(target.substr(question + 1)),
                                   std::string(body.substr(0, length))}};
}

std::string http_answer(int status, std::string_view body) {
    return "HTTP/1.1 " + std::to_string(status) + " " + words_for(status) +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n\r\n" + std::string(body);
}

std::string http_lines() {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n";
}

std::optional<std::string_view> query_value(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const auto end = std::min(query.find('&'), query.size());
        const auto part = query.substr(0, end);
        query.remove_prefix(std::min(query.size(), end + 1));
        const auto equals = part.find('=');
        if (equals != part.npos && part.substr(0, equals) == name) return part.substr(equals + 1);
    }
    return std::nullopt;
}

}  // namespace penstock::streaming
