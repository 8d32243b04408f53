// Cycles of a graph: which filters are in one, and which cycles nobody declared.
#include <algorithm>

#include "stream/description/model.hpp"

namespace penstock::streaming {
namespace {

using Successors = std::vector<std::vector<std::size_t>>;

Successors successors_of(const Model& model, bool with_feedback) {
    Successors successors(model.filters.size());
    for (const auto& stream : model.streams)
        if (with_feedback || !stream.options.feedback)
            successors[model.position(stream.from)].push_back(model.position(stream.to));
    return successors;
}

/// A walk in depth that keeps its path itself: a chain of filters may be longer than the thread's stack is deep.
class Walk {
  public:
    explicit Walk(const Successors& successors) : successors_(successors) {}
    struct Step {
        std::size_t at;
        std::size_t next = 0;  ///< of its successors
    };
    /// `enter(filter)` first, `meet(filter, successor)`, true to enter that too, and `leave(filter)` when all behind it
    /// have been left.
    template <class Enter, class Meet, class Leave>
    void from(std::size_t first, Enter&& enter, Meet&& meet, Leave&& leave) {
        path_.push_back({first});
        enter(first);
        while (!path_.empty()) {
            const auto at = path_.back().at;
            const auto& behind = successors_[at];
            if (path_.back().next == behind.size()) {
                path_.pop_back();
                leave(at);
                continue;
            }
            const auto successor = behind[path_.back().next++];
            if (!meet(at, successor)) continue;
            path_.push_back({successor});
            enter(successor);
        }
    }
    const std::vector<Step>& path() const noexcept { return path_; }

  private:
    const Successors& successors_;
    std::vector<Step> path_;
};

}  // namespace

// Tarjan's algorithm for strongly connected components (Depth-first search and linear graph algorithms, 1972).
std::vector<std::size_t> cycles_of(const Model& model) {
    const auto successors = successors_of(model, true);
    const auto count = successors.size();
    std::vector<std::size_t> cycles(count), entered(count), lowest(count);
    std::vector<bool> open(count);
    std::vector<std::size_t> stack;
    std::size_t clock = 0, number = 0;
    Walk walk(successors);
    const auto leave = [&](std::size_t at) {
        if (!walk.path().empty()) {
            const auto before = walk.path().back().at;
            lowest[before] = std::min(lowest[before], lowest[at]);
        }
        if (lowest[at] != entered[at]) return;
        const bool alone =
            stack.back() == at && std::find(successors[at].begin(), successors[at].end(), at) == successors[at].end();
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

void find_undeclared_cycles(const Model& model, const std::function<void(std::string)>& say) {
    const auto name = [&](std::size_t at) { return "'" + model.filters[at].name + "'"; };
    const auto successors = successors_of(model, false);
    enum class Mark { fresh, open, done };
    std::vector<Mark> marks(successors.size(), Mark::fresh);
    Walk walk(successors);
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
    const auto cycles = cycles_of(model);
    for (const auto& stream : model.streams) {
        const auto from = model.position(stream.from), to = model.position(stream.to);
        if (stream.options.feedback && (cycles[from] == 0 || cycles[from] != cycles[to]))
            say("the stream from " + name(from) + " to " + name(to) + " is called feedback, but closes no cycle");
    }
}

}  // namespace penstock::streaming
