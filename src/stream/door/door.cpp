#include "stream/door/door.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdlib>

#include "machine/said_by.hpp"
#include "penstock/stream_statistics.hpp"
#include "process/local_socket.hpp"
#include "process/quiet_thread.hpp"
#include "store/team/team_socket.hpp"
#include "stream/run/run_state.hpp"
#include "trace/text.hpp"

namespace penstock::streaming {
namespace {

using namespace std::chrono_literals;
using trace::json_text;
using trace::number_of;

constexpr auto patience = 10s;
constexpr std::size_t most_visitors = 16;
constexpr std::size_t longest_line = std::size_t{1} << 16;
static_assert(Door::longest_name <= process::LocalAddress::longest_name);

/// Nothing when another run has the name.
OwnedDescriptor listen_as(const std::string& name) {
    const auto fail = [&] {
        throw SystemError("cannot make the socket at which the run '" + name + "' can be found", errno);
    };
    OwnedDescriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) fail();
    const process::LocalAddress address(Door::space, name, geteuid());
    if (bind(made.get(), address.get(), address.length) != 0) {
        if (errno == EADDRINUSE) return {};
        fail();
    }
    if (listen(made.get(), most_visitors) != 0) fail();
    return made;
}

std::string name_of_program() {
    std::string name = program_invocation_short_name;
    for (char& letter : name)
        if (!process::LocalAddress::takes({&letter, 1}, 1)) letter = '_';
    const auto number = "-" + std::to_string(getpid());
    return name.substr(0, Door::longest_name - number.size()) + number;
}

void check(const std::string& name, const char* where) {
    if (!process::LocalAddress::takes(name, Door::longest_name))
        throw UsageError(std::string(where) + ": '" + name.substr(0, 80) +
                         "' cannot be the name of a run: it has 1 to " + std::to_string(Door::longest_name) +
                         " bytes, no blanks and no control characters");
}

std::string error(const std::string& what) { return "{\"error\":" + json_text(what) + "}"; }

std::string decoded(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto code =
            text[i] == '%' && i + 2 < text.size() ? number_of<unsigned char>(text.substr(i + 1, 2), 16) : std::nullopt;
        result += code ? static_cast<char>(*code) : text[i];
        if (code) i += 2;
    }
    return result;
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    for (;;) {
        const auto tab = line.find('\t');
        words.push_back(decoded(line.substr(0, tab)));
        if (tab == line.npos) return words;
        line.remove_prefix(tab + 1);
    }
}

SettingValue value_of(const std::string& text) {
    const auto what = text.substr(0, 2);
    const auto rest = text.substr(std::min<std::size_t>(text.size(), 2));
    if (what == "s:") return rest;
    if (what == "b:" && (rest == "true" || rest == "false")) return rest == "true";
    if (what == "i:")
        if (const auto number = number_of<std::int64_t>(rest)) return *number;
    if (what == "d:")
        if (const auto number = number_of<double>(rest)) return *number;
    throw UsageError(
        "'" + text +
        "' is no value of an event: say b:true, b:false, i: and an integer, d: and a number, or s: and a text");
}

}  // namespace

std::unique_ptr<Door> Door::open(RunState& run, const RunOptions& options) {
    const bool given = !options.name.empty();
    const char* const wanted = std::getenv("PENSTOCK_NAME");
    auto name = given || wanted == nullptr ? options.name : std::string(wanted);
    if (name.empty()) return nullptr;
    if (!given && name == "auto") name = name_of_program();
    for (int number = 1;; ++number) {
        auto numbered = number == 1 ? name : name + "." + std::to_string(number);
        check(numbered, given ? "RunOptions::name" : "PENSTOCK_NAME");
        if (auto listening = listen_as(numbered))
            return std::unique_ptr<Door>(new Door(run, std::move(numbered), std::move(listening)));
        if (given)
            throw UsageError("another run has the name '" + name +
                             "' already: give this one another (RunOptions::name)");
    }
}

Door::Door(RunState& run, std::string name, OwnedDescriptor listening)
    : run_(run), name_(std::move(name)), listening_(std::move(listening)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), process_(getpid()) {
    if (!stop_) throw SystemError("cannot make what ends the visits to the run '" + name_ + "'", errno);
}

