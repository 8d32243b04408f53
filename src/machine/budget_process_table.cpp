#include <pthread.h>

#include <mutex>

#include "machine/budget_table.hpp"

namespace penstock::budget {
namespace {

class ProcessTable final : public Table {
  public:
    void update(const Change& change) override {
        const std::lock_guard hold(mutex_);
        auto entries = entries_;
        change(entries);
        entries_ = std::move(entries);
    }

    // A fork while another thread is in here must not leave the child with a lock that nobody opens, nor with claims
    // that are its parent's.
    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    void after_fork_in_child() {
        entries_.clear();
        mutex_.unlock();
    }

  private:
    std::mutex mutex_;
    std::vector<Entry> entries_;
};

const std::shared_ptr<ProcessTable>& the_table() {
    // Never destroyed: machines with static lifetime give back their claims late.
    static const auto& table = *new std::shared_ptr<ProcessTable>(std::make_shared<ProcessTable>());
    return table;
}

}  // namespace

std::shared_ptr<Table> table_of_this_process() {
    static const int registered =
        pthread_atfork([] { the_table()->before_fork(); }, [] { the_table()->after_fork_in_parent(); },
                       [] { the_table()->after_fork_in_child(); });
    static_cast<void>(registered);
    return the_table();
}

}  // namespace penstock::budget
