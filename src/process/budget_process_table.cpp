#include <mutex>

#include "process/budget_table.hpp"
#include "process/fork.hpp"

namespace penstock::budget {
namespace {

class ProcessTable final : public Table {
  public:
    void update(const Change& change) override {
        const std::lock_guard hold(mutex_);
        if (forks_ != forks()) {  // what stands there are the claims of a parent
            entries_.clear();
            forks_ = forks();
        }
        auto entries = entries_;
        change(entries);
        entries_ = std::move(entries);
    }

  private:
    ProcessMutex mutex_;
    std::uint32_t forks_ = forks();
    std::vector<Entry> entries_;
};

}  // namespace

std::shared_ptr<Table> table_of_this_process() {
    // Never destroyed: machines with static lifetime give back their claims late.
    static const auto& table = *new std::shared_ptr<Table>(std::make_shared<ProcessTable>());
    return table;
}

}  // namespace penstock::budget
