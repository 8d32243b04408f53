#include "nodes/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "nodes/cluster_state.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/machine.hpp"
#include "trace/fields.hpp"
#include "trace/text.hpp"

namespace penstock {
namespace nodes {
namespace {

/// Of a clock, and of what a stopwatch holds.
constexpr std::uint64_t most_ticks = std::uint64_t{1} << 62;

std::uint64_t ticks(std::uint64_t given) {
    if (given >= most_ticks) throw Error("a node counts more ticks than there can have been");
    return given;
}

/// Gives counters the values that were carried.
class Filling {
  public:
    explicit Filling(const std::vector<std::uint64_t>& values) : values_(values) {}
    void operator()(const char*, trace::Counter& to, const trace::Counter&) { to.add(next()); }
    void operator()(const char*, trace::Stopwatch& to, const trace::Stopwatch&) { to.add(ticks(next())); }
    /// Throws Error where some are left.
    void end() const {
        if (at_ != values_.size()) wrong();
    }

  private:
    [[noreturn]] static void wrong() {
        throw Error("a node's thread has another number of counters than threads have");
    }
    std::uint64_t next() {
        if (at_ == values_.size()) wrong();
        return values_[at_++];
    }
    const std::vector<std::uint64_t>& values_;
    std::size_t at_ = 0;
};

std::string lost(const std::string& how) { return "it is lost: " + how; }

}  // namespace

CountersPart counters_of(const Machine* machine, std::uint64_t question) {
    if (machine == nullptr) return {question, Clock::ticks(), Clock::nanoseconds_per_tick(), {}};
    const auto now = machine->snapshot();
    CountersPart part{question, now.now(), now.nanoseconds_per_tick(), {}};
    for (const auto& [key, entry] : now.tracks()) {
        std::vector<std::uint64_t> values;
        trace::each_field(entry.totals, entry.totals,
                          [&](const char*, const std::uint64_t& value, const auto&) { values.push_back(value); });
        const auto& [role, id, name, started, ended] = entry.track;
        std::get<3>(part).emplace_back(role == trace::Role::target, id, name, started, ended, std::move(values));
    }
    return part;
}

trace::Snapshot snapshot_of(const CountersPart& part) {
    const auto& [question, now, tick, all] = part;
    trace::Snapshot made(ticks(now), tick);
    for (const auto& [target, id, name, started, ended, values] : all) {
        const trace::Track track{target ? trace::Role::target : trace::Role::initiator, id, name, ticks(started),
                                 ticks(ended)};
        Filling filling(values);
        if (target) {
            trace::TargetCounters counters;
            trace::each_target_field(counters, counters, std::ref(filling));
            filling.end();
            made.add(track, counters);
        } else {
            trace::InitiatorCounters counters;
            trace::each_initiator_field(counters, counters, std::ref(filling));
            filling.end();
            made.add(track, counters);
        }
    }
    return made;
}

// ---- the program ----

/// Under the lock; throws Error.
void ClusterState::take_counters(Member& member, const CountersPart& part) {
    const auto question = std::get<0>(part);
    if (member.asked.empty() || member.asked.front() != question)
        throw Error("a node says what its threads have done, and nobody has asked it that");
    auto counters = snapshot_of(part);  // before it counts as an answer: who lies is lost
    member.asked.pop_front();
    if (question == counters_question)
        counters_said.emplace(static_cast<wire::Site>(member.node.site), std::move(counters));  // else too late
}

ClusterSnapshot ClusterState::snapshot() {
    const std::lock_guard alone(recording);
    ClusterSnapshot made;
    made.parts.push_back({"program", 1, machine.snapshot(), ""});
    Locked guard(lock);
    counters_said.clear();
    const auto question = ++counters_question;
    for (auto& [site, member] : members) {
        if (member.state != Member::State::present || member.spare) continue;
        member.asked.push_back(question);
        say_to(member, Control::ask_counters, {}, packed(question));
    }
    const auto is_asked = [&](const Member& member) {  // who has come since is not
        return std::ranges::find(member.asked, question) != member.asked.end();
    };
    await_all(guard, [&](wire::Site site) { return !is_asked(members.at(site)); });
    for (const auto& [site, member] : members) {
        if (member.spare) continue;
        auto& part = made.parts.emplace_back(ClusterSnapshot::Part{.node = member.node.name});
        part.generation = member.node.generation;
        if (const auto said = counters_said.find(site); said != counters_said.end()) {
            part.counters = said->second;
            if (!member.how.empty())
                part.note = "an agent was lost: " + member.how + "; this is of the one that took its place";
        } else if (member.state == Member::State::present && is_asked(member)) {
            part.note = "it has not answered";
        } else {
            part.note = lost(member.how) + (member.state == Member::State::dead ? "" : "; another takes its place");
        }
    }
    counters_said.clear();
    return made;
}

}  // namespace nodes

ClusterSnapshot operator-(const ClusterSnapshot& after, const ClusterSnapshot& before) {
    ClusterSnapshot period = after;
    for (auto& part : period.parts) {
        if (!part.counters) continue;
        const auto then = std::ranges::find(before.parts, part.node, &ClusterSnapshot::Part::node);
        if (then == before.parts.end() || then->generation != part.generation) continue;  // since it began
        part.note.clear();  // whoever was lost was so before
        if (then->counters) part.counters = *part.counters - *then->counters;
        else part.note = "since its start, because before " + then->note;
    }
    return period;
}

std::string ClusterSnapshot::table() const {
    return trace::list_of(parts, "\n", [](const Part& part) {
        return part.node + '\n' + (part.note.empty() ? "" : trace::plain_text(part.note, 4096) + '\n') +
               (part.counters ? trace::table(trace::Breakdown(*part.counters)) : "");
    });
}

std::string ClusterSnapshot::json() const {
    return "{\"nodes\":[" +
           trace::list_of(parts, ",",
                          [](const Part& part) {
                              return "\n{\"node\":" + trace::json_text(part.node) +
                                     ",\"generation\":" + std::to_string(part.generation) +
                                     ",\"note\":" + trace::json_text(part.note) + ",\"breakdown\":" +
                                     (part.counters ? trace::json(trace::Breakdown(*part.counters)) : "null") + '}';
                          }) +
           "\n]}\n";
}

ClusterSnapshot Cluster::snapshot() const { return state_->snapshot(); }

}  // namespace penstock
