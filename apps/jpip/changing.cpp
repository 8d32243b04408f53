#include "apps/jpip/changing.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "components/classes.hpp"
#include "components/picture.hpp"
#include "penstock/application.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::jpip {
namespace {

constexpr components::PictureShape screen{144, 256, 3}, small{36, 64, 3};

/// What the filters at the ends share with the program.
struct Shared {
    std::uint64_t first = 0;                        ///< number of the first frame
    std::uint64_t count = ~std::uint64_t{0};        ///< of frames, at most
    std::uint64_t every = 0, changes = 0;           ///< of the events that Frames sends
    std::uint64_t film_frames = ~std::uint64_t{0};  ///< of each film
    std::uint64_t pictures = 1;
    std::uint64_t next = 0, wrong = 0;               ///< at the screen
    std::atomic<std::uint64_t> events{0}, films{0};  ///< that were sent; films that have ended
    std::atomic<std::uint64_t> screened{0};          ///< frames that came to the screen
};

/// The film in the background: each frame begins with its number.
struct Frames {
    Output<std::uint8_t> frame{"frame"};
    EventOutput<std::int64_t> turn{"turn"};
    explicit Frames(Shared* with) : shared_(with) {}
    bool operator()() {
        if (made_ == shared_->count) return false;
        const auto number = shared_->first + made_;
        auto made = make_picture(frame, screen);
        auto to = made.edit();
        std::memset(to.data(), static_cast<int>(number % 256), to.size());
        std::memcpy(to.data(), &number, sizeof number);
        frame.write(std::move(made));
        ++made_;
        if (shared_->every != 0 && made_ % shared_->every == 0 && shared_->events < shared_->changes)
            turn.send(static_cast<std::int64_t>(shared_->events++ % shared_->pictures) + 1);
        return true;
    }

  private:
    Shared* shared_;
    std::uint64_t made_ = 0;
};

/// A film in which something moves for four frames, and nothing for four.
struct Film {
    Output<std::uint8_t> frame{"frame"};
    explicit Film(Shared* with) : shared_(with) {}
    bool operator()() {
        if (made_ == shared_->film_frames) {
            ++shared_->films;
            return false;
        }
        auto made = make_picture(frame, small);
        const auto value = static_cast<int>(made_ % 8 < 4 ? made_ * 97 % 251 : 0);
        std::memset(made.edit().data(), value, made.size());
        frame.write(std::move(made));
        ++made_;
        return true;
    }

