// A host at work: one thread that lets a team come together, watches over it, and keeps how it ended.
#pragma once

#include <condition_variable>
#include <list>

#include "store/team/death_watch.hpp"
#include "store/team/guest.hpp"

namespace penstock::team {

class Gathering {
  public:
    using Time = Guest::Time;

    /// Throws UsageError, TeamNameTaken, SystemError.
    Gathering(std::string_view name, int size, HostOptions options);
    ~Gathering();

    const std::string& name() const noexcept { return name_; }
    int size() const noexcept { return size_; }
    int present() const noexcept { return present_.load(std::memory_order_relaxed); }
    bool complete() const noexcept { return complete_.load(std::memory_order_relaxed); }
    /// The process that the thread is of: a forked child has none.
    pid_t process() const noexcept { return process_; }

    /// False when the team has not ended by then; else what the team's end amounts to is thrown, if anything.
    bool wait_until(Time deadline);

  private:
    // All below is the thread's, but for what the mutex guards.
    void serve() noexcept;
    void step();
    int milliseconds_to_sleep() const;

    void let_in();
    void attend(Guest& guest, bool said_something, bool closed);
    void judge(Guest& guest, const Hello& hello);
    int free_rank(int wanted) const;
    void make_room();
    void take_leave(const Guest& guest);

    void begin();
    void hand_over();
    void notice_deaths(const std::vector<Watched>& ended);
    void look_at_the_clock();
    void give_up();
    void fail(int rank, const std::string& remark);
    bool all_ended() const;
    void conclude_team() const;

    /// What the host knows of one rank beyond what its seat says.
    struct Known {
        bool taken = false;
        bool process_ended = false;
        Time let_go = Time::max();  ///< its connection was closed without a word; this is when that counts as failing
        std::string remark;         ///< of the host, on how it failed
    };

    std::string name_;
    int size_;
    HostOptions options_;
    Placement placement_;
    Hoard hoard_;
    OwnedDescriptor listening_;
    OwnedDescriptor stop_;   ///< an eventfd
    OwnedDescriptor spare_;  ///< given up to tell one guest that there are no descriptors left
    Time deadline_;
    std::vector<Known> known_;
    std::list<Guest> guests_;  ///< in the order of arrival
    std::atomic<int> present_{0};
    std::atomic<bool> complete_{false};
    pid_t process_;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;           ///< guarded
    std::exception_ptr outcome_;  ///< guarded; null: all came to their ends

    std::thread thread_;  ///< last: it uses the others
};

}  // namespace penstock::team
