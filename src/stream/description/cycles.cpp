// Cycles of a graph: which filters are in one, and which cycles nobody declared.

#include "stream/description/adjacency.hpp"

namespace penstock::streaming {
namespace {

/// A walk in depth that keeps its path itself: a chain of filters may be longer than the thread's stack is deep.
class Walk {
  public:
    Walk(const Adjacency& adjacency, bool by_feedback) : adjacency_(adjacency), by_feedback_(by_feedback) {}
    struct Step {
        std::size_t at;
        std::size_t next = 0;  ///< of the streams out of it
    };
    /// `enter(filter)` first, `meet(filter, successor)`, true to enter that too, and `leave(filter)` when all behind it
    /// have been left.
    template <class Enter, class Meet, class Leave>
    void from(std::size_t first, Enter&& enter, Meet&& meet, Leave&& leave) {
        const auto& model = adjacency_.model();
        path_.push_back({first});
        enter(first);
        while (!path_.empty()) {
            auto& [at, next] = path_.back();
            const auto streams = adjacency_.out_of(model.filters[at].id);
            if (next == streams.size()) {
                const auto left = at;
                path_.pop_back();
                leave(left);
                continue;
            }
            const auto& stream = *streams[next++];
            if (stream.options.feedback && !by_feedback_) continue;
            const auto successor = model.position(stream.to);
            if (!meet(at, successor)) continue;
            path_.push_back({successor});
            enter(successor);
        }
    }
    const std::vector<Step>& path() const noexcept { return path_; }

  private:
    const Adjacency& adjacency_;
    const bool by_feedback_;
    std::vector<Step> path_;
};

}  // namespace

// Kahn's algorithm (Topological sorting of large networks, 1962).
std::vector<std::size_t> in_order(const Adjacency& adjacency, bool by_feedback) {
    const auto& model = adjacency.model();
    const auto counts = [by_feedback](const StreamModel& stream) { return by_feedback || !stream.options.feedback; };
    std::vector<std::size_t> awaited(model.filters.size()), ordered;  // streams from filters that are not yet in order
    for (const auto& stream : model.streams)
        if (counts(stream)) ++awaited[model.position(stream.to)];
    ordered.reserve(awaited.size());
    for (std::size_t at = 0; at < awaited.size(); ++at)
        if (awaited[at] == 0) ordered.push_back(at);
    for (std::size_t next = 0; next < ordered.size(); ++next)
        for (const auto* const stream : adjacency.out_of(model.filters[ordered[next]].id))
            if (counts(*stream))
                if (const auto to = model.position(stream->to); --awaited[to] == 0) ordered.push_back(to);
    return ordered;
}

// Tarjan's algorithm for strongly connected components (Depth-first search and linear graph algorithms, 1972).
std::vector<std::size_t> cycles_of(const Adjacency& adjacency) {
    const auto count = adjacency.model().filters.size();
    std::vector<std::size_t> cycles(count);
    if (in_order(adjacency, true).size() == count) return cycles;
    std::vector<std::size_t> entered(count), lowest(count);
    std::vector<bool> open(count);
    std::vector<std::size_t> stack;
    std::size_t clock = 0, number = 0;
    Walk walk(adjacency, true);
    const auto leave = [&](std::size_t at) {
        if (!walk.path().empty()) {
            const auto before = walk.path().back().at;
            lowest[before] = std::min(lowest[before], lowest[at]);
        }
        if (lowest[at] != entered[at]) return;
        const auto id = adjacency.model().filters[at].id;
        const bool alone = stack.back() == at && std::ranges::none_of(adjacency.out_of(id), [id](const auto* stream) {
                               return stream->to == id;
                           });
        if (!alone) ++number;
        for (std::size_t member = count; member != at;) {
            member = stack.back();
            stack.pop_back();
            open[member] = false;
            if (!alone) cycles[member] = number;
        }
    };
    for (std::size_t first = 0; first < count; ++first) {
        if (entered[first] != 0) continue;
        walk.from(
            first,
            [&](std::size_t at) {
                entered[at] = lowest[at] = ++clock;
                stack.push_back(at);
                open[at] = true;
            },
            [&](std::size_t at, std::size_t successor) {
                if (entered[successor] == 0) return true;
                if (open[successor]) lowest[at] = std::min(lowest[at], entered[successor]);
                return false;
            },
            leave);
    }
    return cycles;
}

std::vector<std::uint32_t> depths_of(const Adjacency& adjacency) {
    const auto& model = adjacency.model();
    std::vector<std::uint32_t> depths(model.filters.size());
    for (const auto at : in_order(adjacency, false))
        for (const auto* const stream : adjacency.out_of(model.filters[at].id)) {
            if (stream->options.feedback) continue;
            auto& depth = depths[model.position(stream->to)];
            depth = std::max(depth, depths[at] + 1);
        }
    return depths;
}

void find_undeclared_cycles(const Adjacency& adjacency, const std::function<void(std::string)>& say) {
    const auto& model = adjacency.model();
    const auto is_feedback = [](const StreamModel& stream) { return stream.options.feedback; };
    if (std::ranges::none_of(model.streams, is_feedback) && in_order(adjacency, false).size() == model.filters.size())
        return;
    const auto name = [&](std::size_t at) { return "'" + model.filters[at].name + "'"; };
    enum class Mark { fresh, open, done };
    std::vector<Mark> marks(model.filters.size(), Mark::fresh);
    Walk walk(adjacency, false);
    for (std::size_t first = 0; first < marks.size(); ++first) {
        if (marks[first] != Mark::fresh) continue;
        walk.from(
            first, [&](std::size_t at) { marks[at] = Mark::open; },
            [&](std::size_t, std::size_t successor) {
                if (marks[successor] != Mark::open) return marks[successor] == Mark::fresh;
                std::string text;
                auto step =
                    std::ranges::find_if(walk.path(), [&](const Walk::Step& each) { return each.at == successor; });
                for (; step != walk.path().end(); ++step) text += name(step->at) + " -> ";
                say("the cycle " + text + name(successor) + " is not declared: one of its streams must be `feedback`");
                return false;
            },
            [&](std::size_t at) { marks[at] = Mark::done; });
    }
    const auto cycles = cycles_of(adjacency);
    for (const auto& stream : model.streams) {
        const auto from = model.position(stream.from), to = model.position(stream.to);
        if (is_feedback(stream) && (cycles[from] == 0 || cycles[from] != cycles[to]))
            say("the stream from " + name(from) + " to " + name(to) + " is called feedback, but closes no cycle");
    }
}

}  // namespace penstock::streaming
