// A visit to a run by its name, as another process makes it: nothing of Penstock is used but the address.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace parts {

/// A connected socket, or -1 where nobody has the name.
inline int knock(const std::string& name) {
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    const auto text = "penstock-run/" + std::to_string(geteuid()) + "/" + name;
    text.copy(place.sun_path + 1, sizeof place.sun_path - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&place), length) == 0) return connection;
    close(connection);
    return -1;
}

/// What comes back when these bytes are said; empty where there is no run.
inline std::string say(const std::string& name, const std::string& bytes) {
    const int connection = knock(name);
    if (connection < 0) return "";
    std::string answer;
    if (send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) {
        char part[4096];
        for (ssize_t got = 0; (got = recv(connection, part, sizeof part, 0)) > 0;)
            answer.append(part, static_cast<std::size_t>(got));
    }
    close(connection);
    return answer;
}

/// The body of the answer to GET /v1/PATH, or to POST where something is said with it.
inline std::string visit(const std::string& name, const std::string& path, const std::string& body = "") {
    const auto answer = say(name, (body.empty() ? "GET" : "POST") + (" /v1/" + path) +
                                      " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
                                      "\r\n\r\n" + body);
    const auto head = answer.find("\r\n\r\n");
    return head == answer.npos ? answer : answer.substr(head + 4);
}

}  // namespace parts
