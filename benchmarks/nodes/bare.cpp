#include "nodes/bare.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

struct Order {
    std::uint64_t blocks, bytes;  ///< no blocks: a ping of so many bytes
};

sockaddr_in place_of(const std::string& host, int port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET, host.c_str(), &place.sin_addr) != 1) throw std::runtime_error("no address: " + host);
    return place;
}

int listening(const std::string& host, int port) {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const auto place = place_of(host, port);
    if (bind(made, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0 || listen(made, 8) != 0)
        throw std::runtime_error("cannot listen at " + host);
    return made;
}

int connected(const std::string& host, int port) {
    for (int tries = 0;; ++tries) {
        const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const auto place = place_of(host, port);
        const int yes = 1;
        setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (connect(made, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return made;
        close(made);
        if (tries == 500) throw std::runtime_error("cannot connect to " + host);
        usleep(10'000);
    }
}

bool read_all(int socket, void* to, std::size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes != 0) {
        const auto got = read(socket, at, bytes);
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool write_all(int socket, const void* from, std::size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    while (bytes != 0) {
        const auto put = send(socket, at, bytes, MSG_NOSIGNAL);
        if (put <= 0) return false;
        at += put;
        bytes -= static_cast<std::size_t>(put);
    }
    return true;
}

int started(const std::vector<std::string>& command) {
    std::vector<char*> words;
    for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const int child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(words[0], words.data());
    _exit(127);
}

void serve_bare(const std::string& host, int port) {
    const int socket = connected(host, port);
    std::vector<char> block(std::size_t{1} << 20);
    Order order{};
    while (read_all(socket, &order, sizeof order)) {
        for (std::uint64_t i = 0; i < order.blocks; ++i)
            if (!read_all(socket, block.data(), order.bytes)) return;
        if (order.blocks == 0) {  // pings until a byte says that it is over
            while (read_all(socket, block.data(), order.bytes) && block[0] == 1)
                if (!write_all(socket, block.data(), order.bytes)) return;
            continue;
        }
        if (!write_all(socket, block.data(), 1)) return;
    }
}

/// Passes on what comes, so much later. Its work takes from both contestants, so its memory is used again and again.
void relay_one_way(int from, int to, std::chrono::microseconds later) {
    constexpr std::size_t most_of_chunk = std::size_t{64} << 10;
    struct Chunk {
        std::chrono::steady_clock::time_point due{};
        std::unique_ptr<char[]> bytes{};
        std::size_t size = 0;
    };
    std::mutex lock;
    std::condition_variable changed;
    std::deque<Chunk> chunks;
    std::vector<std::unique_ptr<char[]>> free;
    std::size_t held = 0;
    bool over = false;
    std::thread writer([&] {
        std::unique_lock guard(lock);
        for (;;) {
            changed.wait(guard, [&] { return over || !chunks.empty(); });
            if (chunks.empty()) break;
            auto chunk = std::move(chunks.front());
            chunks.pop_front();
            guard.unlock();
            std::this_thread::sleep_until(chunk.due);
            const bool passed = write_all(to, chunk.bytes.get(), chunk.size);
            guard.lock();
            held -= chunk.size;
            free.push_back(std::move(chunk.bytes));
            changed.notify_all();
            if (!passed) break;
        }
        shutdown(to, SHUT_WR);
    });
    constexpr std::size_t most_held = std::size_t{16} << 20;  // on the way, as on a long line
    for (;;) {
        Chunk chunk;
        {
            const std::lock_guard guard(lock);
            if (!free.empty()) chunk.bytes = std::move(free.back()), free.pop_back();
        }
        if (chunk.bytes == nullptr) chunk.bytes.reset(new char[most_of_chunk]);
        const auto got = read(from, chunk.bytes.get(), most_of_chunk);
        if (got <= 0) break;
        chunk.size = static_cast<std::size_t>(got);
        chunk.due = std::chrono::steady_clock::now() + later;
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return held < most_held; });
        held += chunk.size;
        chunks.push_back(std::move(chunk));
        changed.notify_all();
    }
    {
        const std::lock_guard guard(lock);
        over = true;
        changed.notify_all();
    }
    writer.join();
}

void serve_relay(int port, const std::string& host, int to, int microseconds) {
    const int at = listening("127.0.0.1", port);
    for (;;) {
        const int near = accept(at, nullptr, nullptr);
        const int yes = 1;
        setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        std::thread([=] {
            const int far = connected(host, to);
            std::thread back([=] { relay_one_way(far, near, std::chrono::microseconds(microseconds)); });
            relay_one_way(near, far, std::chrono::microseconds(microseconds));
            back.join();
            close(near);
            close(far);
        }).detach();
    }
}

}  // namespace

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

bool serve_as_helper(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "--bare") serve_bare(argv[2], std::atoi(argv[3]));
    else if (what == "--relay") serve_relay(std::atoi(argv[2]), argv[3], std::atoi(argv[4]), std::atoi(argv[5]));
    else return false;
    return true;
}

BarePeer::BarePeer(const std::vector<std::string>& before, const std::string& at, int port,
                   const std::string& reached_host, int reached_port)
    : block_(std::size_t{1} << 20, 1) {
    const int heard = listening(at, port);
    auto command = before;
    for (const auto& word : {own_path(), std::string("--bare"), reached_host, std::to_string(reached_port)})
        command.push_back(word);
    process_ = started(command);
    socket_ = accept(heard, nullptr, nullptr);
    close(heard);
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

BarePeer::~BarePeer() {
    close(socket_);
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

void BarePeer::send(std::size_t blocks, std::size_t bytes) {
    const Order order{blocks, bytes};
    write_all(socket_, &order, sizeof order);
    for (std::size_t i = 0; i < blocks; ++i) write_all(socket_, block_.data(), bytes);
    char answer;
    read_all(socket_, &answer, 1);
}

void BarePeer::ping() {
    const Order order{0, 64};
    write_all(socket_, &order, sizeof order);
    char bytes[64] = {1};
    for (int i = 0; i < 1000; ++i) {
        write_all(socket_, bytes, sizeof bytes);
        read_all(socket_, bytes, sizeof bytes);
    }
    bytes[0] = 0;
    write_all(socket_, bytes, sizeof bytes);
}

Helper::Helper(const std::vector<std::string>& command) : process_(started(command)) {}
Helper::~Helper() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

Asked::Asked(const std::string& path) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    process_ = fork();
    if (process_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl(path.c_str(), path.c_str(), nullptr);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
}

Asked::~Asked() {
    close(to_);
    close(from_);
    waitpid(process_, nullptr, 0);
}

double Asked::ask(char what) const {
    std::string line;
    char next = 0;
    if (write(to_, &what, 1) != 1) throw std::runtime_error("a program that was to be asked has gone");
    while (read(from_, &next, 1) == 1 && next != '\n') line += next;
    if (line.empty()) throw std::runtime_error("a program that was asked says nothing");
    return std::stod(line);
}

bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

int free_port() {
    const int made = listening("127.0.0.1", 0);
    sockaddr_in place{};
    socklen_t length = sizeof place;
    getsockname(made, reinterpret_cast<sockaddr*>(&place), &length);
    close(made);
    return ntohs(place.sin_port);
}

std::unique_ptr<Elsewhere> Elsewhere::make(int number, const std::string& rate, std::string& why) {
    if (geteuid() != 0) return why = "network namespaces need root here", nullptr;
    std::unique_ptr<Elsewhere> made(new Elsewhere(number));
    const auto& name = made->name_;
    const auto device = "pbench" + std::to_string(number);
    succeeds("ip netns del " + name);
    succeeds("ip link del " + device);
    const auto in = "ip netns exec " + name + " ";
    bool all = succeeds("ip netns add " + name) &&
               succeeds("ip link add " + device + " type veth peer name eth0 netns " + name) &&
               succeeds("ip addr add " + made->here() + "/24 dev " + device) &&
               succeeds("ip link set " + device + " up") &&
               succeeds(in + "ip addr add " + made->there() + "/24 dev eth0") && succeeds(in + "ip link set eth0 up") &&
               succeeds(in + "ip link set lo up");
    if (all && !rate.empty()) {
        const auto shape = " root tbf rate " + rate + " burst 256kb latency 50ms";
        all = succeeds("tc qdisc add dev " + device + shape) && succeeds(in + "tc qdisc add dev eth0" + shape);
    }
    if (!all) return why = "a network namespace, or a limit on its bandwidth, could not be made", nullptr;
    return made;
}

Elsewhere::~Elsewhere() {
    succeeds("ip netns del " + name_);
    succeeds("ip link del pbench" + std::to_string(number_));
}

}  // namespace bench
