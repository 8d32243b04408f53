#include "stream/door/door.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "machine/said_by.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_statistics.hpp"
#include "process/local_socket.hpp"
#include "process/quiet_thread.hpp"
#include "store/team/team_socket.hpp"
#include "stream/door/palette.hpp"
#include "stream/door/remote_edit.hpp"
#include "stream/run/run_state.hpp"
#include "trace/text.hpp"

namespace penstock::streaming {
namespace {

using namespace std::chrono_literals;
using trace::json_text;
using trace::number_of;

constexpr auto patience = 10s;
constexpr std::size_t most_visitors = 16;
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

/// What is wrong with a request, with the status that says so.
struct Refusal {
    int status;
    std::string what;
};

double period_of(const HttpRequest& request) {
    const auto said = query_value(request.query, "every");
    const auto seconds = said ? number_of<double>(*said) : std::optional(1.0);
    if (!seconds || !(*seconds >= 0.02 && *seconds <= 3600))
        throw Refusal{400, "'every' is a number of seconds from 0.02 to 3600"};
    return *seconds;
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
    const int until_next = look_again();  // first: whoever gets something by it is spoken to at once
    std::vector<pollfd> entries{{stop_.get(), POLLIN, 0},
                                {std::exchange(no_descriptors_, false) ? -1 : listening_.get(), POLLIN, 0}};
    for (const auto& visitor : visitors_)
        entries.push_back({visitor.connection.get(), static_cast<short>(visitor.answer.empty() ? POLLIN : POLLOUT), 0});
    const bool alone = visitors_.empty() && entries[1].fd >= 0;
    if (poll(entries.data(), entries.size(), alone ? -1 : until_next) < 0) {
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
    if (visitors_.size() == most_visitors) {
        // Whoever has said nothing for longest; who watches stays, unless all do.
        const auto silent = std::ranges::find(visitors_, std::chrono::nanoseconds{0}, &Visitor::every);
        visitors_.erase(silent == visitors_.end() ? visitors_.begin() : silent);
    }
    visitors_.push_back({.connection = std::move(connection), .until = std::chrono::steady_clock::now() + patience});
}

bool Door::listen_to(Visitor& visitor) {
    char part[4096];
    const auto got = recv(visitor.connection.get(), part, sizeof part, 0);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    if (visitor.every.count() != 0) return true;  // nothing more is heard from who watches, but that he has gone
    visitor.heard.append(part, static_cast<std::size_t>(got));
    const auto said = heard(visitor.heard);
    if (said.refused != 0) visitor.answer = http_answer(said.refused, error("this is no request that a run answers"));
    else if (said.request) answer(visitor, *said.request);
    else return true;
    return speak_to(visitor);
}

bool Door::speak_to(Visitor& visitor) {
    while (visitor.said < visitor.answer.size()) {
        const auto sent = ::send(visitor.connection.get(), visitor.answer.data() + visitor.said,
                                 visitor.answer.size() - visitor.said, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        visitor.said += static_cast<std::size_t>(sent);
    }
    if (visitor.every.count() == 0) return false;
    visitor.answer.clear();
    visitor.said = 0;
    visitor.until = std::chrono::steady_clock::now() + visitor.every + patience;
    return true;
}

int Door::look_again() {
    using std::chrono::milliseconds;
    const auto now = std::chrono::steady_clock::now();
    auto least = std::chrono::nanoseconds(100ms);
    std::string seen;
    for (auto& visitor : visitors_) {
        if (visitor.every.count() == 0 || !visitor.answer.empty()) continue;  // one who reads slowly misses some
        if (visitor.next <= now) {
            if (seen.empty()) seen = graph() + "\n";
            visitor.answer = seen;
            visitor.next = now + visitor.every;
        }
        least = std::min(least, std::chrono::nanoseconds(visitor.next - now));
    }
    return static_cast<int>(std::max<std::int64_t>(1, std::chrono::ceil<milliseconds>(least).count()));
}

// ---- what is asked ----

std::string Door::graph() {
    const auto seen = run_.seen();
    return "{\"name\":" + json_text(name_) + ",\"process\":" + std::to_string(process_) + "," +
           json_of(seen.graph, &seen.figures).substr(1);
}

void Door::answer(Visitor& visitor, const HttpRequest& request) {
    try {
        if (request.method == "GET" && request.path == "/v1/watch") {
            visitor.every = std::chrono::nanoseconds(static_cast<std::int64_t>(period_of(request) * 1e9));
            visitor.next = std::chrono::steady_clock::now();
            visitor.answer = http_lines();
        } else {
            visitor.answer = http_answer(200, answer_to(request) + "\n");
        }
    } catch (const Refusal& refusal) {
        visitor.answer = http_answer(refusal.status, error(refusal.what));
    } catch (const GraphError& failure) {
        visitor.answer = http_answer(409, "{\"error\":" + json_text(failure.what()) + ",\"problems\":[" +
                                              trace::list_of(failure.problems(), ",", json_text) + "]}");
    } catch (const std::exception& failure) {
        visitor.answer = http_answer(400, error(said_by(failure)));
    }
}

std::string Door::answer_to(const HttpRequest& request) {
    const bool gets = request.method == "GET";
    if (!gets && request.method != "POST") throw Refusal{405, "a run answers GET and POST"};
    if (gets && request.path == "/v1/graph") return graph();
    if (gets && request.path == "/v1/report") return "{\"report\":" + json_text(run_.core.report()) + "}";
    if (gets && request.path == "/v1/components") {
        const auto* const palette = Palette::offered.load();
        return "{\"components\":" + (palette == nullptr ? "[]" : palette->json()) + "}";
    }
    if (gets && request.path == "/v1/xml") {
        const auto* const palette = Palette::offered.load();
        if (palette == nullptr) throw UsageError("this program does not use the language of applications");
        return "{\"xml\":" + json_text(palette->xml(run_.seen().graph, "edited")) + "}";
    }
    if (!gets && request.path == "/v1/events") {
        const auto said = Json::read(request.body);
        said.allow({"name", "value", "to"});
        const auto value = said.find("value") == nullptr ? SettingValue(false) : said.setting("value");
        return "{\"reached\":" + std::to_string(run_.send_to_some({said.text("name"), value}, said.text("to", ""))) +
               "}";
    }
    if (!gets && request.path == "/v1/edits") {
        const auto said = Json::read(request.body);
        run_.edit([&](Edit& edit) { describe(said, edit); });
        return "{\"made\":" + std::to_string(said.list("edits").size()) + "}";
    }
    if (!gets && (request.path == "/v1/close" || request.path == "/v1/stop")) {
        if (request.path == "/v1/stop") run_.core.stop();
        else run_.core.close();
        return "{}";
    }
    throw Refusal{404, "a run does not know " + request.method + " " + request.path};
}

}  // namespace penstock::streaming
