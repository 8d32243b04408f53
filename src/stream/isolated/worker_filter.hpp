// A filter where it lives in a worker process: its object, its ports' ends there, and the memory that it has from the
// program.
#pragma once

#include <unordered_map>

#include "stream/isolated/firing_record.hpp"
#include "stream/run/station.hpp"

namespace penstock::streaming {

/// The tasks that a worker runs.
void do_job(FiringRecord* record) noexcept;
void forget_filter(std::uint64_t key) noexcept;

class WorkerFilter {
  public:
    explicit WorkerFilter(FiringRecord& record);
    ~WorkerFilter();

    /// Does the record's job and reports.
    void work() noexcept;

    // ---- for the ports, which have no station here ----
    static Block* take(Inlet& inlet);
    static Block* make(Outlet& outlet, std::size_t bytes);
    static void write(Outlet& outlet, Block* block);
    static void close(Outlet& outlet);
    static void send_event(const EventPort& output, SettingValue value);

  private:
    using Loans = std::unordered_multimap<const std::byte*, Loan>;  ///< by where the values lie
    class Values;

    void make_filter(const CallRecord& job);
    void take_in(const CallRecord& job);
    void pass_in(const Passed& passed);
    void apply_settings(const CallRecord& job);
    void say_what_was_thrown() noexcept;
    void clear_up();
    void save_state();
    void report();
    Loan ask(FiringRecord::Question question);
    Loan borrow(FiringRecord::Question question);
    Loans::iterator loan_of(const std::byte* values, std::uint64_t slot) noexcept;
    void give(std::byte* values) noexcept;
    void give(Loans::iterator loan) noexcept;
    Block* block_over(const Loan& loan) const;

    static WorkerFilter& firing();
    static WorkerFilter* current_;

    FiringRecord& record_;
    std::shared_ptr<Values> values_;
    std::unique_ptr<AnyFilter> filter_;
    Inlets inlets_;
    Outlets outlets_;
    std::vector<std::vector<Loan>> grants_;  ///< of each outlet, and not used yet
    Loans loans_;
    std::vector<Block*> shared_;  ///< stand for what others read too, while the filter has it
    JobsHere jobs_;
    std::vector<Action> actions_;
    carried::Encoder events_{};  ///< number of the output and value, one behind the other
    std::string type_, text_;
    std::vector<std::byte> state_;
    std::uint64_t settings_version_ = 0;
    Findings found_{};       ///< in this job
    bool discards_ = false;  ///< start() is called again: what it writes was written the first time
    carried::Encoder report_{};
};

}  // namespace penstock::streaming
