// A node has died: what becomes of the runs that had a part there, and who takes its place (stream/far/far_loss.cpp has
// the steps).
#include <algorithm>
#include <utility>

#include "machine/said_by.hpp"
#include "nodes/cluster_state.hpp"
#include "nodes/invitation.hpp"

namespace penstock::nodes {

using namespace std::chrono_literals;

void ClusterState::attend_deaths() noexcept {
    Locked guard(lock);
    for (;;) {
        changed_something.wait(guard, [&] { return closing || !deaths_.empty(); });
        if (closing) return;
        const auto death = std::move(deaths_.front());
        deaths_.pop_front();
        try {
            replace(guard, death);
        } catch (const std::exception& failure) {
            if (!guard.owns_lock()) guard.lock();
            auto& member = members.at(death.site);
            member.state = Member::State::dead;
            member.lost = true;
            changed_something.notify_all();
            for (auto& [run_number, run] : cluster_runs)
                if (run.awaited.contains(death.site))
                    fail_run(run, death.site,
                             death.how + "; and another could not take its place: " + said_by(failure));
        }
    }
}

bool ClusterState::dead_meanwhile(wire::Site site) const {
    return std::ranges::any_of(deaths_, [&](const Death& death) { return death.site == site; });
}

bool ClusterState::neighbours(const streaming::RunState& run, wire::Site one, wire::Site other) {
    const auto& placement = run.far->placement();
    const auto at = [&](std::uint64_t filter, wire::Site site) {
        const auto found = placement.sites.find(filter);
        return found != placement.sites.end() && std::ranges::find(found->second, site) != found->second.end();
    };
    return std::ranges::any_of(run.model.streams, [&](const auto& stream) {
        return (at(stream.from, one) && at(stream.to, other)) || (at(stream.from, other) && at(stream.to, one));
    });
}

/// Under the lock. Nobody waits for the end of that node's part any more.
void ClusterState::part_is_gone(ClusterRun& run, wire::Site site) {
    run.awaited.erase(site);
    if (run.awaited.empty()) run.open = nullptr;
}

/// Under the lock. The run is stopped, and finish() throws.
void ClusterState::fail_run(ClusterRun& run, wire::Site site, const std::string& how) {
    if (run.state == nullptr) return part_is_gone(run, site);
    std::vector<std::string> filters;
    const auto& placement = run.state->far->placement();
    for (const auto& filter : run.state->model.filters) {
        const auto found = placement.sites.find(filter.id);
        if (found != placement.sites.end() && std::ranges::find(found->second, site) != found->second.end())
            filters.push_back(filter.name);
    }
    run.state->core.broken(std::make_exception_ptr(
        NodeDied(members.at(site).node.name, how, std::move(filters), run.state->far->held_for(site))));
    part_is_gone(run, site);
    if (!run.awaited.empty()) run.state->far->tell(streaming::FarKind::stop);
}

void ClusterState::replace(Locked& guard, const Death& death) {
    const auto site = death.site;
    Member& member = members.at(site);
    const Node dead = member.node;
    const bool spare = member.spare;
    guard.unlock();
    engine->end(dead);
    guard.lock();
    for (auto& [run_number, run] : cluster_runs) {
        if (!run.awaited.contains(site) || run.state == nullptr) continue;
        const auto& placement = run.state->far->placement();
        const bool tracked = std::ranges::all_of(run.state->model.filters, [&](const auto& filter) {
            const auto found = placement.sites.find(filter.id);
            return found == placement.sites.end() || std::ranges::find(found->second, site) == found->second.end() ||
                   filter.options.tracked();
        });
        if (!tracked) fail_run(run, site, death.how);
    }
    if (!fence(guard, site, death.generation)) return;
    if (!get_another(guard, site)) return;  // closing
    ++replaced;
    if (!spare) hand_over(guard, site);
    changed_something.notify_all();
}

/// Its wires are closed everywhere, and what came of its filters is known. False: the cluster is being destroyed.
bool ClusterState::fence(Locked& guard, wire::Site site, std::uint32_t generation) {
    for (auto& [run_number, run] : cluster_runs) run.fenced.clear(), run.seen.clear();
    fencing = {.site = site, .generation = generation};
    guard.unlock();
    endpoint.fence(site, generation);
    guard.lock();
    members.at(site).wire = nullptr;
    for (auto& [run_number, run] : cluster_runs)
        if (run.state != nullptr && run.awaited.contains(site))
            for (auto& each : run.state->far->lose(site)) run.seen.emplace_back(each.stream, std::move(each.orders));
    for (const auto& [other, member] : members)
        if (other != site && member.state == Member::State::present)
            say_to(member, Control::fence, {.site = site, .generation = generation});
    // Whose streams join it must answer; one that dies meanwhile cannot.
    const auto missing = [&]() -> ClusterRun* {
        for (auto& [run_number, run] : cluster_runs) {
            if (run.state == nullptr || !run.made || !run.awaited.contains(site)) continue;
            for (const auto other : run.awaited)
                if (other != site && !run.fenced.contains(other) && neighbours(*run.state, site, other)) return &run;
        }
        return nullptr;
    };
    while (!closing) {
        ClusterRun* const run = missing();
        if (run == nullptr) return true;
        for (const auto other : run->awaited)
            if (other != site && dead_meanwhile(other) && neighbours(*run->state, site, other)) {
                fail_run(*run, site,
                         "it died together with '" + members.at(other).node.name + "', to which a stream joins it");
                break;
            }
        if (run->awaited.contains(site)) changed_something.wait_for(guard, 100ms);
    }
    return false;
}

/// An agent of the next generation, that is there. False: the cluster is being destroyed. Throws.
bool ClusterState::get_another(Locked& guard, wire::Site site) {
    Member& member = members.at(site);
    const auto until = std::chrono::steady_clock::now() + options.time_to_start;
    const auto a_spare = [&] {
        return std::ranges::find_if(members, [&](const auto& each) {
            return each.second.spare && !member.spare && each.second.state == Member::State::present;
        });
    };
    for (;;) {
        ++member.node.generation;
        bool comes = true;
        const auto spare = a_spare();
        if (spare != members.end()) {
            comes = use_spare(guard, member, spare->second);
        } else {
            guard.unlock();
            invite(member);
            guard.lock();
        }
        const auto generation = member.node.generation;
        // Not every engine knows of a spare that died when it was to become the node: as long as there is another, it
        // is not waited for longer than for who does not answer.
        const auto patient_until = std::chrono::steady_clock::now() + options.patience;
        while (member.state == Member::State::starting && !closing && comes) {
            const bool one_of_several = spare != members.end() && a_spare() != members.end();
            const auto limit = one_of_several ? std::min(until, patient_until) : until;
            if (changed_something.wait_until(guard, limit) == std::cv_status::no_timeout ||
                member.state != Member::State::starting)
                continue;
            if (std::chrono::steady_clock::now() >= until)
                throw Error("none was there in time (ClusterOptions::time_to_start)");
            comes = !one_of_several || a_spare() == members.end();
        }
        if (closing) return false;
        if (member.state == Member::State::present) return true;
        // That one has died too.
        member.state = Member::State::dead;
        const Node failed = member.node;
        std::erase_if(deaths_, [&](const Death& each) { return each.site == site && each.generation <= generation; });
        if (std::chrono::steady_clock::now() > until) throw Error("none lived long enough to take its place");
        guard.unlock();
        engine->end(failed);
        endpoint.fence(site, generation);
        std::this_thread::sleep_for(50ms);
        guard.lock();
    }
}

/// The agent that waits gets the invitation in place of a new one; another spare is started, where the engine can.
/// False: it cannot be reached any more.
bool ClusterState::use_spare(Locked& guard, Member& member, Member& spare) {
    const Node as_spare = spare.node;
    const auto wire = spare.wire;
    ++spare.node.generation;
    spare.state = engine->starts_others() ? Member::State::starting : Member::State::dead;
    guard.unlock();
    auto invitation = invitation_for(member);
    engine->becomes(as_spare, member.node);
    say(*wire, Control::become, {}, packed(invitation));
    // Where no other can be started, one that is slow is waited for as long as one that does not answer.
    const auto until = std::chrono::steady_clock::now() + (engine->starts_others() ? 200ms : options.patience);
    while (wire->under_way() != 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    const bool heard = wire->under_way() == 0 && !wire->over();  // in this order: the end drops what is under way
    endpoint.fence(static_cast<wire::Site>(as_spare.site), as_spare.generation);
    if (engine->starts_others()) invite(spare);
    guard.lock();
    return heard;
}

/// Under the lock. The other nodes of the run go on with the one that has taken another's place.
void ClusterState::say_replaced(std::uint32_t run_number, const ClusterRun& run, const Member& member) {
    const auto site = static_cast<wire::Site>(member.node.site);
    const auto word = packed(Replaced{static_cast<std::uint32_t>(options.deaths_of_a_buffer), run.seen});
    for (const auto other : run.awaited)
        if (other != site)
            say_to(members.at(other), Control::replaced,
                   {.run = run_number, .site = site, .generation = member.node.generation}, word);
}

/// The new agent gets its parts of the runs, and those who read from it and write to it go on.
void ClusterState::hand_over(Locked& guard, wire::Site site) {
    tell_peers();
    std::vector<std::uint32_t> all_runs;  // they come and go while this thread waits
    for (auto& [run_number, run] : cluster_runs) {
        all_runs.push_back(run_number);
        if (run.given[site] != members.at(site).node.generation) run.ready.erase(site);
    }
    for (const auto run_number : all_runs) {
        if (closing || dead_meanwhile(site)) return;
        hand_over(guard, site, run_number);
    }
}

void ClusterState::hand_over(Locked& guard, wire::Site site, std::uint32_t run_number) {
    Member& member = members.at(site);
    const auto concerned = [&]() -> ClusterRun* {
        const auto found = cluster_runs.find(run_number);
        return found == cluster_runs.end() || found->second.state == nullptr || !found->second.awaited.contains(site)
                   ? nullptr
                   : &found->second;
    };
    ClusterRun* run = concerned();
    if (run == nullptr || !run->made) return;  // who makes it gives the new node its part
    if (std::exchange(run->given[site], member.node.generation) == member.node.generation) return;  // or has given it
    run->figures->begin(site, member.node.name, member.node.generation);
    say_to(member, Control::part, {.run = run_number}, run->part);
    const auto until = std::chrono::steady_clock::now() + options.time_to_start;
    const auto over = [&] {
        run = concerned();
        return closing || run == nullptr || dead_meanwhile(site) || !run->refused.empty() ||
               (run->begun && run->ready.contains(site));
    };
    const bool in_time = changed_something.wait_until(guard, until, over);
    if (closing || run == nullptr || dead_meanwhile(site)) return;
    if (!in_time || !run->refused.empty())
        return fail_run(*run, site,
                        "another that took its place could not make its part" +
                            (in_time ? ": " + run->refused : std::string(" in time")));
    run->some_died = true;
    say_replaced(run_number, *run, member);
    std::vector<streaming::FarRun::Seen> seen;
    for (auto& [stream, orders] : run->seen) seen.push_back({stream, orders});
    run->state->far->set_wire(site, member.wire);
    run->state->far->recover(site, seen, options.deaths_of_a_buffer);
    say_to(member, Control::begin, {.run = run_number});
}

}  // namespace penstock::nodes
