// The analysis as a graph of filters that changes while it runs.
#include <algorithm>
#include <atomic>

#include "apps/tissue/filters.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::tissue {
namespace {

/// The tiles of a slide over and over; once it is told that it is enough, to the end of the slide and once more.
struct ReadOn {
    Output<std::uint8_t> jpeg{"jpeg"};
    const Slide* slide;
    const std::atomic<bool>* enough;
    std::size_t next = 0, end = ~std::size_t{0};

    ReadOn(const Slide* of, const std::atomic<bool>* told) : slide{of}, enough{told} {}
    bool operator()() {
        const std::size_t count = slide->tiling().count();
        if (end == ~std::size_t{0} && enough->load(std::memory_order_relaxed)) end = (next + count - 1) / count * count + count;
        if (next == end) return false;
        write_tile(*slide, next++, jpeg);
        return true;
    }
};

/// In the overview's place.
struct Count {
    Input<Verdict> verdict{"verdict"};
    Log* log;
    explicit Count(Log* noting) : log{noting} {}
    void operator()() { log->push_back(verdict.read().tags().sequence); }
};

std::size_t lost_or_repeated(std::initializer_list<const Log*> logs, std::size_t tiles) {
    std::vector<int> came(tiles);
    for (const auto* const log : logs)
        for (const auto number : *log) ++came.at(number);
    return tiles - static_cast<std::size_t>(std::ranges::count(came, 1));
}

}  // namespace

Changed changing(const Slide& slide, const Analysis& wanted, Machine& machine, int copies) {
    const std::size_t count = slide.tiling().count();
    Analysis first{slide.tiling()};
    Changed changed{.again = Analysis{slide.tiling()}};
    Log before, meanwhile, after;
    std::atomic<bool> enough{false};

    Graph graph;
    auto& read = graph.add<ReadOn>("read", {}, &slide, &enough);
    const Filters filters(graph, read.jpeg, copies, &slide, &first, &before);
    auto& verdicts = graph.add_reader<Verdict>("verdicts");
    graph.connect(filters.classify.verdict, verdicts.input);
    auto run = graph.start(machine);

    const auto take_out = [&](Edit& edit) {
        edit.remove("shrink");
        edit.remove("overview");
        auto& instead = edit.add<Count>("count", {}, &meanwhile);
        edit.connect(filters.classify.verdict, instead.verdict);
    };
    Shrink* second = nullptr;
    const auto put_in = [&](Edit& edit) {
        edit.remove("count");
        auto& small = edit.add<Shrink>("shrink", {.copies = copies});
        second = &small;
        auto& again = edit.add<Overview>("overview", {}, &slide, &changed.again, &after);
        edit.connect(filters.decode.rgb, small.rgb);
        edit.connect(small.small, again.small);
        edit.connect(filters.classify.verdict, again.verdict);
    };
    const auto exchange = [&](Edit& edit) { edit.replace<Shrink>(*second); };
    while (const auto verdict = verdicts.read()) {
        const auto number = verdict->tags().user[0];
        const auto& found = (*verdict)[0];
        if (found.features != wanted.features[number] || found.of_class != wanted.classes[number]) ++changed.wrong_verdicts;
        ++changed.tiles;
        if (changed.tiles == count) run.edit(take_out);
        if (changed.tiles == 2 * count) run.edit(put_in);
        if (changed.tiles == 3 * count) run.edit(exchange);
        if (changed.tiles == 4 * count) enough.store(true, std::memory_order_relaxed);
    }
    run.finish();
    changed.lost_or_repeated = lost_or_repeated({&before, &meanwhile, &after}, changed.tiles);
    return changed;
}

}  // namespace penstock::apps::tissue
