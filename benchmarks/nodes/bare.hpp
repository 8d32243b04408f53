// What streams between nodes are measured against: a bare TCP connection to a process that does nothing but read and
// answer. Also the relay that makes a network far, and the namespace that stands for another machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// `program --bare PORT HOST` and `program --relay ...`: runs as what the others start. False: neither is asked for.
bool serve_as_helper(int argc, char** argv);

/// A process and a socket to it.
class BarePeer {
  public:
    /// `before`: what stands before the program's name in the command, as in {"ip", "netns", "exec", NAME}. It connects
    /// to this host's `at`, or through `relay` ("HOST:PORT"), and is heard at `at`.
    BarePeer(const std::vector<std::string>& before, const std::string& at, int port, const std::string& reached_host,
             int reached_port);
    ~BarePeer();
    BarePeer(const BarePeer&) = delete;
    BarePeer& operator=(const BarePeer&) = delete;

    /// Sends so many blocks of so many bytes, and waits for an answer behind the last.
    void send(std::size_t blocks, std::size_t bytes);
    /// Sends 64 bytes and waits for 64.
    void ping();

  private:
    int socket_ = -1;
    int process_ = -1;
    std::vector<char> block_;
};

/// A program that is started and ended with this object.
class Helper {
  public:
    explicit Helper(const std::vector<std::string>& command);
    ~Helper();
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

  private:
    int process_ = -1;
};

/// A program that answers each byte that it is written with a line: a figure.
class Asked {
  public:
    explicit Asked(const std::string& path);
    ~Asked();
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;
    double ask(char what) const;

  private:
    int to_ = -1, from_ = -1, process_ = -1;
};

/// A network namespace joined to this one by a pair of devices: 10.123.N.1 here, 10.123.N.2 there.
class Elsewhere {
  public:
    /// `rate`: as tc takes it ("1gbit"); empty: as fast as it goes. Null, with the reason, where that cannot be had.
    static std::unique_ptr<Elsewhere> make(int number, const std::string& rate, std::string& why);
    ~Elsewhere();
    std::vector<std::string> inside() const { return {"ip", "netns", "exec", name_}; }
    std::string here() const { return "10.123." + std::to_string(number_) + ".1"; }
    std::string there() const { return "10.123." + std::to_string(number_) + ".2"; }

  private:
    explicit Elsewhere(int number) : number_(number), name_("penstock-bench-" + std::to_string(number)) {}
    int number_;
    std::string name_;
};

/// Runs a command; true when it succeeds. Says nothing.
bool succeeds(const std::string& command);
/// A port of TCP that nobody uses now.
int free_port();
std::string own_path();

}  // namespace bench
