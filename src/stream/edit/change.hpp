// An edit as it is made: from the graph that runs to the one that is wished, filter by filter, while all that it does
// not touch goes on.
#pragma once

#include <set>

#include "stream/run/run_state.hpp"

namespace penstock::streaming {

/// The steps, in this order, each of which waits for the stations that it is about:
///   make      new stations and links; nobody knows of them yet
///   hold      those whose outgoing streams change fire no more
///   join      sinks learn of their new links, then sources write to the new links and not to the old ones
///   empty     what is on its way by old links arrives
///   move      stations go to their new targets, and settings change
///   retire    stations that are taken out work off, hand over or discard what waits at them, and end. What is handed
///             over goes back to its writer, if that still sends; else to a successor or another copy that still reads;
///             else it is worked off after all
///   go on     new stations take over state and begin, and those that were held go on, each as soon as those before it
///             have ended
class Change {
  public:
    Change(RunState& state, Model wished)
        : state_(state), core_(state.core), wiring_(state.wiring), old_(state.model), wished_(std::move(wished)),
          old_adjacency_(old_), adjacency_(wished_) {}

    /// What it still has in its hands is dropped: it could not be carried out.
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    /// What cannot be done although the wished graph would be right.
    std::vector<std::string> problems();
    void make();

  private:
    /// A buffer that waited at a filter which retires, and the output that sends it again.
    struct Returned {
        Outlet* writer;
        Block* block;
    };
    /// Those that waited at one input of it, and that nobody sends again.
    struct Orphans {
        Inlet* inlet;
        std::vector<Waiting> waiting;
    };

    void check_order(std::vector<std::string>& problems) const;
    /// Goes from one copy to several in front of an order that is restored.
    bool begins_to_pass_order(const FilterModel& filter) const;
    /// ... and can: its buffers come from one copy of one filter, whose numbers have no gaps.
    bool may_begin_to_pass_order(const FilterModel& filter) const;
    void pass_order();
    void make_stations();
    void make_links();
    void find_touched();
    void hold();
    void join();
    void part_pairs();
    void empty_old_links();
    void retire();
    void retire_one(Station& station, Removal removal);
    bool shares_buffers(const Station& station) const;
    void take_waiting(Station& station);
    void give_back_to(Station& source);
    void give_to_heirs(const Station& retired);
    const RemovalModel* removal_before(const Station& fresh) const;
    void go_on();
    void begin(Station& fresh);
    void release(Station& source);
    void hand_back(const Inlet& inlet, const Waiting& waiting, Outlet& writer);
    Outlet* writer_of(const Inlet& inlet, const Waiting& waiting) const;
    std::vector<Station*> heirs_of(const Station& retired) const;
    bool retires(const Station* station) const;
    bool is_fresh(const Station* station) const;
    void wait_for_arrivals(Link& link);
    void wait_for_mail_of(Link& link);
    void move();
    void apply_settings();
    void forget();
    bool can_be_reclaimed(Station& station);
    void stop_using(Link& link);

    RunState& state_;
    RunCore& core_;
    Wiring& wiring_;
    const Model& old_;
    Model wished_;
    const Adjacency old_adjacency_, adjacency_;  ///< of both
    std::vector<Station*> fresh_;
    std::vector<std::pair<Station*, Removal>> retiring_;
    std::vector<Link*> new_links_, old_links_;
    std::set<Station*> sources_;       ///< that stay, and whose streams change
    std::set<const Outlet*> senders_;  ///< of sources that are held: those that send what they are given
    std::vector<std::pair<Station*, Server*>> moves_;
    std::vector<std::pair<Station*, int>> relocations_;  ///< of filters that fire elsewhere
    std::vector<Returned> returned_;
    std::vector<Orphans> orphans_;                ///< of the one that retires just now
    std::map<std::uint64_t, std::size_t> dealt_;  ///< orphans of each input of a filter, so far
    std::exception_ptr failure_;                  ///< what a successor's take_over() threw
    std::set<Link*> arrived_;                     ///< what was on its way by these links has come
};

}  // namespace penstock::streaming
