// As much of HTTP/1.1 as a door speaks: one request a connection, with its length said, and an answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::streaming {

struct HttpRequest {
    std::string method;  ///< GET, POST
    std::string path;    ///< without what follows "?"
    std::string query;   ///< that
    std::string body;
};

/// What has been heard so far: a whole request, nothing yet, or something that is none.
struct HttpHeard {
    static constexpr std::size_t longest_head = 8192, longest_body = std::size_t{1} << 20;
    std::optional<HttpRequest> request{};
    int refused = 0;  ///< a status, where it never becomes a request that is answered
};
HttpHeard heard(std::string_view text);

/// An answer with this body. `status`: 200, 400, 404, 405, 409, 413.
std::string http_answer(int status, std::string_view body);
/// The head of an answer that goes on until the connection is closed, a JSON text a line.
std::string http_lines();

/// "every" of "every=0.5&..."; nothing when it is not there.
std::optional<std::string_view> query_value(std::string_view query, std::string_view name);

}  // namespace penstock::streaming
