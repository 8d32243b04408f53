// One rank's part of every exchange.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "messages/order.hpp"
#include "penstock/message.hpp"

namespace messages {

class Side {
  public:
    explicit Side(penstock::Rank me);

    /// The other ranks: do what rank 0 asks until it says stop.
    void serve();

    // Rank 0.
    void stop();
    /// Nanoseconds of one, after a quarter as many to warm up.
    double timed(Order order);
    /// The times of 200 round trips, one by one.
    void singles(Order order, std::vector<double>& times);

  private:
    void tell(const Order& order);
    void work(const Order& order, std::vector<double>* singles = nullptr);
    void round_trips(penstock::Messenger& post, const Order& order, std::vector<double>* singles);
    void fan(penstock::Messenger& post, const Order& order);
    void gather(penstock::Messenger& post, const Order& order);
    void bare_copy(const Order& order);

    penstock::Rank me_;
    penstock::Messenger orders_;
    std::vector<std::unique_ptr<penstock::Messenger>> posts_;  ///< one for each protocol
    std::vector<std::byte> own_;
    penstock::MessageMemory<std::byte> allotted_;
    penstock::RankMemory memory_;  ///< rank 0's: two flags, and what the bare copy reads
    std::uint64_t copies_ = 0;
};

}  // namespace messages
