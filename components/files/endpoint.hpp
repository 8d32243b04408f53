// Where raw bytes come from and go to: files, the standard streams, and sockets.
//
//     frames.bin             a file, a device, a pipe with a name
//     -                      standard input, or standard output
//     tcp:HOST:PORT          connects there
//     tcp-listen:HOST:PORT   waits for one that connects
//     unix:PATH              the same with Unix sockets
//     unix-listen:PATH
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace penstock::components {

class FileBeside;

/// An open file, pipe or socket. Throws UsageError for an address that is none, SystemError with the address.
class Endpoint {
  public:
    enum class Direction { read, write };
    /// `patience`: how long somebody who listens may take to be there, where this connects; and how long somebody who
    /// is to read may take to connect, where this listens.
    Endpoint(const std::string& address, Direction direction, std::chrono::nanoseconds patience = {});
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    /// Whether it can be read, or somebody has connected, within this time.
    bool ready(std::chrono::milliseconds within);
    /// Bytes that are there, at least one; 0: the end. Behind ready().
    std::size_t read(std::span<std::byte> to);
    /// All of them.
    void write(std::span<const std::byte> from);
    /// A file is put in its place; what was written to a socket goes out.
    void finish();

  private:
    void leave() noexcept;
    [[noreturn]] void refuse(const char* what, int error) const;
    void listen_tcp(const std::string& host, const std::string& port);
    void connect_tcp(const std::string& host, const std::string& port);
    void open_unix(const std::string& path, bool listens);
    bool accept_one(std::chrono::milliseconds within);
    bool retry(std::chrono::steady_clock::time_point until) const;

    std::string address_;
    Direction direction_;
    std::chrono::nanoseconds patience_;
    int descriptor_ = -1, listening_ = -1;
    bool owned_ = true, socket_ = false;
    std::string unlink_;  ///< a Unix socket's path that this made
    std::unique_ptr<FileBeside> file_;
};

}  // namespace penstock::components