Door::~Door() { close(); }

void Door::serve() {
    thread_ = process::quiet_thread("penstock door", [this] { attend_all(); });
}

void Door::close() noexcept {
    if (process_ != getpid()) {
        if (thread_.joinable()) thread_.detach();  // it stayed in the parent
    } else if (thread_.joinable()) {
        eventfd_write(stop_.get(), 1);
        thread_.join();
        // a forked child may have it too, so that closing it would tell nobody
        if (listening_) shutdown(listening_.get(), SHUT_RDWR);
    }
    listening_.reset();
}

// ---- the thread ----

void Door::attend_all() noexcept {
    try {
        pollfd stop{stop_.get(), POLLIN, 0};
        while (poll(&stop, 1, 0) == 0) step();
    } catch (...) {  // no memory, or the kernel refuses to wait: nobody can look any more, and the run goes on
    }
    visitors_.clear();
}

void Door::step() {
    std::vector<pollfd> entries{{stop_.get(), POLLIN, 0},
                                {std::exchange(no_descriptors_, false) ? -1 : listening_.get(), POLLIN, 0}};
    for (const auto& visitor : visitors_)
        entries.push_back({visitor.connection.get(), static_cast<short>(visitor.answer.empty() ? POLLIN : POLLOUT), 0});
    const bool alone = visitors_.empty() && entries[1].fd >= 0;
    if (poll(entries.data(), entries.size(), alone ? -1 : 100) < 0) {
        if (errno == EINTR) return;
        throw SystemError("cannot wait for visitors", errno);
    }
    if (entries[0].revents != 0) return;
    const auto now = std::chrono::steady_clock::now();
    std::size_t entry = 2;
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
        const bool stays = entries[entry++].revents == 0 ? now < visitor->until
                           : visitor->answer.empty()     ? listen_to(*visitor)
                                                         : speak_to(*visitor);
        visitor = stays ? std::next(visitor) : visitors_.erase(visitor);
    }
    if (entries[1].revents != 0) let_in();
}

void Door::let_in() {
    OwnedDescriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
        no_descriptors_ = errno == EMFILE || errno == ENFILE;
        return;
    }
    if (process::peer_of(connection.get()).uid != geteuid()) return;
    if (visitors_.size() == most_visitors) visitors_.pop_front();
    visitors_.push_back({.connection = std::move(connection), .until = std::chrono::steady_clock::now() + patience});
}

bool Door::listen_to(Visitor& visitor) {
    char part[4096];
    const auto got = recv(visitor.connection.get(), part, sizeof part, 0);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    visitor.heard.append(part, static_cast<std::size_t>(got));
    const auto end = visitor.heard.find('\n');
    if (end == visitor.heard.npos) return visitor.heard.size() < longest_line;
    visitor.answer = answer_to(std::string_view(visitor.heard).substr(0, end)) + "\n";
    return speak_to(visitor);
}

bool Door::speak_to(Visitor& visitor) {
    while (visitor.said < visitor.answer.size()) {
        const auto sent = ::send(visitor.connection.get(), visitor.answer.data() + visitor.said,
                                 visitor.answer.size() - visitor.said, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        visitor.said += static_cast<std::size_t>(sent);
    }
    return false;
}

// ---- what is asked ----

std::string Door::answer_to(std::string_view line) {
    try {
        const auto words = words_of(line);
        if (words.size() == 1 && words[0] == "graph") {
            const auto seen = run_.seen();
            return "{\"name\":" + json_text(name_) + ",\"process\":" + std::to_string(process_) + "," +
                   json_of(seen.graph, &seen.figures).substr(1);
        }
        if (words.size() == 1 && words[0] == "report") return "{\"report\":" + json_text(run_.core.report()) + "}";
        if (words.size() == 4 && words[0] == "send")
            return "{\"reached\":" + std::to_string(run_.send_to_some({words[1], value_of(words[2])}, words[3])) + "}";
        return error("this run does not know what '" + words[0] + "' with " + std::to_string(words.size() - 1) +
                     " words behind it is to be");
    } catch (const std::exception& failure) {
        return error(said_by(failure));
    }
}

}  // namespace penstock::streaming