  private:
    Shared* shared_;
    std::uint64_t made_ = 0;
};

/// Work for each frame: what others may do at the same time.
struct Busy {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> in{"in"};
    Output<std::uint8_t> out{"out"};
    void operator()() {
        auto read = in.read();
        auto to = read.edit().subspan(sizeof(std::uint64_t));
        for (int round = 0; round < 4; ++round)
            for (auto& each : to) each = static_cast<std::uint8_t>(each * 5 + round);
        out.write(std::move(read));
    }
};

struct Watcher {
    Input<std::uint8_t> frame{"frame"};
    explicit Watcher(Shared* with) : shared_(with) {}
    void operator()() {
        const auto read = frame.read();
        std::uint64_t number = 0;
        std::memcpy(&number, read.span().data(), sizeof number);
        if (number != shared_->next) ++shared_->wrong;
        shared_->next = number + 1;
        shared_->screened.fetch_add(1, std::memory_order_release);
    }
    void on_event(const Event& event) {
        if (event.name.starts_with("moves-") || event.name.starts_with("rests-"))
            shared_->events.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    Shared* shared_;
};

std::string component(const std::string& name, const std::string& of, const std::string& more = "") {
    return "<component name=\"" + name + "\" class=\"" + of + "\"" + (more.empty() ? "/>" : more + "</component>");
}
std::string stream(const std::string& from, const std::string& to, const std::string& more = "") {
    return "<stream from=\"" + from + "\" to=\"" + to + "\" " + more + "/>";
}

/// Which pictures are shown in the beginning, and who decides.
std::string application(const std::vector<bool>& shown, bool by_motion) {
    std::string text = "<application xmlns=\"urn:penstock:application:1\" name=\"changing\">" +
                       component("frames", "jpip:frames") + component("busy", "busy", " copies=\"2\">") +
                       component("screen-0", "relay") + stream("frames.frame", "busy.in", "capacity=\"4\"") +
                       stream("busy.out", "screen-0.in", "ordered=\"true\"");
    if (!by_motion) text += "<event name=\"turn\"/><signal from=\"frames.turn\" event=\"turn\"/>";
    for (std::size_t i = 1; i <= shown.size(); ++i) {
        const auto n = std::to_string(i), before = "screen-" + std::to_string(i - 1) + ".out";
        text += component("screen-" + n, "relay");
        if (by_motion)
            text += component("film-" + n, "film") +
                    component("motion-" + n, "motion", "><set name=\"quiet\" value=\"1\"/>") +
                    stream("film-" + n + ".frame", "motion-" + n + ".picture", "capacity=\"2\"") +
                    "<event name=\"moves-" + n + "\"/><event name=\"rests-" + n + "\"/><signal from=\"motion-" + n +
                    ".began\" event=\"moves-" + n + "\"/><signal from=\"motion-" + n + ".ended\" event=\"rests-" + n +
                    "\"/>";
        text += "<manager>";
        if (by_motion)
            text += "<on event=\"moves-" + n + "\" enable=\"shown-" + n + "\"/><on event=\"rests-" + n +
                    "\" disable=\"shown-" + n + "\"/>";
        else text += "<on event=\"turn\" is=\"" + n + "\" toggle=\"shown-" + n + "\"/>";
        text += "<option name=\"shown-" + n + "\" initially=\"" + (shown[i - 1] ? "on" : "off") + "\">" +
                component("insert-" + n, "lay-over",
                          "><set name=\"row\" value=\"" + std::to_string(1 + i / 4) +
                              "\"/><set name=\"column\" value=\"" + std::to_string(i % 4) +
                              "\"/><set name=\"grid-rows\" value=\"4\"/><set name=\"grid-columns\" value=\"4\"/>") +
                (by_motion ? "" : component("film-" + n, "film")) + stream(before, "insert-" + n + ".background") +
                stream("film-" + n + ".frame", "insert-" + n + ".picture", "when-full=\"drop-oldest\" capacity=\"2\"") +
                stream("insert-" + n + ".screen", "screen-" + n + ".in") + "<otherwise>" +
                stream(before, "screen-" + n + ".in") + "</otherwise></option></manager>";
    }
    return text + component("screen", "screen") +
           stream("screen-" + std::to_string(shown.size()) + ".out", "screen.frame") + "</application>";
}

Components components_of(Shared& shared) {
    Components all;
    components::add_classes(all);
    all.add<Frames>("jpip:frames", "", &shared);
    all.add<Film>("film", "", &shared);
    all.add<Busy>("busy", "");
    all.add<Watcher>("screen", "", &shared);
    return all;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Runs it until `enough` says so, and then to its end.
template <class Enough>
void run_until(Shared& shared, const std::vector<bool>& shown, bool by_motion, Machine& machine, Enough&& enough) {
    const auto components = components_of(shared);
    auto run =
        Application::parse(application(shown, by_motion), "changing.xml", {.components = &components}).start(machine);
    while (!enough() && !run.run().ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    run.settle();
    run.run().close();
    run.finish();
}

}  // namespace

Changed change_by_motion(Machine& machine, std::size_t films, std::uint64_t changes) {
    Shared shared;
    shared.film_frames = (changes + 2 * films - 1) / (2 * films) * 8;
    const auto begin = Clock::now();
    run_until(shared, std::vector<bool>(films), true, machine, [&] { return shared.films == films; });
    return {shared.next, shared.wrong, shared.events, seconds_since(begin)};
}

Changed change_by_count(Machine& machine, std::size_t films, std::uint64_t changes, std::uint64_t every) {
    Shared shared;
    shared.pictures = films;
    shared.every = every;
    shared.changes = changes;
    shared.count = (changes + 1) * every;
    const auto begin = Clock::now();
    run_until(shared, std::vector<bool>(films), false, machine, [&] { return shared.screened == shared.count; });
    return {shared.next, shared.wrong, shared.events, seconds_since(begin)};
}

Changed change_by_stopping(Machine& machine, std::size_t films, std::uint64_t changes, std::uint64_t every) {
    Shared shared;
    shared.count = every;
    std::vector<bool> shown(films);
    const auto begin = Clock::now();
    for (std::uint64_t change = 0; change <= changes; ++change) {
        shared.screened = 0;
        run_until(shared, shown, false, machine, [&] { return shared.screened == every; });
        shared.first += every;
        shown[change % films] = !shown[change % films];
    }
    return {shared.next, shared.wrong, changes, seconds_since(begin)};
}

}  // namespace penstock::apps::jpip
