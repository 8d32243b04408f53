// The analysis as it is written down (tissue.xml), in the program's memory; also while it changes, by the application's
// own events.
#include "apps/written.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <thread>

#include "apps/graphs.hpp"
#include "apps/tissue/filters.hpp"
#include "penstock/application.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::tissue {
namespace {

std::size_t lost_or_repeated(std::initializer_list<const Log*> logs, std::size_t tiles) {
    std::vector<int> came(tiles);
    for (const auto* const log : logs)
        for (const auto number : *log) ++came.at(number);
    return tiles - static_cast<std::size_t>(std::ranges::count(came, 1));
}

/// The main program: it looks at how many tiles have come, and sends the events one after the other.
void direct(ApplicationRun& run, const Compared& compared, std::size_t a_slide, std::atomic<bool>& enough) {
    const auto wait_for = [&](std::size_t slides) {
        while (compared.tiles.load(std::memory_order_acquire) < slides * a_slide && !run.run().ended())
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    const auto send = [&](const char* event) {
        try {
            run.send({event, true});
        } catch (const RunEnded&) {  // it has failed; finish() says why
            return;
        }
        run.settle();
    };
    wait_for(1);
    send("overview");  // out
    wait_for(2);
    send("overview");  // and in again
    wait_for(3);
    send("fresh");
    wait_for(4);
    enough.store(true, std::memory_order_relaxed);
}

}  // namespace

void written(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes) {
    auto components = silent_components();
    add_components(components, slide, analysis);
    ApplicationOptions options;
    options.components = &components;
    options.settings = {{"copies", std::to_string(copies)}, {"passes", std::to_string(passes)}};
    auto run = application("tissue", options).start(machine);
    run.finish();
    note_graph(run.run());
}

Changed changing(const Slide& slide, const Analysis& wanted, Machine& machine, int copies) {
    Changed changed{.again = Analysis{slide.tiling()}};
    Screens screens;
    Log meanwhile;
    Compared compared;
    std::atomic<bool> enough{false};
    auto components = silent_components();
    add_stages(components);
    components.add<Read>("tissue:read", "The program's slide.", &slide, &enough);
    components.add<Overview>("tissue:overview", "Each has an analysis of its own.", &slide, &screens);
    components.add<Count>("tissue:count", "Notes which verdicts came.", &meanwhile);
    components.add<Compare>("tissue:compare", "Compares verdicts.", &wanted, &compared);
    ApplicationOptions options;
    options.components = &components;
    options.settings = {{"copies", std::to_string(copies)}, {"compare", "on"}};
    auto run = application("tissue", options).start(machine);
    std::thread director([&] { direct(run, compared, slide.tiling().count(), enough); });
    std::exception_ptr failed;
    try {
        run.finish();
    } catch (...) {
        failed = std::current_exception();
    }
    director.join();
    if (failed != nullptr) std::rethrow_exception(failed);
    changed.tiles = compared.tiles;
    changed.wrong_verdicts = compared.wrong;
    changed.lost_or_repeated = changed.tiles;
    if (screens.all.size() != 2) return changed;  // it was not taken out, or not put in again
    changed.lost_or_repeated = lost_or_repeated({&screens.all[0].log, &meanwhile, &screens.all[1].log}, changed.tiles);
    changed.again = std::move(screens.all[1].analysis);
    return changed;
}

}  // namespace penstock::apps::tissue
